//! Appending items to open segments. Each thread has a writer of its own, so appending takes no
//! lock.

use super::arena::Arena;
use super::meta::Queue;
use super::placed::Placed;
use super::space::{FILLER_BYTES_MIN, Place};
use crate::item::{ITEM_ALIGNMENT, Layout};
use farcache_base::time::{NEVER, Seconds};

/// Upper ends of the lifetimes, in seconds, that are kept in segments of their own, so that a whole
/// segment expires at once. Source of the idea: J. Yang et al., "Segcache" (NSDI 2021).
const LIFETIME_ENDS: [Seconds; 6] = [60, 600, 3_600, 21_600, 86_400, 604_800];
const LIFETIMES: usize = LIFETIME_ENDS.len() + 2;
/// Items larger than this part of a segment have segments, or runs, of their own.
const LARGE_PART: usize = 8;
/// A run is made so long that items of the size in question waste at most one part in this many:
/// of small ones less, since a run of two segments costs little.
const WASTE_PART: usize = 32;
const WASTE_PART_OF_LARGE: usize = 16;
/// Longest run chosen for want of waste; a single item may need a longer one.
const ROOMY_RUN_MAX: usize = 16;
/// Stores with fewer segments keep only two lifetimes apart: mortal and immortal.
const SEGMENTS_FOR_LIFETIMES: u32 = 128;

/// Where in a line of the cache the values of large items begin: where the large buffers of
/// programs do, 16 bytes into a page, as malloc makes them.
///
/// The copy from one process's memory to another's is made page by page. Where source and
/// destination differ within the line it takes 1.4 times as long as where they do not, and four
/// times as long where the destination lies less than 16 bytes behind the source (AMD Zen 4;
/// measured: `docs/journal/2026-11-22-fabric-speed.md`).
const VALUE_START_IN_LINE: u64 = 16;
const LINE_BYTES: u64 = 64;
/// Size of the smallest items for which that is done: smaller ones travel within messages.
const ALIGNED_BYTES_MIN: usize = 64 << 10;

/// A segment, or run, being filled: who has it may append to it, and nobody else.
#[derive(Debug)]
#[must_use = "a segment that is not sealed stays in memory for ever"]
pub(crate) struct Open {
    head: u32,
    sequence: u64,
    used: usize,
    capacity: usize,
}

impl Open {
    /// One that has just been taken from the free segments. Only the arena does that.
    pub(super) fn begun(head: u32, sequence: u64, capacity: usize) -> Open {
        Open {
            head,
            sequence,
            used: 0,
            capacity,
        }
    }

    pub fn fits(&self, size: usize, floor: u64) -> bool {
        self.room() >= size && self.sequence > floor
    }

    /// Bytes behind the last item.
    pub fn room(&self) -> usize {
        self.capacity - self.used
    }

    pub fn head(&self) -> u32 {
        self.head
    }

    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    #[cfg(test)]
    pub fn with_room(head: u32, room: usize) -> Open {
        Open {
            head,
            sequence: 7,
            used: 1000,
            capacity: 1000 + room,
        }
    }

    fn end(&self, arena: &Arena) -> Place {
        Place(arena.start(self.head).0 + self.used as u64)
    }

    /// Writes a filler, so that the value of the next item begins where it should, unless fewer
    /// such items would fit then.
    fn align(&mut self, arena: &Arena, layout: &Layout) {
        let bytes = filler_bytes(self.end(arena), layout.value_offset());
        let (left, size) = (self.room(), layout.size());
        if bytes > 0 && left > bytes && (left - bytes) / size == left / size {
            // SAFETY: the room behind the last item is this writer's alone, and more than these
            // bytes.
            unsafe { arena.write_filler(self.end(arena), bytes) };
            self.used += bytes;
        }
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
            open: [const { None }; 2 * LIFETIMES],
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
        layout: &Layout,
        expiry: Seconds,
        now: Seconds,
        floor: u64,
    ) -> Option<Placed> {
        let size = layout.size();
        let class = class_of(arena, size, expiry, now);
        let open = self.open[class]
            .as_mut()
            .filter(|open| open.fits(size, floor))?;
        if size >= ALIGNED_BYTES_MIN {
            open.align(arena, layout);
        }
        let place = open.end(arena);
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
        let open = &self.open[class_of(arena, size, expiry, now)];
        open.as_ref().is_some_and(|open| open.fits(size, floor))
    }

    /// Goes on filling a segment that was left with room for an item of this size; false where
    /// there is none.
    pub fn resume(
        &mut self,
        arena: &Arena,
        size: usize,
        expiry: Seconds,
        now: Seconds,
        floor: u64,
    ) -> bool {
        let class = class_of(arena, size, expiry, now);
        let Some(open) = arena.resume(self.queue, size, class % LIFETIMES, floor) else {
            return false;
        };
        self.replace(arena, open, class);
        true
    }

    /// Opens a segment, or run, for an item of this size; false where none is free.
    pub fn open_for(&mut self, arena: &Arena, size: usize, expiry: Seconds, now: Seconds) -> bool {
        let run = run_for(arena, size);
        let opened = arena.open(run, self.keep, self.queue).or_else(|| {
            let least = least_run(arena, size);
            (least < run)
                .then(|| arena.open(least, self.keep, self.queue))
                .flatten()
        });
        let Some(open) = opened else { return false };
        self.replace(arena, open, class_of(arena, size, expiry, now));
        true
    }

    /// Fills a run that was opened for an item of this size.
    pub fn adopt_run(
        &mut self,
        arena: &Arena,
        open: Open,
        size: usize,
        expiry: Seconds,
        now: Seconds,
    ) {
        self.replace(arena, open, class_of(arena, size, expiry, now));
    }

    fn replace(&mut self, arena: &Arena, open: Open, class: usize) {
        if let Some(full) = self.open[class].replace(open) {
            arena.leave(self.queue, full, class % LIFETIMES);
        }
    }

    /// Takes back room that was placed last and never published.
    pub fn unplace(&mut self, arena: &Arena, placed: Placed) {
        let Some(open) = self.open[placed.class].as_mut() else {
            return;
        };
        let end = placed.place.0 + placed.size as u64;
        if open.head == placed.head && open.end(arena).0 == end {
            open.used -= placed.size;
            arena.meta(open.head).set_written(open.used as u32);
        }
    }

    /// Seals every open segment, and all of this queue that were left with some room.
    pub fn seal_all(&mut self, arena: &Arena) {
        arena.seal_remnants(self.queue);
        self.open
            .iter_mut()
            .filter_map(Option::take)
            .for_each(|open| arena.seal(open));
    }
}

fn class_of(arena: &Arena, size: usize, expiry: Seconds, now: Seconds) -> usize {
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
    usize::from(is_large(size, arena.segment_bytes())) * LIFETIMES + lifetime
}

fn is_large(size: usize, segment_bytes: usize) -> bool {
    size > segment_bytes / LARGE_PART
}

/// Length of the filler before an item that would lie here, so that its value begins where it
/// should. Items begin at multiples of [`ITEM_ALIGNMENT`]; where the key's length does not suit
/// that, the value begins as little behind that as can be.
fn filler_bytes(place: Place, value_offset: usize) -> usize {
    let start = place.0 + value_offset as u64;
    let wanted = VALUE_START_IN_LINE + start % ITEM_ALIGNMENT as u64;
    match ((wanted + LINE_BYTES - start % LINE_BYTES) % LINE_BYTES) as usize {
        0 => 0,
        bytes if bytes < FILLER_BYTES_MIN => bytes + LINE_BYTES as usize,
        bytes => bytes,
    }
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
    let part = match is_large(size, segment) {
        true => WASTE_PART_OF_LARGE,
        false => WASTE_PART,
    };
    let wastes_little = |run: &usize| (run * segment) % size * part <= run * segment;
    (least..=affordable.max(least))
        .find(wastes_little)
        .unwrap_or(least) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filler_has_values_begin_16_to_19_bytes_into_a_line() {
        for place in (0..256).step_by(ITEM_ALIGNMENT) {
            for value_offset in 13..300 {
                let bytes = filler_bytes(Place(place), value_offset);
                assert!(bytes == 0 || bytes >= FILLER_BYTES_MIN);
                assert!(bytes.is_multiple_of(ITEM_ALIGNMENT) && bytes < 64 + FILLER_BYTES_MIN);
                let start = place as usize + bytes + value_offset;
                assert_eq!(start % 64, 16 + value_offset % 4, "{place} {value_offset}");
            }
        }
    }
}
