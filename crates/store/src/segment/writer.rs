//! Appending items to open segments. Each thread has a writer of its own, so appending takes no lock.

use super::arena::{Arena, LEAD_BYTES, Place};
use super::meta::Queue;
use crate::index::Location;
use farcache_base::time::{NEVER, Seconds};

/// Upper ends of the lifetimes, in seconds, that are kept in segments of their own, so that a whole
/// segment expires at once. Source of the idea: J. Yang et al., "Segcache" (NSDI 2021).
const LIFETIME_ENDS: [Seconds; 6] = [60, 600, 3_600, 21_600, 86_400, 604_800];
const LIFETIMES: usize = LIFETIME_ENDS.len() + 2;
/// Items larger than this part of a segment have segments, or runs, of their own.
const LARGE_PART: usize = 8;
/// A run is made so long that items of the size in question waste at most one part in this many.
const WASTE_PART: usize = 8;
/// Longest run chosen for want of waste; a single item may need a longer one.
const ROOMY_RUN_MAX: usize = 16;
/// Stores with fewer segments keep only two lifetimes apart: mortal and immortal.
const SEGMENTS_FOR_LIFETIMES: u32 = 128;

/// A segment, or run, being filled.
#[derive(Clone, Copy, Debug)]
struct Open {
    head: u32,
    sequence: u64,
    used: usize,
    capacity: usize,
}

impl Open {
    fn fits(&self, size: usize, floor: u64) -> bool {
        self.capacity - self.used >= size && self.sequence > floor
    }
}

/// Room for one item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub place: Place,
    pub head: u32,
    size: usize,
    class: usize,
}

impl Placed {
    pub fn location(&self) -> Location {
        self.place.location()
    }

    /// Bytes of the room.
    pub fn size(&self) -> usize {
        self.size
    }
}

/// One thread's open segments, by size and lifetime.
pub(crate) struct Writer {
    open: [Option<Open>; 2 * LIFETIMES],
    queue: Queue,
    /// Free segments that must be left when this writer opens one.
    keep: u32,
}

impl Writer {
    pub fn new(queue: Queue, keep: u32) -> Writer {
        Writer {
            open: [None; 2 * LIFETIMES],
            queue,
            keep,
        }
    }

    /// Room for an item in an open segment whose filling is younger than `floor`; none where a
    /// segment would have to be opened first.
    #[inline]
    pub fn place(
        &mut self,
        arena: &Arena,
        size: usize,
        expiry: Seconds,
        now: Seconds,
        floor: u64,
    ) -> Option<Placed> {
        let class = class_of(arena, size, expiry, now);
        let open = self.open[class]
            .as_mut()
            .filter(|open| open.fits(size, floor))?;
        let place = Place(arena.start(open.head).0 + open.used as u64);
        open.used += size;
        let meta = arena.meta(open.head);
        meta.set_written(open.used as u32);
        meta.note_expiry(expiry);
        Some(Placed {
            place,
            head: open.head,
            size,
            class,
        })
    }

    /// Whether [`Writer::place`] would find room.
    pub fn fits(
        &self,
        arena: &Arena,
        size: usize,
        expiry: Seconds,
        now: Seconds,
        floor: u64,
    ) -> bool {
        self.open[class_of(arena, size, expiry, now)].is_some_and(|open| open.fits(size, floor))
    }

    /// Opens a segment, or run, for an item of this size; false where none is free.
    pub fn open_for(&mut self, arena: &Arena, size: usize, expiry: Seconds, now: Seconds) -> bool {
        let run = run_for(arena, size);
        let head = arena.open(run, self.keep, self.queue).or_else(|| {
            let least = least_run(arena, size);
            (least < run)
                .then(|| arena.open(least, self.keep, self.queue))
                .flatten()
        });
        let Some(head) = head else { return false };
        self.adopt(arena, head, size, class_of(arena, size, expiry, now));
        true
    }

    /// Fills a run that was opened for an item of this size.
    pub fn adopt_run(
        &mut self,
        arena: &Arena,
        head: u32,
        size: usize,
        expiry: Seconds,
        now: Seconds,
    ) {
        self.adopt(arena, head, size, class_of(arena, size, expiry, now));
    }

    fn adopt(&mut self, arena: &Arena, head: u32, size: usize, class: usize) {
        let capacity = arena.meta(head).run() as usize * arena.segment_bytes();
        let lead = match class >= LIFETIMES && has_room_to_spare(capacity, size) {
            true => arena.write_lead(head),
            false => 0,
        };
        let open = Open {
            head,
            sequence: arena.meta(head).sequence(),
            used: lead,
            capacity,
        };
        if let Some(full) = self.open[class].replace(open) {
            arena.seal(full.head);
        }
    }

    /// Takes back room that was placed last and never published.
    pub fn unplace(&mut self, arena: &Arena, placed: &Placed) {
        let Some(open) = self.open[placed.class].as_mut() else {
            return;
        };
        let end = arena.start(open.head).0 + open.used as u64;
        if open.head == placed.head && placed.place.0 + placed.size as u64 == end {
            open.used -= placed.size;
            arena.meta(open.head).set_written(open.used as u32);
        }
    }

    /// Seals every open segment.
    pub fn seal_all(&mut self, arena: &Arena) {
        self.open
            .iter_mut()
            .filter_map(Option::take)
            .for_each(|open| arena.seal(open.head));
    }
}

fn class_of(arena: &Arena, size: usize, expiry: Seconds, now: Seconds) -> usize {
    let is_large = size > arena.segment_bytes() / LARGE_PART;
    let lifetime = match expiry {
        NEVER => 0,
        _ if arena.segment_count() < SEGMENTS_FOR_LIFETIMES => 1,
        _ => {
            let seconds = expiry.saturating_sub(now);
            1 + LIFETIME_ENDS
                .iter()
                .take_while(|&&end| seconds > end)
                .count()
        }
    };
    usize::from(is_large) * LIFETIMES + lifetime
}

/// Whether as many items of this size fit behind a lead as without one.
fn has_room_to_spare(capacity: usize, size: usize) -> bool {
    capacity > LEAD_BYTES && (capacity - LEAD_BYTES) / size == capacity / size
}

/// Segments that one item needs.
pub(crate) fn least_run(arena: &Arena, size: usize) -> u32 {
    size.div_ceil(arena.segment_bytes()) as u32
}

/// Segments to open for items of this size, so that little is left over behind the last of them.
fn run_for(arena: &Arena, size: usize) -> u32 {
    let segment = arena.segment_bytes();
    let least = size.div_ceil(segment);
    let affordable = (arena.counts().allowed as usize / 16).min(ROOMY_RUN_MAX);
    let wastes_little = |run: &usize| (run * segment) % size * WASTE_PART <= run * segment;
    (least..=affordable.max(least))
        .find(wastes_little)
        .unwrap_or(least) as u32
}
