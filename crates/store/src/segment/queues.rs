//! Sealed segments in the order in which they were sealed.

use super::meta::Queue;
use std::collections::VecDeque;

/// A segment and the filling that was queued: an entry whose filling is over is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub segment: u32,
    pub sequence: u64,
}

/// The eviction queues.
#[derive(Default)]
pub(crate) struct Queues {
    probation: VecDeque<Queued>,
    main: VecDeque<Queued>,
    /// Segments, not runs, in each queue; void entries included until they are met.
    segments: [u32; 2],
}

impl Queues {
    fn of(&mut self, queue: Queue) -> &mut VecDeque<Queued> {
        match queue {
            Queue::Probation => &mut self.probation,
            Queue::Main => &mut self.main,
        }
    }

    pub fn push(&mut self, queue: Queue, entry: Queued, run: u32) {
        self.of(queue).push_back(entry);
        self.segments[queue as usize] += run;
    }

    pub fn pop(&mut self, queue: Queue) -> Option<Queued> {
        self.of(queue).pop_front()
    }

    /// Entries of a queue, void ones included.
    pub fn entries(&mut self, queue: Queue) -> usize {
        self.of(queue).len()
    }

    /// Drops entries of a queue.
    pub fn retain(&mut self, queue: Queue, keeps: impl Fn(&Queued) -> bool) {
        self.of(queue).retain(keeps);
    }

    /// A segment of a queue has left it (evicted, cleaned, expired or taken for a run).
    pub fn note_left(&mut self, queue: Queue, run: u32) {
        self.segments[queue as usize] -= run;
    }

    /// Segments waiting in a queue.
    pub fn segments(&self, queue: Queue) -> u32 {
        self.segments[queue as usize]
    }
}
