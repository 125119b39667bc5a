//! Operations that depend on what is there, on keys with copies or shards.

use crate::{Fleet, WAYS, support};
use farcache_client::{
    Client, Completion, Delivery, Direction, Error, Initial, Operation, ReceiveBytes, Reply, Store,
    StoreMode, Transport,
};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const POLICIES: [(&str, usize); 2] = [("single/=none;replicate:3", 3), ("single/=none;ec:3,2", 5)];

/// What a call brings, without the tokens, which differ from one place to another.
fn told(completion: Completion) -> String {
    match completion.outcome {
        Ok(Reply::Done { .. }) => "done".into(),
        Ok(Reply::Number { number, .. }) => format!("number {number}"),
        Ok(Reply::Value { value, flags, .. }) => {
            let sum: u64 = value.iter().map(|byte| u64::from(*byte)).sum();
            format!("value {} {sum} {flags}", value.len())
        }
        other => format!("{other:?}"),
    }
}

/// All operations in turn on one key, each with what it told.
fn story(client: &Client, key: &str, bytes: usize) -> Vec<String> {
    let (key, value) = (key.as_bytes(), vec![3; bytes]);
    let cas = || {
        client
            .get(key)
            .expect("an answer")
            .map_or(7, |item| item.cas)
    };
    let mut told_all = Vec::new();
    let mut run = |operation| told_all.push(told(client.complete(client.submit(operation))));
    let store = |mode, value: &[u8], cas| {
        Operation::Store(Store {
            mode,
            key,
            value: value.to_vec().into(),
            flags: 9,
            expiry_s: 1000,
            cas,
        })
    };
    let count = |direction, delta, initial| Operation::Arithmetic {
        direction,
        key,
        delta,
        initial,
    };
    let get = || Operation::Get {
        key,
        into: ReceiveBytes::default(),
    };
    use Direction::{Decrement, Increment};
    use StoreMode::{Add, Append, Prepend, Replace, Set};
    run(store(Replace, &value, 0));
    run(store(Append, b"x", 0));
    run(store(Set, b"x", 5));
    run(count(Increment, 1, None));
    run(Operation::Touch { key, expiry_s: 100 });
    run(Operation::Delete { key, cas: 5 });
    run(store(Add, &value, 0));
    run(store(Add, b"other", 0));
    run(store(Append, b"behind", 0));
    run(store(Prepend, b"before", 0));
    run(get());
    run(store(Replace, &value, 0));
    run(store(Set, b"x", 5));
    run(store(Set, &value, cas()));
    run(store(Append, b"y", cas()));
    run(get());
    run(count(Increment, 1, None));
    run(Operation::Touch { key, expiry_s: 100 });
    let into = ReceiveBytes::default();
    run(Operation::GetAndTouch {
        key,
        expiry_s: 0,
        into,
    });
    run(Operation::Delete { key, cas: 5 });
    run(Operation::Delete { key, cas: cas() });
    run(get());
    let initial = Initial {
        number: 40,
        expiry_s: 0,
    };
    run(count(Increment, 1, Some(initial)));
    run(count(Increment, 2, Some(initial)));
    run(count(Decrement, 50, None));
    run(get());
    run(Operation::Delete { key, cas: 0 });
    told_all
}

/// A single server is the reference.
#[test]
fn every_operation_ends_as_on_a_single_server() {
    for (policy, servers) in POLICIES {
        let fleet = Fleet::start(servers);
        for transport in WAYS {
            let client = fleet.client(policy, transport);
            for bytes in [3, 70_000] {
                let single = story(&client, "single/key", bytes);
                let several = story(&client, "key", bytes);
                assert_eq!(several, single, "{policy} {transport:?} {bytes}");
                assert!(single.contains(&"number 42".to_owned()), "{single:?}");
            }
        }
    }
}

#[test]
fn blocking_and_quiet_calls_change_values_too() {
    let fleet = Fleet::start(3);
    let client = fleet.client("replicate:3", Transport::Tcp);
    let first = client.add("key", "7", 0).expect("absent");
    assert_eq!(client.add("key", "8", 0), Err(Error::Exists));
    let second = client.cas("key", "9", 0, first).expect("the token");
    assert!(second > first, "tokens rise");
    assert_eq!(client.cas("key", "8", 0, first), Err(Error::Exists));
    assert_eq!(client.increment("key", 3, None), Ok(12));
    assert_eq!(client.decrement("key", 2, None), Ok(10));
    client.append("key", "0").expect("present");
    let prepend = Operation::Store(Store {
        mode: StoreMode::Prepend,
        ..Store::set(b"key", "5")
    });
    assert_eq!(client.submit_quietly(prepend, Delivery::default()), Ok(()));
    let add = Operation::Store(Store {
        mode: StoreMode::Add,
        ..Store::set(b"key", "lost")
    });
    assert_eq!(client.submit_quietly(add, Delivery::default()), Ok(()));
    client.touch("key", 1000).expect("present");
    let item = client.get_and_touch("key", 0).expect("an answer");
    assert_eq!(item.expect("an item").value, b"5100");
    client.touch("key", 1).expect("present");
    support::wait_for("its end", || {
        client
            .get("key")
            .expect("an answer")
            .is_none()
            .then_some(())
    });
    assert_eq!(client.touch("key", 1), Err(Error::NotFound));
}

/// Counts from several clients at once; a server is killed, and comes back with nothing, meanwhile.
/// Every count that was told is in the sum, once, and none is told twice.
#[test]
fn nothing_is_counted_twice_or_lost_while_a_server_dies_and_returns() {
    const COUNTS: u64 = 60;
    for (policy, servers) in POLICIES {
        let mut fleet = Fleet::start(servers);
        let clients: Vec<_> = WAYS.iter().chain(&WAYS[..1]).collect();
        let clients: Vec<_> = clients
            .into_iter()
            .map(|way| fleet.client(policy, *way))
            .collect();
        clients[0].set("count", "0", 0).expect("stored");
        let (done, unknown) = (AtomicU64::new(0), AtomicU64::new(0));
        let told = std::sync::Mutex::new(Vec::new());
        let at_its_end = std::thread::scope(|scope| {
            for client in &clients {
                scope.spawn(|| {
                    for _ in 0..COUNTS {
                        match client.increment("count", 1, None) {
                            Ok(number) => {
                                done.fetch_add(1, SeqCst);
                                told.lock().expect("no panic").push(number);
                            }
                            Err(Error::ConnectionLost(_)) => _ = unknown.fetch_add(1, SeqCst),
                            Err(error) => panic!("{policy}: {error:?}"),
                        }
                    }
                });
            }
            let at = |count| {
                support::wait_for("counts", || (done.load(SeqCst) >= count).then_some(()));
            };
            at(30);
            fleet.kill(1);
            at(60);
            let at_its_end = unknown.load(SeqCst);
            fleet.start_again(1);
            at_its_end
        });
        let item = clients[0]
            .get("count")
            .expect("an answer")
            .expect("an item");
        let sum: u64 = String::from_utf8_lossy(&item.value)
            .parse()
            .expect("a number");
        let (done, unknown) = (done.into_inner(), unknown.into_inner());
        assert!(
            (done..=done + unknown).contains(&sum),
            "{policy}: {sum}, {done}, {unknown}"
        );
        let mut told = told.into_inner().expect("no panic");
        told.sort_unstable();
        assert!(
            told.windows(2).all(|two| two[0] < two[1]),
            "{policy}: {told:?}"
        );
        // A server that dies leaves in doubt what was under way.
        let under_way_max = clients.len() as u64;
        assert!(at_its_end <= under_way_max, "{policy}: {at_its_end}");
        // Until all know that it is back, a count that others have overtaken may be, too: more of
        // them on a busy host, where more are overtaken.
        assert!(unknown < done / 8, "{policy}: {unknown}, {done}");
    }
}

/// Who changes a key again and again does not keep others from it.
#[test]
fn all_who_count_at_the_same_time_get_their_turns() {
    const COUNTS: u64 = 6000;
    for (policy, servers) in POLICIES {
        let fleet = Fleet::start(servers);
        for transport in WAYS {
            let clients: Vec<_> = (0..4).map(|_| fleet.client(policy, transport)).collect();
            clients[0].set("count", "0", 0).expect("stored");
            let done = AtomicU64::new(0);
            let all_are_connected = std::sync::Barrier::new(clients.len());
            let count = |client: &Client| {
                client.get("count").expect("an answer");
                all_are_connected.wait();
                let mut own = 0;
                while done.load(SeqCst) < COUNTS {
                    client.increment("count", 1, None).expect("counted");
                    done.fetch_add(1, SeqCst);
                    own += 1;
                }
                own
            };
            let own: Vec<u64> = std::thread::scope(|scope| {
                let threads: Vec<_> = clients
                    .iter()
                    .map(|client| scope.spawn(|| count(client)))
                    .collect();
                let counts = threads.into_iter().map(|thread| thread.join());
                counts.map(|own| own.expect("no panic")).collect()
            });
            // A quarter each where all are alike.
            let is_fair = own.iter().all(|own| *own >= COUNTS / 50);
            assert!(is_fair, "{policy} {transport:?}: {own:?}");
        }
    }
}

/// Of those who add at the same time one succeeds; of those who swap by one token, too.
#[test]
fn one_of_many_wins() {
    for (policy, servers) in POLICIES {
        let fleet = Fleet::start(servers);
        let clients: Vec<_> = (0..3)
            .map(|_| fleet.client(policy, Transport::Tcp))
            .collect();
        let wins = |each: &(dyn Fn(&Client) -> Result<u64, Error> + Sync)| {
            let wins = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for client in &clients {
                    scope.spawn(|| match each(client) {
                        Ok(_) => _ = wins.fetch_add(1, SeqCst),
                        Err(error) => assert_eq!(error, Error::Exists, "{policy}"),
                    });
                }
            });
            wins.into_inner()
        };
        for round in 0..25 {
            let key = format!("key-{round}");
            let value = vec![1; 50_000 * (round % 2)];
            let added = wins(&|client| client.add(&key, &value, 0));
            assert_eq!(added, 1, "{policy} {round}");
            let item = clients[0].get(&key).expect("an answer").expect("an item");
            let swapped = wins(&|client| client.cas(&key, &value, 0, item.cas));
            assert_eq!(swapped, 1, "{policy} {round}");
        }
    }
}

/// The first owner has come back with nothing, and does not decide by that.
#[test]
fn an_owner_that_came_back_with_nothing_decides_nothing() {
    for (policy, servers) in POLICIES {
        let mut fleet = Fleet::start(servers);
        let client = fleet.client(policy, Transport::Tcp);
        let mut expected = 0;
        client.set("count", "0", 0).expect("stored");
        for away in 0..servers {
            fleet.kill(away);
            expected += 1;
            assert_eq!(
                client.increment("count", 1, None),
                Ok(expected),
                "{policy} {away}"
            );
            fleet.start_again(away);
            let other = fleet.client(policy, Transport::Tcp);
            assert_eq!(
                other.add("count", "0", 0),
                Err(Error::Exists),
                "{policy} {away}"
            );
            expected += 1;
            assert_eq!(
                other.increment("count", 1, None),
                Ok(expected),
                "{policy} {away}"
            );
        }
    }
}
