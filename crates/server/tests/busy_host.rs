//! A server that shares its processor with threads that never sleep.

mod support;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::process::{Child, Command, Stdio};
use support::Server;

/// Requests, one after the other.
const REQUESTS: u64 = 300;

/// How often they are made.
const ROUNDS: u32 = 8;

/// A process that never sleeps.
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

/// The numbers of a process's threads.
fn threads_of(process: &Child) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.id())).expect("it runs");
    let names = threads.map(|thread| thread.expect("an entry").file_name());
    names
        .map(|name| name.to_str().and_then(|name| name.parse().ok()))
        .map(|number| number.expect("a number"))
        .collect()
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

fn pin(process: &Child, processors: &CpuSet) {
    for thread in threads_of(process) {
        sched_setaffinity(Pid::from_raw(thread), processors).expect("a processor that may be used");
    }
}

/// How often the kernel has taken the processor from a thread of this process.
fn involuntary_switches(process: &Child) -> u64 {
    let of_thread = |thread: i32| {
        let path = format!("/proc/{}/task/{thread}/status", process.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
        count
            .expect("a count")
            .trim()
            .parse::<u64>()
            .expect("a number")
    };
    threads_of(process).into_iter().map(of_thread).sum()
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
        let before = involuntary_switches(&server.child);
        for _ in 0..REQUESTS {
            assert_eq!(client.get("key").as_deref(), Some(&b"value"[..]));
        }
        involuntary_switches(&server.child) - before
    };
    // Who polls while it waits for the next request loses it to the loop each time; others on the machine may take it as
    // well for a while, but not in each round.
    let lost = (0..ROUNDS).map(round).min().expect("rounds");
    assert!(
        lost < REQUESTS / 3,
        "lost it {lost} times in {REQUESTS} requests"
    );
}
