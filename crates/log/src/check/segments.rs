//! Reading segments: headers, tails, records.

use super::members::Disk;
use super::report::{CheckKind, CheckReport};
use crate::device::{BUFFER_ALIGNMENT, Buffer};
use crate::format::*;
use crate::item::Layout;
use crate::location::ITEMS_MAX;
use farcache_base::crc32c;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a large record that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A segment whose header is whole.
pub(super) struct Segment {
    pub disk: usize,
    pub slot: u32,
    pub header: SegmentHeader,
    /// Both copies of the header are whole.
    pub is_header_whole: bool,
}

/// What a segment's tail says.
#[derive(Default)]
pub(super) struct Tail {
    pub entries: Vec<TableEntry>,
    pub tombstones: Vec<Tombstone>,
    pub echoes: Vec<Tombstone>,
    /// What is damaged of it.
    pub damaged: Vec<&'static str>,
}

/// Tells whether a key is the one that an entry of an item table means.
pub(super) struct Hashes {
    index: RapidSecrets,
    fingerprint: RapidSecrets,
}

impl Hashes {
    pub fn of(superblock: &Superblock) -> Hashes {
        Hashes {
            index: RapidSecrets::seed(superblock.index_seed),
            fingerprint: RapidSecrets::seed(superblock.fingerprint_seed),
        }
    }

    fn fits(&self, key: &[u8], entry: &TableEntry) -> bool {
        rapidhash_v3_seeded(key, &self.index) == entry.hash
            && rapidhash_v3_seeded(key, &self.fingerprint) == entry.fingerprint
    }
}

/// The devices, and what was found on them.
pub(super) struct Reader<'r> {
    pub disks: &'r [Disk],
    pub report: &'r mut CheckReport,
}

impl Reader<'_> {
    /// Where a segment begins on its device, in bytes.
    fn offset_of(&self, segment: &Segment) -> u64 {
        u64::from(segment.slot) * u64::from(self.disks[segment.disk].superblock.segment_bytes)
    }

    pub fn tell(&mut self, segment: &Segment, kind: CheckKind, detail: String) {
        let device = self.disks[segment.disk].device.name();
        let offset = self.offset_of(segment);
        let number = segment.header.write_number;
        self.report
            .add(kind, &device, offset, format!("segment {number}: {detail}"));
    }

    /// All segments, oldest first. Where several claim a slot, only the newest is listed.
    pub fn headers(&mut self) -> Vec<Segment> {
        let mut segments = Vec::new();
        for disk in 0..self.disks.len() {
            let slots = self.disks[disk].slots();
            self.report.slots += u64::from(slots.saturating_sub(1));
            let mut found = Vec::new();
            for slot in 1..slots {
                found.extend(self.header(disk, slot));
            }
            segments.extend(without_overlapped(found));
        }
        segments.sort_by_key(|segment: &Segment| segment.header.write_number);
        segments
    }

    fn header(&mut self, disk: usize, slot: u32) -> Option<Segment> {
        let device = &self.disks[disk].device;
        let offset = u64::from(slot) * u64::from(self.disks[disk].superblock.segment_bytes);
        let mut buffer = Buffer::new(BUFFER_ALIGNMENT);
        if let Err(error) = device.read_at(&mut buffer, offset) {
            let name = device.name();
            self.report
                .add(CheckKind::Unreadable, &name, offset, error.to_string());
            return None;
        }
        let header = SegmentHeader::decode(&buffer)?;
        is_possible(&self.disks[disk], slot, &header).then(|| Segment {
            disk,
            slot,
            is_header_whole: SegmentHeader::is_whole(&buffer),
            header,
        })
    }

    /// The bytes of a part of a segment; none if they cannot be read.
    fn read(&mut self, segment: &Segment, part: Range<u64>) -> Option<Buffer> {
        let alignment = BUFFER_ALIGNMENT as u64;
        let start = part.start / alignment * alignment;
        let bytes = (part.end - start)
            .next_multiple_of(alignment)
            .max(alignment);
        let mut buffer = Buffer::new(bytes as usize);
        let device = &self.disks[segment.disk].device;
        let place = self.offset_of(segment) + start;
        match device.read_at(&mut buffer, place) {
            Ok(()) => Some(buffer),
            Err(error) => {
                self.tell(segment, CheckKind::Unreadable, error.to_string());
                None
            }
        }
    }

    /// The tail of a segment; none if it cannot be read.
    pub fn tail(&mut self, segment: &Segment) -> Option<Tail> {
        let header = &segment.header;
        let start = header.table_offset;
        let buffer = self.read(segment, start..header.segment_bytes())?;
        let lead = start as usize % BUFFER_ALIGNMENT;
        let bytes = &buffer[lead..lead + header.tail_bytes()];
        let tail = crate::format::Tail::parse(header, bytes);
        Some(Tail {
            entries: parse_entries(tail.table.unwrap_or_default()).collect(),
            tombstones: parse_tombstones(tail.tombstones).collect(),
            echoes: parse_tombstones(tail.echoes).collect(),
            damaged: damaged_parts(header, bytes),
        })
    }

    /// The items of a segment whose records are not what they should be.
    pub fn damaged_records(
        &mut self,
        segment: &Segment,
        entries: &[TableEntry],
        hashes: &Hashes,
    ) -> Vec<u32> {
        if entries.is_empty() {
            return Vec::new();
        }
        if segment.header.slots > 1 {
            let is_whole = entries.len() == 1 && self.is_large_record(segment, &entries[0], hashes);
            return if is_whole { Vec::new() } else { vec![0] };
        }
        let all = || 0..entries.len() as u32;
        let Some(buffer) = self.read(segment, 0..segment.header.table_offset) else {
            return all().collect();
        };
        let end = segment.header.table_offset as usize;
        let is_whole = |number: u32| {
            let entry = &entries[number as usize];
            let next = entries.get(number as usize + 1);
            let end = next.map_or(end, |next| next.offset as usize);
            let record = &buffer[entry.offset as usize..end];
            let item = record_item(record, segment.header.write_number, number);
            let key = item.and_then(key_of);
            key.is_some_and(|key| hashes.fits(key, entry))
        };
        all().filter(|&number| !is_whole(number)).collect()
    }

    /// Whether a record that takes more than a slot is whole; it is read in parts.
    fn is_large_record(&mut self, segment: &Segment, entry: &TableEntry, hashes: &Hashes) -> bool {
        let end = segment.header.table_offset;
        let (mut at, mut checksum, mut expected) = (entry.offset, 0, 0);
        let mut rest = 0;
        while at < end {
            let part = at..end.min((at / CHUNK_BYTES as u64 + 1) * CHUNK_BYTES as u64);
            let Some(buffer) = self.read(segment, part.clone()) else {
                return false;
            };
            let lead = part.start as usize % BUFFER_ALIGNMENT;
            let mut bytes = &buffer[lead..lead + (part.end - part.start) as usize];
            if at == entry.offset {
                let Some(begun) = Begun::of(segment, bytes, end - at) else {
                    return false;
                };
                if !hashes.fits(begun.key, entry) {
                    return false;
                }
                (checksum, expected, rest) = (begun.place, begun.checksum, begun.bytes);
                bytes = &bytes[4..];
            }
            let covered = bytes.len().min(rest);
            checksum = crc32c::crc32c_append(checksum, &bytes[..covered]);
            rest -= covered;
            at = part.end;
        }
        rest == 0 && checksum == expected
    }
}

/// The front of a large record.
struct Begun<'a> {
    /// The checksum of what precedes the bytes that it covers.
    place: u32,
    checksum: u32,
    /// So many bytes behind the checksum are covered by it.
    bytes: usize,
    key: &'a [u8],
}

impl Begun<'_> {
    fn of<'a>(segment: &Segment, bytes: &'a [u8], room: u64) -> Option<Begun<'a>> {
        let number = |at: usize| -> Option<u32> {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let (checksum, item_bytes) = (number(0)?, number(4)? as usize);
        let covered = item_bytes.checked_add(4)?;
        if covered as u64 + 4 > room {
            return None;
        }
        let layout = Layout::of_front(&bytes[RECORD_HEADER_BYTES..], item_bytes)?;
        let item = &bytes[RECORD_HEADER_BYTES..];
        Some(Begun {
            place: record_checksum(segment.header.write_number, 0, &[]),
            checksum,
            bytes: covered,
            key: item.get(layout.key_offset()..layout.value_offset())?,
        })
    }
}

/// The key of an item.
fn key_of(item: &[u8]) -> Option<&[u8]> {
    let layout = Layout::of_bytes(item)?;
    item.get(layout.key_offset()..layout.value_offset())
}

/// Whether a header can be that of a segment in this slot.
fn is_possible(disk: &Disk, slot: u32, header: &SegmentHeader) -> bool {
    let room = u64::from(header.slots) * u64::from(disk.superblock.segment_bytes);
    header.device_id == disk.superblock.device_id
        && header.slots >= 1
        && header.slots <= disk.slots() - slot
        && header.items <= ITEMS_MAX
        && header.table_offset >= HEADER_BYTES as u64
        && header.table_offset <= room
        && header.tail_bytes() as u64 <= room - header.table_offset
}

/// Where several segments claim a slot, only the newest can be whole. `found` are the segments of
/// one device, by slot.
fn without_overlapped(found: Vec<Segment>) -> Vec<Segment> {
    let mut owner: HashMap<u32, u64> = HashMap::new();
    let slots = |segment: &Segment| segment.slot..segment.slot + segment.header.slots;
    for segment in &found {
        for slot in slots(segment) {
            let number = owner.entry(slot).or_default();
            *number = (*number).max(segment.header.write_number);
        }
    }
    let is_there =
        |segment: &Segment| slots(segment).all(|slot| owner[&slot] == segment.header.write_number);
    found.into_iter().filter(is_there).collect()
}
