//! The arena: one contiguous range of memory in equal segments, and who may use which.

use super::FreeMap;
use super::backing::{self, Backing};
use super::meta::{Queue, SegmentMeta, SegmentState};
use super::queues::{Queued, Queues};
use super::remnants::{Remnant, Remnants, is_worth_keeping};
use super::writer::Open;
use crate::epoch::Epochs;
use crate::index::Location;
use crate::item::{Fields, ITEM_ALIGNMENT, RawItem};
use crate::options::StoreConfig;
use crate::region::Region;
use crate::schedule::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use crate::schedule::{Mutex, MutexGuard};
use farcache_base::time::NEVER;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::ptr::NonNull;

/// Segments that only the reclaimer may take: it needs somewhere to move items to before it can
/// free what they leave.
pub(crate) const RECLAIMER_SEGMENTS: u32 = 2;
/// Fewer are too few to reclaim any.
pub(crate) const SEGMENTS_MIN: u32 = 8;
/// How far `cache_memlimit` can raise the limit set at start: address space is reserved for this
/// many times as much.
const GROWTH_MAX: u64 = 4;
/// Part of the segments that may be kept from being emptied because values arrive in them.
const ARRIVING_PART: u32 = 4;
/// Bits of a location in memory; one above them says that a location is on a device.
const MEMORY_LOCATION_BITS: u32 = 40;
/// A derived CAS token is the filling's sequence number above this many bits of the item's place.
const CAS_PLACE_BITS: u32 = 28;

/// Bytes of the smallest filler: an item's header and a key of one byte, padded.
pub(crate) const FILLER_BYTES_MIN: usize = 12;

/// A byte offset in the arena at which an item lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(pub u64);

impl Place {
    pub fn location(self) -> Location {
        Location::in_memory(self.0 / ITEM_ALIGNMENT as u64)
    }
}

/// Segments that left the index and wait for the last reader to leave them.
struct Limbo {
    head: u32,
    epoch: u64,
}

struct Pool {
    free: FreeMap,
    /// Segments kept for a run that is being made room for.
    claimed: Range<u32>,
    limbo: VecDeque<Limbo>,
    /// Segments that may hold memory: those not parked.
    managed: u32,
    allowed: u32,
    /// All segments from this number on have always been parked.
    end: u32,
}

/// The segments of a store.
pub(crate) struct Arena {
    region: Region,
    segment_shift: u32,
    metas: Box<[SegmentMeta]>,
    pool: Mutex<Pool>,
    queues: Mutex<Queues>,
    /// Of each queue.
    remnants: [Mutex<Remnants>; 2],
    backing: Backing,
    sequence: AtomicU64,
    /// Segments in which values arrive.
    arriving: AtomicU32,
    /// The network knows the memory's pages: they are not given back.
    keeps_pages: AtomicBool,
}

/// How many segments there are and how many hold nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentCounts {
    pub allowed: u32,
    pub managed: u32,
    pub free: u32,
    pub limbo: u32,
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
        let location_limit = (ITEM_ALIGNMENT as u64) << MEMORY_LOCATION_BITS;
        if !segment.is_power_of_two()
            || allowed < u64::from(SEGMENTS_MIN)
            || total * segment > location_limit
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
        let mut free = FreeMap::new(total);
        (0..allowed).for_each(|number| free.give(number));
        let state = |number| {
            if number < allowed {
                SegmentState::Free
            } else {
                SegmentState::Parked
            }
        };
        Ok(Arena {
            region: Region::reserve((u64::from(total) * segment) as usize, config.huge_pages)?,
            segment_shift: segment.trailing_zeros(),
            metas: (0..total)
                .map(|number| SegmentMeta::new(number, state(number)))
                .collect(),
            pool: Mutex::new(Pool {
                free,
                claimed: 0..0,
                limbo: VecDeque::new(),
                managed: allowed,
                allowed,
                end: allowed,
            }),
            queues: Mutex::default(),
            remnants: Default::default(),
            backing: Backing::default(),
            sequence: AtomicU64::new(0),
            arriving: AtomicU32::new(0),
            keeps_pages: AtomicBool::new(false),
        })
    }

    /// See [`crate::Store::lend_memory`].
    pub fn lend(&self) -> (NonNull<u8>, usize) {
        let base = NonNull::new(self.region.base()).expect("a mapping is never at 0");
        let pool = self.pool();
        self.keeps_pages.store(true, SeqCst);
        (base, pool.end as usize * self.segment_bytes())
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().expect("no holder panics")
    }

    /// The eviction queues. Held only for a push or a pop.
    pub fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().expect("no holder panics")
    }

    pub fn segment_bytes(&self) -> usize {
        1 << self.segment_shift
    }

    pub fn segment_count(&self) -> u32 {
        self.metas.len() as u32
    }

    /// Bytes that the table of segments takes.
    pub fn table_bytes(&self) -> u64 {
        size_of_val(&*self.metas) as u64
    }

    /// Number behind the last segment that may ever have held memory.
    pub fn segments_end(&self) -> u32 {
        self.pool().end
    }

    pub fn counts(&self) -> SegmentCounts {
        let pool = self.pool();
        SegmentCounts {
            allowed: pool.allowed,
            managed: pool.managed,
            free: pool.free.free(),
            limbo: self.clearing(&pool),
        }
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
        let allowed = self.pool().allowed;
        self.segments_arriving() < allowed / ARRIVING_PART
    }

    /// Segments in which values are arriving, counted with all of their runs.
    pub fn segments_arriving(&self) -> u32 {
        self.arriving.load(Relaxed)
    }

    /// Segments that will be free as soon as readers have moved on.
    fn clearing(&self, pool: &Pool) -> u32 {
        let metas = pool.limbo.iter().map(|waiting| self.meta(waiting.head));
        metas
            .filter(|meta| !meta.is_pinned())
            .map(SegmentMeta::run)
            .sum()
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
        &self.metas[segment as usize]
    }

    /// First place of a segment.
    pub fn start(&self, segment: u32) -> Place {
        Place(u64::from(segment) << self.segment_shift)
    }

    /// Number of the segment that heads the run in which a location lies.
    pub fn head_of(&self, location: Location) -> u32 {
        let segment = (location.bits() * ITEM_ALIGNMENT as u64) >> self.segment_shift;
        self.metas[segment as usize].head()
    }

    pub fn meta_of(&self, location: Location) -> &SegmentMeta {
        self.meta(self.head_of(location))
    }

    /// Address of a place, for the one who owns what lies there.
    #[inline]
    pub fn address(&self, place: Place) -> *mut u8 {
        debug_assert!((place.0 as usize) < self.region.bytes());
        self.region.base().wrapping_add(place.0 as usize)
    }

    /// Address of a location, for prefetching.
    #[inline]
    pub fn address_of(&self, location: Location) -> *mut u8 {
        self.address(Place(location.bits() * ITEM_ALIGNMENT as u64))
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
    pub fn open(&self, run: u32, keep: u32, queue: Queue) -> Option<u32> {
        let mut pool = self.pool();
        if pool.free.free() < run.checked_add(keep)? {
            return None;
        }
        let head = if run == 1 {
            pool.free.take_one()
        } else {
            pool.free.take_run(run)
        }?;
        if run == 1 {
            self.backing.note_taken(head);
        }
        self.open_taken(&pool, head, run, queue);
        Some(head)
    }

    /// Whether it is time for [`Arena::back_next`], until that has nothing to do.
    pub fn wants_backing(&self) -> bool {
        let allowed = self.pool().allowed;
        let ahead = backing::ahead(allowed, self.segment_bytes());
        self.backing.is_short(ahead, allowed)
    }

    /// Backs the next of the segments that will be filled with memory, so that no writer has to
    /// wait for the kernel to clear it; false where enough are. For the store's own thread.
    pub fn back_next(&self) -> bool {
        let allowed = self.pool().allowed;
        let ahead = backing::ahead(allowed, self.segment_bytes());
        let next = self.backing.next(ahead, allowed);
        if let Some(segment) = next {
            let start = self.start(segment).0 as usize;
            self.region.populate(start, self.segment_bytes());
        }
        next.is_some()
    }

    /// Opens segments that have just been taken from the free ones. The pool must still be locked:
    /// a segment that looks free and is not in the pool belongs to the claimed stretch.
    fn open_taken(&self, _: &MutexGuard<'_, Pool>, head: u32, run: u32, queue: Queue) {
        for tail in head + 1..head + run {
            self.meta(tail).set_head(head);
            self.meta(tail).set_state(SegmentState::Tail);
        }
        let sequence = self.sequence.fetch_add(1, SeqCst) + 1;
        self.meta(head).open(sequence, run, queue);
    }

    /// Writes a filler of so many bytes, from [`FILLER_BYTES_MIN`] on: an item that is dead from
    /// its beginning, as it is never in the index.
    ///
    /// # Safety
    /// The bytes belong to the caller alone, who has them of the open segment that it fills.
    pub unsafe fn write_filler(&self, place: Place, bytes: usize) {
        let fields = Fields {
            expiry: NEVER,
            ..Fields::default()
        };
        let key = [0];
        let header_bytes = fields.layout(key.len(), 0).value_offset();
        let layout = fields.layout(key.len(), bytes - header_bytes);
        assert_eq!(layout.size(), bytes);
        // SAFETY: the bytes are the caller's alone, and as many as the layout has. The value is
        // never read.
        unsafe { RawItem::write_header(self.address(place), layout, &fields, &key, 0) };
    }

    /// Keeps a stretch for a run: its free segments, and any that become free, are given to nobody
    /// else. Others are parked for those that are parked there. There is one such stretch at a
    /// time.
    pub fn claim(&self, stretch: Range<u32>) {
        let mut pool = self.pool();
        for segment in stretch.clone() {
            pool.free.take_this(segment);
            self.unpark(&mut pool, segment);
        }
        pool.claimed = stretch;
        self.park_surplus(&mut pool);
    }

    /// Opens the claimed stretch as one run, if all of it is free by now; else gives back what is.
    pub fn open_claimed(&self, queue: Queue) -> Option<u32> {
        let mut pool = self.pool();
        let stretch = std::mem::take(&mut pool.claimed);
        let is_free = |segment: &u32| self.meta(*segment).state() == SegmentState::Free;
        if !stretch.clone().all(|segment| is_free(&segment)) {
            stretch
                .filter(is_free)
                .for_each(|segment| pool.free.give(segment));
            return None;
        }
        self.open_taken(&pool, stretch.start, stretch.len() as u32, queue);
        Some(stretch.start)
    }

    /// Closes an open segment: it may be evicted from now on.
    pub fn seal(&self, head: u32) {
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
        if queues.entries(meta.queue()) > 2 * self.metas.len() {
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
            self.seal(open.head());
        }
        let allowed = self.pool().allowed;
        while let Some(surplus) = self.surplus(queue, allowed) {
            self.seal(surplus.open.head());
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
        let sealed = std::iter::from_fn(next).map(|remnant| self.seal(remnant.open.head()));
        sealed.count() > 0
    }

    /// Whether a queue's entry still stands for the filling that it was made for.
    pub fn is_current(&self, entry: &Queued) -> bool {
        let meta = self.meta(entry.segment);
        meta.sequence() == entry.sequence && meta.state() == SegmentState::Sealed
    }

    /// Takes a sealed segment out of service for emptying, unless it is in use.
    pub fn begin_emptying(&self, head: u32) -> bool {
        let meta = self.meta(head);
        let mut queues = self.queues();
        if meta.state() != SegmentState::Sealed || meta.is_arriving() || meta.is_pinned() {
            return false;
        }
        meta.set_state(SegmentState::Emptying);
        queues.note_left(meta.queue(), meta.run());
        true
    }

    /// Puts a segment that could not be emptied back into its queue.
    pub fn cancel_emptying(&self, head: u32) {
        self.seal(head);
    }

    /// The segment is out of the index. It becomes free once `epoch` has passed.
    pub fn retire(&self, head: u32, epoch: u64) {
        self.meta(head).set_state(SegmentState::Limbo);
        self.pool().limbo.push_back(Limbo { head, epoch });
    }

    /// Frees the retired segments that nobody can be looking at any longer; returns how many.
    pub fn collect(&self, epochs: &Epochs) -> u32 {
        let mut pool = self.pool();
        let mut freed = 0;
        for _ in 0..pool.limbo.len() {
            let Some(waiting) = pool.limbo.pop_front() else {
                break;
            };
            if !epochs.has_passed(waiting.epoch) || self.meta(waiting.head).is_pinned() {
                pool.limbo.push_back(waiting);
                continue;
            }
            let run = self.meta(waiting.head).run();
            freed += run;
            (waiting.head..waiting.head + run).for_each(|one| self.free_or_park(&mut pool, one));
        }
        freed
    }

    fn free_or_park(&self, pool: &mut Pool, segment: u32) {
        let meta = self.meta(segment);
        meta.leave_run(segment);
        // What stays has to go somewhere first.
        if pool.managed > pool.allowed && pool.free.free() >= RECLAIMER_SEGMENTS {
            self.park(pool, segment);
            return;
        }
        meta.set_state(SegmentState::Free);
        if !pool.claimed.contains(&segment) {
            pool.free.give(segment);
        }
    }

    fn park(&self, pool: &mut Pool, segment: u32) {
        pool.managed -= 1;
        self.meta(segment).set_state(SegmentState::Parked);
        if self.keeps_pages.load(SeqCst) {
            return;
        }
        // SAFETY: a parked segment holds no item and nobody refers to it: it was free, or retired
        // and its epoch has passed.
        unsafe {
            self.region
                .release(self.start(segment).0 as usize, self.segment_bytes())
        };
    }

    /// Changes how many segments may hold memory. Lowering takes effect as segments become free.
    ///
    /// # Panics
    /// Below [`SEGMENTS_MIN`] or beyond the address space.
    pub fn set_allowed(&self, allowed: u32) {
        assert!((SEGMENTS_MIN..=self.segment_count()).contains(&allowed));
        let mut pool = self.pool();
        pool.allowed = allowed;
        pool.end = pool.end.max(allowed);
        self.park_surplus(&mut pool);
        for segment in 0..self.segment_count() {
            if pool.managed >= allowed {
                return;
            }
            if self.unpark(&mut pool, segment) {
                pool.free.give(segment);
            }
        }
    }

    /// Parks free segments where too many may hold memory, as far as the reclaimer can do without.
    fn park_surplus(&self, pool: &mut Pool) {
        while pool.managed > pool.allowed && pool.free.free() > RECLAIMER_SEGMENTS {
            // The highest: those have most likely never been touched.
            let Some(segment) = pool.free.take_run_of(0..pool.end, 1) else {
                return;
            };
            self.park(pool, segment);
        }
    }

    /// A parked segment is free, in nobody's hands; false if it is not parked.
    fn unpark(&self, pool: &mut Pool, segment: u32) -> bool {
        let meta = self.meta(segment);
        let is_parked = meta.state() == SegmentState::Parked;
        if is_parked {
            pool.managed += 1;
            meta.set_state(SegmentState::Free);
        }
        is_parked
    }
}

#[cfg(test)]
mod tests;
