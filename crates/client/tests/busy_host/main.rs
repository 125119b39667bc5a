//! A client that shares its processor with a thread that never sleeps. A program of its own: other
//! tests beside it would take the processor from it as well.

#[path = "../support/mod.rs"]
mod support;

use farcache_client::{Client, ClientConfig, Transport};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::process::{Child, Command, Stdio};
use support::{PATIENCE, Product, Server};

/// Requests, one after the other.
const REQUESTS: u64 = 300;

/// How often they are made.
const ROUNDS: u32 = 8;

/// A process that never sleeps, on the processor of the thread that starts it.
struct BusyLoop(Child);

impl BusyLoop {
    fn start() -> BusyLoop {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        BusyLoop(command.stdin(Stdio::null()).spawn().expect("a shell"))
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.0.kill().expect("it runs for ever");
        self.0.wait().expect("a child");
    }
}

/// Has this thread, and what it starts, run on one processor only.
fn pin() {
    let allowed = sched_getaffinity(None).expect("processors");
    let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu));
    let mut set = CpuSet::new();
    set.set(cpu.expect("a processor"));
    sched_setaffinity(None, &set).expect("a processor that may be used");
}

/// How often the kernel has taken the processor from this thread.
fn involuntary_switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("it runs");
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    let count = count.expect("a count").trim();
    count.parse().expect("a number")
}

#[test]
fn a_client_beside_a_busy_loop_does_not_lose_its_processor_with_every_request() {
    let server = Server::start(Product::Memcached, &[]);
    let mut config = ClientConfig::new(&server.address()).expect("addresses");
    config.transport = Transport::Tcp;
    config.timeout = PATIENCE;
    config.connect_timeout = PATIENCE;
    let client = Client::new(&config).expect("a client");
    client.set("key", "value", 0).expect("stored");
    let ask = move || {
        pin();
        let _busy_loop = BusyLoop::start();
        let round = || {
            let before = involuntary_switches();
            for _ in 0..REQUESTS {
                let item = client.get("key").expect("an answer");
                assert_eq!(item.expect("an item").value, b"value");
            }
            involuntary_switches() - before
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
