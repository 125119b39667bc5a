//! Rebuilding the index from what is on the devices.

use super::assembler::{Assembler, CLEANER_SLOTS};
use super::flusher::Physical;
use super::format::*;
use super::location::ITEMS_MAX;
use super::options::TierEventKind;
use super::scan::{Scan, verify_whole};
use super::slots::SlotState;
use super::table::Table;
use super::{Tier, TierConfig};
use crate::core::Core;
use crate::device::{BUFFER_ALIGNMENT, Buffer, Device};
use crate::index::Location;
use farcache_base::time::{ALWAYS_PAST, NEVER, START, Seconds};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// How far sequence numbers jump at a restart: fillings of memory that never reached a device had numbers, too,
/// and tokens made from them.
const SEQUENCE_JUMP: u64 = 1 << 20;

/// What the superblocks say.
pub(crate) struct Found {
    /// The store's, with the generation that begins now.
    pub superblock: Superblock,
    /// Devices that hold segments of this store.
    has_segments: Vec<bool>,
    /// Devices that held something that is of no use.
    was_formatted: Vec<bool>,
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl Found {
    /// Seed of the index's hash.
    pub fn index_seed(&self) -> u64 {
        self.superblock.index_seed
    }

    /// Reads the superblocks.
    ///
    /// # Errors
    /// The devices', and `InvalidInput` for devices that are too small or do not belong together.
    pub fn look(config: &TierConfig) -> io::Result<Found> {
        if config.devices.is_empty() {
            return Err(invalid("a tier needs a device".into()));
        }
        let superblocks = config
            .devices
            .iter()
            .map(|device| read_superblock(device.as_ref()))
            .collect::<io::Result<Vec<_>>>()?;
        let newest = superblocks
            .iter()
            .flatten()
            .max_by_key(|one| one.generation);
        let mut superblock = newest.copied().unwrap_or_else(|| blank(config));
        let is_foreign = |one: &&Superblock| one.store_id != superblock.store_id;
        if superblocks.iter().flatten().any(|one| is_foreign(&one)) {
            let message =
                "the devices hold data of different stores: clear those that are to be used anew";
            return Err(invalid(message.into()));
        }
        check_sizes(config, superblock.segment_bytes)?;
        let is_current = |one: &Option<Superblock>| {
            one.is_some_and(|one| one.generation == superblock.generation)
        };
        let has_segments: Vec<bool> = superblocks.iter().map(is_current).collect();
        let was_formatted = superblocks
            .iter()
            .map(|one| one.is_some() && !is_current(one))
            .collect();
        superblock.generation += 1;
        Ok(Found {
            superblock,
            has_segments,
            was_formatted,
        })
    }
}

fn check_sizes(config: &TierConfig, segment_bytes: u32) -> io::Result<()> {
    let is_possible =
        segment_bytes.is_power_of_two() && (64 << 10..=4 << 20).contains(&segment_bytes);
    if !is_possible {
        return Err(invalid(format!(
            "segments of {segment_bytes} bytes cannot be"
        )));
    }
    for device in &config.devices {
        if device.bytes() < 16 * u64::from(segment_bytes) {
            let name = device.name();
            return Err(invalid(format!(
                "{name} must have room for 16 segments of {segment_bytes} bytes"
            )));
        }
    }
    Ok(())
}

fn blank(config: &TierConfig) -> Superblock {
    let random = |what: &str| RandomState::new().hash_one(what);
    let mut store_id = [0; 16];
    store_id[..8].copy_from_slice(&random("store").to_le_bytes());
    store_id[8..].copy_from_slice(&random("id").to_le_bytes());
    Superblock {
        segment_bytes: config.segment_bytes,
        store_id,
        index_seed: random("index"),
        fingerprint_seed: random("fingerprint"),
        generation: 0,
        device_bytes: 0,
        flush_floor: 0,
    }
}

fn read_superblock(device: &dyn Device) -> io::Result<Option<Superblock>> {
    let mut buffer = Buffer::new(BUFFER_ALIGNMENT);
    let mut copies = Vec::new();
    for offset in SUPERBLOCK_COPIES {
        device.read_at(&mut buffer, offset)?;
        copies.extend(Superblock::decode(&buffer));
    }
    Ok(copies.into_iter().max_by_key(|copy| copy.generation))
}

/// Writes both copies, one after the other, so that one is whole whatever happens.
fn write_superblock(device: &dyn Device, superblock: &Superblock) -> io::Result<()> {
    let mut buffer = Buffer::new(BUFFER_ALIGNMENT);
    let own = Superblock {
        device_bytes: device.bytes(),
        ..*superblock
    };
    own.encode(&mut buffer);
    for offset in SUPERBLOCK_COPIES {
        device.write_at(&buffer, offset)?;
        device.sync()?;
    }
    Ok(())
}

/// Rebuilds the index of a store that nobody uses yet, and makes its devices this process's. Returns what lies on
/// the devices and the last write number.
///
/// # Errors
/// The devices', where they cannot be read or written at all.
pub(crate) fn recover(core: &Core, found: &Found) -> io::Result<(Physical, u64)> {
    let started = Instant::now();
    let tier = core.tier.as_ref().expect("a store with a tier");
    let devices = found.has_segments.iter().enumerate();
    let devices: Vec<usize> = devices
        .filter(|(_, has)| **has)
        .map(|(one, _)| one)
        .collect();
    let mut recovery = Recovery {
        core,
        tier,
        scan: Scan::headers(tier, &devices)?,
        floor: found.superblock.flush_floor,
        dead: HashSet::new(),
        dropped: Vec::new(),
    };
    recovery.cut_log();
    recovery.collect_deaths()?;
    recovery.restore_items()?;
    recovery.erase_dropped()?;
    let (physical, last) = recovery.finish();
    for (number, device) in tier.devices.iter().enumerate() {
        device.sync()?;
        if found.was_formatted[number] {
            tier.events.tell(
                TierEventKind::Formatted,
                &device.name(),
                "it missed what the others have seen",
            );
        }
        let superblock = Superblock {
            flush_floor: core.flush.floor(),
            ..found.superblock
        };
        write_superblock(device.as_ref(), &superblock)?;
    }
    tier.counters
        .recovery_us
        .set(started.elapsed().as_micros() as u64);
    Ok((physical, last))
}

struct Recovery<'c> {
    core: &'c Core,
    tier: &'c Tier,
    /// Segments by write number, oldest first.
    scan: Scan,
    floor: u64,
    dead: HashSet<Death>,
    /// Positions in the scan of segments that are of no use.
    dropped: Vec<usize>,
}

impl Recovery<'_> {
    fn drop_segment(&mut self, position: usize) {
        self.dropped.push(position);
        self.tier.counters.segments_dropped.add(1);
        let device = self.tier.slots.device_of(self.scan.segments[position].slot);
        let name = self.tier.devices[device].name();
        self.tier.events.tell(
            TierEventKind::SegmentsDropped,
            &name,
            "a segment is torn or damaged",
        );
    }

    /// Behind the watermark the log is accepted up to its first gap, each segment only if it is whole.
    fn cut_log(&mut self) {
        let watermark = self.scan.watermark();
        let mut expected = watermark + 1;
        for position in 0..self.scan.segments.len() {
            let segment = &self.scan.segments[position];
            if segment.header.write_number <= watermark {
                continue;
            }
            let is_next = segment.header.write_number == expected;
            if is_next && verify_whole(self.tier, segment) {
                expected += 1;
            } else {
                expected = 0;
                self.drop_segment(position);
            }
        }
    }

    fn is_dropped(&self, position: usize) -> bool {
        self.dropped.contains(&position)
    }

    fn collect_deaths(&mut self) -> io::Result<()> {
        let has_deaths = |position: &usize| {
            let header = &self.scan.segments[*position].header;
            header.deaths + header.echoes > 0 && !self.is_dropped(*position)
        };
        let positions: Vec<usize> = (0..self.scan.segments.len()).filter(has_deaths).collect();
        let mut dead = HashSet::new();
        let scan = &self.scan;
        scan.tables(self.tier, &positions, |position, tail| {
            if let Some(tail) = tail {
                let items = scan.segments[position].header.items as usize;
                dead.extend(parse_deaths(&tail[items * ENTRY_BYTES..]));
            }
        })?;
        self.dead = dead;
        let floors = (0..self.scan.segments.len())
            .filter(|&position| !self.is_dropped(position))
            .map(|position| self.scan.segments[position].header.flush_floor);
        self.floor = floors.fold(self.floor, u64::max);
        Ok(())
    }

    fn is_dead(&self, position: usize) -> bool {
        self.dead.contains(&Death {
            write_number: self.scan.segments[position].header.write_number,
            item: WHOLE_SEGMENT,
        })
    }

    /// Reads the item tables, oldest first: what comes later supersedes what came before.
    fn restore_items(&mut self) -> io::Result<()> {
        // Of dead segments all deaths were told again before their own was. Those that a flush voided still tell
        // of deaths, and hold their slots until these are told elsewhere.
        let positions: Vec<usize> = (0..self.scan.segments.len())
            .filter(|&position| !self.is_dropped(position) && !self.is_dead(position))
            .collect();
        let mut damaged = Vec::new();
        let this = &*self;
        this.scan.tables(this.tier, &positions, |position, tail| {
            match tail {
                Some(tail) => this.restore_segment(position, tail),
                None => damaged.push(position),
            };
        })?;
        damaged
            .into_iter()
            .for_each(|position| self.drop_segment(position));
        Ok(())
    }

    fn restore_segment(&self, position: usize, tail: &[u8]) {
        let segment = &self.scan.segments[position];
        let header = &segment.header;
        let is_void = header.sequence <= self.floor;
        let (entries, deaths) = tail.split_at(header.items as usize * ENTRY_BYTES);
        let own_deaths = &deaths[..header.deaths as usize * DEATH_BYTES];
        let items = if is_void { 0 } else { header.items };
        let shift = self.tier.config.epoch_unix - header.epoch_unix;
        let mut table = Table::with_room(items as usize, header.write_number, None);
        table.epoch_shift = shift;
        table.table_offset = header.table_offset;
        table.is_partial = is_partial(self.tier, header);
        table.deaths = parse_deaths(own_deaths).collect();
        let entries: Vec<TableEntry> = parse_entries(entries).take(items as usize).collect();
        for (number, entry) in entries.iter().enumerate() {
            let next = entries.get(number + 1);
            let end = next.map_or(header.table_offset, |next| next.offset);
            let expiry = shifted(entry.expiry, shift);
            table.set(number as u32, entry.fingerprint, entry.offset..end, expiry);
        }
        self.tier
            .slots
            .adopt(segment.slot, header.slots, header.sequence, table);
        self.tier.counters.segments_recovered.add(1);
        for (number, entry) in entries.iter().enumerate() {
            self.restore_item(segment.slot, number as u32, header.write_number, entry.hash);
        }
    }

    fn restore_item(&self, slot: u32, item: u32, write_number: u64, hash: u64) {
        let tier = self.tier;
        let table = tier.slots.table(slot).expect("just adopted");
        let (fingerprint, expiry) = (table.fingerprint(item), table.expiry(item));
        let is_dead = self.dead.contains(&Death { write_number, item });
        let is_expired = expiry != NEVER && expiry <= START;
        let chain = self.core.index.lock(hash);
        let older = chain.find(|location| {
            location.is_on_device() && tier.has_fingerprint(location, fingerprint)
        });
        let location = Location::on_device(slot, item);
        let is_wanted = !is_dead && !is_expired;
        let record = table.record(item);
        let bytes = record.end - record.start;
        if is_wanted {
            tier.slots.slot(slot).add_live(bytes, expiry);
        }
        match older {
            Some((place, before)) => {
                tier.kill(before);
                if is_wanted {
                    chain.replace(place, location);
                } else {
                    chain.remove(place);
                    drop(chain);
                    self.count(-1);
                }
            }
            None if is_wanted => {
                let was_added = chain.insert(location);
                drop(chain);
                if was_added {
                    self.count(1);
                } else {
                    _ = tier.slots.slot(slot).remove_live(bytes);
                }
            }
            None => {}
        }
    }

    fn count(&self, change: i64) {
        self.core.note_entries(change);
        let events = self.core.flusher_events();
        if change > 0 {
            events.added.add(1);
        } else {
            events.removed.add(1);
        }
    }

    /// Before anything can be cleaned, deaths must be written, which takes a slot. If none is free, one is taken in
    /// which nothing is alive: all that says so is durable, and nothing else is written before it.
    fn release_some(&self) {
        let slots = &self.tier.slots;
        for slot in (0..slots.count()).rev() {
            let (free, _) = slots.counts();
            let is_dead = slots.slot(slot).state() == SlotState::Written
                && slots.slot(slot).live_items() == 0
                && slots
                    .table(slot)
                    .is_some_and(|table| table.deaths.is_empty());
            if free < CLEANER_SLOTS && is_dead {
                let run = slots.slot(slot).run();
                slots.empty(slot, || self.core.epochs.retire());
                slots.release(slot, run);
            }
        }
    }

    /// What was dropped must not look acceptable to a later recovery, for which what is written from now on vouches.
    /// The newest go first: at no moment is there a gap before something that would be accepted.
    fn erase_dropped(&mut self) -> io::Result<()> {
        self.dropped.sort_unstable();
        let zeros = Buffer::new(BUFFER_ALIGNMENT);
        for &position in self.dropped.iter().rev() {
            let slot = self.scan.segments[position].slot;
            let device = &self.tier.devices[self.tier.slots.device_of(slot)];
            device.write_at(&zeros, self.tier.slots.offset_of(slot))?;
        }
        Ok(())
    }

    /// The dropped must stay dead, and numbers go on where they ended.
    fn finish(self) -> (Physical, u64) {
        let tier = self.tier;
        let mut physical = Physical {
            numbers: HashSet::new(),
            of_slot: vec![0; tier.slots.count() as usize],
        };
        for segment in &self.scan.segments {
            physical.numbers.insert(segment.header.write_number);
            physical.of_slot[segment.slot as usize] = segment.header.write_number;
        }
        let mut held = Vec::new();
        for &position in &self.dropped {
            let segment = &self.scan.segments[position];
            tier.deaths.note(Death {
                write_number: segment.header.write_number,
                item: WHOLE_SEGMENT,
            });
            if tier.slots.hold(segment.slot, segment.header.slots) {
                held.push((segment.slot, segment.header.slots));
            }
        }
        *tier.dropped.lock().expect("no holder panics") = held;
        self.release_some();
        let headers = || self.scan.segments.iter().map(|segment| &segment.header);
        let last = headers()
            .map(|header| header.write_number.max(header.watermark))
            .max();
        let last = last.unwrap_or(0);
        let sequence = headers().map(|header| header.sequence).max().unwrap_or(0);
        let sequence = sequence.max(self.floor);
        if sequence > 0 {
            self.core.arena.raise_sequence(sequence + SEQUENCE_JUMP);
        }
        self.core.flush.restore(self.floor);
        *tier.assembler() = Assembler::after(last);
        tier.durable_through.store(last, Relaxed);
        let items = self.core.flusher_events();
        tier.counters
            .items_recovered
            .set(items.added.get() - items.removed.get());
        (physical, last)
    }
}

/// Whether a segment was, as it seems, finished long before it was full.
fn is_partial(tier: &Tier, header: &SegmentHeader) -> bool {
    let segment_bytes = tier.slots.segment_bytes();
    header.segment_bytes() + segment_bytes / 4 <= u64::from(header.slots) * segment_bytes
}

/// An instant of another process in this one's seconds.
fn shifted(expiry: Seconds, shift: i64) -> Seconds {
    if expiry == NEVER {
        return NEVER;
    }
    let here = i64::from(expiry) - shift;
    here.clamp(i64::from(ALWAYS_PAST), i64::from(Seconds::MAX - 1)) as Seconds
}

const _: () = assert!(ITEMS_MAX as usize * ENTRY_BYTES < 4 << 20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_told_in_this_processs_seconds() {
        assert_eq!(shifted(NEVER, 50), NEVER);
        assert_eq!(shifted(100, 0), 100);
        assert_eq!(shifted(100, 60), 40);
        assert_eq!(shifted(100, 200), ALWAYS_PAST);
        assert_eq!(shifted(100, -60), 160);
    }
}
