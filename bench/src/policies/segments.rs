//! Rules for a store whose memory is a log of segments: whole segments are emptied, what stays is
//! copied.
//!
//! A model of the store's reclaimer, to choose its rules by. Objects that are larger than an eighth
//! of a segment have segments of their own.

use super::{Access, Policy};
use crate::traces::ObjectId;
use std::collections::VecDeque;

/// Bytes that an item takes above key and value.
const ITEM_BYTES: u64 = 8;
/// Items begin at multiples of this.
const ALIGNMENT: u64 = 4;
/// Classes of sizes: small and large.
const CLASSES: usize = 2;
/// Segments emptied in vain before the demands rise by one use.
const ROUNDS_PER_USE: u32 = 8;
/// Part of all segments that is kept free, its bounds, and what is kept for the reclaimer beside
/// it.
const STOCK_PART: u64 = 128;
const STOCK_MIN: u64 = 2;
const STOCK_MAX: u64 = 32;
const RECLAIMER_SEGMENTS: u64 = 2;

/// Segments over which the use of the main queue is averaged.
const MAIN_USED_SEGMENTS: f64 = 16.0;

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentRules {
    /// Size of a segment in bytes; 0 for what the store chooses.
    pub segment_bytes: u64,
    /// Part of the sealed segments above which the probation queue gives way, in hundredths.
    pub probation_percent: u64,
    /// Uses in probation with which an object moves to the main queue.
    pub uses_to_move: u8,
    /// Largest number of uses that is told apart.
    pub uses_max: u8,
    /// Objects remembered after they left probation unused, in hundredths of the objects held.
    pub ghost_percent: u64,
    /// Oldest segments of the main queue of which the least used is emptied.
    pub main_window: usize,
    /// While memory fills, what is more than probation's part joins the main queue as it is.
    pub fills_main: bool,
    /// With a smaller part of the main queue used when it is looked at, in hundredths, it gives way
    /// first.
    pub main_used_percent: u64,
    /// What leaves the main queue is remembered, too.
    pub remembers_main: bool,
}

impl Default for SegmentRules {
    fn default() -> Self {
        SegmentRules {
            segment_bytes: 0,
            probation_percent: 10,
            uses_to_move: 1,
            uses_max: 3,
            ghost_percent: 0,
            main_window: 1,
            fills_main: false,
            main_used_percent: 0,
            remembers_main: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Probation,
    Main,
}

#[derive(Clone, Copy, Default)]
struct Object {
    bytes: u64,
    uses: u8,
    is_held: bool,
    /// Number of the memory of it among all, 0 for none.
    ghost: u64,
}

#[derive(Default)]
struct Segment {
    objects: Vec<ObjectId>,
    used_bytes: u64,
    /// Segments in a row that it takes.
    run: u64,
}

/// The cache.
pub struct Segments {
    rules: SegmentRules,
    segment_bytes: u64,
    segments: u64,
    free: u64,
    objects: Vec<Object>,
    held: u64,
    held_bytes: u64,
    queues: [VecDeque<Segment>; 2],
    sealed: [u64; 2],
    open: [[Option<Segment>; CLASSES]; 2],
    ghosts: VecDeque<(ObjectId, u64)>,
    ghosts_made: u64,
    in_vain: u32,
    has_evicted: bool,
    /// Part of the main queue that was used, a moving mean.
    main_used: f64,
}

impl Segments {
    /// An empty one.
    pub fn new(capacity_bytes: u64, objects: u32, rules: SegmentRules) -> Segments {
        let segment_bytes = match rules.segment_bytes {
            0 => u64::from(farcache_store::StoreConfig::segment_bytes_for(
                capacity_bytes,
            )),
            bytes => bytes,
        };
        let segments = (capacity_bytes / segment_bytes).max(1);
        Segments {
            rules,
            segment_bytes,
            segments,
            free: segments,
            objects: vec![Object::default(); objects as usize],
            held: 0,
            held_bytes: 0,
            queues: Default::default(),
            sealed: [0; 2],
            open: Default::default(),
            ghosts: VecDeque::new(),
            ghosts_made: 0,
            in_vain: 0,
            has_evicted: false,
            main_used: 1.0,
        }
    }

    fn stock(&self) -> u64 {
        (self.segments / STOCK_PART).clamp(STOCK_MIN, STOCK_MAX) + RECLAIMER_SEGMENTS
    }

    /// Appends an object to an open segment; false where none is free.
    fn append(&mut self, queue: Queue, object: ObjectId, leave: u64) -> bool {
        let bytes = self.objects[object as usize].bytes;
        let class = usize::from(bytes > self.segment_bytes / 8);
        let capacity = |segment: &Segment| segment.run * self.segment_bytes;
        let open = self.open[queue as usize][class].as_ref();
        let fits = open.is_some_and(|open| open.used_bytes + bytes <= capacity(open));
        if !fits {
            let run = bytes.div_ceil(self.segment_bytes);
            if self.free < run + leave {
                return false;
            }
            self.free -= run;
            let fresh = Segment {
                run,
                ..Segment::default()
            };
            if let Some(full) = self.open[queue as usize][class].replace(fresh) {
                self.sealed[queue as usize] += full.run;
                self.queues[queue as usize].push_back(full);
                if self.rules.fills_main {
                    self.fill_main();
                }
            }
        }
        let open = self.open[queue as usize][class].as_mut();
        let open = open.expect("just opened");
        open.used_bytes += bytes;
        open.objects.push(object);
        true
    }

    /// Before the first eviction, the oldest of a long probation queue become the main queue's.
    fn fill_main(&mut self) {
        while !self.has_evicted
            && self.sealed[0] * 100 > self.segments * self.rules.probation_percent
        {
            let Some(oldest) = self.queues[0].pop_front() else {
                return;
            };
            self.sealed[0] -= oldest.run;
            self.sealed[1] += oldest.run;
            self.queues[1].push_back(oldest);
        }
    }

    fn insert(&mut self, access: Access) {
        let index = access.object as usize;
        let bytes = (access.bytes + ITEM_BYTES).next_multiple_of(ALIGNMENT);
        let run = bytes.div_ceil(self.segment_bytes);
        if run + self.stock() > self.segments {
            return;
        }
        let ghost = std::mem::take(&mut self.objects[index].ghost);
        let uses = if ghost > 0 {
            self.rules.uses_to_move
        } else {
            0
        };
        (self.objects[index].bytes, self.objects[index].uses) = (bytes, uses);
        for _ in 0..2 {
            if self.append(Queue::Probation, access.object, RECLAIMER_SEGMENTS) {
                self.objects[index].is_held = true;
                self.held += 1;
                self.held_bytes += bytes;
                break;
            }
            self.reclaim(self.stock() + run);
        }
        self.forget_old_ghosts();
    }

    fn forget_old_ghosts(&mut self) {
        let most = self.held * self.rules.ghost_percent / 100;
        while self.ghosts.len() as u64 > most {
            let (object, number) = self.ghosts.pop_front().expect("not empty");
            let object = &mut self.objects[object as usize];
            if object.ghost == number {
                object.ghost = 0;
            }
        }
    }

    fn reclaim(&mut self, wanted: u64) {
        // Bounded: demands rise with each segment emptied in vain.
        for _ in 0..10 * self.segments {
            if self.free >= wanted {
                return;
            }
            let before = self.free;
            let Some((queue, segment)) = self.choose() else {
                return;
            };
            self.empty(queue, segment);
            self.in_vain = match self.free > before {
                true => 0,
                false => self.in_vain + 1,
            };
        }
    }

    fn choose(&mut self) -> Option<(Queue, Segment)> {
        let [probation, main] = self.sealed;
        let is_long = probation as f64 * 100.0
            >= (probation + main) as f64 * self.rules.probation_percent as f64;
        self.has_evicted = true;
        let is_idle = self.main_used * 100.0 < self.rules.main_used_percent as f64;
        let is_long = is_long && !is_idle;
        let first = if is_long {
            Queue::Probation
        } else {
            Queue::Main
        };
        let other = if is_long {
            Queue::Main
        } else {
            Queue::Probation
        };
        for queue in [first, other] {
            let place = match queue {
                Queue::Probation => 0,
                Queue::Main => self.least_used(),
            };
            if let Some(segment) = self.queues[queue as usize].remove(place) {
                self.sealed[queue as usize] -= segment.run;
                return Some((queue, segment));
            }
        }
        None
    }

    /// Place of the segment with the least uses for its bytes among the oldest of the main queue.
    fn least_used(&self) -> usize {
        let segments = self.queues[Queue::Main as usize].iter();
        let uses = |segment: &Segment| -> f64 {
            let of = |object: &ObjectId| {
                f64::from(self.objects[*object as usize].uses.min(1))
                    * self.objects[*object as usize].bytes as f64
            };
            segment.objects.iter().map(of).sum::<f64>() / segment.used_bytes as f64
        };
        let window = segments.take(self.rules.main_window).map(uses).enumerate();
        window
            .min_by(|one, other| one.1.total_cmp(&other.1))
            .map_or(0, |least| least.0)
    }

    fn empty(&mut self, queue: Queue, segment: Segment) {
        if queue == Queue::Main {
            self.note_main_use(&segment);
        }
        let round = (self.in_vain / ROUNDS_PER_USE) as u8;
        for object in segment.objects {
            let uses = self.objects[object as usize].uses;
            let (stays, left) = match queue {
                Queue::Probation => (uses >= self.rules.uses_to_move.saturating_add(round), 0),
                Queue::Main => (uses > round, uses.saturating_sub(1)),
            };
            self.objects[object as usize].uses = left;
            if !(stays && self.append(Queue::Main, object, 0)) {
                self.drop_object(queue, object);
            }
        }
        self.free += segment.run;
    }

    fn note_main_use(&mut self, segment: &Segment) {
        let objects = segment.objects.iter();
        let objects = objects.map(|&object| &self.objects[object as usize]);
        let used = objects.filter(|object| object.uses > 0);
        let used: u64 = used.map(|object| object.bytes).sum();
        let part = used as f64 / segment.used_bytes.max(1) as f64;
        self.main_used += (part - self.main_used) / MAIN_USED_SEGMENTS;
    }

    fn drop_object(&mut self, queue: Queue, object: ObjectId) {
        let item = &mut self.objects[object as usize];
        item.is_held = false;
        self.held -= 1;
        self.held_bytes -= item.bytes;
        if queue == Queue::Probation || self.rules.remembers_main {
            self.ghosts_made += 1;
            item.ghost = self.ghosts_made;
            self.ghosts.push_back((object, self.ghosts_made));
        }
    }
}

impl Policy for Segments {
    fn access(&mut self, access: Access) -> bool {
        let object = &mut self.objects[access.object as usize];
        if object.is_held {
            object.uses = (object.uses + 1).min(self.rules.uses_max);
            return true;
        }
        self.insert(access);
        false
    }

    fn bytes(&self) -> u64 {
        self.held_bytes
    }
}
