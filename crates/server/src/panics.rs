//! What a panic does.
//!
//! A thread that serves clients or keeps data ends the process with it: nobody knows what state it
//! has left behind, and its clients would wait for ever. A supervisor starts the server anew, and
//! the SSD tier recovers as after any crash. Work that neither clients nor data need (metrics, the
//! tier's log, reading certificates anew) is given up alone.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Whether this thread does auxiliary work now.
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// From now on, a panic outside of [`contain`] ends the process.
pub fn end_process_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        if !IS_CONTAINED.get() {
            std::process::abort();
        }
    }));
}

/// Does auxiliary work on this thread; a panic ends the work alone, and nothing is returned then.
///
/// The work must hold no lock over code that may panic: other threads take a lock that was left so
/// for a failure.
pub fn contain<T>(work: impl FnOnce() -> T) -> Option<T> {
    let was_contained = IS_CONTAINED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_CONTAINED.set(was_contained);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus};

    /// Tells this test program that it has been started by one of its own tests.
    const ROLE: &str = "FARCACHE_TEST_PANICS";

    const SIGABRT: i32 = 6;

    /// Runs the test of this name in a process of its own, where it finds itself in a role.
    fn in_own_process(test: &str) -> ExitStatus {
        let name = format!("panics::tests::{test}");
        Command::new(std::env::current_exe().expect("a program"))
            .args(["--exact", &name, "--nocapture"])
            .env(ROLE, "child")
            .output()
            .expect("it runs")
            .status
    }

    fn is_child() -> bool {
        std::env::var_os(ROLE).is_some()
    }

    #[test]
    fn a_panic_of_auxiliary_work_ends_that_work_alone() {
        if !is_child() {
            let status = in_own_process("a_panic_of_auxiliary_work_ends_that_work_alone");
            return assert!(status.success(), "{status}");
        }
        end_process_on_panic();
        assert_eq!(contain(|| panic!("on purpose")), None::<()>);
        let thread = std::thread::spawn(|| contain(|| panic!("on purpose")));
        assert_eq!(thread.join().expect("it ends in order"), None::<()>);
        assert_eq!(contain(|| 1), Some(1));
    }

    #[test]
    fn any_other_panic_ends_the_process() {
        if !is_child() {
            let status = in_own_process("any_other_panic_ends_the_process");
            return assert_eq!(status.signal(), Some(SIGABRT), "{status}");
        }
        end_process_on_panic();
        assert_eq!(contain(|| 1), Some(1));
        // Returns only in an error.
        let _ = std::thread::spawn(|| panic!("on purpose")).join();
    }
}
