//! Tombstones that have not been written down yet.
//!
//! Three kinds wait: ends of whole segments; tombstones that such a segment told of, and that must
//! be told again before its slot may be overwritten; and tombstones of single copies, which clients
//! cause. The first two give slots back, so they are told first, however many of the third wait. In
//! which order tombstones are told decides nothing else: an item that is told dead, alone or with
//! its segment, supersedes the older copies of its key at a recovery all the same, for as long as
//! its segment can be read; and what must be told before that ends is noted with its slot
//! ([`super::flusher`], `retiring`).
//!
//! A segment's end makes the tombstones in it needless that wait. They are passed over when their
//! turn comes, behind the end, so that noting an end takes no longer where many wait.

use super::format::{Tombstone, WHOLE_SEGMENT};
use crate::schedule::{Mutex, MutexGuard};
use rapidhash::RapidHashMap;
use std::collections::VecDeque;

/// How many tombstones of each kind: noted by some moment, or told by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TombstoneCounts {
    /// Ends of whole segments.
    pub ends: u64,
    /// Tombstones to be told again.
    pub carried: u64,
    /// Tombstones of single copies.
    pub single: u64,
}

impl TombstoneCounts {
    /// Whether all that the other counts have been counted here.
    pub fn cover(&self, other: &TombstoneCounts) -> bool {
        self.ends >= other.ends && self.carried >= other.carried && self.single >= other.single
    }

    /// What either counts.
    pub fn or(&self, other: &TombstoneCounts) -> TombstoneCounts {
        TombstoneCounts {
            ends: self.ends.max(other.ends),
            carried: self.carried.max(other.carried),
            single: self.single.max(other.single),
        }
    }
}

/// Takes one away from a segment's number, if it has one.
fn take_one(numbers: &mut RapidHashMap<u64, usize>, write_number: u64) -> bool {
    let Some(number) = numbers.get_mut(&write_number) else {
        return false;
    };
    *number -= 1;
    if *number == 0 {
        numbers.remove(&write_number);
    }
    true
}

/// How many of a queue's tombstones are still to be told, by segment.
///
/// The end of a segment is noted here, under a lock that clients take. Here is no queue that could
/// be looked through: the end takes no longer where many wait.
#[derive(Default)]
struct Needs {
    total: usize,
    of_segment: RapidHashMap<u64, usize>,
    /// How many are to be passed over. They wait before all others of the segment.
    needless: RapidHashMap<u64, usize>,
}

impl Needs {
    fn note(&mut self, write_number: u64) {
        *self.of_segment.entry(write_number).or_default() += 1;
        self.total += 1;
    }

    fn note_end(&mut self, write_number: u64) {
        if let Some(number) = self.of_segment.remove(&write_number) {
            self.total -= number;
            *self.needless.entry(write_number).or_default() += number;
        }
    }

    /// Whether the segment's oldest that waits is to be passed over, which is counted.
    fn pass_over(&mut self, write_number: u64) -> bool {
        take_one(&mut self.needless, write_number)
    }

    fn note_told(&mut self, write_number: u64) {
        take_one(&mut self.of_segment, write_number);
        self.total -= 1;
    }
}

/// One of the two kinds of tombstones that a segment's end makes needless.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<Tombstone>,
    needs: Needs,
    /// Told, or passed over.
    told: u64,
}

impl Lane {
    fn noted(&self) -> u64 {
        self.told + self.waiting.len() as u64
    }

    fn push(&mut self, tombstone: Tombstone) {
        self.waiting.push_back(tombstone);
        self.needs.note(tombstone.write_number);
    }

    /// Moves the oldest to `taken`, until that has `most`.
    fn take(&mut self, most: usize, taken: &mut Vec<Tombstone>) {
        while let Some(&tombstone) = self.waiting.front() {
            if !self.needs.pass_over(tombstone.write_number) {
                if taken.len() == most {
                    return;
                }
                self.needs.note_told(tombstone.write_number);
                taken.push(tombstone);
            }
            self.waiting.pop_front();
            self.told += 1;
        }
    }

    /// At most so many must be told until so many have been.
    fn needed_until(&self, told: u64) -> usize {
        (told.saturating_sub(self.told) as usize).min(self.needs.total)
    }
}

#[derive(Default)]
struct State {
    ends: VecDeque<u64>,
    ends_told: u64,
    carried: Lane,
    single: Lane,
}

impl State {
    fn told(&self) -> TombstoneCounts {
        TombstoneCounts {
            ends: self.ends_told,
            carried: self.carried.told,
            single: self.single.told,
        }
    }

    fn noted(&self) -> TombstoneCounts {
        TombstoneCounts {
            ends: self.ends_told + self.ends.len() as u64,
            carried: self.carried.noted(),
            single: self.single.noted(),
        }
    }

    fn urgent(&self) -> usize {
        self.ends.len() + self.carried.needs.total
    }

    fn take_ends(&mut self, most: usize, taken: &mut Vec<Tombstone>) {
        let count = most.min(self.ends.len());
        self.ends_told += count as u64;
        taken.extend(self.ends.drain(..count).map(|write_number| Tombstone {
            write_number,
            item: WHOLE_SEGMENT,
        }));
    }
}

/// Tombstones that wait to be told.
#[derive(Default)]
pub(crate) struct Tombstones(Mutex<State>);

impl Tombstones {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder panics")
    }

    /// Notes the tombstone of a single copy.
    pub fn note(&self, tombstone: Tombstone) {
        self.state().single.push(tombstone);
    }

    /// Notes a tombstone that a segment told of whose slot is to be overwritten.
    pub fn carry(&self, tombstone: Tombstone) {
        self.state().carried.push(tombstone);
    }

    /// Notes that a segment has died as a whole: the tombstones in it that wait need not be told
    /// any more.
    pub fn note_end(&self, write_number: u64) {
        let mut state = self.state();
        state.ends.push_back(write_number);
        state.carried.needs.note_end(write_number);
        state.single.needs.note_end(write_number);
    }

    /// Tombstones noted so far.
    pub fn noted(&self) -> TombstoneCounts {
        self.state().noted()
    }

    /// Tombstones of which a segment tells, be it written or not.
    pub fn told(&self) -> TombstoneCounts {
        self.state().told()
    }

    /// How many wait.
    pub fn pending(&self) -> usize {
        let state = self.state();
        state.urgent() + state.single.needs.total
    }

    /// How many tombstones wait that give slots back.
    pub fn urgent(&self) -> usize {
        self.state().urgent()
    }

    /// Whether so many tombstones have been told once the next segment has, if that has room for
    /// `room`.
    pub fn would_tell(&self, counts: &TombstoneCounts, room: usize) -> bool {
        let state = self.state();
        let ends = counts.ends.saturating_sub(state.ends_told) as usize;
        let carried = state.carried.needed_until(counts.carried);
        let single = state.single.needed_until(counts.single);
        // A kind's turn comes when all tombstones of the kinds before it have been told.
        let needed = match (
            counts.carried > state.carried.told,
            counts.single > state.single.told,
        ) {
            (_, true) => state.urgent() + single,
            (true, false) => state.ends.len() + carried,
            (false, false) => ends,
        };
        needed <= room
    }

    /// Takes `most`, and says how many have been told then.
    pub fn take(&self, most: usize) -> (Box<[Tombstone]>, TombstoneCounts) {
        let mut state = self.state();
        let mut taken = Vec::new();
        state.take_ends(most, &mut taken);
        // What an end makes needless is passed over behind it.
        if state.ends.is_empty() {
            state.carried.take(most, &mut taken);
        }
        if state.ends.is_empty() && state.carried.waiting.is_empty() {
            state.single.take(most, &mut taken);
        }
        (taken.into(), state.told())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tombstone(write_number: u64, item: u32) -> Tombstone {
        Tombstone { write_number, item }
    }

    fn counts(ends: u64, carried: u64, single: u64) -> TombstoneCounts {
        TombstoneCounts {
            ends,
            carried,
            single,
        }
    }

    #[test]
    fn tombstones_of_one_kind_are_told_in_order() {
        let tombstones = Tombstones::default();
        (0..5).for_each(|item| tombstones.note(tombstone(1, item)));
        assert_eq!(
            (tombstones.noted(), tombstones.pending()),
            (counts(0, 0, 5), 5)
        );
        let (taken, told) = tombstones.take(2);
        assert_eq!(*taken, [tombstone(1, 0), tombstone(1, 1)]);
        assert_eq!(
            (told, tombstones.told()),
            (counts(0, 0, 2), counts(0, 0, 2))
        );
        assert_eq!(tombstones.take(9).1, counts(0, 0, 5));
    }

    #[test]
    fn what_gives_slots_back_is_told_first() {
        let tombstones = Tombstones::default();
        (0..3).for_each(|item| tombstones.note(tombstone(1, item)));
        tombstones.carry(tombstone(1, 7));
        tombstones.note_end(2);
        assert_eq!((tombstones.urgent(), tombstones.pending()), (2, 5));
        let (taken, told) = tombstones.take(3);
        let expected = [
            tombstone(2, WHOLE_SEGMENT),
            tombstone(1, 7),
            tombstone(1, 0),
        ];
        assert_eq!((&*taken, told), (&expected[..], counts(1, 1, 1)));
    }

    #[test]
    fn an_end_makes_the_tombstones_of_its_segment_needless_once_it_is_told() {
        let tombstones = Tombstones::default();
        for one in [
            tombstone(1, 0),
            tombstone(2, 0),
            tombstone(1, 1),
            tombstone(2, 1),
        ] {
            tombstones.note(one);
        }
        tombstones.carry(tombstone(2, 5));
        tombstones.note_end(3);
        tombstones.note_end(2);
        assert_eq!((tombstones.urgent(), tombstones.pending()), (2, 4));
        // Nothing of the second segment counts as told before its end is.
        assert_eq!(tombstones.take(1).1, counts(1, 0, 0));
        let (taken, told) = tombstones.take(2);
        assert_eq!(*taken, [tombstone(2, WHOLE_SEGMENT), tombstone(1, 0)]);
        assert_eq!(told, counts(2, 1, 2), "what is needless is passed over");
        let (taken, told) = tombstones.take(1);
        assert_eq!((&*taken, told), (&[tombstone(1, 1)][..], counts(2, 1, 4)));
        assert_eq!((told, tombstones.pending()), (tombstones.noted(), 0));
    }

    #[test]
    fn a_segments_end_leaves_the_tombstones_of_others_and_later_ones_alone() {
        let mut needs = Needs::default();
        [1, 1, 2].into_iter().for_each(|number| needs.note(number));
        needs.note_end(1);
        needs.note_end(3);
        needs.note(1);
        assert_eq!(needs.total, 2, "one of the second segment, and a later one");
        assert!(needs.pass_over(1) && needs.pass_over(1) && !needs.pass_over(1));
        assert!(!needs.pass_over(2) && !needs.pass_over(3));
        needs.note_told(1);
        needs.note_told(2);
        assert_eq!(needs.total, 0);
        assert!(needs.of_segment.is_empty() && needs.needless.is_empty());
    }

    #[test]
    fn it_is_known_what_the_next_segment_would_tell() {
        let tombstones = Tombstones::default();
        (0..4).for_each(|item| tombstones.note(tombstone(1, item)));
        tombstones.carry(tombstone(1, 8));
        tombstones.carry(tombstone(4, 0));
        tombstones.note_end(2);
        tombstones.note_end(4);
        let would_tell = |counted, room| tombstones.would_tell(&counted, room);
        assert!(would_tell(counts(1, 0, 0), 1) && !would_tell(counts(2, 0, 0), 1));
        assert!(would_tell(counts(2, 2, 0), 3) && !would_tell(counts(0, 1, 0), 2));
        assert!(would_tell(counts(0, 0, 2), 5) && !would_tell(counts(2, 2, 3), 5));
        assert!(would_tell(TombstoneCounts::default(), 0));
    }

    #[test]
    fn counts_cover_one_another_kind_by_kind() {
        let (more, other) = (counts(2, 3, 4), counts(1, 4, 4));
        assert!(!more.cover(&other) && more.cover(&counts(2, 0, 4)));
        assert_eq!(more.or(&other), counts(2, 4, 4));
    }
}
