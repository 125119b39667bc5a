//! The segment that is being assembled: what stands in its buffer so far, and what still fits.

use super::Incoming;
use crate::device::{BUFFER_ALIGNMENT, Buffer};
use crate::format::*;
use crate::item::{Layout, RawItem};
use crate::location::ITEMS_MAX;
use std::sync::Arc;

/// Least size of a record: header, an item with a token and a key of one byte.
const RECORD_BYTES_MIN: usize = RECORD_HEADER_BYTES + 20;
/// Items that a table has room for at first, at least. Room for all that could be would be as large
/// as the segment itself where records are small, and clearing it takes longer than filling the
/// segment.
pub(in crate::log) const ITEM_ROOM_MIN: usize = 64;
/// Room is kept for waiting tombstones up to one part in this many of a segment.
const TOMBSTONE_PART_MAX: usize = 4;

/// The segment being assembled.
pub(super) struct OpenSegment {
    pub slot: u32,
    pub run: u32,
    pub write_number: u64,
    pub sequence: u64,
    pub buffer: Arc<Buffer>,
    pub capacity: usize,
    pub used: usize,
    pub items: Vec<TableEntry>,
    /// Items that its table in memory has room for now, and that it may have at most.
    pub item_room: usize,
    pub items_max: usize,
    /// It holds something that came from memory.
    pub has_new: bool,
    /// It took a slot that is kept for tombstones: what leaves memory must not fill it before they
    /// have been told.
    pub is_reserved: bool,
}

impl OpenSegment {
    /// Whether a record fits beside the table and these tombstones.
    pub fn fits(&self, bytes: usize, tombstones: usize) -> bool {
        let table =
            (self.items.len() + 1) * ENTRY_BYTES + tombstone_bytes(tombstones, self.capacity);
        self.items.len() < self.items_max && self.used + bytes + table <= self.capacity
    }

    /// Room that is left beside the table, in 1024ths of its size.
    pub fn room(&self) -> u64 {
        let used = self.used + self.items.len() * ENTRY_BYTES;
        (self.capacity.saturating_sub(used) * 1024 / self.capacity) as u64
    }

    /// Tombstones that there is room for, if no more items come.
    pub fn tombstone_room(&self) -> usize {
        let table_bytes = self.items.len() * ENTRY_BYTES;
        (self.capacity - self.used - table_bytes) / TOMBSTONE_BYTES
    }

    /// Writes what comes behind the records: the table, and the tombstones. Returns the bytes that
    /// are to be written to the device, and the checksums.
    pub fn write_tail(
        &self,
        tombstones: &[Tombstone],
        echoes: &[Tombstone],
    ) -> (usize, TailChecksums) {
        let (tail, checksums) = encode_tail(&self.items, tombstones, echoes);
        self.put(self.used, &tail);
        let bytes = (self.used + tail.len()).next_multiple_of(BUFFER_ALIGNMENT);
        (bytes, checksums)
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
    pub fn write_record(&self, incoming: &Incoming<'_>, layout: Layout) -> usize {
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

/// Items that a segment of so many slots may have: a run has one.
pub(super) fn items_max(run: u32, capacity: usize) -> usize {
    match run {
        1 => (capacity / RECORD_BYTES_MIN).min(ITEMS_MAX as usize),
        _ => 1,
    }
}

/// Items that a table gets room for where the last segment had so many: most have about as many as
/// the one before.
pub(super) fn room_for_items(items_last: usize) -> usize {
    (items_last + items_last / 4).max(ITEM_ROOM_MIN)
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
