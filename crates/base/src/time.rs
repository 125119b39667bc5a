//! Seconds since the server's epoch, which lies [`START`] seconds before it started.
//!
//! Like memcached's `rel_time_t`: 32 bits suffice for the life of a process, and because no
//! instant of a running server is below [`START`], 0 can mean "never" and 1 "already past".

/// Seconds since the server's epoch.
pub type Seconds = u32;

/// An expiry that never comes.
pub const NEVER: Seconds = 0;

/// An expiry that has always passed already.
pub const ALWAYS_PAST: Seconds = 1;

/// The instant at which a server starts.
pub const START: Seconds = 2;

/// Longest relative expiry, in seconds; a larger number is a Unix time.
/// Source: memcached `doc/protocol.txt`, "Expiration times".
pub const RELATIVE_EXPIRY_MAX: i64 = 60 * 60 * 24 * 30;

/// The instant now, and what relates it to Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Seconds since the server's epoch.
    pub now: Seconds,
    /// Unix time of the server's epoch, in seconds.
    pub epoch_unix: i64,
}

impl Clock {
    /// Turns a protocol expiry into an instant: 0 never, negative already past, up to 30 days
    /// relative to now, above that Unix time.
    pub fn expiry(&self, exptime: i64) -> Seconds {
        match exptime {
            0 => NEVER,
            ..0 => ALWAYS_PAST,
            1..=RELATIVE_EXPIRY_MAX => self.now.saturating_add(exptime as Seconds),
            _ => self.expiry_at_unix(exptime),
        }
    }

    fn expiry_at_unix(&self, unix: i64) -> Seconds {
        let since_epoch = unix.saturating_sub(self.epoch_unix);
        if since_epoch <= i64::from(self.now) {
            return ALWAYS_PAST;
        }
        Seconds::try_from(since_epoch).unwrap_or(Seconds::MAX)
    }

    /// Unix time of an instant of this server, in seconds.
    pub fn unix(&self, instant: Seconds) -> i64 {
        self.epoch_unix + i64::from(instant)
    }
}

/// Whether an expiry has come: an item expires in the second that its expiry names.
pub fn is_expired(expiry: Seconds, now: Seconds) -> bool {
    expiry != NEVER && expiry <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock {
        now: 100,
        epoch_unix: 1_700_000_000,
    };

    #[test]
    fn expiry_follows_the_thirty_day_rule() {
        assert_eq!(CLOCK.expiry(0), NEVER);
        assert_eq!(CLOCK.expiry(-1), ALWAYS_PAST);
        assert_eq!(CLOCK.expiry(10), 110);
        assert_eq!(
            CLOCK.expiry(RELATIVE_EXPIRY_MAX),
            100 + RELATIVE_EXPIRY_MAX as u32
        );
        assert_eq!(CLOCK.expiry(RELATIVE_EXPIRY_MAX + 1), ALWAYS_PAST);
        assert_eq!(CLOCK.expiry(1_700_000_150), 150);
        assert_eq!(CLOCK.expiry(i64::MAX), Seconds::MAX);
    }

    #[test]
    fn an_item_expires_in_the_second_named() {
        assert!(!is_expired(NEVER, 100));
        assert!(!is_expired(101, 100));
        assert!(is_expired(100, 100));
    }
}
