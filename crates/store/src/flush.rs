//! `flush_all`: everything in fillings up to a sequence number is void.

use crate::schedule::atomic::{AtomicU32, AtomicU64, Ordering::*};
use farcache_base::time::{NEVER, Seconds};

const SWEEPING: u64 = 1;
/// Above that bit, how many sweeps were asked for, modulo 2^16.
const ASKED: u64 = 1 << 1;
const ASKED_BITS: u32 = 16;
/// Above these, the floor.
const FLOOR_SHIFT: u32 = 1 + ASKED_BITS;

/// What a sweep was begun for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Swept(u64);

impl Swept {
    /// Fillings up to this sequence number are swept away.
    pub fn floor(self) -> u64 {
        self.0 >> FLOOR_SHIFT
    }
}

/// The state of flushing.
///
/// Fences ([`Fences`](crate::fences::Fences)) have their void entries swept away with those of
/// flushes. While the sweep that removes void entries from the index runs, readers compare each
/// item's filling with the floor; when it is over, no void entry is left and they need not look.
#[derive(Default)]
pub(crate) struct Flush {
    /// Floor, sweeps asked for and [`SWEEPING`]: one word, so that the end of a sweep cannot hide
    /// that another flush has begun.
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
        state & SWEEPING != 0 && sequence() <= state >> FLOOR_SHIFT
    }

    /// Fillings up to this sequence number were flushed.
    ///
    /// In one order with the numbering of fillings: who has begun a filling, and does not see the
    /// floor of a flush afterwards, can be sure that this flush voids the filling.
    #[inline]
    pub fn floor(&self) -> u64 {
        self.state.load(SeqCst) >> FLOOR_SHIFT
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
        self.ask(floor);
    }

    /// Other entries are void from now on, which a sweep is to remove.
    pub fn sweep_anew(&self) {
        self.ask(0);
    }

    fn ask(&self, floor: u64) {
        let asked = |state: u64| {
            let floor = (state >> FLOOR_SHIFT).max(floor);
            let count = state.wrapping_add(ASKED) & ((1 << FLOOR_SHIFT) - 1);
            floor << FLOOR_SHIFT | count | SWEEPING
        };
        self.state.update(SeqCst, SeqCst, asked);
    }

    /// What a sweep that begins now is for.
    pub fn wanted(&self) -> Swept {
        Swept(self.state.load(SeqCst))
    }

    /// Goes on with the floor of an earlier life of the store, of which nothing is left in the
    /// index.
    pub fn restore(&self, floor: u64) {
        self.state.store(floor << FLOOR_SHIFT, SeqCst);
    }

    /// This sweep is over, and no reader holds anything it removed. False, and readers go on
    /// looking, if another one was asked for since.
    pub fn end(&self, swept: Swept) -> bool {
        let Swept(state) = swept;
        let ended = state & !SWEEPING;
        self.state
            .compare_exchange(state, ended, SeqCst, SeqCst)
            .is_ok()
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
        let first = flush.wanted();
        flush.begin(|| 9);
        assert!(!flush.end(first) && flush.is_sweeping());
        let second = flush.wanted();
        assert_eq!((first.floor(), second.floor()), (5, 9));
        assert!(flush.end(second) && !flush.is_sweeping());
        flush.begin(|| 9);
        assert!(
            flush.is_sweeping(),
            "a flush at the same floor sweeps again"
        );
        let third = flush.wanted();
        flush.sweep_anew();
        assert!(!flush.end(third) && flush.is_sweeping());
        assert_eq!(flush.floor(), 9);
    }

    #[test]
    fn a_flush_voids_what_is_begun_until_it_has_told_everybody() {
        let flush = Flush::default();
        let numbers = std::cell::RefCell::new(vec![9, 9, 8, 7, 5]);
        flush.begin(|| numbers.borrow_mut().pop().unwrap());
        assert_eq!(flush.floor(), 9);
        assert!(flush.voids(|| 9) && !flush.voids(|| 10));
        assert!(flush.end(flush.wanted()));
        assert!(!flush.voids(|| unreachable!("nothing void is left")));
    }

    #[test]
    fn a_delayed_flush_is_due_once() {
        let flush = Flush::default();
        flush.schedule(10);
        assert!(!flush.take_due(9) && flush.take_due(10) && !flush.take_due(11));
    }
}
