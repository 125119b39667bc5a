//! Blocking calls, over every way to a server.

use crate::support::{BOTH, PATIENCE, Server};
use farcache_client::{Client, ClientConfig, Error, Initial, Store, StoreMode, Transport};
use std::sync::Arc;

/// Does everything once.
pub fn exercise(client: &Client) {
    assert_eq!(client.get("absent"), Ok(None));
    let cas = client.set("key", "value", 0).expect("stored");
    let item = client.get("key").expect("an answer").expect("an item");
    assert_eq!(
        (&item.value[..], item.flags, item.cas),
        (&b"value"[..], 0, cas)
    );
    conditions(client, cas);
    numbers(client);
    many(client);
    large(client);
    administration(client);
}

fn conditions(client: &Client, cas: u64) {
    assert_eq!(client.add("key", "other", 0), Err(Error::Exists));
    assert_eq!(client.replace("absent", "other", 0), Err(Error::NotFound));
    assert_eq!(client.append("absent", "other"), Err(Error::NotStored));
    client.append("key", "-after").expect("appended");
    client.prepend("key", "before-").expect("prepended");
    let item = client.get("key").expect("an answer").expect("an item");
    assert_eq!(item.value, b"before-value-after");
    assert_eq!(client.cas("key", "late", 0, cas), Err(Error::Exists));
    client
        .cas("key", "in time", 0, item.cas)
        .expect("unchanged since");
    let store = Store {
        mode: StoreMode::Replace,
        flags: 0xdead_beef,
        ..Store::set(b"key", "flagged")
    };
    client.store(store).expect("replaced");
    let item = client
        .get_and_touch("key", 1000)
        .expect("an answer")
        .expect("an item");
    assert_eq!(
        (&item.value[..], item.flags),
        (&b"flagged"[..], 0xdead_beef)
    );
    client.touch("key", 0).expect("touched");
    assert_eq!(client.touch("absent", 0), Err(Error::NotFound));
    client.delete("key").expect("deleted");
    assert_eq!(client.delete("key"), Err(Error::NotFound));
    assert_eq!(client.get(""), Err(Error::InvalidKey));
    assert_eq!(client.get([b'k'; 251]), Err(Error::InvalidKey));
}

fn numbers(client: &Client) {
    assert_eq!(client.increment("number", 1, None), Err(Error::NotFound));
    let initial = Some(Initial {
        number: 10,
        expiry_s: 0,
    });
    assert_eq!(client.increment("number", 1, initial), Ok(10));
    assert_eq!(client.increment("number", 5, initial), Ok(15));
    assert_eq!(client.decrement("number", 20, None), Ok(0));
    client.set("text", "text", 0).expect("stored");
    assert_eq!(client.increment("text", 1, None), Err(Error::NotNumeric));
}

fn many(client: &Client) {
    let keys: Vec<String> = (0..1000).map(|number| format!("many-{number}")).collect();
    let values: Vec<Vec<u8>> = (0..1000).map(|number| vec![number as u8; number]).collect();
    let stores = keys.iter().zip(&values).skip(1);
    let stores = stores.map(|(key, value)| Store::set(key.as_bytes(), value));
    for stored in client.set_many(stores) {
        stored.expect("stored");
    }
    let got = client.get_many(&keys).expect("few enough keys");
    assert_eq!((got.len(), got.found()), (1000, 999));
    assert_eq!(got.get(0), Ok(None));
    for (number, value) in values.iter().enumerate().skip(1) {
        let item = got.get(number).expect("an answer").expect("an item");
        assert_eq!(item.value, &value[..], "{number}");
    }
}

fn large(client: &Client) {
    let bytes = |number: usize| {
        (0..number)
            .map(|at| (at * 7 + at / 251) as u8)
            .collect::<Vec<u8>>()
    };
    let mut room = Vec::new();
    for size in [0, 8 << 10, (8 << 10) + 1, 16 << 10, 70_000, 1_000_000] {
        let value = Arc::new(bytes(size));
        client.set("large", Arc::clone(&value), 0).expect("stored");
        assert_eq!(Arc::strong_count(&value), 1);
        let info = client.get_into("large", &mut room).expect("an answer");
        assert!(info.is_some() && room == *value, "{size}");
        client.set("copied", &*value, 0).expect("stored");
    }
    let got = client
        .get_many(&["large", "absent", "copied"])
        .expect("few keys");
    let item = got.get(2).expect("an answer").expect("an item");
    assert_eq!((got.found(), item.value.len()), (2, 1_000_000));
    assert_eq!(
        client.set("large", vec![0; 40 << 20], 0),
        Err(Error::TooLarge)
    );
    assert_eq!(client.set("small", "value", 0).map(drop), Ok(()));
}

fn administration(client: &Client) {
    for version in client.versions() {
        assert!(version.expect("a version").contains('.'));
    }
    for server in 0..client.servers().len() {
        client.noop(server).expect("an answer");
        let statistics = client.statistics(server, "").expect("statistics");
        let has = |name: &str| statistics.iter().any(|(found, _)| found == name);
        assert!(has("pid") && has("curr_items"));
    }
    let version = client.versions().remove(0).expect("a version");
    if version.contains("farcache") {
        client.verbosity(1).expect("set");
    }
    client.set("flushed", "value", 0).expect("stored");
    client.flush_all(0).expect("flushed");
    assert_eq!(client.get("flushed"), Ok(None));
}

/// Settings for these servers, with time enough for a busy machine.
pub fn config(servers: &str, transport: Transport) -> ClientConfig {
    let mut config = ClientConfig::new(servers).expect("addresses");
    config.transport = transport;
    config.timeout = PATIENCE;
    config.connect_timeout = PATIENCE;
    config
}

#[test]
fn over_tcp() {
    for product in BOTH {
        let server = Server::start(product, &[]);
        let config = config(&server.address(), Transport::Tcp);
        exercise(&Client::new(&config).expect("a client"));
    }
}

#[test]
fn over_whatever_there_is() {
    for product in BOTH {
        let server = Server::start(product, &[]);
        let config = config(&server.address(), Transport::Auto);
        exercise(&Client::new(&config).expect("a client"));
    }
}

#[test]
fn over_a_unix_socket() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let text = path.to_str().expect("a plain name");
    for product in BOTH {
        let server = Server::start_unix(product, &path);
        exercise(&Client::new(&config(text, Transport::Tcp)).expect("a client"));
        drop(server);
        // What a killed server leaves behind.
        let _ = std::fs::remove_file(&path);
    }
}
