//! A client that shares its processor with a thread that never sleeps. A program of its own: other
//! tests beside it would take the processor from it as well.

#[path = "../support/mod.rs"]
mod support;

use farcache_client::{Client, ClientConfig, Transport};
use rustix::process::Pid;
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

/// The first processor that may be used, and the others.
fn processors() -> (CpuSet, CpuSet) {
    let mut others = sched_getaffinity(None).expect("processors");
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| others.is_set(cpu));
    let mut own = CpuSet::new();
    own.set(first.expect("a processor"));
    if others.count() > 1 {
        others.unset(first.expect("a processor"));
    }
    (own, others)
}

/// Has the server answer from other processors: woken on the client's it would take that away.
fn keep_away(server: &Server, processors: &CpuSet) {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).expect("it runs");
    for task in tasks {
        let name = task.expect("an entry").file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        sched_setaffinity(Pid::from_raw(number.expect("a number")), processors)
            .expect("processors that may be used");
    }
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
    let (own, others) = processors();
    keep_away(&server, &others);
    let ask = move || {
        // What this thread starts runs there, too.
        sched_setaffinity(None, &own).expect("a processor that may be used");
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
