//! How many turns belong to the fabric before the worker looks at its sockets, and may give way or
//! sleep.
//!
//! A look at the sockets is a system call, which costs as much as a request on the fabric. So while
//! nothing comes over the sockets the looks become rare. That is at the expense of whoever else
//! wants this processor, as a worker gives way at a look only. Where others run meanwhile, as
//! several servers on one processor do, the worker looks, and gives way, as soon as a few turns in
//! a row have found nothing: a request to one of them waits until all others have given way. Turns
//! that find something go on: under many clients each change of the processor costs more than it
//! brings.
//!
//! Where polling is barred ([`farcache_base::polling`]) the turns before the next look are a
//! moment's polling. They are worth it as long as they find something, as with one client that asks
//! one server. With several servers on one processor the next request is for another one most of
//! the time: that one waits until the moment of this one has ended.

use farcache_base::polling::Moments;
use std::time::Duration;

/// Turns for the fabric after a look at the sockets that has found something; twice as many after
/// each that has not.
const TURNS_MIN: u32 = 2;

/// Most turns between two looks: a turn in which nothing happens takes about 0.2 us, so that a
/// request over a silent socket waits about as long as a sleeping worker would take to wake up.
const TURNS_MAX: u32 = 64;

/// Most turns in a row that find nothing where others run on this processor: not much longer than
/// it takes to give way to them.
const VAIN_TURNS_SHARED_MAX: u32 = 4;

/// Giving way takes less than this unless somebody else has run meanwhile.
const ALONE_MAX: Duration = Duration::from_micros(2);

/// Counts the turns.
#[derive(Debug)]
pub(super) struct Turns {
    per_look: u32,
    left: u32,
    /// Turns in a row that have found nothing.
    in_vain: u32,
    /// Somebody else ran when the worker last gave way.
    is_shared: bool,
    moments: Moments,
    /// Whether the wait under way began with a moment's polling, if polling is barred.
    moment: Option<bool>,
}

impl Turns {
    pub fn new() -> Self {
        Turns {
            per_look: TURNS_MIN,
            left: 0,
            in_vain: 0,
            is_shared: false,
            moments: Moments::default(),
            moment: None,
        }
    }

    /// Something has come over the fabric.
    pub fn found(&mut self) {
        self.in_vain = 0;
        self.end_moment(true);
    }

    /// Whether another turn is the fabric's, after one in which nothing came.
    pub fn has_more(&mut self, may_poll: bool) -> bool {
        self.in_vain += 1;
        if !may_poll {
            // Nobody gives way now, and a moment has its full length.
            self.is_shared = false;
            let moments = &mut self.moments;
            let is_tried = *self.moment.get_or_insert_with(|| moments.begin());
            if !is_tried {
                return false;
            }
        }
        let is_long = self.is_shared && self.in_vain > VAIN_TURNS_SHARED_MAX;
        self.left > 0 && !is_long
    }

    /// Whether another turn is the fabric's, after one in which something came.
    pub fn has_left(&self) -> bool {
        self.left > 0
    }

    /// Counts a turn that has been taken.
    pub fn take(&mut self) {
        self.left -= 1;
    }

    /// The sockets have been looked at, and something was found or not.
    pub fn looked(&mut self, has_found: bool) {
        self.per_look = if has_found {
            TURNS_MIN
        } else {
            (2 * self.per_look).min(TURNS_MAX)
        };
        self.left = self.per_look;
        self.in_vain = 0;
    }

    /// The worker has given way, which took so long.
    pub fn gave_way(&mut self, time: Duration) {
        self.is_shared = time >= ALONE_MAX;
    }

    /// The worker goes to sleep.
    pub fn slept(&mut self) {
        self.end_moment(false);
    }

    fn end_moment(&mut self, has_found: bool) {
        if self.moment.take() == Some(true) {
            self.moments.ended(has_found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns until the next look at the sockets, in which nothing comes.
    fn turns_in_vain(turns: &mut Turns, may_poll: bool) -> u32 {
        let mut taken = 0;
        while turns.has_more(may_poll) {
            turns.take();
            taken += 1;
        }
        taken
    }

    /// A wait that ends with a sleep; whether it began with turns for the fabric.
    fn sleeps_after_polling(turns: &mut Turns) -> bool {
        turns.looked(false);
        let has_polled = turns_in_vain(turns, false) > 0;
        turns.slept();
        has_polled
    }

    #[test]
    fn silent_sockets_are_looked_at_rarely() {
        let mut turns = Turns::new();
        for expected in [4, 8, 16, 32, 64, 64] {
            turns.looked(false);
            assert_eq!(turns_in_vain(&mut turns, true), expected);
        }
        turns.looked(true);
        assert_eq!(turns_in_vain(&mut turns, true), TURNS_MIN);
    }

    #[test]
    fn whoever_shares_the_processor_is_not_kept_waiting() {
        let mut turns = Turns::new();
        (0..9).for_each(|_| turns.looked(false));
        turns.gave_way(ALONE_MAX);
        assert_eq!(turns_in_vain(&mut turns, true), VAIN_TURNS_SHARED_MAX);
        turns.looked(false);
        assert_eq!(turns_in_vain(&mut turns, true), VAIN_TURNS_SHARED_MAX);
        turns.gave_way(ALONE_MAX / 2);
        turns.looked(false);
        assert_eq!(turns_in_vain(&mut turns, true), TURNS_MAX);
    }

    #[test]
    fn turns_that_find_something_go_on_whoever_shares_the_processor() {
        let mut turns = Turns::new();
        (0..9).for_each(|_| turns.looked(false));
        turns.gave_way(ALONE_MAX);
        turns.looked(false);
        let mut taken = 0;
        while turns.has_left() {
            turns.take();
            turns.found();
            taken += 1;
        }
        assert_eq!(taken, TURNS_MAX, "and no longer: sockets are looked at");
        turns.looked(false);
        turns.take();
        turns.found();
        assert_eq!(turns_in_vain(&mut turns, true), VAIN_TURNS_SHARED_MAX);
    }

    #[test]
    fn moments_that_find_nothing_are_left_out_where_polling_is_barred() {
        let mut turns = Turns::new();
        let polled = (0..200).filter(|_| sleeps_after_polling(&mut turns));
        assert!(polled.count() < 12);
    }

    #[test]
    fn a_moment_has_its_full_length_whoever_shares_the_processor() {
        let mut turns = Turns::new();
        turns.gave_way(ALONE_MAX);
        for _ in 0..9 {
            turns.looked(false);
            assert!(turns.has_more(false));
            turns.found();
        }
        turns.looked(false);
        assert_eq!(turns_in_vain(&mut turns, false), TURNS_MAX);
    }

    #[test]
    fn moments_that_find_something_go_on() {
        let mut turns = Turns::new();
        for _ in 0..200 {
            turns.looked(false);
            assert!(turns.has_more(false));
            turns.take();
            turns.found();
        }
        turns.looked(false);
        assert!(turns.has_more(false), "and after a moment in vain");
        turns.slept();
        assert!(
            !sleeps_after_polling(&mut turns),
            "one wait is slept through"
        );
        assert!(sleeps_after_polling(&mut turns), "before the next is tried");
    }
}
