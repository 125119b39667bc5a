//! Operations that carry versions, over sockets and the fabric.

use crate::blocking::config;
use crate::support::{Product, Server};
use farcache_base::version::{Ticks, Version, Writer};
use farcache_client::{
    Client, Delivery, Error, INCOMPLETE, Keeping, Operation, ReceiveBytes, Reply, Route, Store,
    StoreMode, Transport, VersionTerms,
};
use std::time::Duration;

fn version(number: u64) -> u64 {
    let time = Ticks::at_unix(Duration::from_secs(1_798_761_600 + number));
    Version::new(time, Writer::new(7).expect("a small number")).bits()
}

fn run(client: &Client, operation: Operation<'_>) -> Result<Reply, Error> {
    let route = Route::Server(0);
    let delivery = Delivery {
        route,
        timeout: None,
    };
    client.wait(client.submit_to(operation, delivery))
}

fn store(client: &Client, value: &[u8], version: u64) -> Result<Reply, Error> {
    let store = Store {
        mode: StoreMode::IfNewer(Keeping::Nothing),
        flags: 5,
        cas: version,
        ..Store::set(b"versioned", value)
    };
    run(client, Operation::Store(store))
}

fn delete(client: &Client, version: u64) -> Result<Reply, Error> {
    let key = b"versioned";
    let keep_s = 0;
    run(
        client,
        Operation::DeleteIfNewer {
            key,
            version,
            keep_s,
            is_promised: false,
            keeping: Keeping::Nothing,
        },
    )
}

fn get(client: &Client, bytes_max: u32) -> Result<Reply, Error> {
    let (key, into) = (b"versioned", ReceiveBytes::default());
    run(
        client,
        Operation::GetVersioned {
            key,
            terms: VersionTerms::Newest,
            bytes_max,
            into,
        },
    )
}

fn exercise(client: &Client) {
    // Small, larger than what is copied, and larger than a message.
    for (round, bytes) in [100, 20_000, 700_000].into_iter().enumerate() {
        let value: Vec<u8> = (0..bytes).map(|byte| (byte * 7 + round) as u8).collect();
        let now = version(10 * round as u64 + 10);
        let stored = store(client, &value, now);
        assert!(
            matches!(stored, Ok(Reply::Done { cas }) if cas == now),
            "{stored:?}"
        );
        let older = store(client, &value, now - 1);
        assert!(
            matches!(older, Ok(Reply::Older { current }) if current == now),
            "{older:?}"
        );
        let Ok(Reply::Value {
            value: found,
            flags,
            cas,
        }) = get(client, u32::MAX)
        else {
            panic!("it was stored");
        };
        assert!(
            (flags, cas) == (5, now | INCOMPLETE) && found[..] == value,
            "{bytes} bytes"
        );
        let Ok(Reply::Value { value: part, .. }) = get(client, 32) else {
            panic!("it is there");
        };
        assert!(part[..] == value[..32]);
        let refused = delete(client, now - 1);
        assert!(
            matches!(refused, Ok(Reply::Older { current }) if current == now),
            "{refused:?}"
        );
        let deleted = delete(client, now + 1);
        assert!(
            matches!(deleted, Ok(Reply::Done { cas }) if cas == now + 1),
            "{deleted:?}"
        );
        let again = delete(client, now + 2);
        assert!(
            matches!(again, Ok(Reply::Absent { version }) if version == now + 2),
            "{again:?}"
        );
        let gone = get(client, u32::MAX);
        assert!(
            matches!(gone, Ok(Reply::Deleted { version }) if version == (now + 2) | INCOMPLETE),
            "{gone:?}"
        );
    }
    for no_version in [0, 7, u64::MAX] {
        let refused = store(client, b"value", no_version);
        assert!(
            matches!(refused, Err(Error::InvalidArguments(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn versions_work_over_sockets_and_over_every_network() {
    let server = Server::start(Product::Farcached, &["--fabric", "off"]);
    exercise(&Client::new(&config(&server.address(), Transport::Tcp)).expect("a client"));
    for transports in ["posix,self", "tcp"] {
        let variables = [("UCX_TLS", transports)];
        let arguments = ["--fabric", "require"];
        let server = Server::start_with(Product::Farcached, 0, &arguments, &variables);
        exercise(&Client::new(&config(&server.address(), Transport::Fabric)).expect("a client"));
    }
}

#[test]
fn a_server_that_speaks_text_alone_does_not_know_them() {
    let server = Server::start(Product::Memcached, &["-B", "ascii"]);
    let client = Client::new(&config(&server.address(), Transport::Tcp)).expect("a client");
    let refused = store(&client, b"value", version(1));
    assert!(matches!(refused, Err(Error::Unsupported)), "{refused:?}");
    let refused = get(&client, 0);
    assert!(matches!(refused, Err(Error::Unsupported)), "{refused:?}");
    client
        .set("key", "value", 0)
        .expect("the connection goes on");
}
