//! Segments whose items have been copied to a device, and will be emptied next.

use crate::segment::{Queue, Queued, Walk};
use std::collections::VecDeque;

/// Segments whose items have copies on a device, in the order in which they will be emptied. They
/// have left their queues.
#[derive(Default)]
pub(crate) struct Ahead {
    pub segments: VecDeque<Ready>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Ready {
    pub entry: Queued,
    pub queue: Queue,
    pub run: u32,
    /// Bytes of items that will stay in memory, because they are in use.
    pub kept_bytes: u64,
    /// The items that have yet to be copied; none when all have been.
    pub left: Option<Walk>,
}

impl Ahead {
    /// Segments of a queue that have left it, but not memory.
    pub fn segments_of(&self, queue: Queue) -> u32 {
        let of_queue = self.segments.iter().filter(|ready| ready.queue == queue);
        of_queue.map(|ready| ready.run).sum()
    }

    /// The segment to empty next, with its queue.
    pub fn pop(&mut self) -> Option<(Queued, Queue)> {
        let ready = self.segments.pop_front()?;
        Some((ready.entry, ready.queue))
    }

    /// How many they are.
    pub fn segments(&self) -> u32 {
        self.segments.iter().map(|ready| ready.run).sum()
    }

    /// What emptying them gives back, in segments.
    pub fn gain(&self, segment_bytes: u64) -> u32 {
        let complete = self.segments.iter().filter(|ready| ready.left.is_none());
        let bytes = complete
            .map(|ready| (u64::from(ready.run) * segment_bytes).saturating_sub(ready.kept_bytes));
        (bytes.sum::<u64>() / segment_bytes) as u32
    }
}
