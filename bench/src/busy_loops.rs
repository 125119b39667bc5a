//! Processes that want the same cores as what is measured, and never sleep.

use farcache_harness::pinning::pinned_to_any;
use farcache_harness::server_process::{kill_on_signals, spare_on_signals};
use rustix::process::Pid;
use std::io;
use std::process::{Child, Command, Stdio};

/// A loop that does nothing.
const LOOP: &str = "while :; do :; done";

/// Busy loops; they end when this is dropped.
pub struct BusyLoops(Vec<Child>);

impl BusyLoops {
    /// Starts so many on these cores; on all where none are named.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn start(count: usize, cpus: &[usize]) -> io::Result<BusyLoops> {
        let mut loops = BusyLoops(Vec::with_capacity(count));
        for _ in 0..count {
            let mut command = Command::new("sh");
            command.args(["-c", LOOP]).stdin(Stdio::null());
            let child = pinned_to_any(cpus, || command.spawn())??;
            kill_on_signals(Pid::from_child(&child));
            loops.0.push(child);
        }
        Ok(loops)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // An error means that it has ended already, which is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
            spare_on_signals(Pid::from_child(child));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::test_kill_process;

    #[test]
    fn busy_loops_run_until_they_are_dropped() {
        let loops = BusyLoops::start(2, &[]).expect("two processes");
        let pids: Vec<Pid> = loops.0.iter().map(Pid::from_child).collect();
        let are_alive = |pid: &Pid| test_kill_process(*pid).is_ok();
        assert!(pids.iter().all(are_alive));
        drop(loops);
        assert!(!pids.iter().any(are_alive));
    }
}
