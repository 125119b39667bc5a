//! Reading the headers and tails of all segments.

use super::format::*;
use crate::device::{
    BUFFER_ALIGNMENT, Buffer, Device, Direction, Engine, Memory, Outcome, Transfer,
};
use crate::location::ITEMS_MAX;
use crate::log::Log;
use crate::schedule::thread;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// Reads at the devices at once.
const DEPTH: usize = 64;

/// A segment whose header is whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub slot: u32,
    pub header: SegmentHeader,
}

/// All segments on the devices.
pub(super) struct Scan {
    /// By write number, oldest first.
    pub segments: Vec<Segment>,
    /// Slots with headers of segments whose ends newer ones have taken.
    pub cut_off: Vec<u32>,
    /// Slots whose headers cannot be read.
    pub unreadable: Vec<u32>,
}

/// How often something is read that cannot be read at once.
const TRIES_MAX: u32 = 3;

/// Reads until it succeeds, or has failed often enough: what cannot be read is lost for good.
fn read_with_patience(device: &dyn Device, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut read = device.read_at(buffer, offset);
    for _ in 1..TRIES_MAX {
        if read.is_ok() {
            break;
        }
        thread::sleep(RETRY_WAIT);
        read = device.read_at(buffer, offset);
    }
    read
}

/// How long it waits before it reads again.
const RETRY_WAIT: Duration = Duration::from_millis(10);

/// A range of blocks to be read.
struct Part {
    device: usize,
    offset: u64,
    bytes: usize,
}

/// Reads under way, and what has arrived before its turn.
struct Reading {
    engine: Engine,
    /// By number; none for what could not be read.
    arrived: BTreeMap<u64, Option<Buffer>>,
    ended: Vec<Outcome>,
}

impl Reading {
    fn has_room(&self) -> bool {
        self.engine.in_flight() + self.arrived.len() < 2 * DEPTH
    }

    fn submit(&mut self, log: &Log, number: usize, part: Part) {
        self.engine.submit(Transfer {
            direction: Direction::Read,
            device: part.device,
            offset: part.offset,
            buffer: Memory::Own(log.reading.pool.take(part.bytes)),
            bytes: part.bytes,
            token: number as u64,
        });
    }

    /// Takes what has ended, without waiting.
    fn take_ended(&mut self, log: &Log) {
        self.engine.poll(&mut self.ended);
        for Outcome { transfer, result } in self.ended.drain(..) {
            let device = log.devices[transfer.device].as_ref();
            let buffer = match (result, transfer.buffer) {
                (Ok(()), Memory::Own(buffer)) => Some(buffer),
                (Err(_), Memory::Own(mut buffer)) => {
                    let part = &mut buffer[..transfer.bytes];
                    let read = read_with_patience(device, part, transfer.offset);
                    read.is_ok().then_some(buffer)
                }
                (_, Memory::Shared(_)) => None,
            };
            self.arrived.insert(transfer.token, buffer);
        }
    }
}

/// Reads many parts, and shows each in their order; a part that cannot be read is shown as none.
/// Between two that are shown further ones are asked for, so that the device has work meanwhile.
fn read_in_order(
    log: &Log,
    parts: impl Iterator<Item = Part>,
    mut show: impl FnMut(usize, Option<&[u8]>),
) -> io::Result<()> {
    let mut reading = Reading {
        engine: Engine::new(&log.devices, DEPTH as u32, log.config.engine.uring())?,
        arrived: BTreeMap::new(),
        ended: Vec::new(),
    };
    let mut parts = parts.enumerate();
    let mut next = 0;
    loop {
        while reading.has_room()
            && let Some((number, part)) = parts.next()
        {
            reading.submit(log, number, part);
        }
        reading.engine.start();
        reading.take_ended(log);
        if let Some(buffer) = reading.arrived.remove(&next) {
            show(next as usize, buffer.as_deref());
            next += 1;
        } else if reading.engine.in_flight() == 0 {
            return Ok(());
        } else {
            reading.engine.wait();
        }
    }
}

impl Scan {
    /// Reads the headers in these slots.
    ///
    /// # Errors
    /// The system's, where there is no engine to be had.
    pub fn headers(log: &Log, slots: &[u32]) -> io::Result<Scan> {
        let parts = slots.iter().map(|&slot| Part {
            device: log.slots.device_of(slot),
            offset: log.slots.offset_of(slot),
            bytes: BUFFER_ALIGNMENT,
        });
        let (mut segments, mut unreadable) = (Vec::new(), Vec::new());
        read_in_order(log, parts, |number, bytes| {
            let header = bytes.and_then(SegmentHeader::decode);
            let slot = slots[number];
            if bytes.is_none() {
                unreadable.push(slot);
            }
            if let Some(header) = header.filter(|header| is_possible(log, slot, header)) {
                segments.push(Segment { slot, header });
            }
        })?;
        let cut_off = drop_overlapped(&mut segments);
        segments.sort_by_key(|segment| segment.header.write_number);
        segments.dedup_by_key(|segment| segment.header.write_number);
        Ok(Scan {
            segments,
            cut_off,
            unreadable,
        })
    }

    /// Up to which write number everything was durable.
    pub fn watermark(&self) -> u64 {
        let watermarks = self.segments.iter().map(|segment| segment.header.watermark);
        watermarks.max().unwrap_or(0)
    }

    /// Reads the tails of some segments and shows them in order; none for one that cannot be read.
    ///
    /// # Errors
    /// The system's, where there is no engine to be had.
    pub fn tails(
        &self,
        log: &Log,
        positions: &[usize],
        mut show: impl FnMut(usize, Option<Tail<'_>>),
    ) -> io::Result<()> {
        let span = |header: &SegmentHeader| {
            let start = header.table_offset / BUFFER_ALIGNMENT as u64 * BUFFER_ALIGNMENT as u64;
            let end = header
                .segment_bytes()
                .next_multiple_of(BUFFER_ALIGNMENT as u64);
            (start, end.max(start + BUFFER_ALIGNMENT as u64))
        };
        let parts = positions.iter().map(|&position| {
            let segment = &self.segments[position];
            let (start, end) = span(&segment.header);
            Part {
                device: log.slots.device_of(segment.slot),
                offset: log.slots.offset_of(segment.slot) + start,
                bytes: (end - start) as usize,
            }
        });
        read_in_order(log, parts, |number, bytes| {
            let header = &self.segments[positions[number]].header;
            let lead = (header.table_offset - span(header).0) as usize;
            let tail = bytes.map(|bytes| &bytes[lead..lead + header.tail_bytes()]);
            let tail = tail.map(|tail| Tail::parse(header, tail));
            show(positions[number], tail);
        })
    }
}

/// Whether a header can be that of a segment in this slot.
fn is_possible(log: &Log, slot: u32, header: &SegmentHeader) -> bool {
    let end = log.slots.of_device(log.slots.device_of(slot)).end;
    let room = u64::from(header.slots) * log.slots.segment_bytes();
    header.device_id == log.superblocks.device_id(log.slots.device_of(slot))
        && header.slots >= 1
        && header.slots <= end - slot
        && header.items <= ITEMS_MAX
        && header.table_offset >= HEADER_BYTES as u64
        && header.table_offset <= room
        && header.tail_bytes() as u64 <= room - header.table_offset
}

/// Of two segments that claim the same slots, only the newer can be whole. Returns where older ones
/// begin whose end a newer one has taken.
fn drop_overlapped(segments: &mut Vec<Segment>) -> Vec<u32> {
    segments.sort_by_key(|segment| segment.slot);
    let mut cut_off = Vec::new();
    let mut kept: Vec<Segment> = Vec::with_capacity(segments.len());
    for &segment in segments.iter() {
        while let Some(last) = kept.last()
            && last.slot + last.header.slots > segment.slot
            && last.header.write_number < segment.header.write_number
        {
            cut_off.push(last.slot);
            kept.pop();
        }
        let is_covered = kept
            .last()
            .is_some_and(|last| last.slot + last.header.slots > segment.slot);
        if !is_covered {
            kept.push(segment);
        }
    }
    *segments = kept;
    cut_off
}

/// Whether a segment has arrived whole, every record of it.
pub(super) fn verify_whole(log: &Log, segment: &Segment) -> bool {
    let header = &segment.header;
    let bytes = (header.segment_bytes() as usize).next_multiple_of(BUFFER_ALIGNMENT);
    let mut buffer = Buffer::new(bytes);
    let device = log.devices[log.slots.device_of(segment.slot)].as_ref();
    let offset = log.slots.offset_of(segment.slot);
    if read_with_patience(device, &mut buffer[..bytes], offset).is_err() {
        return false;
    }
    let start = header.table_offset as usize;
    let tail = Tail::parse(header, &buffer[start..start + header.tail_bytes()]);
    if !tail.is_whole || !SegmentHeader::is_whole(&buffer) {
        return false;
    }
    let table = tail.table.unwrap_or_default();
    parse_entries(table).enumerate().all(|(number, entry)| {
        let record = &buffer[entry.offset as usize..start];
        record_item(record, header.write_number, number as u32).is_some()
    })
}
