//! Which versions keys had before something newer took their place: the last few thousand of them.
//!
//! A write that is refused may have been here before: a reader brought it, it was shown, and was
//! overwritten. Its writer must not write it anew above that, so it is told that it was stored.
//! What is remembered is bounded. Up to which version something was dropped is remembered too, so
//! that *no* is never said in place of *nobody knows*. See `docs/design/redundancy.md`, rule 3.

use crate::item::{RawItem, Stamp};
use crate::prefetch::prefetch;
use crate::schedule::atomic::{AtomicU64, Ordering::SeqCst};
use crate::schedule::{Mutex, MutexGuard};
use farcache_base::version::Version;
use std::sync::OnceLock;

/// A bucket is chosen by key and version, so that one key that is written all the time has all of
/// them. With four versions in each, what 100,000 writes a second overwrite is remembered for
/// 0.3 s: longer than a write is on its way where nothing fails.
const BUCKETS: usize = 8192;
const KEPT: usize = 4;

/// Keys share by their hash what is known of versions that nobody has seen when they went.
const UNSEEN: usize = 1024;

/// Set in what is kept of a tombstone. A version has it never.
const TOMBSTONE: u64 = 1 << 63;

/// So much of a value tells it from another one of the same version: what has parts at several
/// servers begins with a header that has checksums.
const PRINT_BYTES: usize = 32;

/// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, 6.4).
pub(crate) const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// A write that was here, or is refused.
#[derive(Clone, Copy)]
pub(crate) struct Write {
    stamp: Stamp,
    /// Tells apart two writes that have one version, because two writers have one number.
    print: u64,
}

impl Write {
    pub fn of_tombstone(stamp: Stamp) -> Write {
        Write { stamp, print: 0 }
    }

    pub fn of_item(stamp: Stamp, item: RawItem) -> Write {
        match stamp.is_tombstone {
            true => Write::of_tombstone(stamp),
            false => Write::of_value(stamp, item.flags(), item.value()),
        }
    }

    fn of_value(stamp: Stamp, flags: u32, value: &[u8]) -> Write {
        let about = u64::from(flags) << 32 ^ value.len() as u64;
        let beginning = &value[..value.len().min(PRINT_BYTES)];
        let words = beginning.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        });
        let mix = |sum: u64, word: u64| (sum.rotate_left(29) ^ word).wrapping_mul(MIX);
        let print = words.fold(about.wrapping_mul(MIX), mix);
        Write { stamp, print }
    }

    pub fn version(self) -> Version {
        self.stamp.version
    }

    fn kept(self, hash: u64) -> Overwritten {
        let flag = if self.stamp.is_tombstone {
            TOMBSTONE
        } else {
            0
        };
        Overwritten {
            of: hash ^ self.print,
            version: self.stamp.version.bits() | flag,
        }
    }
}

fn bucket_of(hash: u64, version: Version) -> usize {
    let mixed = (hash ^ version.bits()).wrapping_mul(MIX);
    (mixed >> 32) as usize % BUCKETS
}

/// Whether a key has had a version before something newer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Had {
    Yes,
    No,
    /// It may have had it.
    Unknown,
}

/// One that was overwritten.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Overwritten {
    /// The key's hash, and what tells the value.
    of: u64,
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

/// Takes no memory to speak of before the first item that has a version is overwritten.
pub(crate) struct Superseded {
    buckets: OnceLock<Box<[Mutex<Bucket>]>>,
    /// Versions that keys may have had were not newer than these.
    unseen: Box<[AtomicU64]>,
}

impl Default for Superseded {
    fn default() -> Superseded {
        Superseded {
            buckets: OnceLock::new(),
            unseen: (0..UNSEEN).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Superseded {
    /// A key of this hash had this version, and has something newer now. With the key's chain
    /// locked, before the newer one can be seen.
    pub fn note(&self, hash: u64, write: Write) {
        let mut bucket = locked(&self.buckets()[bucket_of(hash, write.version())]);
        let next = usize::from(bucket.next);
        let before = std::mem::replace(&mut bucket.kept[next], write.kept(hash));
        bucket.dropped = bucket.dropped.max(before.version & !TOMBSTONE);
        bucket.next = ((next + 1) % KEPT) as u8;
    }

    /// Starts fetching what [`Superseded::note`] will change.
    #[inline]
    pub fn prefetch(&self, hash: u64, version: Version) {
        if let Some(all) = self.buckets.get() {
            prefetch(&all[bucket_of(hash, version)]);
        }
    }

    /// A key of this hash had some version up to this one.
    pub fn note_up_to(&self, hash: u64, version: u64) {
        self.unseen[unseen_of(hash)].fetch_max(version, SeqCst);
    }

    /// Whether a key of this hash, which has something newer, has had this write.
    pub fn had(&self, hash: u64, write: Write) -> Had {
        let unseen = self.unseen[unseen_of(hash)].load(SeqCst);
        let bucket = bucket_of(hash, write.version());
        let bucket = self.buckets.get().map(|all| &all[bucket]);
        let bucket = bucket.map(|bucket| *locked(bucket)).unwrap_or_default();
        match bucket.kept.contains(&write.kept(hash)) {
            true => Had::Yes,
            false if bucket.dropped.max(unseen) >= write.stamp.version.bits() => Had::Unknown,
            false => Had::No,
        }
    }

    fn buckets(&self) -> &[Mutex<Bucket>] {
        let new = || (0..BUCKETS).map(|_| Mutex::default()).collect();
        self.buckets.get_or_init(new)
    }
}

fn locked(bucket: &Mutex<Bucket>) -> MutexGuard<'_, Bucket> {
    bucket.lock().expect("no holder panics")
}

/// By bits that choose no bucket in indexes of usual sizes.
fn unseen_of(hash: u64) -> usize {
    (hash >> 40) as usize % UNSEEN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u64) -> Version {
        Version::from_bits(number << 14).unwrap()
    }

    fn write(number: u64) -> Write {
        Write::of_value(Stamp::of_value(version(number)), 0, b"value")
    }

    #[test]
    fn what_was_overwritten_is_known_until_others_take_its_room() {
        let superseded = Superseded::default();
        assert_eq!(superseded.had(7, write(5)), Had::No);
        superseded.note(7, write(5));
        assert_eq!(superseded.had(7, write(5)), Had::Yes);
        assert_eq!(superseded.had(7, write(4)), Had::No);
        let stamp = Stamp::of_value(version(5));
        for other in [
            Write::of_tombstone(Stamp::of_tombstone(version(5))),
            Write::of_value(stamp, 0, b"other"),
            Write::of_value(stamp, 0, b"value\0"),
            Write::of_value(stamp, 1, b"value"),
        ] {
            assert_eq!(superseded.had(7, other), Had::No, "another write");
        }
        assert_eq!(superseded.had(8, write(5)), Had::No, "another key");
        let many = (BUCKETS * KEPT) as u64;
        for number in 6..6 + many / 2 {
            superseded.note(7, write(number));
        }
        assert_eq!(superseded.had(7, write(5)), Had::Yes, "half of the room");
        for number in 6 + many / 2..8 * many {
            superseded.note(7, write(number));
        }
        assert_eq!(superseded.had(7, write(5)), Had::Unknown);
        assert_eq!(superseded.had(7, write(4)), Had::Unknown);
        assert_eq!(superseded.had(7, write(8 * many)), Had::No);
        assert_eq!(superseded.had(7, write(8 * many - 1)), Had::Yes);
    }

    #[test]
    fn of_what_lies_on_a_device_a_bound_is_known() {
        let superseded = Superseded::default();
        superseded.note_up_to(7, 0);
        assert_eq!(superseded.had(7, write(1)), Had::No);
        superseded.note_up_to(7, version(5).bits());
        assert_eq!(superseded.had(7, write(5)), Had::Unknown);
        assert_eq!(superseded.had(7, write(6)), Had::No);
    }
}
