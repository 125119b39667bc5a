//! A client that shares its processor with a thread that never sleeps. A program of its own: other
//! tests beside it would take the processor from it as well.

#[path = "../../../../tests/busy_processor.rs"]
mod busy_processor;
#[path = "../support/mod.rs"]
mod support;

use busy_processor::{BusyLoop, involuntary_switches, pin, processors};
use farcache_client::{Client, ClientConfig, Transport};
use rustix::thread::sched_setaffinity;
use support::{PATIENCE, Product, Server};

/// Requests, one after the other.
const REQUESTS: u64 = 300;

/// How often they are made.
const ROUNDS: u32 = 8;

#[test]
fn a_client_beside_a_busy_loop_does_not_lose_its_processor_with_every_request() {
    let server = Server::start(Product::Memcached, &[]);
    let mut config = ClientConfig::new(&server.address()).expect("addresses");
    config.transport = Transport::Tcp;
    config.timeout = PATIENCE;
    config.connect_timeout = PATIENCE;
    let client = Client::new(&config).expect("a client");
    client.set("key", "value", 0).expect("stored");
    let (own, others) = processors();
    // Woken on the client's processor, the server would take that away.
    pin(&server.child, &others);
    let ask = move || {
        // What this thread starts runs there, too.
        sched_setaffinity(None, &own).expect("a processor that may be used");
        let _busy_loop = BusyLoop::start();
        let round = || {
            let before = involuntary_switches("/proc/thread-self");
            for _ in 0..REQUESTS {
                let item = client.get("key").expect("an answer");
                assert_eq!(item.expect("an item").value, b"value");
            }
            involuntary_switches("/proc/thread-self") - before
        };
        // Others on the machine may take it as well for a while, but not in each round.
        (0..ROUNDS).map(|_| round()).min().expect("rounds")
    };
    // Who polls while it waits for an answer loses it to the loop each time.
    let lost = std::thread::spawn(ask).join().expect("answers");
    assert!(
        lost < REQUESTS / 3,
        "lost it {lost} times in {REQUESTS} requests"
    );
}
