//! A processor that a process which never sleeps wants as well, and how often the kernel takes it
//! from others.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::process::{Child, Command, Stdio};

/// A process that never sleeps, at first on the processors of the thread that starts it.
pub struct BusyLoop(pub Child);

impl BusyLoop {
    /// Starts it.
    pub fn start() -> BusyLoop {
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

/// The first processor that may be used, and the others; twice the same where there is only one.
pub fn processors() -> (CpuSet, CpuSet) {
    let mut others = sched_getaffinity(None).expect("processors");
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| others.is_set(cpu));
    let first = first.expect("a processor");
    let mut own = CpuSet::new();
    own.set(first);
    if others.count() > 1 {
        others.unset(first);
    }
    (own, others)
}

/// The numbers of a process's threads.
pub fn threads_of(process: &Child) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.id())).expect("it runs");
    let names = threads.map(|thread| thread.expect("an entry").file_name());
    names
        .map(|name| name.to_str().and_then(|name| name.parse().ok()))
        .map(|number| number.expect("a number"))
        .collect()
}

/// Has all threads of a process run on these processors only.
pub fn pin(process: &Child, processors: &CpuSet) {
    for thread in threads_of(process) {
        sched_setaffinity(Pid::from_raw(thread), processors).expect("processors that may be used");
    }
}

/// How often the kernel has taken the processor from a thread, by its folder in `/proc`.
pub fn involuntary_switches(thread: &str) -> u64 {
    let status = std::fs::read_to_string(format!("{thread}/status")).expect("it runs");
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    let count = count.expect("a count").trim();
    count.parse().expect("a number")
}
