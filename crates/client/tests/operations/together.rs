//! Requests that overlap, in one thread and in several.

use crate::blocking::config;
use crate::support::{Product, Server, wait_for};
use farcache_client::{
    Client, ClientConfig, Delivery, Direction, Initial, Notice, Operation, ReceiveBytes, Reply,
    Store, Transport, Values,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const WAYS: [Transport; 2] = [Transport::Tcp, Transport::Fabric];

fn each_way(test: impl Fn(&Server, &ClientConfig)) {
    for transport in WAYS {
        for progress_thread in [false, true] {
            let server = Server::start(Product::Farcached, &[]);
            let mut config = config(&server.address(), transport);
            config.progress_thread = progress_thread;
            test(&server, &config);
        }
    }
}

fn get(key: &str) -> Operation<'_> {
    Operation::Get {
        key: key.as_bytes(),
        into: ReceiveBytes::default(),
    }
}

#[test]
fn requests_complete_in_any_order() {
    each_way(|_, config| {
        let client = Client::new(config).expect("a client");
        let keys: Vec<String> = (0..200).map(|number| format!("key-{number}")).collect();
        let sets: Vec<_> = keys
            .iter()
            .map(|key| client.submit(Operation::Store(Store::set(key.as_bytes(), key.as_str()))))
            .collect();
        for set in sets {
            client.wait(set).expect("stored");
        }
        let mut gets: Vec<_> = keys
            .iter()
            .map(|key| (key, client.submit(get(key))))
            .collect();
        // Every third is given up.
        gets.retain(|(key, _)| key.len() % 3 > 0);
        while let Some((key, request)) = gets.pop() {
            match client.wait(request).expect("an answer") {
                Reply::Value { value, .. } => assert_eq!(&value[..], key.as_bytes()),
                other => panic!("{other:?}"),
            }
        }
        let many = client.submit_get_many(&keys, Values::new(), Delivery::default());
        let requests = [client.submit(get("key-7")), client.submit(get("key-8"))];
        let first = client.wait_any(&requests);
        assert!(client.test(&requests[first]));
        assert_eq!(client.wait_get_many(many).found(), keys.len());
    });
}

#[test]
fn a_progress_thread_moves_what_nobody_waits_for() {
    for transport in WAYS {
        let server = Server::start(Product::Farcached, &[]);
        let mut config = config(&server.address(), transport);
        config.progress_thread = true;
        let client = Client::new(&config).expect("a client");
        let store = Store::set(b"key", vec![1; 1_000_000]);
        let request = client.submit(Operation::Store(store));
        let observer = Client::new(&config).expect("a client");
        crate::support::wait_for("the value", || observer.get("key").expect("an answer"));
        assert!(client.wait(request).is_ok());
    }
}

#[test]
fn threads_share_a_client() {
    each_way(|_, config| {
        let client = Client::new(config).expect("a client");
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let client = &client;
                scope.spawn(move || work(client, thread));
            }
        });
        assert_eq!(client.increment("sum", 0, None), Ok(4 * 300));
    });
}

fn work(client: &Client, thread: u64) {
    let mut value = Vec::new();
    let initial = Some(Initial {
        number: 1,
        expiry_s: 0,
    });
    for round in 0..300u64 {
        let key = format!("{thread}-{}", round % 10);
        let stored = vec![round as u8; (round * 97 % 20_000) as usize];
        client.set(&key, stored.clone(), 0).expect("stored");
        client
            .get_into(&key, &mut value)
            .expect("an answer")
            .expect("an item");
        assert_eq!(value, stored);
        client.increment("sum", 1, initial).expect("counted");
    }
}

#[test]
fn requests_outlive_their_client() {
    each_way(|_, config| {
        let client = Client::new(config).expect("a client");
        client.set("key", "value", 0).expect("stored");
        let request = client.submit(get("key"));
        let given_up = client.submit(get("key"));
        let other = Client::new(config).expect("a client");
        drop(client);
        drop(given_up);
        match other.wait(request).expect("an answer") {
            Reply::Value { value, .. } => assert_eq!(&value[..], b"value"),
            reply => panic!("{reply:?}"),
        }
    });
}

#[test]
fn quiet_operations_are_carried_out() {
    for transport in WAYS {
        let server = Server::start(Product::Farcached, &[]);
        let client = Client::new(&config(&server.address(), transport)).expect("a client");
        let delivery = Delivery::default();
        let direction = Direction::Increment;
        // More messages than a session has credits.
        for number in 0..500u32 {
            let key = &number.to_be_bytes();
            let store = Operation::Store(Store::set(key, "value"));
            client.submit_quietly(store, delivery).expect("sent");
            client.flush();
        }
        let count = Operation::Arithmetic {
            direction,
            key: b"number",
            delta: 1,
            initial: Some(Initial {
                number: 5,
                expiry_s: 0,
            }),
        };
        client.submit_quietly(count, delivery).expect("sent");
        assert!(client.submit_quietly(Operation::Version, delivery).is_err());
        client.flush();
        let counted = || client.increment("number", 0, None).ok();
        assert_eq!(crate::support::wait_for("the number", counted), 5);
        let last = 499u32.to_be_bytes();
        assert!(client.get(last).expect("an answer").is_some());
    }
}

#[test]
fn notices_tell_of_the_end_once() {
    each_way(|_, config| {
        let client = Client::new(config).expect("a client");
        client.set("there", "value", 0).expect("stored");
        let told = Arc::new(AtomicUsize::new(0));
        let notice = || {
            let told = Arc::clone(&told);
            Notice::new(move || {
                told.fetch_add(1, Ordering::SeqCst);
            })
        };
        let gets: Vec<_> = (0..50).map(|_| client.submit(get("there"))).collect();
        for request in &gets {
            client.notify(request, notice());
        }
        let refused = client.submit(get(""));
        client.notify(&refused, notice());
        let many = client.submit_get_many(&["there"], Values::new(), Delivery::default());
        client.notify(&many, notice());
        wait_for("all notices", || {
            if !config.progress_thread {
                client.progress();
            }
            (told.load(Ordering::SeqCst) == gets.len() + 2).then_some(())
        });
        assert!(gets.iter().all(|request| client.peek(request)));
        assert!(client.peek(&many) && client.peek(&refused));
        for request in gets {
            client.wait(request).expect("a value");
        }
        assert_eq!(told.load(Ordering::SeqCst), 52);
    });
}

#[test]
fn notices_may_use_the_client() {
    each_way(|_, config| {
        let client = Client::new(config).expect("a client");
        let (its_client, (sender, told)) = (client.clone(), std::sync::mpsc::channel());
        let set = client.submit(Operation::Store(Store::set(b"first", "1")));
        let notice = Notice::new(move || {
            its_client.set("second", "2", 0).expect("stored");
            sender.send(its_client.get("second")).expect("heard");
        });
        client.notify(&set, notice);
        client.wait(set).expect("stored");
        let second = wait_for("the notice", || told.try_recv().ok());
        assert_eq!(second.expect("an answer").expect("there").value, b"2");
    });
}
