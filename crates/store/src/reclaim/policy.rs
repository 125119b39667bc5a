//! Which items stay when memory runs out.
//!
//! Two queues of segments, after S3-FIFO (J. Yang et al., "FIFO Queues are All You Need for Cache
//! Eviction", SOSP 2023): new items pass through a short probation queue, and only those used there
//! enter the main queue, so a scan or a one-hit wonder leaves soon. An item of the main queue that
//! was used goes round once more, with its frequency lowered.

use crate::item::State;
use crate::segment::{Queue, Queues};

/// The probation queue gives way while it holds more than this part of the sealed segments.
const PROBATION_PART: u32 = 10;
/// A segment with a smaller live part, in 1024ths, is cleaned before anything is evicted.
const CLEANING_LIVE_PART_MAX: u64 = 512;
/// The same where what is evicted goes to a device. Three copies within memory for each segment
/// gained are cheaper than writing, cleaning and reading items that memory has room for.
const CLEANING_LIVE_PART_MAX_ABOVE_DEVICE: u64 = 768;
/// With eviction off: a segment with a larger live part is not worth cleaning.
pub(super) const COMPACTING_LIVE_PART_MAX: u64 = 1000;

/// Segments emptied in vain, because everything in them was in use, before the demands on an item
/// rise by one use.
const ROUNDS_PER_USE: u32 = 8;

/// Live items that such a segment must have at least, so that they fill the segments to which they
/// move: a few large ones would leave as much room behind as they had.
const ITEMS_ABOVE_DEVICE_MIN: u32 = 16;
/// Segments emptied in vain, one after the other, before only those with the smaller live part are
/// cleaned. Of four that are three quarters alive one is gained.
const ROUNDS_ABOVE_DEVICE_MAX: u32 = 4;

/// Whether a segment with this live part, in 1024ths, and so many live items is cleaned before
/// anything is evicted, after `round` segments were emptied in vain.
pub(super) fn is_worth_cleaning(
    live_part: u64,
    live_items: u32,
    evicts_to_device: bool,
    round: u32,
) -> bool {
    let can_pack = live_items >= ITEMS_ABOVE_DEVICE_MIN && round < ROUNDS_ABOVE_DEVICE_MAX;
    let most = match evicts_to_device && can_pack {
        true => CLEANING_LIVE_PART_MAX_ABOVE_DEVICE,
        false => CLEANING_LIVE_PART_MAX,
    };
    live_part < most
}

/// What becomes of the live items of a segment being emptied.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// All move to another segment.
    Keep,
    /// Those used often enough move to the main queue, the others are dropped.
    ByUse {
        /// Queue that the segment was in.
        queue: Queue,
        /// Segments emptied in vain just before this one.
        round: u32,
    },
    /// All are dropped.
    Drop,
}

/// What becomes of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It moves to this queue with this frequency.
    Move { queue: Queue, frequency: u32 },
    /// It is dropped.
    Drop,
}

impl Fate {
    /// The verdict on an item with this use, now in `home`.
    pub fn of(self, state: State, home: Queue) -> Verdict {
        match self {
            Fate::Keep => Verdict::Move {
                queue: home,
                frequency: state.frequency(),
            },
            Fate::ByUse {
                queue: Queue::Probation,
                round,
            } if state.frequency() > round / ROUNDS_PER_USE => Verdict::Move {
                queue: Queue::Main,
                frequency: 0,
            },
            Fate::ByUse {
                queue: Queue::Main,
                round,
            } if state.frequency() > round / ROUNDS_PER_USE => Verdict::Move {
                queue: Queue::Main,
                frequency: state.frequency() - 1,
            },
            Fate::ByUse { .. } | Fate::Drop => Verdict::Drop,
        }
    }
}

/// The queue that gives up its oldest segment next, and the one to ask if it has none to give;
/// values are arriving in `blocked` segments, which cannot be emptied yet.
pub(super) fn queues_in_turn(queues: &Queues, blocked: u32) -> (Queue, Queue) {
    // Values arrive in new segments. Were those counted, the probation queue would seem long while
    // the only segment that it can give up is the newest, whose items nobody can have read yet.
    let probation = queues.segments(Queue::Probation).saturating_sub(blocked);
    let all = probation + queues.segments(Queue::Main);
    if probation * PROBATION_PART >= all {
        (Queue::Probation, Queue::Main)
    } else {
        (Queue::Main, Queue::Probation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Queued;

    fn queues(probation: u32, main: u32) -> Queues {
        let mut queues = Queues::default();
        let of_queue = |queue, count| (0..count).map(move |segment| (queue, segment));
        for (queue, segment) in
            of_queue(Queue::Probation, probation).chain(of_queue(Queue::Main, main))
        {
            let entry = Queued {
                segment,
                sequence: 1,
            };
            queues.push(queue, entry, 1);
        }
        queues
    }

    #[test]
    fn the_probation_queue_gives_way_while_it_is_long() {
        let first = |probation, main| queues_in_turn(&queues(probation, main), 0).0;
        assert_eq!(first(10, 90), Queue::Probation);
        assert_eq!(first(10, 91), Queue::Main);
        assert_eq!(first(1, 0), Queue::Probation);
    }

    #[test]
    fn what_was_just_stored_does_not_give_way_for_segments_that_cannot() {
        // Values arrive in 64 of the 65 new segments: the last one would go before it was read.
        assert_eq!(queues_in_turn(&queues(65, 185), 64).0, Queue::Main);
        // Some of them are still open, and not in the queue.
        assert_eq!(queues_in_turn(&queues(3, 185), 64).0, Queue::Main);
    }
}
