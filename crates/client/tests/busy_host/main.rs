//! A client that shares its processor with a thread that never sleeps. A program of its own: other
//! tests beside it would take the processor from it as well.

mod late_relay;

#[path = "../../../../tests/busy_processor.rs"]
mod busy_processor;
#[path = "../support/mod.rs"]
mod support;

use busy_processor::{BusyLoop, involuntary_switches, pin, processors};
use farcache_client::{Client, ClientConfig, Transport};
use late_relay::LateRelay;
use rustix::thread::sched_setaffinity;
use std::time::Duration;
use support::{PATIENCE, Product, Server};

/// Requests, one after the other.
const REQUESTS: u64 = 100;

/// How often they are made.
const ROUNDS: u32 = 8;

/// How late each answer is.
const LATENESS: Duration = Duration::from_micros(500);

/// How long the client polls where it may: for longer than that.
const SPIN: Duration = Duration::from_millis(50);

#[test]
fn a_client_beside_a_busy_loop_does_not_lose_its_processor_with_every_request() {
    let server = Server::start(Product::Memcached, &[]);
    let (own, others) = processors();
    // Woken on the client's processor, server and relay would take that away.
    pin(&server.child, &others);
    sched_setaffinity(None, &others).expect("processors that may be used");
    let relay = LateRelay::start(&server.address(), LATENESS);
    let mut config = ClientConfig::new(&relay.address().to_string()).expect("addresses");
    config.transport = Transport::Tcp;
    config.spin = SPIN;
    config.timeout = PATIENCE;
    config.connect_timeout = PATIENCE;
    let client = Client::new(&config).expect("a client");
    client.set("key", "value", 0).expect("stored");
    // What this thread starts from here on runs there, too.
    sched_setaffinity(None, &own).expect("a processor that may be used");
    let _busy_loop = BusyLoop::start();
    let round = |_| {
        let before = involuntary_switches("/proc/thread-self");
        for _ in 0..REQUESTS {
            let item = client.get("key").expect("an answer");
            assert_eq!(item.expect("an item").value, b"value");
        }
        involuntary_switches("/proc/thread-self") - before
    };
    // Who polls while it waits for an answer loses its processor to the loop each time. Others on
    // the machine may take it as well for a while, but not in each round.
    let lost = (0..ROUNDS).map(round).min().expect("rounds");
    assert!(
        lost < REQUESTS / 3,
        "lost it {lost} times in {REQUESTS} requests"
    );
}
