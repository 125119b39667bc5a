//! What redundancy does not have yet is refused, and never done in one place only.

use crate::{Fleet, set_all};
use farcache_client::{Client, Delivery, Error, Operation, ReceiveBytes, Route, Transport};

#[test]
fn one_place_of_several_is_not_asked() {
    let fleet = Fleet::start(3);
    let client = fleet.client("single/=none;replicate:3", Transport::Tcp);
    client.set("key", "7", 0).expect("stored");
    let refused = |what: &str, error: Option<Error>| {
        assert!(
            matches!(error, Some(Error::InvalidArguments(_))),
            "{what}: {error:?}"
        );
    };
    let elsewhere = |route| {
        let get = Operation::Get {
            key: b"key",
            into: ReceiveBytes::default(),
        };
        let delivery = Delivery {
            route,
            timeout: None,
        };
        client.wait(client.submit_to(get, delivery)).err()
    };
    refused("the key of a group", elsewhere(Route::Group(b"other")));
    refused("one server", elsewhere(Route::Server(0)));
    let item = client.get("key").expect("an answer").expect("an item");
    assert_eq!(item.value, b"7");
}

#[test]
fn keys_in_one_place_are_as_without_a_policy() {
    let fleet = Fleet::start(3);
    for transport in crate::WAYS {
        let client = fleet.client("single/=none;replicate:3", transport);
        client.set("single/number", "7", 0).expect("stored");
        assert_eq!(client.increment("single/number", 1, None), Ok(8));
        let mut config = fleet.config("none", transport);
        config.redundancy = None;
        let plain = Client::new(&config).expect("a client");
        let item = plain
            .get("single/number")
            .expect("an answer")
            .expect("an item");
        assert_eq!(item.value, b"8");
        client.delete("single/number").expect("deleted");
    }
}

/// It might be of a cluster, which has more.
#[test]
fn a_lone_server_is_too_few_for_a_policy_once_it_has_been_asked() {
    let fleet = Fleet::start(1);
    let client = Client::new(&fleet.config("replicate:2", Transport::Tcp)).expect("a client");
    for outcome in [
        client.set("key", "value", 0).map(drop),
        client.get("key").map(drop),
    ] {
        match outcome {
            Err(Error::Configuration(why)) => {
                assert_eq!(&*why, "replicate:2 needs 2 servers, not 1")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn policies_that_cannot_work_are_refused() {
    let fleet = Fleet::start(1);
    let error = |policy: &str, change: &dyn Fn(&mut farcache_client::ClientConfig)| {
        let mut config = fleet.config(policy, Transport::Tcp);
        change(&mut config);
        match Client::new(&config) {
            Err(Error::Configuration(why)) => why.to_string(),
            other => panic!("{policy}: {other:?}"),
        }
    };
    let by_list = |config: &mut farcache_client::ClientConfig| config.follows_map = false;
    assert!(error("ec:3,2", &by_list).contains("needs 5 servers, not 1"));
    assert!(error("a=replicate:2", &by_list).contains("needs 2 servers, not 1"));
    let twice = |config: &mut farcache_client::ClientConfig| {
        config.servers = farcache_client::parse_servers("a,b").expect("addresses");
    };
    assert!(
        error("replicate:2", &|config| {
            twice(config);
            config.remove_after_failures = Some(1);
        })
        .contains("removal of failed servers")
    );
}

/// With fewer servers than a write must reach, it has no effect and says so; reads go on.
#[test]
fn writes_to_too_few_servers_are_refused() {
    let mut fleet = Fleet::start(3);
    let client = fleet.client("replicate:3", Transport::Tcp);
    set_all(&client, 1);
    fleet.kill(0);
    fleet.kill(1);
    // Who is down may be found out in the middle of the first write.
    let first = client.set("key-1", "new", 0);
    assert!(
        matches!(first, Err(Error::Connect(_) | Error::ConnectionLost(_))),
        "{first:?}"
    );
    let second = client.set("key-2", "new", 0);
    assert!(matches!(second, Err(Error::Connect(_))), "{second:?}");
    crate::values(1)
        .filter(|(key, _)| key != "key-1")
        .for_each(|(key, value)| {
            let item = client.get(&key).expect("an answer").expect("an item");
            assert!(item.value == value, "{key}");
        });
}
