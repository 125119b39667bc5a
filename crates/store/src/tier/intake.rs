//! Taking in what the log finds on its devices when the store is opened.

use crate::core::Core;
use crate::index::Location;
use farcache_log::{Entered, Found, Guard, Intake, Owner};

impl Intake for Core {
    /// Has the index grow at once to what it will hold, instead of by every few items.
    fn expect_items(&self, items: u64) {
        self.index.grow_while_empty(items);
    }

    fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    fn enter(
        &self,
        guard: Guard<'_>,
        hash: u64,
        fingerprint: u64,
        place: Option<Location>,
    ) -> Entered {
        let log = self.log();
        let chain = self.index.lock(hash);
        let older = chain.find(|location| {
            location.is_on_device() && log.has_fingerprint(guard, location, fingerprint)
        });
        let change = match (older, place) {
            (Some((slot, before)), Some(place)) => {
                log.kill(guard, before);
                // SAFETY: the log tells of the place.
                unsafe { chain.replace(slot, place) };
                0
            }
            (Some((slot, before)), None) => {
                log.kill(guard, before);
                chain.remove(slot);
                -1
            }
            // SAFETY: as above.
            (None, Some(place)) if unsafe { chain.insert(place) } => 1,
            (None, _) => return Entered::default(),
        };
        Entered {
            change,
            is_entered: place.is_some(),
        }
    }

    fn count_entries(&self, change: i64) {
        self.note_entries(change);
        let events = self.flusher_events();
        if change > 0 {
            events.added.add(change as u64);
        } else {
            events.removed.add(change.unsigned_abs());
        }
    }

    fn go_on(&self, from: Found) {
        // Before anybody moves an item, which makes it younger.
        self.fences.restore(from.fences.to_vec());
        if from.sequence > 0 {
            self.arena.raise_sequence(from.sequence);
        }
        self.flush.restore(from.flush_floor);
        self.versions.restore(from.version);
    }
}
