//! Versions that were stored here of late, and of which nobody has told that they are complete:
//! that every server which has to has stored them. See `docs/design/redundancy.md`, rule 6.
//!
//! What is remembered is bounded. A version that others take the room of counts as complete, as
//! does everything that a process finds on its devices when it starts.

use crate::prefetch::prefetch;
use crate::superseded::MIX;
use crate::sync::{AtomicU64, Ordering::SeqCst};
use farcache_base::version::Version;
use std::sync::OnceLock;

/// Many times what clients have under way: each tells of a version with its next request.
const BUCKETS: usize = 4096;

/// As many as a line of the processor's cache holds.
const KEPT: usize = if cfg!(loom) { 2 } else { 8 };

/// Versions in no order; 0 where there is none.
#[repr(align(64))]
struct Bucket([AtomicU64; KEPT]);

const _: () = assert!(cfg!(loom) || size_of::<Bucket>() == 64);

impl Bucket {
    fn empty() -> Bucket {
        Bucket(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn note(&self, version: Version) {
        loop {
            let kept = self.0.each_ref().map(|slot| slot.load(SeqCst));
            if kept.contains(&version.bits()) {
                return;
            }
            let oldest = (0..KEPT).min_by_key(|at| kept[*at]).unwrap_or_default();
            let (slot, before) = (&self.0[oldest], kept[oldest]);
            let replaced = slot.compare_exchange(before, version.bits(), SeqCst, SeqCst);
            if replaced.is_ok() {
                return;
            }
        }
    }

    fn note_complete(&self, version: Version) {
        let is_its = |slot: &&AtomicU64| slot.load(SeqCst) == version.bits();
        for slot in self.0.iter().filter(is_its) {
            // Whoever has put another one there meanwhile has forgotten this one.
            let _ = slot.compare_exchange(version.bits(), 0, SeqCst, SeqCst);
        }
    }

    fn has(&self, version: Version) -> bool {
        let mut kept = self.0.iter();
        kept.any(|slot| slot.load(SeqCst) == version.bits())
    }
}

/// Takes no memory to speak of before the first version.
#[derive(Default)]
pub(crate) struct Incomplete(OnceLock<Box<[Bucket]>>);

impl Incomplete {
    /// A version is about to be stored: to be called before anybody can read it. Of too many the
    /// oldest is forgotten.
    pub fn note(&self, version: Version) {
        let new = || (0..BUCKETS).map(|_| Bucket::empty()).collect();
        self.0.get_or_init(new)[bucket_of(version)].note(version);
    }

    /// Starts fetching what [`Incomplete::note`] will change.
    #[inline]
    pub fn prefetch(&self, version: Version) {
        if let Some(buckets) = self.0.get() {
            prefetch(&buckets[bucket_of(version)]);
        }
    }

    /// A version is complete.
    pub fn note_complete(&self, version: Version) {
        if let Some(buckets) = self.0.get() {
            buckets[bucket_of(version)].note_complete(version);
        }
    }

    /// Whether a version was stored and is not known to be complete.
    pub fn has(&self, version: Version) -> bool {
        let buckets = self.0.get();
        buckets.is_some_and(|all| all[bucket_of(version)].has(version))
    }
}

fn bucket_of(version: Version) -> usize {
    (version.bits().wrapping_mul(MIX) >> 32) as usize % BUCKETS
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn version(number: u64) -> Version {
        Version::from_bits(number << 14).unwrap()
    }

    #[test]
    fn a_version_is_incomplete_from_its_store_until_somebody_tells() {
        let incomplete = Incomplete::default();
        assert!(!incomplete.has(version(5)));
        incomplete.note_complete(version(5));
        incomplete.note(version(5));
        incomplete.note(version(6));
        incomplete.note(version(5));
        assert!(incomplete.has(version(5)) && incomplete.has(version(6)));
        assert!(!incomplete.has(version(4)));
        incomplete.note_complete(version(5));
        assert!(!incomplete.has(version(5)) && incomplete.has(version(6)));
    }

    #[test]
    fn of_too_many_the_oldest_are_forgotten() {
        let incomplete = Incomplete::default();
        let room = (BUCKETS * KEPT) as u64;
        (1..=4 * room).for_each(|number| incomplete.note(version(number)));
        let kept = |numbers: std::ops::RangeInclusive<u64>| {
            numbers
                .filter(|number| incomplete.has(version(*number)))
                .count() as u64
        };
        assert_eq!(kept(1..=4 * room), room, "no room is wasted");
        assert_eq!(kept(1..=2 * room), 0);
        assert_eq!(kept(3 * room + room / 2..=4 * room), room / 2 + 1);
    }
}
