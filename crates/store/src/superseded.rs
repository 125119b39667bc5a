//! Which versions keys had before something newer took their place: the last few thousand of them.
//!
//! A write that is refused may have been here before: a reader brought it, it was shown, and was
//! overwritten. Its writer must not write it anew above that, so it is told that it was stored.
//! What is remembered is bounded. Up to which version something was dropped is remembered too, so
//! that *no* is never said in place of *nobody knows*. See `docs/design/redundancy.md`, rule 3.

use crate::item::Stamp;
use crate::schedule::{Mutex, MutexGuard};
use std::sync::OnceLock;

/// Keys share a bucket by their hash. With four versions in each, what is overwritten 100,000 times
/// a second is remembered for 0.3 s: longer than a write is on its way where nothing fails.
const BUCKETS: usize = 8192;
const KEPT: usize = 4;

/// Set in what is kept of a tombstone. A version has it never.
const TOMBSTONE: u64 = 1 << 63;

/// Whether a key has had a version before something newer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Had {
    Yes,
    No,
    /// It may have had it.
    Unknown,
}

/// One that was overwritten.
#[derive(Clone, Copy, Default)]
struct Overwritten {
    hash: u64,
    /// With [`TOMBSTONE`] for one; 0 for none.
    version: u64,
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    kept: [Overwritten; KEPT],
    /// Where the next one goes, in place of the oldest.
    next: u8,
    /// The newest version that is not kept any more.
    dropped: u64,
}

/// Takes no memory before the first item that has a version is overwritten.
#[derive(Default)]
pub(crate) struct Superseded(OnceLock<Box<[Mutex<Bucket>]>>);

impl Superseded {
    /// A key of this hash had this version, and has something newer now. With the key's chain
    /// locked, before the newer one can be seen.
    pub fn note(&self, hash: u64, stamp: Stamp) {
        let mut bucket = locked(&self.buckets()[bucket_of(hash)]);
        let next = usize::from(bucket.next);
        let version = kept(stamp);
        let before = std::mem::replace(&mut bucket.kept[next], Overwritten { hash, version });
        bucket.dropped = bucket.dropped.max(before.version & !TOMBSTONE);
        bucket.next = ((next + 1) % KEPT) as u8;
    }

    /// A key of this hash had some version up to this one.
    pub fn note_up_to(&self, hash: u64, version: u64) {
        if version > 0 {
            let mut bucket = locked(&self.buckets()[bucket_of(hash)]);
            bucket.dropped = bucket.dropped.max(version);
        }
    }

    /// Whether a key of this hash, which has something newer, has had this version.
    pub fn had(&self, hash: u64, stamp: Stamp) -> Had {
        let Some(buckets) = self.0.get() else {
            return Had::No;
        };
        let bucket = locked(&buckets[bucket_of(hash)]);
        let is_it = |one: &Overwritten| one.hash == hash && one.version == kept(stamp);
        match bucket.kept.iter().any(is_it) {
            true => Had::Yes,
            false if bucket.dropped >= stamp.version.bits() => Had::Unknown,
            false => Had::No,
        }
    }

    fn buckets(&self) -> &[Mutex<Bucket>] {
        let new = || (0..BUCKETS).map(|_| Mutex::default()).collect();
        self.0.get_or_init(new)
    }
}

fn kept(stamp: Stamp) -> u64 {
    match stamp.is_tombstone {
        true => stamp.version.bits() | TOMBSTONE,
        false => stamp.version.bits(),
    }
}

fn locked(bucket: &Mutex<Bucket>) -> MutexGuard<'_, Bucket> {
    bucket.lock().expect("no holder panics")
}

/// By other bits than the index's buckets.
fn bucket_of(hash: u64) -> usize {
    (hash >> 32) as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_base::version::Version;

    fn version(number: u64) -> Stamp {
        Stamp::of_value(Version::from_bits(number << 14).unwrap())
    }

    #[test]
    fn what_was_overwritten_is_known_until_others_take_its_room() {
        let superseded = Superseded::default();
        assert_eq!(superseded.had(7, version(5)), Had::No);
        superseded.note(7, version(5));
        assert_eq!(superseded.had(7, version(5)), Had::Yes);
        assert_eq!(superseded.had(7, version(4)), Had::No);
        let tombstone = Stamp::of_tombstone(version(5).version);
        assert_eq!(superseded.had(7, tombstone), Had::No, "another write");
        // Of another key that shares the bucket.
        assert_eq!(superseded.had(8, version(5)), Had::No);
        for number in 6..10 {
            superseded.note(8, version(number));
        }
        assert_eq!(superseded.had(7, version(5)), Had::Unknown);
        assert_eq!(superseded.had(7, version(4)), Had::Unknown);
        assert_eq!(superseded.had(7, version(6)), Had::No);
        assert_eq!(superseded.had(8, version(9)), Had::Yes);
    }

    #[test]
    fn of_what_lies_on_a_device_a_bound_is_known() {
        let superseded = Superseded::default();
        superseded.note_up_to(7, 0);
        assert_eq!(superseded.had(7, version(1)), Had::No);
        superseded.note_up_to(7, version(5).version.bits());
        assert_eq!(superseded.had(7, version(5)), Had::Unknown);
        assert_eq!(superseded.had(7, version(6)), Had::No);
    }
}
