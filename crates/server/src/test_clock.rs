//! The hook of builds with debug assertions by which tests move the server's time (`debugtime`),
//! as memcached's own debug build has it. Time only goes forward: the store forgets none of it.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Whether this build lets clients move the time.
pub const IS_BUILT_IN: bool = cfg!(debug_assertions);

/// What [`TestClock::paused_at`] holds while time goes on.
const RUNNING: u64 = u64::MAX;

/// How the time shown differs from the real one.
pub struct TestClock {
    /// Seconds added.
    ahead: AtomicU64,
    /// Real seconds since the start at which time stands still.
    paused_at: AtomicU64,
}

impl Default for TestClock {
    /// Real time.
    fn default() -> TestClock {
        TestClock {
            ahead: AtomicU64::new(0),
            paused_at: AtomicU64::new(RUNNING),
        }
    }
}

impl TestClock {
    /// The seconds since the start to show where so many have really passed.
    #[inline]
    pub fn shown(&self, real_seconds: u64) -> u64 {
        if !IS_BUILT_IN {
            return real_seconds;
        }
        real_seconds.min(self.paused_at.load(Relaxed)) + self.ahead.load(Relaxed)
    }

    /// Moves the time forward.
    pub fn advance(&self, seconds: u64) {
        self.ahead.fetch_add(seconds, Relaxed);
    }

    /// Stops the time where so many real seconds have passed; does nothing where it stands still.
    pub fn pause(&self, real_seconds: u64) {
        let _ = self
            .paused_at
            .compare_exchange(RUNNING, real_seconds, Relaxed, Relaxed);
    }

    /// Lets the time go on, at once as far as it would have come.
    pub fn resume(&self) {
        self.paused_at.store(RUNNING, Relaxed);
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::TestClock;

    #[test]
    fn time_is_moved_stopped_and_let_go_on() {
        let clock = TestClock::default();
        assert_eq!(clock.shown(5), 5);
        clock.advance(10);
        assert_eq!(clock.shown(6), 16);
        clock.pause(7);
        clock.pause(9);
        assert_eq!(clock.shown(30), 17);
        clock.advance(1);
        assert_eq!(clock.shown(31), 18);
        clock.resume();
        assert_eq!(clock.shown(32), 43);
    }
}
