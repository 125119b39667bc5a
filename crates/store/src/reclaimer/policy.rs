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
/// The bound of [`CLEANING_LIVE_PART_MAX`] where what is evicted goes to a device. Three copies
/// within memory for each segment gained are cheaper than writing, cleaning and reading items that
/// memory has room for.
const CLEANING_LIVE_PART_MAX_ABOVE_DEVICE: u64 = 768;
/// With eviction off: a segment with a larger live part is not worth cleaning.
pub(crate) const COMPACTING_LIVE_PART_MAX: u64 = 1000;

/// Segments emptied in vain, because everything in them was in use, before the demands on an item
/// rise by one use.
const ROUNDS_PER_USE: u32 = 8;

/// An item of more than so many times the mean size is large. Measured: 2 and 4 are alike.
const LARGE_FACTOR: u64 = 4;
/// Segments over which the mean is taken, the last ones counting most.
const MEAN_SEGMENTS: u64 = 64;

/// Live items that such a segment must have at least, so that they fill the segments to which they
/// move: a few large ones would leave as much room behind as they had.
const ITEMS_ABOVE_DEVICE_MIN: u32 = 16;
/// Segments emptied in vain, one after the other, before only those with the smaller live part are
/// cleaned. Of four that are three quarters alive one is gained.
const ROUNDS_ABOVE_DEVICE_MAX: u32 = 4;

/// Whether a segment with this live part, in 1024ths, and so many live items is cleaned before
/// anything is evicted, after `round` segments were emptied in vain.
pub(crate) fn is_worth_cleaning(
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
pub(crate) enum Fate {
    /// All move to another segment.
    Keep,
    /// Items used often enough move to the main queue, all others are dropped.
    ByUse {
        /// Queue that the segment was in.
        queue: Queue,
        /// Segments emptied in vain just before this one.
        round: u32,
        /// An item of more bytes must have been used once more.
        bytes_large: u64,
    },
    /// All are dropped.
    Drop,
}

/// What becomes of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It moves to this queue with this frequency.
    Move { queue: Queue, frequency: u32 },
    /// It is dropped.
    Drop,
}

impl Fate {
    /// The verdict on an item with this use and so many bytes, now in `home`.
    pub fn of(self, state: State, bytes: usize, home: Queue) -> Verdict {
        match self {
            Fate::Keep => Verdict::Move {
                queue: home,
                frequency: state.frequency(),
            },
            Fate::ByUse {
                queue,
                round,
                bytes_large,
            } if state.frequency() > demand(round, bytes as u64 > bytes_large) => Verdict::Move {
                queue: Queue::Main,
                frequency: match queue {
                    Queue::Probation => 0,
                    Queue::Main => state.frequency() - 1,
                },
            },
            Fate::ByUse { .. } | Fate::Drop => Verdict::Drop,
        }
    }
}

/// Uses that do not suffice, after `round` segments emptied in vain. One of a large item takes the
/// place of many small ones.
fn demand(round: u32, is_large: bool) -> u32 {
    round / ROUNDS_PER_USE + u32::from(is_large)
}

/// Mean size of the live items of the segments emptied last.
#[derive(Debug, Default)]
pub(crate) struct MeanSize {
    bytes: u64,
    items: u64,
}

impl MeanSize {
    /// Counts a segment that is about to be emptied.
    pub fn note(&mut self, live_bytes: u64, live_items: u64) {
        let fade = |sum: u64| sum - sum / MEAN_SEGMENTS;
        self.bytes = fade(self.bytes) + live_bytes;
        self.items = fade(self.items) + live_items;
    }

    /// Bytes above which an item is large; nothing is while nothing was counted.
    pub fn bytes_large(&self) -> u64 {
        (self.bytes * LARGE_FACTOR)
            .checked_div(self.items)
            .unwrap_or(u64::MAX)
    }
}

/// The queue that gives up its oldest segment next, and the one to ask if it has none to give.
/// So many segments of each, probation first, are `taken`: they have been chosen already, or values
/// are arriving in them and they cannot be emptied yet.
pub(crate) fn queues_in_turn(queues: &Queues, taken: [u32; 2]) -> (Queue, Queue) {
    // Values arrive in new segments. Were those counted, the probation queue would seem long while
    // the only segment that it can give up is the newest, whose items nobody can have read yet.
    let of = |queue| queues.segments(queue).saturating_sub(taken[queue as usize]);
    let probation = of(Queue::Probation);
    let all = probation + of(Queue::Main);
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
        let first = |probation, main| queues_in_turn(&queues(probation, main), [0; 2]).0;
        assert_eq!(first(10, 90), Queue::Probation);
        assert_eq!(first(10, 91), Queue::Main);
        assert_eq!(first(1, 0), Queue::Probation);
    }

    fn verdict(uses: u32, bytes: usize, queue: Queue) -> Verdict {
        let fate = Fate::ByUse {
            queue,
            round: 0,
            bytes_large: 1000,
        };
        fate.of(State::with_frequency(uses), bytes, queue)
    }

    #[test]
    fn a_large_item_stays_if_it_was_used_once_more_than_others_must_be() {
        let to_main = |frequency| Verdict::Move {
            queue: Queue::Main,
            frequency,
        };
        for queue in [Queue::Probation, Queue::Main] {
            assert_eq!(verdict(0, 1000, queue), Verdict::Drop);
            assert_eq!(verdict(1, 1000, queue), to_main(0));
            assert_eq!(verdict(1, 1001, queue), Verdict::Drop);
        }
        assert_eq!(verdict(2, 1001, Queue::Probation), to_main(0));
        assert_eq!(verdict(2, 1001, Queue::Main), to_main(1));
    }

    #[test]
    fn large_is_four_times_the_mean_of_the_segments_emptied_last() {
        let mut mean = MeanSize::default();
        assert_eq!(mean.bytes_large(), u64::MAX);
        mean.note(0, 0);
        assert_eq!(mean.bytes_large(), u64::MAX, "nothing was alive");
        mean.note(64_000, 640);
        assert_eq!(mean.bytes_large(), 400);
        (0..1000).for_each(|_| mean.note(64_000, 64));
        assert!((3900..=4000).contains(&mean.bytes_large()));
    }

    #[test]
    fn what_was_just_stored_does_not_give_way_for_segments_that_cannot() {
        // Values arrive in 64 of the 65 new segments: the last one would go before it was read.
        assert_eq!(queues_in_turn(&queues(65, 185), [64, 0]).0, Queue::Main);
        // Some of them are still open, and not in the queue.
        assert_eq!(queues_in_turn(&queues(3, 185), [64, 0]).0, Queue::Main);
    }
}
