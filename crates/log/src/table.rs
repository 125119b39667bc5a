//! What is known in memory of a segment's items: 16 bytes each.

use super::format::{RECORD_HEADER_BYTES, Tombstone};
use crate::device::Buffer;
use crate::schedule::atomic::{AtomicU32, AtomicU64, Ordering::*};
use farcache_base::time::Seconds;
use std::sync::Arc;

/// Bits of an entry's place.
///
/// | bits | content |
/// |---|---|
/// | 0 to 28 | where the record begins, in units of 4 bytes from the segment's start |
/// | 29 | a client has been told to recache it |
/// | 30 to 31 | window in which it was last read; 0 never, then 1 to 3 by turns |
const OFFSET_MASK: u32 = (1 << 29) - 1;
const WIN_SENT: u32 = 1 << 29;
const WINDOW_SHIFT: u32 = 30;
const WINDOWS: u64 = 3;

#[derive(Default)]
struct Entry {
    fingerprint: AtomicU64,
    place: AtomicU32,
    expiry: AtomicU32,
}

const _: () = assert!(size_of::<Entry>() == 16);

impl Entry {
    fn copy(&self) -> Entry {
        Entry {
            fingerprint: AtomicU64::new(self.fingerprint.load(Relaxed)),
            place: AtomicU32::new(self.place.load(Relaxed)),
            expiry: AtomicU32::new(self.expiry.load(Relaxed)),
        }
    }
}

/// The items of one segment.
pub(crate) struct Table {
    pub write_number: u64,
    /// Seconds between the epoch of the process that wrote the segment and this one's.
    pub epoch_shift: i64,
    /// Where the records end and the item table begins, in bytes; 0 until the segment is complete.
    pub table_offset: u64,
    /// It was finished before it was full.
    pub is_partial: bool,
    /// Tombstones that the segment tells of.
    pub tombstones: Box<[Tombstone]>,
    /// The segment's bytes, until they are on the device.
    pub buffer: Option<Arc<Buffer>>,
    /// One more than there are items: where the last record ends.
    entries: Box<[Entry]>,
}

impl Table {
    /// An empty one with room for so many items.
    pub fn with_room(items: usize, write_number: u64, buffer: Option<Arc<Buffer>>) -> Table {
        Table {
            write_number,
            epoch_shift: 0,
            table_offset: 0,
            is_partial: false,
            tombstones: Box::default(),
            buffer,
            entries: (0..=items).map(|_| Entry::default()).collect(),
        }
    }

    /// A copy with room for more items, while the segment is being assembled.
    pub fn widened(&self, items: usize) -> Table {
        let rest = items.saturating_sub(self.entries.len() - 1);
        let more = (0..rest).map(|_| Entry::default());
        Table {
            write_number: self.write_number,
            epoch_shift: self.epoch_shift,
            table_offset: self.table_offset,
            is_partial: self.is_partial,
            tombstones: self.tombstones.clone(),
            buffer: self.buffer.clone(),
            entries: self.entries.iter().map(Entry::copy).chain(more).collect(),
        }
    }

    /// A copy with the first `items` entries, for the time after the segment was written.
    pub fn completed(&self, items: u32, table_offset: u64, tombstones: Box<[Tombstone]>) -> Table {
        Table {
            write_number: self.write_number,
            epoch_shift: self.epoch_shift,
            table_offset,
            is_partial: self.is_partial,
            tombstones,
            buffer: None,
            entries: self.entries[..=items as usize]
                .iter()
                .map(Entry::copy)
                .collect(),
        }
    }

    /// Items that there is room for.
    pub fn room(&self) -> u32 {
        self.entries.len() as u32 - 1
    }

    /// Writes an entry down, and where its record ends. Before the item can be found.
    pub fn set(&self, item: u32, fingerprint: u64, record: std::ops::Range<u64>, expiry: Seconds) {
        let entry = &self.entries[item as usize];
        entry.fingerprint.store(fingerprint, Relaxed);
        entry.place.store((record.start / 4) as u32, Relaxed);
        entry.expiry.store(expiry, Relaxed);
        let next = &self.entries[item as usize + 1];
        next.place.store((record.end / 4) as u32, Relaxed);
    }

    pub fn fingerprint(&self, item: u32) -> u64 {
        self.entries[item as usize].fingerprint.load(Relaxed)
    }

    pub fn expiry(&self, item: u32) -> Seconds {
        self.entries[item as usize].expiry.load(Relaxed)
    }

    fn offset(&self, item: u32) -> u64 {
        let place = self.entries[item as usize].place.load(Relaxed);
        u64::from(place & OFFSET_MASK) * 4
    }

    /// Where an item's record lies, in bytes from the segment's start.
    pub fn record(&self, item: u32) -> std::ops::Range<u64> {
        self.offset(item)..self.offset(item + 1)
    }

    /// Where the item lies in the buffer, if the segment is still there.
    pub fn address_in_buffer(&self, item: u32) -> Option<*mut u8> {
        let offset = self.offset(item) as usize + RECORD_HEADER_BYTES;
        let buffer = self.buffer.as_ref()?;
        Some(buffer.address().wrapping_add(offset))
    }

    /// Notes a read in this window; true if the one before was in this window or the last.
    pub fn note_read(&self, item: u32, window: u64) -> bool {
        let now = (window % WINDOWS) as u32 + 1;
        let last = ((window + WINDOWS - 1) % WINDOWS) as u32 + 1;
        let place = &self.entries[item as usize].place;
        let before = place.load(Relaxed) >> WINDOW_SHIFT;
        if before != now {
            let set = |place| place & !(3 << WINDOW_SHIFT) | now << WINDOW_SHIFT;
            place.update(Relaxed, Relaxed, set);
        }
        before == now || before == last
    }

    /// Whether it was read in this window or the last.
    pub fn is_read_of_late(&self, item: u32, window: u64) -> bool {
        let of_late = [window, window + WINDOWS - 1].map(|window| (window % WINDOWS) as u32 + 1);
        of_late.contains(&(self.entries[item as usize].place.load(Relaxed) >> WINDOW_SHIFT))
    }

    /// Whether a client has been told to recache it.
    pub fn is_win_sent(&self, item: u32) -> bool {
        self.entries[item as usize].place.load(Relaxed) & WIN_SENT != 0
    }

    /// Notes that a client has been told to recache it; true for the first.
    pub fn set_win_sent(&self, item: u32) -> bool {
        let before = self.entries[item as usize]
            .place
            .fetch_or(WIN_SENT, Relaxed);
        before & WIN_SENT == 0
    }

    /// Memory that it takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.tombstones.len() * size_of::<Tombstone>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_parts_apart() {
        let table = Table::with_room(2, 1, None);
        table.set(0, 5, 128..1 << 30, 9);
        table.set(1, 6, 1 << 30..(1 << 30) + 400, 0);
        assert_eq!((table.fingerprint(0), table.expiry(0)), (5, 9));
        assert_eq!(table.record(1), 1 << 30..(1 << 30) + 400);
        assert!(!table.is_win_sent(0) && table.set_win_sent(0) && !table.set_win_sent(0));
        assert!(!table.note_read(0, 7));
        assert_eq!(table.record(0), 128..1 << 30);
        let copy = table.completed(2, 64, Box::default());
        assert!(copy.is_win_sent(0) && !copy.is_win_sent(1));
        assert_eq!((copy.record(1), copy.room()), (table.record(1), 2));
    }

    #[test]
    fn a_wider_table_has_what_the_narrow_one_had() {
        let table = Table::with_room(1, 3, Some(Arc::new(Buffer::new(4096))));
        table.set(0, 5, 128..256, 9);
        assert!(table.set_win_sent(0));
        let wide = table.widened(4);
        assert_eq!((wide.room(), wide.write_number), (4, 3));
        assert_eq!((wide.fingerprint(0), wide.expiry(0)), (5, 9));
        assert!(wide.is_win_sent(0) && wide.address_in_buffer(0).is_some());
        wide.set(1, 6, 256..300, 0);
        assert_eq!((wide.record(0), wide.record(1)), (128..256, 256..300));
    }

    #[test]
    fn only_reads_of_this_window_and_the_last_count() {
        let table = Table::with_room(1, 1, None);
        assert!(!table.note_read(0, 4), "never read before");
        assert!(table.note_read(0, 4) && table.note_read(0, 5));
        assert!(table.is_read_of_late(0, 5) && table.is_read_of_late(0, 6));
        assert!(!table.is_read_of_late(0, 7));
        assert!(!table.note_read(0, 7));
    }
}
