//! Operations that are begun, and waited for later, follow the policy too.

use crate::{Fleet, WAYS, support, values};
use farcache_client::{
    Client, Completion, Delivery, Error, Notice, Operation, ReceiveBytes, Reply, SendBytes, Store,
    Value, Values,
};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const POLICY: &str = "single/=none;ec:3,2";

fn get(client: &Client, key: &str, into: ReceiveBytes) -> Completion {
    let key = key.as_bytes();
    client.complete(client.submit(Operation::Get { key, into }))
}

fn value_of(completion: Completion) -> Vec<u8> {
    match completion.outcome {
        Ok(Reply::Value { value, .. }) => value.into_vec(),
        other => panic!("{other:?}"),
    }
}

/// With two servers gone, what was begun is there; so it was never in one place only.
#[test]
fn what_was_stored_by_a_request_survives_kills() {
    for transport in WAYS {
        let mut fleet = Fleet::start(5);
        let client = fleet.client(POLICY, transport);
        let requests: Vec<_> = values(3)
            .map(|(key, value)| client.submit(Operation::Store(Store::set(key.as_bytes(), value))))
            .collect();
        for (request, (key, value)) in requests.into_iter().zip(values(3)) {
            let stored = client.complete(request);
            assert!(matches!(stored.outcome, Ok(Reply::Done { .. })), "{key}");
            // What was lent comes back.
            assert_eq!(stored.lent.map(SendBytes::into_vec), Some(value), "{key}");
        }
        fleet.kill(1);
        fleet.kill(3);
        for (key, value) in values(3) {
            let found = value_of(get(&client, &key, ReceiveBytes::default()));
            assert!(found == value, "{key}");
        }
    }
}

#[test]
fn many_are_got_together_with_those_in_one_place() {
    let mut fleet = Fleet::start(5);
    let client = fleet.client(POLICY, crate::Transport::Tcp);
    crate::set_all(&client, 1);
    client.set("single/a", "alone", 0).expect("stored");
    let stored = client.set_many([Store::set(b"many", "7"), Store::set(b"single/b", "8")]);
    assert!(stored.iter().all(Result::is_ok), "{stored:?}");
    let mut keys = vec!["single/a".to_owned(), "absent".to_owned()];
    keys.extend(values(1).map(|(key, _)| key));
    keys.extend(["single/absent", "many", "single/b"].map(str::to_owned));
    let mut expected = vec![Some(b"alone".to_vec()), None];
    expected.extend(values(1).map(|(_, value)| Some(value)));
    expected.extend([None, Some(b"7".to_vec()), Some(b"8".to_vec())]);
    let check = |found: Values, when: &str| {
        assert_eq!(found.len(), keys.len());
        assert_eq!(found.error(), None, "{when}");
        for (number, key) in keys.iter().enumerate() {
            let item = found.get(number).expect("no error");
            let value = item.map(|item| item.value.to_vec());
            assert!(value == expected[number], "{when}, {key}");
        }
    };
    check(client.get_many(&keys).expect("few keys"), "at once");
    let request = client.submit_get_many(&keys, Values::new(), Delivery::default());
    check(client.wait_get_many(request), "later");
    // Keys in one place may be on the servers that go.
    for away in [0, 3] {
        fleet.kill(away);
        let found = client.get_many(&keys).expect("few keys");
        for (number, (key, value)) in values(1).enumerate() {
            let item = found.get(number + 2).expect("no error").expect("an item");
            assert!(item.value == value, "{key} without {away}");
        }
    }
}

#[test]
fn a_request_tells_what_is_absent_too_long_and_deleted() {
    let fleet = Fleet::start(5);
    let client = fleet.client(POLICY, crate::Transport::Tcp);
    let absent = get(&client, "key", Vec::with_capacity(10).into());
    assert!(matches!(absent.outcome, Err(Error::NotFound)));
    assert!(absent.unused.is_some(), "the room comes back");
    client.set("key", vec![7; 50_000], 0).expect("stored");
    let found = value_of(get(&client, "key", vec![1; 3].into()));
    assert!(found == vec![7; 50_000]);
    let delete = || {
        client.wait(client.submit(Operation::Delete {
            key: b"key",
            cas: 0,
        }))
    };
    assert!(matches!(delete(), Ok(Reply::Done { .. })));
    assert!(matches!(delete(), Err(Error::NotFound)));
    let long = "k".repeat(251);
    let refused = get(&client, &long, ReceiveBytes::default());
    assert!(matches!(refused.outcome, Err(Error::InvalidKey)));
    let quiet = Operation::Store(Store::set(b"key", Value::Copied(b"quiet")));
    let submitted = client.submit_quietly(quiet, Delivery::default());
    assert_eq!(submitted, Ok(()));
    let found = value_of(get(&client, "key", ReceiveBytes::default()));
    assert_eq!(found, b"quiet");
}

#[test]
fn the_notice_of_a_request_is_called() {
    let fleet = Fleet::start(5);
    let client = fleet.client(POLICY, crate::Transport::Tcp);
    let request = client.submit(Operation::Store(Store::set(b"key", "value")));
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let notice = Notice::new(move || {
        seen.fetch_add(1, SeqCst);
    });
    client.notify(&request, notice);
    client.progress();
    assert_eq!(calls.load(SeqCst), 1);
    assert!(client.test(&request));
    assert!(client.wait(request).is_ok());
}

/// Nobody waits where an operation is begun: a server is stopped, and only what needs it goes on
/// when it does.
#[test]
fn what_is_begun_goes_on_while_the_caller_does_something_else() {
    for transport in WAYS {
        let fleet = Fleet::start(5);
        let client = fleet.client("ec:3,2", transport);
        crate::set_all(&client, 1);
        let process = Pid::from_child(&fleet.servers[1].child);
        kill_process(process, Signal::STOP).expect("it runs");
        // The signal alone is not felt at once.
        let stopped = waitpid(Some(process), WaitOptions::UNTRACED).expect("a child");
        assert!(stopped.is_some_and(|(_, status)| status.stopped()));
        let begun: Vec<_> = values(2)
            .map(|(key, value)| client.submit(Operation::Store(Store::set(key.as_bytes(), value))))
            .collect();
        client.progress();
        assert!(begun.iter().all(|one| !client.peek(one)));
        kill_process(process, Signal::CONT).expect("it is stopped");
        let mut begun = begun;
        while !begun.is_empty() {
            let ended = begun.swap_remove(client.wait_any(&begun));
            assert!(client.peek(&ended));
            let stored = client.wait(ended);
            assert!(matches!(stored, Ok(Reply::Done { .. })), "{stored:?}");
        }
        crate::assert_all(&client, 2, "when all have ended");
    }
}

/// Whoever asks again and again need not wait; and requests for one place and for several are
/// waited for together.
#[test]
fn requests_are_tested_and_waited_for_with_others() {
    for transport in WAYS {
        let fleet = Fleet::start(5);
        let client = fleet.client(POLICY, transport);
        let store = |key: &str, value: Vec<u8>| {
            client.submit(Operation::Store(Store::set(key.as_bytes(), value)))
        };
        let mut begun: Vec<_> = values(1).map(|(key, value)| store(&key, value)).collect();
        begun.push(store("single/a", vec![1; 40_000]));
        while !begun.is_empty() {
            let ended = begun.swap_remove(client.wait_any(&begun));
            assert!(matches!(client.wait(ended), Ok(Reply::Done { .. })));
        }
        for (key, value) in values(1) {
            let into = ReceiveBytes::default();
            let key = key.as_bytes();
            let request = client.submit(Operation::Get { key, into });
            support::wait_for("the value", || client.test(&request).then_some(()));
            assert!(value_of(client.complete(request)) == value);
        }
    }
}

/// A store is carried out also where nobody wants to know how it ends, and later ones of its key
/// come after it.
#[test]
fn what_is_begun_and_given_up_is_done() {
    let fleet = Fleet::start(5);
    let client = fleet.client("ec:3,2", crate::Transport::Tcp);
    for (key, value) in values(1) {
        let key = key.as_bytes();
        drop(client.submit(Operation::Store(Store::set(key, vec![9; 70_000]))));
        let into = ReceiveBytes::default();
        drop(client.submit(Operation::Get { key, into }));
        let first = client.submit(Operation::Store(Store::set(key, vec![8; 10])));
        let second = client.submit(Operation::Store(Store::set(key, value)));
        drop(second);
        assert!(client.wait(first).is_ok());
    }
    crate::assert_all(
        &fleet.client("ec:3,2", crate::Transport::Tcp),
        1,
        "after all",
    );
}
