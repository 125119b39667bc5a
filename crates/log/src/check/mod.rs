//! Checking what lies on devices: every structure, and that the segments which told of tombstones
//! that are still needed are there. Nothing is written, and no store is needed.
//! `docs/design/tier.md` says what must hold.

mod members;
mod report;
mod segments;

pub use report::{CheckFinding, CheckKind, CheckReport};

use super::format::{Tombstone, WHOLE_SEGMENT};
use crate::device::Device;
use members::{Disk, disks};
use segments::{Hashes, Reader, Segment, Tail};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

/// Checks the devices of one store, all of which must be given. `now_unix` is the time, in seconds,
/// by which items have expired. It takes some 100 bytes of memory for each item.
///
/// # Errors
/// The devices', where no superblock can be read; `InvalidInput` for devices that hold nothing of a
/// store, or things of different ones.
pub fn check_devices(devices: &[Arc<dyn Device>], now_unix: i64) -> io::Result<CheckReport> {
    let mut report = CheckReport::default();
    let disks = disks(devices, &mut report)?;
    let mut check = Check::begin(&disks, &mut report, now_unix);
    check.cut_log();
    let dead = check.dead();
    check.look_at_parts(&dead);
    check.look_at_records(&dead);
    check.count(&dead);
    Ok(report)
}

/// A segment that counts, with its tail.
struct Counted {
    segment: Segment,
    tail: Tail,
}

/// A copy of an item.
struct Copy {
    number: u64,
    item: u32,
    /// Size of its record.
    bytes: u64,
    is_expired: bool,
}

struct Check<'c> {
    reader: Reader<'c>,
    hashes: Hashes,
    now_unix: i64,
    floor: u64,
    watermark: u64,
    segments: Vec<Segment>,
    /// Oldest first.
    counted: Vec<Counted>,
}

/// Who has died, as far as segments that count tell.
struct Dead {
    /// What all of them tell, echoes included.
    told: HashSet<(u64, u32)>,
    /// What only echoes tell.
    echoed: HashSet<(u64, u32)>,
    /// What those tell that have not died themselves.
    kept: HashSet<(u64, u32)>,
}

impl Dead {
    fn is_whole(&self, number: u64) -> bool {
        self.told.contains(&(number, WHOLE_SEGMENT))
    }

    fn has_died(&self, number: u64, item: u32) -> bool {
        self.is_whole(number) || self.told.contains(&(number, item))
    }

    /// Tombstones told by a segment that is lost, and not made needless by the tombstone of all
    /// that they are about.
    fn lost(&self) -> impl Iterator<Item = &(u64, u32)> {
        self.echoed.iter().filter(|(number, item)| {
            let whole = (*number, WHOLE_SEGMENT);
            *item == WHOLE_SEGMENT || !self.told.contains(&whole) || self.echoed.contains(&whole)
        })
    }

    fn is_kept(&self, number: u64, item: u32) -> bool {
        self.kept.contains(&(number, WHOLE_SEGMENT)) || self.kept.contains(&(number, item))
    }
}

fn pair(tombstone: &Tombstone) -> (u64, u32) {
    (tombstone.write_number, tombstone.item)
}

impl<'c> Check<'c> {
    fn begin(disks: &'c [Disk], report: &'c mut CheckReport, now_unix: i64) -> Check<'c> {
        let superblocks = || disks.iter().map(|disk| &disk.superblock);
        let most = |number: fn(&super::format::Superblock) -> u64| {
            superblocks().map(number).max().unwrap_or_default()
        };
        let (floor, vouched) = (most(|one| one.flush_floor), most(|one| one.watermark));
        report.segment_bytes = most(|one| u64::from(one.segment_bytes));
        let mut reader = Reader { disks, report };
        let segments = reader.headers();
        let headers = || segments.iter().map(|segment| &segment.header);
        let last = headers().map(|header| header.write_number).max();
        reader.report.was_stopped = vouched >= last.unwrap_or_default();
        let watermark = headers().map(|header| header.watermark).max();
        Check {
            hashes: Hashes::of(&disks[0].superblock),
            reader,
            now_unix,
            floor,
            watermark: vouched.max(watermark.unwrap_or_default()),
            segments,
            counted: Vec::new(),
        }
    }

    /// Behind the watermark the log counts up to its first gap, each segment only if it is whole.
    fn cut_log(&mut self) {
        let mut expected = self.watermark.saturating_add(1);
        let mut last = 0;
        for segment in std::mem::take(&mut self.segments) {
            let number = segment.header.write_number;
            if number == std::mem::replace(&mut last, number) {
                let detail = "another one has the same number".to_owned();
                self.reader.tell(&segment, CheckKind::Number, detail);
                continue;
            }
            let counts = number <= self.watermark || number == expected;
            let tail = if counts {
                self.reader.tail(&segment)
            } else {
                None
            };
            match tail {
                Some(tail) if number <= self.watermark => {
                    self.counted.push(Counted { segment, tail });
                }
                Some(tail) if self.is_whole(&segment, &tail) => {
                    expected = number.saturating_add(1);
                    self.counted.push(Counted { segment, tail });
                }
                _ if number <= self.watermark => {}
                _ => {
                    expected = 0;
                    self.reader.report.segments_torn += 1;
                    let detail = "it lies behind the end of the log".to_owned();
                    self.reader.tell(&segment, CheckKind::Torn, detail);
                }
            }
        }
        let headers = self.counted.iter().map(|one| &one.segment.header);
        self.floor = headers.fold(self.floor, |floor, header| floor.max(header.flush_floor));
        self.reader.report.segments = self.counted.len() as u64;
    }

    fn is_whole(&mut self, segment: &Segment, tail: &Tail) -> bool {
        segment.is_header_whole
            && tail.damaged.is_empty()
            && self
                .reader
                .damaged_records(segment, &tail.entries, &self.hashes)
                .is_empty()
    }

    /// Segments of which something is alive, or told that is still needed. Over the others anything
    /// may have been written since.
    fn kept<'k>(counted: &'k [Counted], dead: &'k Dead) -> impl Iterator<Item = &'k Counted> {
        let is_kept = |one: &&Counted| !dead.is_whole(one.segment.header.write_number);
        counted.iter().filter(is_kept)
    }

    fn look_at_parts(&mut self, dead: &Dead) {
        for one in Self::kept(&self.counted, dead) {
            if !one.segment.is_header_whole {
                let detail = "a copy of its header is damaged".to_owned();
                self.reader.tell(&one.segment, CheckKind::Header, detail);
            }
            for part in &one.tail.damaged {
                let kind = match *part {
                    "item table" => CheckKind::Table,
                    _ => CheckKind::Tombstones,
                };
                let detail = format!("its {part} does not bear the checksum");
                self.reader.tell(&one.segment, kind, detail);
            }
        }
    }

    fn dead(&mut self) -> Dead {
        let tails = || self.counted.iter().map(|one| &one.tail);
        let numbers = self.counted.iter();
        let numbers: HashSet<u64> = numbers.map(|one| one.segment.header.write_number).collect();
        // Of what is not there any more nothing needs to be told.
        let is_there = |tombstone: &&Tombstone| numbers.contains(&tombstone.write_number);
        let tombstones = tails().flat_map(|tail| &tail.tombstones);
        let mut told: HashSet<(u64, u32)> = tombstones.filter(is_there).map(pair).collect();
        let echoes = tails().flat_map(|tail| &tail.echoes);
        let echoes = echoes.filter(is_there).map(pair);
        let echoed: HashSet<(u64, u32)> = echoes
            .filter(|tombstone| !told.contains(tombstone))
            .collect();
        told.extend(&echoed);
        let mut dead = Dead {
            told,
            echoed,
            kept: HashSet::new(),
        };
        let kept = Self::kept(&self.counted, &dead);
        dead.kept = kept
            .flat_map(|one| one.tail.tombstones.iter())
            .filter(is_there)
            .map(pair)
            .collect();
        self.reader.report.tombstones = tails().map(|tail| tail.tombstones.len() as u64).sum();
        dead
    }

    fn look_at_records(&mut self, dead: &Dead) {
        for one in Self::kept(&self.counted, dead) {
            let (segment, entries) = (&one.segment, &one.tail.entries);
            let damaged = self.reader.damaged_records(segment, entries, &self.hashes);
            for item in damaged {
                let detail = format!("the record of item {item} is damaged");
                self.reader.tell(segment, CheckKind::Record, detail);
            }
        }
    }

    /// Counts what is alive, and what died while nobody that is kept tells of it.
    fn count(&mut self, dead: &Dead) {
        let mut newest: HashMap<(u64, u64), Copy> = HashMap::new();
        let mut untold: HashSet<(u64, u32)> = HashSet::new();
        for one in &self.counted {
            let header = &one.segment.header;
            let number = header.write_number;
            if header.sequence <= self.floor {
                continue;
            }
            for (item, entry) in one.tail.entries.iter().enumerate() {
                let item = item as u32;
                let next = one.tail.entries.get(item as usize + 1);
                let end = next.map_or(header.table_offset, |next| next.offset);
                let expiry = header.epoch_unix.saturating_add(i64::from(entry.expiry));
                let copy = Copy {
                    number,
                    item,
                    bytes: end - entry.offset,
                    is_expired: entry.expiry != 0 && expiry <= self.now_unix,
                };
                let older = newest.insert((entry.hash, entry.fingerprint), copy);
                // What has expired does not come back.
                if let Some(older) = older
                    && !older.is_expired
                    && !dead.is_whole(older.number)
                    && !dead.is_kept(older.number, older.item)
                {
                    untold.insert((older.number, older.item));
                }
            }
        }
        // Tombstones told only by segments that have died themselves, or by echoes.
        let at_risk = dead.told.difference(&dead.kept);
        let is_needed = |tombstone: &&(u64, u32)| !dead.is_kept(tombstone.0, tombstone.1);
        untold.extend(at_risk.filter(is_needed).copied());
        let numbers = self.counted.iter();
        let numbers = numbers.map(|one| one.segment.header.write_number);
        let whole = numbers.filter(|&number| dead.is_whole(number));
        let report = &mut self.reader.report;
        report.segments_dead = whole.count() as u64;
        let alive = newest.values();
        let alive = alive.filter(|one| !one.is_expired && !dead.has_died(one.number, one.item));
        (report.items, report.bytes) =
            alive.fold((0, 0), |(items, all), one| (items + 1, all + one.bytes));
        report.tombstones_untold = untold.len() as u64;
        if let Some((number, item)) = dead.lost().min() {
            let detail = format!(
                "a segment is lost that told of {} tombstones, of item {item} in segment {number} first: only echoes are left",
                dead.lost().count()
            );
            report.add(CheckKind::Echoed, "", 0, detail);
        }
    }
}
