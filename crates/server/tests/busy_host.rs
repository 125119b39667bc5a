//! A server that shares its processor with threads that never sleep.

#[path = "../../../tests/busy_processor.rs"]
mod busy_processor;
mod support;

use busy_processor::{BusyLoop, involuntary_switches, pin, processors, threads_of};
use rustix::thread::sched_setaffinity;
use std::process::Child;
use support::Server;

/// Requests, one after the other.
const REQUESTS: u64 = 300;

/// How often they are made.
const ROUNDS: u32 = 8;

/// How often the kernel has taken the processor from a thread of this process.
fn switches_of(process: &Child) -> u64 {
    let folders = threads_of(process).into_iter();
    let folders = folders.map(|thread| format!("/proc/{}/task/{thread}", process.id()));
    folders.map(|folder| involuntary_switches(&folder)).sum()
}

#[test]
fn a_worker_beside_a_busy_loop_does_not_lose_its_processor_with_every_request() {
    let server = Server::start_at(&["-l", "127.0.0.1", "-p", "-1", "-t", "1"], &[]);
    let (own, others) = processors();
    let busy_loop = BusyLoop::start();
    pin(&server.child, &own);
    pin(&busy_loop.0, &own);
    // Woken on the server's processor, the client would take that away.
    sched_setaffinity(None, &others).expect("processors that may be used");
    let mut client = server.connect();
    client.set("key", b"value");
    let round = |_| {
        let before = switches_of(&server.child);
        for _ in 0..REQUESTS {
            assert_eq!(client.get("key").as_deref(), Some(&b"value"[..]));
        }
        switches_of(&server.child) - before
    };
    // Who polls while it waits for the next request loses it to the loop each time; others on the
    // machine may take it as well for a while, but not in each round.
    let lost = (0..ROUNDS).map(round).min().expect("rounds");
    assert!(
        lost < REQUESTS / 3,
        "lost it {lost} times in {REQUESTS} requests"
    );
}
