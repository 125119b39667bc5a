//! Which segments hold nothing, and who may use how many.

use super::FreeMap;
use super::backing::{self, Backing};
use super::meta::{SegmentMeta, SegmentState};
use super::space::Space;
use crate::epoch::Epochs;
use crate::schedule::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;

/// Segments that only the reclaimer may take: it needs somewhere to move items to before it can
/// free what they leave.
pub(crate) const RECLAIMER_SEGMENTS: u32 = 2;
/// Fewer are too few to reclaim any.
pub(crate) const SEGMENTS_MIN: u32 = 8;

/// How many segments there are and how many hold nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentCounts {
    pub allowed: u32,
    pub managed: u32,
    pub free: u32,
    pub limbo: u32,
}

/// All segments: their memory, and what is known of each.
pub(super) struct Segments {
    pub space: Space,
    pub metas: Box<[SegmentMeta]>,
}

impl Segments {
    pub fn meta(&self, segment: u32) -> &SegmentMeta {
        &self.metas[segment as usize]
    }
}

/// Segments that left the index and wait for the last reader to leave them.
struct Limbo {
    head: u32,
    epoch: u64,
}

struct State {
    free: FreeMap,
    /// Segments kept for a run that is being made room for.
    claimed: Range<u32>,
    limbo: VecDeque<Limbo>,
    /// Segments that may hold memory: those not parked.
    managed: u32,
    allowed: u32,
    /// All segments from this number on have always been parked.
    end: u32,
}

/// The segments that hold nothing: free ones, those that will be as soon as readers have moved on,
/// and those that are parked, without memory, as the limit is lower than it could be.
///
/// A segment's [`SegmentState`] says whether it is free or parked. It becomes either, and leaves
/// either, under this pool's lock.
pub(super) struct Pool {
    state: Mutex<State>,
    backing: Backing,
}

impl Pool {
    /// The first `allowed` of `total` segments are free, all others are parked.
    pub fn new(total: u32, allowed: u32) -> Pool {
        let mut free = FreeMap::new(total);
        (0..allowed).for_each(|number| free.give(number));
        let state = State {
            free,
            claimed: 0..0,
            limbo: VecDeque::new(),
            managed: allowed,
            allowed,
            end: allowed,
        };
        Pool {
            state: Mutex::new(state),
            backing: Backing::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Segments that may hold memory.
    pub fn allowed(&self) -> u32 {
        self.state().allowed
    }

    /// Number behind the last segment that may ever have held memory.
    pub fn end(&self) -> u32 {
        self.state().end
    }

    pub fn counts(&self, segments: &Segments) -> SegmentCounts {
        let state = self.state();
        let limbo = state.limbo.iter().map(|one| segments.meta(one.head));
        SegmentCounts {
            allowed: state.allowed,
            managed: state.managed,
            free: state.free.free(),
            // Segments that will be free as soon as readers have moved on.
            limbo: limbo
                .filter(|meta| !meta.is_pinned())
                .map(SegmentMeta::run)
                .sum(),
        }
    }

    /// From now on no page is given back; returns the first byte, and how many may be in use. Under
    /// the lock, as a segment may just be being parked.
    pub fn keep_pages(&self, space: &Space) -> (NonNull<u8>, usize) {
        let state = self.state();
        (
            space.keep_pages(),
            state.end as usize * space.segment_bytes(),
        )
    }

    /// Takes `run` free segments in a row, of which `open` is told the first; `keep` free segments
    /// are left. `open` runs under the lock: a segment that looks free and is not in the pool
    /// belongs to the claimed stretch.
    pub fn take(&self, run: u32, keep: u32, open: impl FnOnce(u32)) -> Option<u32> {
        let mut state = self.state();
        if state.free.free() < run.checked_add(keep)? {
            return None;
        }
        let head = if run == 1 {
            state.free.take_one()
        } else {
            state.free.take_run(run)
        }?;
        if run == 1 {
            self.backing.note_taken(head);
        }
        open(head);
        Some(head)
    }

    /// Keeps a stretch for a run: its free segments, and any that become free, are given to nobody
    /// else. Others are parked for those that are parked there. There is one such stretch at a
    /// time.
    pub fn claim(&self, segments: &Segments, stretch: Range<u32>) {
        let mut state = self.state();
        for segment in stretch.clone() {
            state.free.take_this(segment);
            state.unpark(segments, segment);
        }
        state.claimed = stretch;
        state.park_surplus(segments);
    }

    /// Takes the claimed stretch, of which `open` is told, if all of it is free by now; else gives
    /// back what is.
    pub fn take_claimed(&self, segments: &Segments, open: impl FnOnce(Range<u32>)) -> Option<u32> {
        let mut state = self.state();
        let stretch = std::mem::take(&mut state.claimed);
        let is_free = |segment: &u32| segments.meta(*segment).state() == SegmentState::Free;
        if !stretch.clone().all(|segment| is_free(&segment)) {
            stretch
                .filter(is_free)
                .for_each(|segment| state.free.give(segment));
            return None;
        }
        open(stretch.clone());
        Some(stretch.start)
    }

    /// A segment, or run, is out of the index. It becomes free once `epoch` has passed.
    ///
    /// # Safety
    /// It was taken from this pool, and not retired since. Once the epoch has passed and nobody has
    /// it pinned, nobody looks at what lies there.
    pub unsafe fn retire(&self, head: u32, epoch: u64) {
        self.state().limbo.push_back(Limbo { head, epoch });
    }

    /// Frees the retired segments that nobody can be looking at any longer; returns how many.
    ///
    /// # Safety
    /// The epochs of all retired segments are of these.
    pub unsafe fn collect(&self, segments: &Segments, epochs: &Epochs) -> u32 {
        let mut state = self.state();
        let mut freed = 0;
        for _ in 0..state.limbo.len() {
            let Some(waiting) = state.limbo.pop_front() else {
                break;
            };
            let meta = segments.meta(waiting.head);
            if !epochs.has_passed(waiting.epoch) || meta.is_pinned() {
                state.limbo.push_back(waiting);
                continue;
            }
            let run = meta.run();
            freed += run;
            for segment in waiting.head..waiting.head + run {
                state.free_or_park(segments, segment);
            }
        }
        freed
    }

    /// Changes how many segments may hold memory. Lowering takes effect as segments become free.
    ///
    /// # Panics
    /// Below [`SEGMENTS_MIN`] or beyond the address space.
    pub fn set_allowed(&self, segments: &Segments, allowed: u32) {
        let total = segments.metas.len() as u32;
        assert!((SEGMENTS_MIN..=total).contains(&allowed));
        let mut state = self.state();
        state.allowed = allowed;
        state.end = state.end.max(allowed);
        state.park_surplus(segments);
        for segment in 0..total {
            if state.managed >= allowed {
                return;
            }
            if state.unpark(segments, segment) {
                state.free.give(segment);
            }
        }
    }

    /// Whether it is time for [`Pool::back_next`], until that has nothing to do.
    pub fn wants_backing(&self, space: &Space) -> bool {
        let allowed = self.allowed();
        let ahead = backing::ahead(allowed, space.segment_bytes());
        self.backing.is_short(ahead, allowed)
    }

    /// Backs the next of the segments that will be filled with memory, so that no writer has to
    /// wait for the kernel to clear it; false where enough are. For the store's own thread.
    pub fn back_next(&self, space: &Space) -> bool {
        let allowed = self.allowed();
        let ahead = backing::ahead(allowed, space.segment_bytes());
        let next = self.backing.next(ahead, allowed);
        if let Some(segment) = next {
            space.back(segment);
        }
        next.is_some()
    }
}

impl State {
    fn free_or_park(&mut self, segments: &Segments, segment: u32) {
        let meta = segments.meta(segment);
        meta.leave_run(segment);
        // What stays has to go somewhere first.
        if self.managed > self.allowed && self.free.free() >= RECLAIMER_SEGMENTS {
            self.park(segments, segment);
            return;
        }
        meta.set_state(SegmentState::Free);
        if !self.claimed.contains(&segment) {
            self.free.give(segment);
        }
    }

    fn park(&mut self, segments: &Segments, segment: u32) {
        self.managed -= 1;
        segments.meta(segment).set_state(SegmentState::Parked);
        // SAFETY: a parked segment holds no item and nobody refers to it: it was free, or retired
        // and its epoch has passed. Before anybody fills it, it leaves the parked ones, under the
        // lock that is held now.
        unsafe { segments.space.give_back(segment) };
    }

    /// Parks free segments where too many may hold memory, as far as the reclaimer can do without.
    fn park_surplus(&mut self, segments: &Segments) {
        while self.managed > self.allowed && self.free.free() > RECLAIMER_SEGMENTS {
            // The highest: those have most likely never been touched.
            let Some(segment) = self.free.take_run_of(0..self.end, 1) else {
                return;
            };
            self.park(segments, segment);
        }
    }

    /// A parked segment is free, in nobody's hands; false if it is not parked.
    fn unpark(&mut self, segments: &Segments, segment: u32) -> bool {
        let meta = segments.meta(segment);
        let is_parked = meta.state() == SegmentState::Parked;
        if is_parked {
            self.managed += 1;
            meta.set_state(SegmentState::Free);
        }
        is_parked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: u32 = 32;
    const ALLOWED: u32 = 12;

    /// Retires a segment in which nothing was ever written.
    fn retire(pool: &Pool, head: u32, epochs: &Epochs) {
        // SAFETY: the tests retire what they have taken, once, and look at nothing.
        unsafe { pool.retire(head, epochs.retire()) };
    }

    fn collect(pool: &Pool, segments: &Segments, epochs: &Epochs) -> u32 {
        // SAFETY: a test has one set of epochs.
        unsafe { pool.collect(segments, epochs) }
    }

    fn world() -> (Pool, Segments, Epochs) {
        let state = |number| match number < ALLOWED {
            true => SegmentState::Free,
            false => SegmentState::Parked,
        };
        let metas = (0..TOTAL).map(|number| SegmentMeta::new(number, state(number)));
        let segments = Segments {
            space: Space::reserve(TOTAL, 1 << 12, false).unwrap(),
            metas: metas.collect(),
        };
        (Pool::new(TOTAL, ALLOWED), segments, Epochs::new(1))
    }

    fn take(pool: &Pool, keep: u32) -> Option<u32> {
        pool.take(1, keep, |_| {})
    }

    fn counts(pool: &Pool, segments: &Segments) -> (u32, u32) {
        let counts = pool.counts(segments);
        (counts.managed, counts.free)
    }

    #[test]
    fn what_is_to_be_kept_is_not_taken() {
        let (pool, segments, _) = world();
        let taken = std::iter::from_fn(|| take(&pool, 3));
        assert_eq!(taken.count() as u32, ALLOWED - 3);
        assert_eq!(pool.take(2, 2, |_| panic!("nothing is opened")), None);
        assert_eq!(counts(&pool, &segments), (ALLOWED, 3));
    }

    #[test]
    fn a_retired_segment_is_free_when_readers_have_moved_on() {
        let (pool, segments, epochs) = world();
        let reader = epochs.join().unwrap();
        epochs.resume(&reader);
        let head = take(&pool, 0).unwrap();
        retire(&pool, head, &epochs);
        assert_eq!(pool.counts(&segments).limbo, 1);
        assert_eq!(collect(&pool, &segments, &epochs), 0);
        epochs.pass(&reader);
        assert_eq!(collect(&pool, &segments, &epochs), 1);
        assert_eq!(counts(&pool, &segments), (ALLOWED, ALLOWED));
    }

    #[test]
    fn a_lower_limit_parks_what_is_free_and_what_becomes_free() {
        let (pool, segments, epochs) = world();
        let in_use: Vec<u32> = (0..9).filter_map(|_| take(&pool, 0)).collect();
        pool.set_allowed(&segments, SEGMENTS_MIN);
        // The reclaimer's stay, whatever the limit.
        let left = ALLOWED - 1;
        assert_eq!(counts(&pool, &segments), (left, RECLAIMER_SEGMENTS));
        for &head in &in_use[..4] {
            retire(&pool, head, &epochs);
        }
        collect(&pool, &segments, &epochs);
        assert_eq!(counts(&pool, &segments).0, SEGMENTS_MIN);
        pool.set_allowed(&segments, TOTAL);
        assert_eq!(counts(&pool, &segments).0, TOTAL);
        assert_eq!(pool.end(), TOTAL);
    }

    #[test]
    fn a_claimed_stretch_is_kept_until_all_of_it_is_free() {
        let (pool, segments, epochs) = world();
        let first = take(&pool, 0).unwrap();
        let stretch = first..first + 3;
        // As somebody does who opens it.
        segments.meta(first).set_state(SegmentState::Open);
        pool.claim(&segments, stretch.clone());
        assert_eq!(pool.counts(&segments).free, ALLOWED - 3);
        assert_eq!(pool.take_claimed(&segments, |_| panic!("in use")), None);
        assert_eq!(pool.counts(&segments).free, ALLOWED - 1, "it was given up");
        pool.claim(&segments, stretch.clone());
        retire(&pool, first, &epochs);
        collect(&pool, &segments, &epochs);
        assert_eq!(pool.counts(&segments).free, ALLOWED - 3);
        let opened = |taken| assert_eq!(taken, stretch);
        assert_eq!(pool.take_claimed(&segments, opened), Some(first));
    }
}
