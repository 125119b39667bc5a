//! The segment that is written next: items and tombstones are gathered in its buffer.

use super::{Fillings, Job, Log};
use crate::device::{BUFFER_ALIGNMENT, Buffer};
use crate::format::*;
use crate::guard::Guard;
use crate::item::{Fields, Layout, RawItem, State};
use crate::location::{ITEMS_MAX, Location};
use crate::schedule::atomic::Ordering::*;
use crate::slots::Reach;
use crate::table::Table;
use std::sync::Arc;

/// Least size of a record: header, an item with a token and a key of one byte.
const RECORD_BYTES_MIN: usize = RECORD_HEADER_BYTES + 20;
/// Items that a table has room for at first, at least. Room for all that could be would be as large
/// as the segment itself where records are small, and clearing it takes longer than filling the
/// segment.
const ITEM_ROOM_MIN: usize = 64;
/// Room is kept for waiting tombstones up to one part in this many of a segment.
const TOMBSTONE_PART_MAX: usize = 4;
/// Slots that only cleaning may take: it needs somewhere to move items to before it can free what
/// they leave.
pub(crate) const CLEANER_SLOTS: u32 = 3;
/// Of the cleaner's slots, the ones that are only for tombstones whose writing frees slots.
pub(crate) const TOMBSTONE_SLOTS: u32 = 1;
/// Of the cleaner's slots, the ones that tombstones may not take whose writing frees no slot: the
/// segment that tells of them may be needed for long, and cleaning must still be possible.
const UNGAINFUL_SLOTS: u32 = 2;
/// Part of all slots that is kept for tombstones where nothing may be evicted.
const RESERVE_PART: u32 = 128;
/// Room, in tombstones, that what is cleaned leaves for the end of a cleaned segment.
const ROOM_FOR_ENDS: usize = 1;

/// An item on its way to the device.
pub struct Incoming<'a> {
    /// The hash of its key, as the owner's index has it.
    pub hash: u64,
    /// Its key.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// With its token written down.
    pub fields: Fields,
    /// How it has been used.
    pub state: State,
}

/// Who brings an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It leaves memory, or is copied.
    Memory,
    /// It leaves a segment that is cleaned.
    Cleaner,
    /// No item: only tombstones, of segments whose slots are free when these are durable.
    Tombstones,
    /// No item: only tombstones, without which no slot comes free.
    Gap,
    /// No item: only tombstones, whoever waits for them.
    Told,
}

/// How bringing an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The index points at the new place.
    Done,
    /// It was not wanted any more.
    Gone,
    /// There will be room when the device has caught up.
    Busy,
    /// There is no room.
    Full,
}

/// The segment being assembled.
struct Open {
    slot: u32,
    run: u32,
    write_number: u64,
    sequence: u64,
    buffer: Arc<Buffer>,
    capacity: usize,
    used: usize,
    items: Vec<TableEntry>,
    /// Items that its table in memory has room for now, and that it may have at most.
    item_room: usize,
    items_max: usize,
    /// It holds something that came from memory.
    has_new: bool,
    /// It took a slot that is kept for tombstones: what leaves memory must not fill it before they
    /// have been told.
    is_reserved: bool,
}

impl Open {
    /// Whether a record fits beside the table and these tombstones.
    fn fits(&self, bytes: usize, tombstones: usize) -> bool {
        let table =
            (self.items.len() + 1) * ENTRY_BYTES + tombstone_bytes(tombstones, self.capacity);
        self.items.len() < self.items_max && self.used + bytes + table <= self.capacity
    }

    /// Copies bytes to a place in the buffer that no reader looks at.
    fn put(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.capacity);
        // SAFETY: in bounds; only the holder of the assembler writes to the buffer, and readers
        // look only at records whose places have been published, which is never written again.
        unsafe {
            let place = self.buffer.address().add(offset);
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Writes a record behind the last one; returns its size.
    fn write_record(&self, incoming: &Incoming<'_>, layout: Layout) -> usize {
        let (item_bytes, number) = (layout.size(), self.items.len() as u32);
        assert!(self.used + RECORD_HEADER_BYTES + item_bytes <= self.capacity);
        self.put(self.used + 4, &(item_bytes as u32).to_le_bytes());
        // SAFETY: the bytes asserted above are nobody's until the record is published.
        let rest = unsafe {
            let record = self.buffer.address().add(self.used);
            let address = record.add(RECORD_HEADER_BYTES);
            address.add(item_bytes - 4).cast::<u32>().write_unaligned(0);
            let item = RawItem::write_header(address, layout, &incoming.fields, incoming.key, 0);
            item.inherit_state(incoming.state, 0);
            address
                .add(layout.value_offset())
                .copy_from_nonoverlapping(incoming.value.as_ptr(), incoming.value.len());
            std::slice::from_raw_parts(record.add(4), 4 + item_bytes)
        };
        let checksum = record_checksum(self.write_number, number, rest);
        self.put(self.used, &checksum.to_le_bytes());
        RECORD_HEADER_BYTES + item_bytes
    }
}

/// Room for tombstones in a segment of this size. Many at once go with several segments.
fn tombstone_bytes(tombstones: usize, capacity: usize) -> usize {
    (tombstones * TOMBSTONE_BYTES).min(capacity / TOMBSTONE_PART_MAX)
}

/// Items that a table gets room for where the last segment had so many: most have about as many as
/// the one before.
fn room_for_items(items_last: usize) -> usize {
    (items_last + items_last / 4).max(ITEM_ROOM_MIN)
}

/// Assembles one segment at a time.
pub(crate) struct Assembler {
    open: Option<Open>,
    next_write_number: u64,
    /// Items of the last segment: what the next one will probably hold.
    items_last: usize,
    /// Tombstones that were told of once so far.
    told_last: Vec<Tombstone>,
}

impl Assembler {
    /// An assembler that goes on behind this write number.
    pub fn after(write_number: u64) -> Assembler {
        Assembler {
            open: None,
            next_write_number: write_number + 1,
            items_last: 0,
            told_last: Vec::new(),
        }
    }

    fn is_reserved(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_reserved)
    }
}

impl Log {
    /// Appends an item to the segment being assembled. `publish` is told its place and says whether
    /// the item is still wanted; if so it has made the index point there.
    pub fn append(
        &self,
        owner: &impl Fillings,
        incoming: &Incoming<'_>,
        source: Source,
        publish: impl FnOnce(Location) -> bool,
    ) -> Appended {
        let layout = incoming
            .fields
            .layout(incoming.key.len(), incoming.value.len());
        let bytes = RECORD_HEADER_BYTES + layout.size();
        let mut assembler = self.assembler();
        if source == Source::Memory && assembler.is_reserved() {
            return self.no_slot();
        }
        if !self.has_room(&assembler, owner, bytes) {
            self.seal(&mut assembler, false);
            if let Err(refusal) = self.open(&mut assembler, owner, bytes, source) {
                return refusal;
            }
        }
        let open = assembler.open.as_mut().expect("it has room");
        self.widen_table(owner, open);
        let (number, start) = (open.items.len() as u32, open.used);
        let size = open.write_record(incoming, layout);
        let fingerprint = self.fingerprint(incoming.key);
        let record = start as u64..(start + size) as u64;
        let expiry = incoming.fields.expiry;
        let table = self.table_of(open);
        table.set(number, fingerprint, record, expiry);
        if let Some(stamp) = incoming.fields.stamp {
            let slot = self.slots.slot(open.slot);
            slot.note_version(stamp.version.bits());
        }
        open.items.push(TableEntry {
            hash: incoming.hash,
            fingerprint,
            offset: start as u64,
            expiry,
        });
        open.used += size;
        self.slots.slot(open.slot).add_live(size as u64, expiry);
        if !publish(Location::on_device(open.slot, number)) {
            _ = self.slots.slot(open.slot).remove_live(size as u64);
            open.items.pop();
            open.used = start;
            return Appended::Gone;
        }
        open.has_new |= source == Source::Memory;
        self.count_appended(source, size as u64);
        if open.run > 1 {
            self.seal(&mut assembler, false);
        }
        Appended::Done
    }

    /// The table of the segment that is being assembled.
    fn table_of<'o>(&'o self, open: &'o Open) -> &'o Table {
        // SAFETY: until the segment is sealed only the holder of the assembler takes its table out
        // of its slot, which needs the open segment mutably.
        let guard = unsafe { Guard::new() };
        let table = self.slots.table(guard, open.slot);
        table.expect("an open slot has one")
    }

    /// Makes room in the table of a segment for one more item.
    fn widen_table(&self, owner: &impl Fillings, open: &mut Open) {
        if open.items.len() < open.item_room {
            return;
        }
        open.item_room = (2 * open.item_room).min(open.items_max);
        // Marks made under this lock are in the copy.
        let _marks = self.marks.lock().expect("no holder panics");
        let table = self.table_of(open);
        let wider = table.widened(open.item_room);
        self.slots.replace_table(open.slot, wider, owner.epochs());
    }

    fn count_appended(&self, source: Source, bytes: u64) {
        let (items, all_bytes) = match source {
            Source::Memory => (
                &self.counters.items_written,
                &self.counters.bytes_from_memory,
            ),
            Source::Cleaner | Source::Tombstones | Source::Gap | Source::Told => {
                (&self.counters.items_moved, &self.counters.bytes_moved)
            }
        };
        items.add(1);
        all_bytes.add(bytes);
    }

    fn has_room(&self, assembler: &Assembler, owner: &impl Fillings, bytes: usize) -> bool {
        let is_young = |open: &&Open| open.sequence > owner.floor_for_new();
        let open = assembler.open.as_ref().filter(is_young);
        open.is_some_and(|open| open.fits(bytes, self.tombstones_to_tell(assembler)))
    }

    /// Opens a segment in which a record of this size fits.
    fn open(
        &self,
        assembler: &mut Assembler,
        owner: &impl Fillings,
        bytes: usize,
        source: Source,
    ) -> Result<(), Appended> {
        let segment_bytes = self.slots.segment_bytes() as usize;
        if source == Source::Memory {
            self.set_at_rest(false);
        }
        let needed = HEADER_BYTES + bytes + ENTRY_BYTES;
        let run = needed.div_ceil(segment_bytes) as u32;
        let reach = match source {
            Source::Memory => Reach::Leaving(self.reserve()),
            Source::Cleaner => Reach::Leaving(TOMBSTONE_SLOTS),
            Source::Told => Reach::Leaving(UNGAINFUL_SLOTS),
            // One after the other: they give back what they take only once they are durable.
            Source::Tombstones if self.has_lent() => Reach::Leaving(0),
            Source::Tombstones | Source::Gap => Reach::All,
        };
        let is_lent = reach == Reach::All && !self.slots.has_room(run, Reach::Leaving(0));
        // Looked at before anything is prepared; others may still be quicker.
        if !self.slots.has_room(run, reach) {
            return Err(self.no_run(run));
        }
        if self.counters.buffers.get() >= u64::from(self.config.write_buffers) {
            return Err(Appended::Busy);
        }
        let capacity = run as usize * segment_bytes;
        let items_max = if run > 1 {
            1
        } else {
            (capacity / RECORD_BYTES_MIN).min(ITEMS_MAX as usize)
        };
        let item_room = room_for_items(assembler.items_last).min(items_max);
        let buffer = Arc::new(self.write_pool.take(capacity));
        let (write_number, sequence) = (assembler.next_write_number, owner.next_sequence());
        let table = Table::with_room(item_room, write_number, Some(Arc::clone(&buffer)));
        let Some(slot) = self.slots.open(run, reach, sequence, table) else {
            return Err(self.no_run(run));
        };
        if run > 1 {
            self.runs.note_found();
            self.slots.spare(0..0);
        }
        if is_lent {
            self.lent_to.store(write_number, Release);
        }
        assembler.next_write_number += 1;
        self.counters.buffers.add(1);
        assembler.open = Some(Open {
            slot,
            run,
            write_number,
            sequence,
            buffer,
            capacity,
            used: HEADER_BYTES,
            items: Vec::new(),
            item_room,
            items_max,
            has_new: false,
            is_reserved: matches!(source, Source::Tombstones | Source::Gap),
        });
        Ok(())
    }

    /// Whether tombstones have just taken one of the slots that devices keep.
    pub fn has_lent(&self) -> bool {
        self.lent_to.load(Acquire) > self.durable_through.load(Acquire)
    }

    /// Opens a segment for tombstones alone, unless one is open. False where there is no room.
    pub fn open_for_tombstones(&self, owner: &impl Fillings, source: Source) -> bool {
        let mut assembler = self.assembler();
        let is_open = assembler.open.is_some();
        is_open || self.open(&mut assembler, owner, 0, source).is_ok()
    }

    /// Opens a segment, unless one is open, if the last one told of tombstones.
    pub fn open_for_echoes(&self, owner: &impl Fillings) {
        let mut assembler = self.assembler();
        if assembler.open.is_none() && !assembler.told_last.is_empty() {
            // Without room for it the tombstones stand in one place only.
            let _ = self.open(&mut assembler, owner, 0, Source::Told);
        }
    }

    /// Bytes that the tombstones take for which there must be room beside what is cleaned.
    pub fn tombstone_bytes(&self) -> u64 {
        (self.tombstones_to_tell(&self.assembler()) * TOMBSTONE_BYTES) as u64
    }

    /// Free slots that are not for what leaves memory. Where nothing may be evicted, the more
    /// tombstones wait the more of them there must be.
    pub fn reserve(&self) -> u32 {
        match self.evicts {
            true => CLEANER_SLOTS,
            false => CLEANER_SLOTS + self.slots.count() / RESERVE_PART + self.tombstone_slots(),
        }
    }

    /// Segments that the tombstones fill which wait.
    fn tombstone_slots(&self) -> u32 {
        (self.tombstones.pending() / self.tombstone_room()) as u32
    }

    /// Tombstones that a segment has room for which tells of nothing else.
    pub fn tombstone_room(&self) -> usize {
        (self.slots.segment_bytes() as usize - HEADER_BYTES) / (TOMBSTONE_COPIES * TOMBSTONE_BYTES)
    }

    /// Tombstones for which the next segment has a place, those that are told for the second time
    /// among them.
    fn tombstones_to_tell(&self, assembler: &Assembler) -> usize {
        if self.is_short_of_tombstone_slots() {
            // Before all others can be told, cleaning must give slots back.
            return TOMBSTONE_COPIES * (self.tombstones.urgent() + ROOM_FOR_ENDS);
        }
        TOMBSTONE_COPIES * self.tombstones.pending() + assembler.told_last.len()
    }

    /// Room in the segment being assembled, in 1024ths of its size; none where there is none.
    pub fn room_in_open(&self) -> Option<u64> {
        let assembler = self.assembler();
        let open = assembler.open.as_ref()?;
        let used = open.used + open.items.len() * ENTRY_BYTES;
        Some((open.capacity.saturating_sub(used) * 1024 / open.capacity) as u64)
    }

    /// Finishes the segment being assembled, if there is one, and hands it to the flusher. Returns
    /// the write number of the last segment handed over.
    pub fn seal_open(&self) -> u64 {
        let mut assembler = self.assembler();
        self.seal(&mut assembler, true);
        assembler.next_write_number - 1
    }

    /// `is_partial` where more would have fitted.
    fn seal(&self, assembler: &mut Assembler, is_partial: bool) {
        let Some(mut open) = assembler.open.take() else {
            return;
        };
        assembler.items_last = open.items.len();
        if open.has_new {
            let noted = self.tombstones.noted().single;
            self.slots.slot(open.slot).raise_tombstones_before(noted);
        }
        let table_bytes = open.items.len() * ENTRY_BYTES;
        let tombstone_room = (open.capacity - open.used - table_bytes) / TOMBSTONE_BYTES;
        let (tombstones, tombstones_told) = self.tombstones.take(tombstone_room / TOMBSTONE_COPIES);
        let mut echoes = std::mem::take(&mut assembler.told_last);
        let echo_room = tombstone_room - TOMBSTONE_COPIES * tombstones.len();
        // What there is no room for has its turn with the next one.
        assembler.told_last = echoes.split_off(echoes.len().min(echo_room));
        assembler.told_last.extend_from_slice(&tombstones);
        let (tail, checksums) = encode_tail(&open.items, &tombstones, &echoes);
        open.put(open.used, &tail);
        let bytes = (open.used + tail.len()).next_multiple_of(BUFFER_ALIGNMENT);
        self.shorten(&mut open, bytes);
        let header = SegmentHeader {
            slots: open.run,
            device_id: self.superblocks.device_id(self.slots.device_of(open.slot)),
            write_number: open.write_number,
            sequence: open.sequence,
            flush_floor: 0,
            watermark: 0,
            newest_version: self.slots.slot(open.slot).newest_version(),
            newest_version_of_store: 0,
            epoch_unix: self.config.epoch_unix,
            items: open.items.len() as u32,
            tombstones: tombstones.len() as u32,
            table_offset: open.used as u64,
            echoes: echoes.len() as u32,
            tail: checksums,
        };
        self.flusher.push(Job {
            slot: open.slot,
            run: open.run,
            header,
            tombstones,
            tombstones_told,
            bytes,
            buffer: open.buffer,
            failures: 0,
            is_partial,
            is_missing: false,
        });
    }

    /// Gives back the slots of a run that are not written: its value was gone when it had been
    /// copied, and something smaller took its place.
    fn shorten(&self, open: &mut Open, bytes: usize) {
        let needed = bytes.div_ceil(self.slots.segment_bytes() as usize) as u32;
        if needed < open.run {
            self.slots.shorten(open.slot, open.run, needed);
            open.run = needed;
        }
    }
}

/// Puts the header in its place, in a buffer that is about to be written.
pub(crate) fn put_header(buffer: &Buffer, header: &SegmentHeader) {
    let mut bytes = [0; HEADER_BYTES];
    header.encode(&mut bytes);
    assert!(buffer.len() >= HEADER_BYTES);
    // SAFETY: in bounds; the header's place belongs to the flusher from the sealing on, and readers
    // look only at records.
    unsafe {
        buffer
            .address()
            .copy_from_nonoverlapping(bytes.as_ptr(), HEADER_BYTES);
    }
}

#[cfg(test)]
mod tests;
