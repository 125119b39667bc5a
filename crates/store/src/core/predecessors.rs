//! Items that a newer version has taken the place of, kept until that is known to be complete.
//!
//! Where a value lies in shards at several servers, one that is being overwritten must be there
//! until enough servers have the new one: its writer may die in between. So a store that is told to
//! ([`crate::SetOptions::keeping`]) puts aside what the key had, whether that was complete or
//! not, and gives it up when it is told that what took its place is
//! ([`crate::StoreHandle::note_complete`]). See `docs/design/redundancy.md`, rule 6.
//!
//! What is put aside stays where it lies, as a value does that a client is being sent. It takes no
//! part in eviction; it is copied where its segment is wanted. The oldest go where there are too
//! many, or too many bytes of them: what is beneath one that has gone has gone before it, and it is
//! remembered up to which version any have, so that nobody takes something older for what was there
//! last.

use super::PinnedValue;
use crate::item::{RawItem, Stamp};
use crate::schedule::atomic::{AtomicU64, Ordering::SeqCst};
use crate::schedule::{Mutex, MutexGuard};
use farcache_base::time::{Seconds, is_expired};
use farcache_base::version::Version;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Many times what writers have under way: each tells with its next request that a version is
/// complete.
const KEPT_MAX: usize = 4096;

/// Values that are put aside take at most so much of the memory limit at start: one in so many
/// bytes.
const KEPT_PART: u64 = 16;

/// What a key had before something newer took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predecessor<'a> {
    /// Its version.
    pub version: Version,
    /// Whether it is a tombstone.
    pub is_tombstone: bool,
    /// The client's flags.
    pub flags: u32,
    /// The value; empty for a tombstone.
    pub value: &'a [u8],
}

struct Kept {
    hash: u64,
    stamp: Stamp,
    flags: u32,
    expiry: Seconds,
    value: PinnedValue,
}

#[derive(Default)]
struct All {
    /// By the version that took its place.
    by_successor: BTreeMap<u64, Kept>,
    value_bytes: u64,
    /// The newest version that was to be kept, and is not any more.
    dropped: Option<Version>,
}

/// All that is put aside.
pub(crate) struct Predecessors {
    all: Mutex<All>,
    /// How many there are, so that nobody takes the lock where there are none.
    count: AtomicU64,
    /// How often everything was voided.
    voids: AtomicU64,
    value_bytes_max: u64,
}

/// That nothing had been voided so far; see [`Predecessors::before`].
#[derive(Clone, Copy)]
pub(crate) struct Before(u64);

impl Kept {
    fn new(hash: u64, (item, stamp): (RawItem<'_>, Stamp), value: PinnedValue) -> Kept {
        Kept {
            hash,
            stamp,
            flags: item.flags(),
            expiry: item.expiry(),
            value,
        }
    }

    fn has_expired(&self, now: Seconds) -> bool {
        !self.stamp.is_tombstone && is_expired(self.expiry, now)
    }

    fn shown(&self) -> Predecessor<'_> {
        Predecessor {
            version: self.stamp.version,
            is_tombstone: self.stamp.is_tombstone,
            flags: self.flags,
            value: &self.value,
        }
    }
}

impl All {
    fn remove(&mut self, successor: u64) -> Option<Kept> {
        let kept = self.by_successor.remove(&successor)?;
        self.value_bytes -= kept.value.len() as u64;
        Some(kept)
    }

    fn insert(&mut self, successor: u64, kept: Kept) {
        self.remove(successor);
        self.value_bytes += kept.value.len() as u64;
        self.by_successor.insert(successor, kept);
    }

    /// At its place in the row of what is beneath the newest version, each by the one above it.
    fn insert_beneath(&mut self, newest: Version, kept: Kept) {
        let mut above = newest;
        while let Some(beneath) = self.by_successor.get(&above.bits()) {
            match beneath.stamp.version.cmp(&kept.stamp.version) {
                Ordering::Greater => above = beneath.stamp.version,
                Ordering::Equal => return,
                Ordering::Less => break,
            }
        }
        if let Some(below) = self.remove(above.bits()) {
            self.insert(kept.stamp.version.bits(), below);
        }
        self.insert(above.bits(), kept);
    }

    /// Gives up what is beneath a version, down to the oldest.
    fn remove_chain(&mut self, successor: u64) {
        let mut next = Some(successor);
        while let Some(kept) = next.and_then(|successor| self.remove(successor)) {
            next = Some(kept.stamp.version.bits());
        }
    }

    /// Gives up what is beneath a version that is not known to be complete.
    fn drop_chain(&mut self, successor: u64) {
        let beneath = self.by_successor.get(&successor);
        self.note_dropped(beneath.map(|kept| kept.stamp.version));
        self.remove_chain(successor);
    }

    fn drop_oldest(&mut self) {
        if let Some((&oldest, _)) = self.by_successor.first_key_value() {
            let kept = self.remove(oldest);
            self.note_dropped(kept.map(|kept| kept.stamp.version));
        }
    }

    fn note_dropped(&mut self, version: Option<Version>) {
        self.dropped = self.dropped.max(version);
    }
}

impl Predecessors {
    /// Nothing is put aside yet, in a store with so much memory.
    pub fn new(memory_bytes: u64) -> Predecessors {
        Predecessors {
            all: Mutex::default(),
            count: AtomicU64::new(0),
            voids: AtomicU64::new(0),
            value_bytes_max: memory_bytes / KEPT_PART,
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().expect("no holder panics")
    }

    fn changed(&self, all: &All) {
        self.count.store(all.by_successor.len() as u64, SeqCst);
    }

    /// To be asked before it is looked whether an item stands, and handed to [`Self::keep`].
    pub fn before(&self) -> Before {
        Before(self.voids.load(SeqCst))
    }

    /// Puts an item of a key of this hash aside, which a version is about to take the place of.
    /// With the key's chain locked; nothing happens where everything has been voided since
    /// `before`.
    pub fn keep(
        &self,
        (hash, successor): (u64, Version),
        (item, stamp): (RawItem<'_>, Stamp),
        value: PinnedValue,
        before: Before,
    ) {
        let mut all = self.all();
        if self.voids.load(SeqCst) != before.0 {
            return;
        }
        all.insert(successor.bits(), Kept::new(hash, (item, stamp), value));
        self.fit(&mut all);
    }

    /// Puts an item aside as if it had been there before its key got the version that it has: at
    /// its place beneath that. False where everything has been voided since `before`.
    pub fn keep_beneath(
        &self,
        (hash, newest): (u64, Version),
        (item, stamp): (RawItem<'_>, Stamp),
        value: PinnedValue,
        before: Before,
    ) -> bool {
        let mut all = self.all();
        if self.voids.load(SeqCst) != before.0 {
            return false;
        }
        all.insert_beneath(newest, Kept::new(hash, (item, stamp), value));
        self.fit(&mut all);
        true
    }

    /// Gives up the oldest, where there is too much.
    fn fit(&self, all: &mut All) {
        while all.by_successor.len() > KEPT_MAX || all.value_bytes > self.value_bytes_max {
            all.drop_oldest();
        }
        self.changed(all);
    }

    /// A version is complete: nobody needs what it has taken the place of.
    #[inline]
    pub fn note_complete(&self, version: Version) {
        if self.count.load(SeqCst) > 0 {
            let mut all = self.all();
            all.remove_chain(version.bits());
            self.changed(&all);
        }
    }

    /// Shows what a key of this hash had before this version took its place, if that is put aside
    /// and has not expired.
    pub fn show<R>(
        &self,
        (hash, successor): (u64, Version),
        now: Seconds,
        then: impl FnOnce(Predecessor<'_>) -> R,
    ) -> Option<R> {
        let all = self.all();
        let kept = all.by_successor.get(&successor.bits());
        let kept = kept.filter(|kept| kept.hash == hash && !kept.has_expired(now));
        kept.map(|kept| then(kept.shown()))
    }

    /// This version was to be kept, and is not.
    pub fn note_dropped(&self, version: Version) {
        self.all().note_dropped(Some(version));
    }

    /// A version counts as complete though nobody has told that it is, as there were too many.
    pub fn give_up(&self, version: Version) {
        let mut all = self.all();
        all.drop_chain(version.bits());
        self.changed(&all);
    }

    /// Up to which version something was to be kept and is not any more, as there were too many.
    pub fn dropped(&self) -> Option<Version> {
        self.all().dropped
    }

    /// Gives up everything: it has been voided.
    pub fn void_all(&self) {
        let mut all = self.all();
        self.voids.fetch_add(1, SeqCst);
        all.by_successor.clear();
        all.value_bytes = 0;
        self.changed(&all);
    }

    /// Has nothing keep a segment whose head is wanted; true if that let go of any.
    pub fn release(&self, is_wanted: impl Fn(u32) -> bool) -> bool {
        if self.count.load(SeqCst) == 0 {
            return false;
        }
        let mut all = self.all();
        let keeps_wanted = |kept: &Kept| kept.value.segment().is_some_and(&is_wanted);
        let kept = all.by_successor.iter();
        let wanted: Vec<u64> = kept
            .filter(|(_, kept)| keeps_wanted(kept))
            .map(|(&successor, _)| successor)
            .collect();
        for &successor in &wanted {
            let kept = all.by_successor.get_mut(&successor);
            let is_moved = kept.is_none_or(|kept| kept.value.move_out(|_| None));
            if !is_moved {
                all.drop_chain(successor);
            }
        }
        self.changed(&all);
        !wanted.is_empty()
    }

    /// How many items are put aside, and bytes of their values.
    pub fn size(&self) -> (u64, u64) {
        let all = self.all();
        (all.by_successor.len() as u64, all.value_bytes)
    }
}
