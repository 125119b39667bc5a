//! The segment that is written next: items and tombstones are gathered in its buffer.

use super::open_segment::{OpenSegment, items_max, room_for_items};
use super::{Fillings, Job, Log};
use crate::format::*;
use crate::guard::Guard;
use crate::item::{Fields, State};
use crate::location::Location;
use crate::slots::Reach;
use crate::table::Table;
use std::sync::Arc;

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

/// Assembles one segment at a time.
pub(crate) struct Assembler {
    open: Option<OpenSegment>,
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
    fn table_of<'o>(&'o self, open: &'o OpenSegment) -> &'o Table {
        // SAFETY: until the segment is sealed only the holder of the assembler takes its table out
        // of its slot, which needs the open segment mutably.
        let guard = unsafe { Guard::new() };
        let table = self.slots.table(guard, open.slot);
        table.expect("an open slot has one")
    }

    /// Makes room in the table of a segment for one more item.
    fn widen_table(&self, owner: &impl Fillings, open: &mut OpenSegment) {
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
        let is_young = |open: &&OpenSegment| open.sequence > owner.floor_for_new();
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
            self.pressure.set_at_rest(false);
        }
        let needed = HEADER_BYTES + bytes + ENTRY_BYTES;
        let run = needed.div_ceil(segment_bytes) as u32;
        let reach = self.reach(source);
        let is_lent = reach == Reach::All && !self.slots.has_room(run, Reach::Leaving(0));
        // Looked at before anything is prepared; others may still be quicker.
        if !self.slots.has_room(run, reach) {
            return Err(self.no_run(run));
        }
        if self.counters.buffers.get() >= u64::from(self.config.write_buffers) {
            return Err(Appended::Busy);
        }
        let capacity = run as usize * segment_bytes;
        let items_max = items_max(run, capacity);
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
            self.loan.give(write_number);
        }
        assembler.next_write_number += 1;
        self.counters.buffers.add(1);
        assembler.open = Some(OpenSegment {
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

    /// Tombstones for which the next segment has a place, those that are told for the second time
    /// among them.
    fn tombstones_to_tell(&self, assembler: &Assembler) -> usize {
        if self.pressure.is_short_of_tombstone_slots() {
            // Before all others can be told, cleaning must give slots back.
            return TOMBSTONE_COPIES * (self.tombstones.urgent() + ROOM_FOR_ENDS);
        }
        TOMBSTONE_COPIES * self.tombstones.pending() + assembler.told_last.len()
    }

    /// Room in the segment being assembled, in 1024ths of its size; none where there is none.
    pub fn room_in_open(&self) -> Option<u64> {
        let assembler = self.assembler();
        let open = assembler.open.as_ref()?;
        Some(open.room())
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
        let tombstone_room = open.tombstone_room();
        let (tombstones, tombstones_told) = self.tombstones.take(tombstone_room / TOMBSTONE_COPIES);
        let mut echoes = std::mem::take(&mut assembler.told_last);
        let echo_room = tombstone_room - TOMBSTONE_COPIES * tombstones.len();
        // What there is no room for has its turn with the next one.
        assembler.told_last = echoes.split_off(echoes.len().min(echo_room));
        assembler.told_last.extend_from_slice(&tombstones);
        let (bytes, checksums) = open.write_tail(&tombstones, &echoes);
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
    fn shorten(&self, open: &mut OpenSegment, bytes: usize) {
        let needed = bytes.div_ceil(self.slots.segment_bytes() as usize) as u32;
        if needed < open.run {
            self.slots.shorten(open.slot, open.run, needed);
            open.run = needed;
        }
    }
}

#[cfg(test)]
mod tests;
