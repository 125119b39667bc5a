//! Deaths that have not been written down yet.

use super::format::{Death, WHOLE_SEGMENT};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
struct State {
    /// Each with its number, rising.
    pending: VecDeque<(u64, Death)>,
    /// Deaths noted since start.
    noted: u64,
}

impl State {
    fn push(&mut self, death: Death) {
        self.noted += 1;
        self.pending.push_back((self.noted, death));
    }

    fn told(&self) -> u64 {
        let next = self.pending.front();
        next.map_or(self.noted, |(number, _)| number - 1)
    }
}

/// Deaths in the order in which they happened.
#[derive(Default)]
pub(crate) struct Deaths(Mutex<State>);

impl Deaths {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder panics")
    }

    /// Notes a death; returns how many wait.
    pub fn note(&self, death: Death) -> usize {
        let mut state = self.state();
        state.push(death);
        state.pending.len()
    }

    /// Notes that a segment has died as a whole. That stands in the place of the first death of one of its items that waits, and
    /// the others are not told any more: every one of them is told of no later than it would have been, and what is noted later still
    /// comes later. Deaths that wait take so little room that they can be told with a single slot left.
    pub fn note_end(&self, write_number: u64) {
        let mut state = self.state();
        let is_of_it = |(_, death): &(u64, Death)| death.write_number == write_number;
        let end = Death {
            write_number,
            item: WHOLE_SEGMENT,
        };
        let Some(first) = state.pending.iter().position(is_of_it) else {
            return state.push(end);
        };
        let (number, death) = &mut state.pending[first];
        *death = end;
        let first = *number;
        state
            .pending
            .retain(|entry| entry.0 == first || !is_of_it(entry));
        state.noted += 1;
    }

    /// Deaths noted so far; those up to this number are written once [`Deaths::take`] has returned it.
    pub fn noted(&self) -> u64 {
        self.state().noted
    }

    /// Deaths up to this number have been taken.
    pub fn told(&self) -> u64 {
        self.state().told()
    }

    pub fn pending(&self) -> usize {
        self.state().pending.len()
    }

    /// How many of those up to this number wait.
    pub fn pending_through(&self, number: u64) -> usize {
        let state = self.state();
        state.pending.partition_point(|entry| entry.0 <= number)
    }

    /// Takes the oldest `most`, and says up to which number all have been taken.
    pub fn take(&self, most: usize) -> (Box<[Death]>, u64) {
        let mut state = self.state();
        let count = most.min(state.pending.len());
        let taken = state.pending.drain(..count).map(|(_, death)| death);
        let taken = taken.collect();
        (taken, state.told())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn death(write_number: u64, item: u32) -> Death {
        Death { write_number, item }
    }

    #[test]
    fn deaths_are_told_in_order() {
        let deaths = Deaths::default();
        (0..5).for_each(|item| _ = deaths.note(death(1, item)));
        assert_eq!((deaths.noted(), deaths.told(), deaths.pending()), (5, 0, 5));
        let (taken, through) = deaths.take(2);
        assert_eq!((&*taken, through), (&[death(1, 0), death(1, 1)][..], 2));
        assert_eq!((deaths.take(9).1, deaths.told()), (5, 5));
    }

    #[test]
    fn the_end_of_a_segment_is_told_instead_of_the_deaths_in_it_and_no_later() {
        let deaths = Deaths::default();
        for one in [
            death(1, 0),
            death(2, 0),
            death(3, 0),
            death(2, 1),
            death(3, 1),
        ] {
            deaths.note(one);
        }
        deaths.note_end(2);
        deaths.note_end(4);
        assert_eq!((deaths.noted(), deaths.told(), deaths.pending()), (7, 0, 5));
        assert_eq!(
            [2, 4, 7].map(|number| deaths.pending_through(number)),
            [2, 3, 5]
        );
        let (taken, through) = deaths.take(2);
        assert_eq!(*taken, [death(1, 0), death(2, WHOLE_SEGMENT)]);
        assert_eq!(through, 2, "the third has yet to be told");
        let (taken, through) = deaths.take(2);
        assert_eq!(*taken, [death(3, 0), death(3, 1)]);
        assert_eq!(through, 6);
        let (taken, through) = deaths.take(2);
        assert_eq!((&*taken, through), (&[death(4, WHOLE_SEGMENT)][..], 7));
    }
}
