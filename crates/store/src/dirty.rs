//! What `Durability::Sync` has yet to make durable, and who waits for it.

use crate::index::Location;
use crate::schedule::atomic::{AtomicU64, Ordering::*};
use crate::schedule::{Mutex, MutexGuard};

/// A point in the life of the store; everything done before it is durable once
/// [`crate::StoreHandle::is_durable`] says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurableMark(pub(crate) u64);

#[derive(Default)]
struct State {
    items: Vec<(u64, Location)>,
    /// What was taken, and is not durable yet.
    taken: Vec<(u64, Location)>,
    /// The last mark given out.
    marked: u64,
}

/// Groups of keys of which it is known when one of them was changed last.
const GROUPS: usize = 1024;

/// Items stored and not yet durable.
#[derive(Default)]
pub(crate) struct Dirty {
    state: Mutex<State>,
    changes: Changes,
    durable: AtomicU64,
    /// What is not durable up to this mark never will be.
    lost: AtomicU64,
    /// How long the flusher had waited before changes were last given up as lost, in microseconds.
    #[cfg(test)]
    pub(crate) waited_before_loss_us: AtomicU64,
}

/// By groups of hashes, the mark of the last change.
struct Changes(Box<[AtomicU64]>);

impl Default for Changes {
    fn default() -> Changes {
        Changes((0..GROUPS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Changes {
    fn of(&self, hash: u64) -> &AtomicU64 {
        &self.0[(hash >> 20) as usize % GROUPS]
    }
}

impl Dirty {
    /// Notes an item in memory, by hash and place.
    pub fn note(&self, hash: u64, location: Location) {
        let mut state = self.state();
        state.items.push((hash, location));
        state.marked += 1;
        self.changes.of(hash).store(state.marked, Release);
    }

    /// What is there under this hash changes: whoever sees it from now on sees what may not be
    /// durable. To be called before that can be seen, and again when all is noted that makes it
    /// durable.
    pub fn touch(&self, hash: u64) {
        let mut state = self.state();
        state.marked += 1;
        self.changes.of(hash).store(state.marked, Release);
    }

    /// Whether what is there under this hash may not be durable yet. To be asked after it was seen.
    pub fn is_touched(&self, hash: u64) -> bool {
        self.changes.of(hash).load(Acquire) > self.durable().max(self.lost())
    }

    /// A mark behind everything noted so far.
    pub fn mark(&self) -> DurableMark {
        let mut state = self.state();
        state.marked += 1;
        DurableMark(state.marked)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// What was noted, and the mark up to which it reaches.
    pub fn take(&self) -> (Vec<(u64, Location)>, u64) {
        let state = &mut *self.state();
        let items = std::mem::take(&mut state.items);
        state.taken.extend_from_slice(&items);
        (items, state.marked)
    }

    /// Gives back, of what was taken, that for which nothing could be done yet: the next one to
    /// take gets it first.
    pub fn give_back(&self, mut items: Vec<(u64, Location)>) {
        let state = &mut *self.state();
        items.append(&mut state.items);
        state.items = items;
    }

    /// Gives back all that was taken and is not durable.
    pub fn give_all_back(&self) {
        let taken = self.take_undurable();
        self.give_back(taken);
    }

    /// All that was taken and is not durable: it is the caller's from now on.
    pub fn take_undurable(&self) -> Vec<(u64, Location)> {
        std::mem::take(&mut self.state().taken)
    }

    #[cfg(test)]
    pub fn note_loss(&self, waited: std::time::Duration) {
        let microseconds = waited.as_micros() as u64;
        self.waited_before_loss_us.store(microseconds, SeqCst);
    }

    pub fn durable(&self) -> u64 {
        self.durable.load(Acquire)
    }

    /// The mark up to which nothing becomes durable any more that is not.
    pub fn lost(&self) -> u64 {
        self.lost.load(Acquire)
    }

    /// What is not durable up to a mark never will be, and has been dropped.
    pub fn set_lost(&self, mark: u64) {
        self.lost.store(mark, Release);
    }

    /// Everything up to a mark is durable, and all that was taken.
    pub fn set_durable(&self, mark: u64) {
        self.state().taken.clear();
        self.durable.store(mark, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_known_until_it_is_durable() {
        let dirty = Dirty::default();
        let (one, other) = (1 << 20, 2 << 20);
        assert!(!dirty.is_touched(one));
        dirty.note(one, Location::from_bits(1));
        dirty.touch(other);
        let (_, through) = dirty.take();
        dirty.touch(other);
        assert!(dirty.is_touched(one) && dirty.is_touched(other));
        dirty.set_durable(through);
        assert!(!dirty.is_touched(one) && dirty.is_touched(other));
        dirty.set_lost(dirty.mark().0);
        assert!(!dirty.is_touched(other), "it has been dropped");
    }

    #[test]
    fn what_is_given_back_is_taken_again_before_what_came_later() {
        let dirty = Dirty::default();
        (0..3).for_each(|hash| dirty.note(hash, Location::from_bits(hash)));
        let (mut taken, through) = dirty.take();
        dirty.note(3, Location::from_bits(3));
        dirty.give_back(taken.split_off(1));
        let (again, later) = dirty.take();
        let hashes: Vec<u64> = again.iter().map(|(hash, _)| *hash).collect();
        assert_eq!((hashes, through, later), (vec![1, 2, 3], 3, 4));
    }
}
