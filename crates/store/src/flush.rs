//! `flush_all`: everything in fillings up to a sequence number is void.

use crate::schedule::atomic::{AtomicU32, AtomicU64, Ordering::*};
use farcache_base::time::{NEVER, Seconds};

const SWEEPING: u64 = 1;

/// The state of flushing.
///
/// While the sweep that removes void entries from the index runs, readers compare each item's
/// filling with the floor; when it is over, no void entry is left and they need not look.
#[derive(Default)]
pub(crate) struct Flush {
    /// The floor times 2, plus [`SWEEPING`]: one word, so that the end of a sweep cannot hide that
    /// another flush has begun.
    state: AtomicU64,
    /// When a delayed flush is due.
    due: AtomicU32,
}

impl Flush {
    /// Whether void entries may still be in the index.
    #[inline]
    pub fn is_sweeping(&self) -> bool {
        self.state.load(Acquire) & SWEEPING != 0
    }

    /// Whether entries of the filling with this sequence number, which is asked for only where that
    /// matters, are void and may still be in the index.
    #[inline]
    pub fn voids(&self, sequence: impl FnOnce() -> u64) -> bool {
        let state = self.state.load(SeqCst);
        state & SWEEPING != 0 && sequence() <= state >> 1
    }

    /// Fillings up to this sequence number were flushed.
    ///
    /// In one order with the numbering of fillings: who has begun a filling, and does not see the
    /// floor of a flush afterwards, can be sure that this flush voids the filling.
    #[inline]
    pub fn floor(&self) -> u64 {
        self.state.load(SeqCst) >> 1
    }

    /// Voids every filling begun so far, those begun while this call runs included.
    ///
    /// It ends when no filling has been begun between a look at the last number and the look after
    /// its voiding. So whoever moves an item, and under its chain's lock sees the item stand, has
    /// moved it to a filling that is voided too; and no item voided has been moved on to a later
    /// one in two steps.
    pub fn begin(&self, last_sequence: impl Fn() -> u64) {
        let mut last = last_sequence();
        loop {
            self.void_up_to(last);
            let now = last_sequence();
            if now == last {
                return;
            }
            last = now;
        }
    }

    fn void_up_to(&self, floor: u64) {
        self.state.fetch_max(floor << 1 | SWEEPING, SeqCst);
    }

    /// Goes on with the floor of an earlier life of the store, of which nothing is left in the
    /// index.
    pub fn restore(&self, floor: u64) {
        self.state.store(floor << 1, SeqCst);
    }

    /// A sweep against this floor is over, and no reader holds anything it removed. Readers go on
    /// looking if a later flush needs another sweep.
    pub fn end(&self, floor: u64) {
        let _ = self
            .state
            .compare_exchange(floor << 1 | SWEEPING, floor << 1, SeqCst, SeqCst);
    }

    /// Sets when a delayed flush is due, replacing an earlier one.
    pub fn schedule(&self, due: Seconds) {
        self.due.store(due, Release);
    }

    /// Whether a delayed flush is due now; true for one caller.
    #[inline]
    pub fn take_due(&self, now: Seconds) -> bool {
        let due = self.due.load(Relaxed);
        due != NEVER
            && due <= now
            && self
                .due
                .compare_exchange(due, NEVER, AcqRel, Relaxed)
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_ends_only_if_no_other_flush_began_meanwhile() {
        let flush = Flush::default();
        assert!(!flush.is_sweeping());
        flush.begin(|| 5);
        assert_eq!((flush.floor(), flush.is_sweeping()), (5, true));
        flush.begin(|| 9);
        flush.end(5);
        assert!(flush.is_sweeping());
        flush.end(9);
        assert!(!flush.is_sweeping());
        flush.begin(|| 9);
        assert!(
            flush.is_sweeping(),
            "a flush at the same floor sweeps again"
        );
    }

    #[test]
    fn a_flush_voids_what_is_begun_until_it_has_told_everybody() {
        let flush = Flush::default();
        let numbers = std::cell::RefCell::new(vec![9, 9, 8, 7, 5]);
        flush.begin(|| numbers.borrow_mut().pop().unwrap());
        assert_eq!(flush.floor(), 9);
        assert!(flush.voids(|| 9) && !flush.voids(|| 10));
        flush.end(9);
        assert!(!flush.voids(|| unreachable!("nothing void is left")));
    }

    #[test]
    fn a_delayed_flush_is_due_once() {
        let flush = Flush::default();
        flush.schedule(10);
        assert!(!flush.take_due(9) && flush.take_due(10) && !flush.take_due(11));
    }
}
