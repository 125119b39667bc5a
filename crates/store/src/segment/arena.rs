//! The arena: one contiguous range of memory in equal segments, and who may use which.

use super::meta::{Queue, SegmentMeta, SegmentState};
use super::pool::{Pool, SEGMENTS_MIN, SegmentCounts, Segments};
use super::queues::{Queued, Queues};
use super::remnants::{Remnant, Remnants, is_worth_keeping};
use super::space::{Place, SPACE_BYTES_MAX, Space};
use super::writer::Open;
use crate::epoch::Epochs;
use crate::index::Location;
use crate::item::RawItem;
use crate::options::StoreConfig;
use crate::schedule::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use crate::schedule::{Mutex, MutexGuard};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;

/// How far `cache_memlimit` can raise the limit set at start: address space is reserved for this
/// many times as much.
const GROWTH_MAX: u64 = 4;
/// Part of the segments that may be kept from being emptied because values arrive in them.
const ARRIVING_PART: u32 = 4;
/// A derived CAS token is the filling's sequence number above this many bits of the item's place.
const CAS_PLACE_BITS: u32 = 28;

/// A segment, or run, that was taken out of service to be emptied: who has it may retire it or put
/// it back, and nobody else.
#[derive(Debug)]
#[must_use = "a segment that is neither retired nor put back is lost"]
pub(crate) struct Emptying {
    head: u32,
}

impl Emptying {
    pub fn head(&self) -> u32 {
        self.head
    }
}

/// The segments of a store.
pub(crate) struct Arena {
    segments: Segments,
    pool: Pool,
    queues: Mutex<Queues>,
    /// Of each queue.
    remnants: [Mutex<Remnants>; 2],
    sequence: AtomicU64,
    /// Segments in which values arrive.
    arriving: AtomicU32,
}

impl Arena {
    /// Reserves the address space.
    ///
    /// # Errors
    /// The kernel's, or `InvalidInput` where the configuration asks for less than eight segments or
    /// more than 4 TiB.
    pub fn new(config: &StoreConfig) -> io::Result<Arena> {
        let segment = u64::from(config.segment_bytes);
        let allowed = config.memory_bytes / segment;
        let total = allowed * GROWTH_MAX;
        if !segment.is_power_of_two()
            || allowed < u64::from(SEGMENTS_MIN)
            || total * segment > SPACE_BYTES_MAX
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "the memory limit is {} KiB, and must be at least {} KiB (eight segments) and at most 1 TiB",
                    config.memory_bytes >> 10,
                    (segment * 8) >> 10,
                ),
            ));
        }
        let (allowed, total) = (allowed as u32, total as u32);
        let state = |number| {
            if number < allowed {
                SegmentState::Free
            } else {
                SegmentState::Parked
            }
        };
        let metas = (0..total).map(|number| SegmentMeta::new(number, state(number)));
        Ok(Arena {
            segments: Segments {
                space: Space::reserve(total, config.segment_bytes, config.huge_pages)?,
                metas: metas.collect(),
            },
            pool: Pool::new(total, allowed),
            queues: Mutex::default(),
            remnants: Default::default(),
            sequence: AtomicU64::new(0),
            arriving: AtomicU32::new(0),
        })
    }

    /// See [`crate::Store::lend_memory`].
    pub fn lend(&self) -> (NonNull<u8>, usize) {
        self.pool.keep_pages(&self.segments.space)
    }

    /// The eviction queues. Held only for a push or a pop.
    pub fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().expect("no holder panics")
    }

    pub fn segment_bytes(&self) -> usize {
        self.segments.space.segment_bytes()
    }

    pub fn segment_count(&self) -> u32 {
        self.segments.metas.len() as u32
    }

    /// Bytes that the table of segments takes.
    pub fn table_bytes(&self) -> u64 {
        size_of_val(&*self.segments.metas) as u64
    }

    /// Number behind the last segment that may ever have held memory.
    pub fn segments_end(&self) -> u32 {
        self.pool.end()
    }

    pub fn counts(&self) -> SegmentCounts {
        self.pool.counts(&self.segments)
    }

    /// A value will arrive in a segment, or run, which is not emptied before
    /// [`Arena::remove_arriving`].
    pub fn add_arriving(&self, head: u32) {
        let meta = self.meta(head);
        if meta.add_arriving() {
            self.arriving.fetch_add(meta.run(), Relaxed);
        }
    }

    /// A value has arrived, or will not.
    pub fn remove_arriving(&self, head: u32) {
        let meta = self.meta(head);
        // Its run is that of this filling only until the last value has arrived.
        let run = meta.run();
        if meta.remove_arriving() {
            self.arriving.fetch_sub(run, Relaxed);
        }
    }

    /// Whether values may arrive in further segments. However short such a value is, it keeps its
    /// whole segment from being emptied, and values whose senders stop half-way would keep them
    /// all.
    pub fn has_room_for_arriving(&self) -> bool {
        self.segments_arriving() < self.pool.allowed() / ARRIVING_PART
    }

    /// Segments in which values are arriving, counted with all of their runs.
    pub fn segments_arriving(&self) -> u32 {
        self.arriving.load(Relaxed)
    }

    /// The last sequence number given to a filling.
    pub fn last_sequence(&self) -> u64 {
        self.sequence.load(SeqCst)
    }

    /// A sequence number for a segment that is assembled for a device.
    pub fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, SeqCst) + 1
    }

    /// Continues the sequence numbers above `last`, from an earlier life of the store.
    pub fn raise_sequence(&self, last: u64) {
        self.sequence.fetch_max(last, SeqCst);
    }

    pub fn meta(&self, segment: u32) -> &SegmentMeta {
        self.segments.meta(segment)
    }

    /// First place of a segment.
    pub fn start(&self, segment: u32) -> Place {
        self.segments.space.start(segment)
    }

    /// Number of the segment that heads the run in which a location lies.
    pub fn head_of(&self, location: Location) -> u32 {
        self.meta(self.segments.space.segment_of(location)).head()
    }

    pub fn meta_of(&self, location: Location) -> &SegmentMeta {
        self.meta(self.head_of(location))
    }

    /// Address of a place, for the one who owns what lies there.
    #[inline]
    pub fn address(&self, place: Place) -> *mut u8 {
        self.segments.space.address(place)
    }

    /// Address of a location, for prefetching.
    #[inline]
    pub fn address_of(&self, location: Location) -> *mut u8 {
        self.segments.space.address_of(location)
    }

    /// The item at a location.
    ///
    /// # Safety
    /// One of these holds, so that an item was written there and stays:
    ///
    /// - The location is in memory and was found in the index since this participant's last
    ///   quiescent point, and the item is not used after the next one. A location enters the index
    ///   only after the item there was written (release, read with acquire), and its segment is
    ///   reused only after every participant has passed a quiescent point since the location left
    ///   the index.
    /// - An item, or filler, begins there in a segment for which the caller vouches as
    ///   [`Walk::next`](super::Walk::next) asks.
    /// - The caller has written the item and has not given its room back.
    #[inline]
    pub unsafe fn item(&self, location: Location) -> RawItem<'_> {
        // SAFETY: by this function's contract.
        unsafe { RawItem::at(self.address_of(location)) }
    }

    /// The CAS token that an item has by its place: unique, because a filling's sequence number is
    /// never used again and nothing in a filling is overwritten.
    pub fn derived_cas(&self, location: Location) -> u64 {
        let head = self.head_of(location);
        let start = self.start(head).location();
        self.meta(head).sequence() << CAS_PLACE_BITS | (location.bits() - start.bits())
    }

    /// Takes `run` free segments in a row and opens them as one; `keep` free segments are left.
    pub fn open(&self, run: u32, keep: u32, queue: Queue) -> Option<Open> {
        let open = |head| self.begin_filling(head, run, queue);
        self.pool
            .take(run, keep, open)
            .map(|head| self.opened(head))
    }

    /// What has just been opened.
    fn opened(&self, head: u32) -> Open {
        let meta = self.meta(head);
        let capacity = meta.run() as usize * self.segment_bytes();
        Open::begun(head, meta.sequence(), capacity)
    }

    /// Whether it is time for [`Arena::back_next`], until that has nothing to do.
    pub fn wants_backing(&self) -> bool {
        self.pool.wants_backing(&self.segments.space)
    }

    /// See [`Pool::back_next`].
    pub fn back_next(&self) -> bool {
        self.pool.back_next(&self.segments.space)
    }

    /// Opens segments that have just been taken from the free ones.
    fn begin_filling(&self, head: u32, run: u32, queue: Queue) {
        for tail in head + 1..head + run {
            self.meta(tail).set_head(head);
            self.meta(tail).set_state(SegmentState::Tail);
        }
        self.meta(head).open(self.next_sequence(), run, queue);
    }

    /// Writes a filler: see [`Space::write_filler`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn write_filler(&self, place: Place, bytes: usize) {
        // SAFETY: by this function's contract.
        unsafe { self.segments.space.write_filler(place, bytes) };
    }

    /// See [`Pool::claim`].
    pub fn claim(&self, stretch: Range<u32>) {
        self.pool.claim(&self.segments, stretch);
    }

    /// Opens the claimed stretch as one run, if all of it is free by now; else gives back what is.
    pub fn open_claimed(&self, queue: Queue) -> Option<Open> {
        let open = |stretch: Range<u32>| {
            self.begin_filling(stretch.start, stretch.len() as u32, queue);
        };
        let taken = self.pool.take_claimed(&self.segments, open);
        taken.map(|head| self.opened(head))
    }

    /// Closes an open segment: it may be evicted from now on.
    pub fn seal(&self, open: Open) {
        self.put_in_service(open.head());
    }

    /// Nobody fills the segment any more, and nobody empties it.
    fn put_in_service(&self, head: u32) {
        let meta = self.meta(head);
        let entry = Queued {
            segment: head,
            sequence: meta.sequence(),
        };
        let mut queues = self.queues();
        meta.set_state(SegmentState::Sealed);
        queues.push(meta.queue(), entry, meta.run());
        // Segments also leave by other ways than through their queue; their entries must not pile
        // up where nothing is ever evicted.
        if queues.entries(meta.queue()) > 2 * self.segments.metas.len() {
            queues.retain(meta.queue(), |entry| self.is_current(entry));
        }
    }

    fn remnants(&self, queue: Queue) -> MutexGuard<'_, Remnants> {
        self.remnants[queue as usize]
            .lock()
            .expect("no holder panics")
    }

    /// Whoever fills a segment of this queue leaves it for another one. Others may go on with it,
    /// or it is sealed.
    pub(super) fn leave(&self, queue: Queue, open: Open, lifetime: usize) {
        if is_worth_keeping(open.room(), self.segment_bytes()) {
            let run = self.meta(open.head()).run();
            self.remnants(queue).keep(Remnant {
                open,
                lifetime,
                run,
            });
        } else {
            self.seal(open);
        }
        let allowed = self.pool.allowed();
        while let Some(surplus) = self.surplus(queue, allowed) {
            self.seal(surplus.open);
        }
    }

    fn surplus(&self, queue: Queue, allowed: u32) -> Option<Remnant> {
        let last = self.last_sequence();
        self.remnants(queue).surplus(allowed, last)
    }

    /// A segment that was left with room for an item of this size and lifetime, and whose filling
    /// is younger than `floor`. It belongs to the caller from now on.
    pub(super) fn resume(
        &self,
        queue: Queue,
        size: usize,
        lifetime: usize,
        floor: u64,
    ) -> Option<Open> {
        let remnant = self.remnants(queue).take(size, lifetime, floor);
        remnant.map(|remnant| remnant.open)
    }

    /// Seals all segments of a queue that were left with some room; whether there were any.
    pub fn seal_remnants(&self, queue: Queue) -> bool {
        let next = || self.remnants(queue).pop();
        let sealed = std::iter::from_fn(next).map(|remnant| self.seal(remnant.open));
        sealed.count() > 0
    }

    /// Whether a queue's entry still stands for the filling that it was made for.
    pub fn is_current(&self, entry: &Queued) -> bool {
        let meta = self.meta(entry.segment);
        meta.sequence() == entry.sequence && meta.state() == SegmentState::Sealed
    }

    /// Takes a sealed segment out of service for emptying, unless it is in use.
    pub fn begin_emptying(&self, head: u32) -> Option<Emptying> {
        let meta = self.meta(head);
        let mut queues = self.queues();
        if meta.state() != SegmentState::Sealed || meta.is_arriving() || meta.is_pinned() {
            return None;
        }
        meta.set_state(SegmentState::Emptying);
        queues.note_left(meta.queue(), meta.run());
        Some(Emptying { head })
    }

    /// Puts a segment that could not be emptied back into its queue.
    pub fn cancel_emptying(&self, emptying: Emptying) {
        self.put_in_service(emptying.head);
    }

    /// The segment is empty. It becomes free once every participant has passed a quiescent point.
    ///
    /// # Safety
    /// The index has no location in it. Who may still look at what lies there found it as a
    /// participant of these epochs, or has pinned the segment.
    pub unsafe fn retire(&self, emptied: Emptying, epochs: &Epochs) {
        let (head, epoch) = (emptied.head, epochs.retire());
        self.meta(head).set_state(SegmentState::Limbo);
        // SAFETY: by this function's contract; the epoch began after the last location had left the
        // index.
        unsafe { self.pool.retire(head, epoch) };
    }

    /// Frees the retired segments that nobody can be looking at any longer; returns how many.
    ///
    /// # Safety
    /// All of them were retired with these epochs.
    pub unsafe fn collect(&self, epochs: &Epochs) -> u32 {
        // SAFETY: by this function's contract.
        unsafe { self.pool.collect(&self.segments, epochs) }
    }

    /// Changes how many segments may hold memory. Lowering takes effect as segments become free.
    ///
    /// # Panics
    /// Below [`SEGMENTS_MIN`] or beyond the address space.
    pub fn set_allowed(&self, allowed: u32) {
        self.pool.set_allowed(&self.segments, allowed);
    }
}

#[cfg(test)]
mod tests;
