//! Keys that somebody writes just now: they are looked at again after a moment, in the same pass.

use super::Entry;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a key is left alone after the first look; each further time twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// So often a key is put off in a pass: for more than 6 s in all, after which whoever wrote a
/// version has ended ([`super::OwnState::ended`]).
const LOOKS_MAX: u32 = 12;

/// The keys.
#[derive(Debug, Default)]
pub(super) struct Later {
    waiting: Vec<(Duration, Entry)>,
    /// How often each was put off in this pass.
    looks: BTreeMap<Box<[u8]>, u32>,
}

impl Later {
    /// Leaves a key for later; false where that was done often enough.
    pub fn put_off(&mut self, entry: Entry, now: Duration) -> bool {
        // Several lists name it.
        if self.waiting.iter().any(|(_, other)| other.key == entry.key) {
            return true;
        }
        let looks = self.looks.entry(entry.key.clone()).or_default();
        if *looks == LOOKS_MAX {
            return false;
        }
        let pause = PAUSE_MAX.min(PAUSE_MIN * (1 << *looks));
        *looks += 1;
        self.waiting.push((now + pause, entry));
        true
    }

    /// Those whose time has come.
    pub fn take_due(&mut self, now: Duration) -> Vec<Entry> {
        let due = self.waiting.extract_if(.., |(due, _)| *due <= now);
        due.map(|(_, entry)| entry).collect()
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<Duration> {
        self.waiting.iter().map(|(due, _)| *due).min()
    }
}
