//! How long a writer goes on trying to store a chunk.

use farcache_client::Error;
use std::time::{Duration, Instant};

/// Places that are tried whatever the settings say. With two copies on three servers, of which one
/// is gone, one place in three will do: all of these fail once in 3 10^8 times.
const PLACES_MIN: u32 = 48;

/// Places that are tried without a pause.
const PLACES_AT_ONCE: u32 = 8;

/// Pauses between later ones.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// What is left of it for one chunk.
pub(crate) struct Patience {
    limit: Duration,
    failing_since: Option<Instant>,
    tries: u32,
}

impl Patience {
    /// All of it.
    pub fn new(limit: Duration) -> Self {
        Patience {
            limit,
            failing_since: None,
            tries: 0,
        }
    }

    /// How long to pause after this failure before the next place is tried; `None` where the
    /// failure stands. Of a chunk in one place, a server that is lost has the others of the blob,
    /// too: nothing is gained then.
    pub fn pause_after(&mut self, error: &Error, has_copies: bool) -> Option<Duration> {
        let is_full = matches!(error, Error::OutOfMemory);
        let is_away = matches!(
            error,
            Error::Connect(_) | Error::ServerDead | Error::ConnectionLost(_)
        );
        if !(is_full || is_away && has_copies) {
            return None;
        }
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        let tries_min = if has_copies { PLACES_MIN } else { 1 };
        self.tries += 1;
        if self.tries >= tries_min && since.elapsed() >= self.limit {
            return None;
        }
        Some(self.pause())
    }

    fn pause(&self) -> Duration {
        match self.tries.checked_sub(PLACES_AT_ONCE) {
            None | Some(0) => Duration::ZERO,
            Some(more) => PAUSE_MAX.min(PAUSE_MIN * 2u32.pow(more.min(8))),
        }
    }
}
