//! How a move fares at one of its ends, for those who watch it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How long rates look back, in milliseconds.
const RATE_WINDOW_MS: u64 = 5_000;

/// What has been sent or received.
#[derive(Debug, Default)]
pub struct Figures {
    keys: AtomicU64,
    bytes: AtomicU64,
    asked_for: AtomicU64,
    refused: AtomicU64,
    /// Of these, what came of going through everything, by which the rest is estimated.
    swept_keys: AtomicU64,
    swept_bytes: AtomicU64,
    /// How far that is, in parts of 2^32.
    progress: AtomicU64,
    window_began_ms: AtomicU64,
    window_bytes: AtomicU64,
    rate: AtomicU64,
}

/// [`Figures`] as numbers of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items sent or received.
    pub keys: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Of these items, those that a request asked for.
    pub asked_for: u64,
    /// Items received and not kept.
    pub refused: u64,
    /// An estimate of the items that are still to come.
    pub keys_left: u64,
    /// An estimate of their bytes.
    pub bytes_left: u64,
    /// Bytes a second, lately.
    pub bytes_per_second: u64,
}

impl Counts {
    /// The figures of several streams together.
    #[must_use]
    pub fn with(self, other: Counts) -> Counts {
        Counts {
            keys: self.keys + other.keys,
            bytes: self.bytes + other.bytes,
            asked_for: self.asked_for + other.asked_for,
            refused: self.refused + other.refused,
            keys_left: self.keys_left + other.keys_left,
            bytes_left: self.bytes_left + other.bytes_left,
            bytes_per_second: self.bytes_per_second + other.bytes_per_second,
        }
    }
}

/// Why an item has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Everything is gone through.
    Sweep,
    /// A request asked for it.
    Request,
}

impl Figures {
    /// An item of so many bytes was sent or received.
    pub fn note(&self, cause: Cause, bytes: usize, now_ms: u64) {
        let bytes = bytes as u64;
        self.keys.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        match cause {
            Cause::Request => {
                self.asked_for.fetch_add(1, Relaxed);
            }
            Cause::Sweep => {
                self.swept_keys.fetch_add(1, Relaxed);
                self.swept_bytes.fetch_add(bytes, Relaxed);
            }
        }
        self.roll(now_ms);
        self.window_bytes.fetch_add(bytes, Relaxed);
    }

    /// An item that came was not kept.
    pub fn note_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// So far everything has been gone through, in parts of 2^32.
    pub fn reached(&self, progress: u32) {
        self.progress.store(u64::from(progress), Relaxed);
    }

    fn roll(&self, now_ms: u64) {
        let began = self.window_began_ms.load(Relaxed);
        let passed = now_ms.saturating_sub(began);
        if passed < RATE_WINDOW_MS {
            return;
        }
        // Two threads that do so at once count one window twice, and that is all.
        self.window_began_ms.store(now_ms, Relaxed);
        let bytes = self.window_bytes.swap(0, Relaxed);
        let is_first = began == 0;
        let rate = if is_first { 0 } else { bytes * 1000 / passed };
        self.rate.store(rate, Relaxed);
    }

    /// All of it; nothing is left where the move `is_over`.
    pub fn counts(&self, now_ms: u64, is_over: bool) -> Counts {
        self.roll(now_ms);
        let progress = self.progress.load(Relaxed);
        let left = |done: u64| match progress {
            _ if is_over => 0,
            0 => 0,
            _ => {
                (u128::from(done) * u128::from((1 << 32) - progress) / u128::from(progress)) as u64
            }
        };
        Counts {
            keys: self.keys.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            asked_for: self.asked_for.load(Relaxed),
            refused: self.refused.load(Relaxed),
            keys_left: left(self.swept_keys.load(Relaxed)),
            bytes_left: left(self.swept_bytes.load(Relaxed)),
            bytes_per_second: self.rate.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_estimated_from_what_came_by_the_sweep() {
        let figures = Figures::default();
        for _ in 0..10 {
            figures.note(Cause::Sweep, 100, 1);
        }
        figures.note(Cause::Request, 50, 1);
        assert_eq!(
            figures.counts(1, false).keys_left,
            0,
            "nothing is known yet"
        );
        figures.reached(1 << 30);
        let counts = figures.counts(1, false);
        assert_eq!((counts.keys, counts.bytes, counts.asked_for), (11, 1050, 1));
        assert_eq!((counts.keys_left, counts.bytes_left), (30, 3000));
        assert_eq!(figures.counts(1, true).keys_left, 0);
    }

    #[test]
    fn a_rate_is_that_of_the_last_window() {
        let figures = Figures::default();
        figures.note(Cause::Sweep, 1, 10_000);
        figures.note(Cause::Sweep, 10_000, 11_000);
        assert_eq!(figures.counts(15_000, false).bytes_per_second, 2000);
        assert_eq!(figures.counts(25_000, false).bytes_per_second, 0);
    }
}
