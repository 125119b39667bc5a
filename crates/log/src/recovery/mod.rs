//! Rebuilding the index from what is on the devices.

mod accepted;
mod claim;
mod dead;
mod items;
#[cfg(test)]
mod tests;

use crate::fence::Fence;
use crate::format::{Note, SegmentHeader};
use crate::guard::Guard;
use crate::log::{Assembler, CLEANER_SLOTS, Log, Notes};
use crate::owner::{Found, Intake};
use crate::physical::{Physical, Recovered};
use crate::plan::TierPlan;
use crate::scan::Scan;
use crate::schedule::Instant;
use crate::slots::SlotState;
use dead::Dead;
use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

/// How far sequence numbers jump at a restart: fillings of memory that never reached a device had
/// numbers, too, and tokens made from them.
const SEQUENCE_JUMP: u64 = 1 << 20;

/// Has the owner, whom nobody uses yet, take in what its log's devices hold, and makes the devices
/// this process's.
///
/// # Panics
/// Where it is not the first time for this log.
///
/// # Errors
/// The devices', where they cannot be read or written at all.
pub fn recover(owner: &impl Intake, plan: &TierPlan) -> io::Result<Recovered> {
    let started = Instant::now();
    let log = owner.log();
    log.phases.begin_recovery();
    let mut recovery = Recovery::begin(owner, plan)?;
    recovery.tell_unreadable();
    recovery.cut_log();
    recovery.collect_tombstones()?;
    recovery.restore_items()?;
    claim::make_found_durable(log, plan)?;
    claim::erase_behind_old_end(log, plan)?;
    claim::claim(log, plan, recovery.raises_watermark())?;
    recovery.erase_dropped()?;
    let outcome = recovery.finish();
    let microseconds = started.elapsed().as_micros() as u64;
    log.counters.recovery_us.set(microseconds);
    Ok(outcome)
}

/// Nobody in these segments is known to have died.
fn none_dead(scan: &Scan) -> Dead {
    let headers = scan.segments.iter().map(|segment| &segment.header);
    Dead::none_of(headers.map(|header| (header.write_number, header.items)))
}

/// Places that cannot be read are lost; a device that cannot be read at all may be readable soon,
/// and is not to be taken for empty.
fn check_readable(unreadable: usize) -> io::Result<()> {
    match unreadable <= UNREADABLE_MAX {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{unreadable} segments cannot be read"
        ))),
    }
}

/// Segments that may be given up at a start, because they cannot be read.
const UNREADABLE_MAX: usize = 16;

struct Recovery<'o, O> {
    owner: &'o O,
    log: &'o Log,
    /// Segments by write number, oldest first; their number there is their position.
    scan: Scan,
    /// By position: the segment is of no use.
    is_dropped: Vec<bool>,
    /// What has a sequence number up to it is void.
    floor: u64,
    /// What the owner noted, with the fences.
    note: Option<Note>,
    /// Up to which write number nothing is missing that matters.
    watermark: u64,
    dead: Dead,
    /// Positions of segments that have died as a whole and are needed until what they tell has been
    /// told again.
    held: Vec<usize>,
    /// Further ones, where only their echoes are needed.
    echoing: Vec<usize>,
    /// How many entries there are more than before.
    entries: Cell<i64>,
}

impl<O: Intake> Recovery<'_, O> {
    fn guard(&self) -> Guard<'_> {
        // SAFETY: there is no flusher yet, as a log is recovered once, and before.
        unsafe { Guard::new() }
    }

    fn begin<'o>(owner: &'o O, plan: &TierPlan) -> io::Result<Recovery<'o, O>> {
        let log = owner.log();
        let scan = Scan::headers(log, &claim::slots_in_use(log, plan))?;
        check_readable(scan.unreadable.len())?;
        let dead = none_dead(&scan);
        let note = Notes::find(log, plan);
        let floor_noted = note.as_ref().map_or(0, |note| note.flush_floor);
        Ok(Recovery {
            owner,
            log,
            is_dropped: vec![false; scan.segments.len()],
            floor: plan.superblock.flush_floor.max(floor_noted),
            note,
            watermark: scan.watermark().max(plan.superblock.watermark),
            dead,
            held: Vec::new(),
            echoing: Vec::new(),
            entries: Cell::new(0),
            scan,
        })
    }

    /// Segments that are dropped may be all that tells how far nothing is missing that matters.
    /// Where something is missing up to there, a later start would cut the log at that, so the
    /// superblocks must say it before the segments are erased. True if they have to be written for
    /// that.
    fn raises_watermark(&self) -> bool {
        let superblocks = &self.log.superblocks;
        superblocks.note(&self.log.devices_in_service(), 0, self.watermark);
        self.is_dropped.contains(&true)
    }

    /// Numbers go on where they ended.
    fn finish(mut self) -> Recovered {
        let log = self.log;
        let note = self.note.take();
        let fences: Arc<[Fence]> = note
            .as_ref()
            .map_or(Arc::new([]), |note| note.fences[..].into());
        if let Some(note) = note {
            log.notes.restore(note);
        }
        self.hold_needed();
        self.release_some();
        let headers = || self.scan.segments.iter().map(|segment| &segment.header);
        let numbers = headers().map(|header| header.write_number);
        let last = numbers.fold(self.watermark, u64::max);
        let floors = fences.iter().map(|fence| fence.floor).chain([self.floor]);
        let sequences = headers().map(|header| header.sequence).chain(floors);
        let sequence = sequences.max().unwrap_or(0);
        let newest = |one: &SegmentHeader| one.newest_version.max(one.newest_version_of_store);
        let versions = headers().map(newest);
        self.owner.go_on(Found {
            sequence: if sequence > 0 {
                sequence + SEQUENCE_JUMP
            } else {
                0
            },
            flush_floor: self.floor,
            version: versions.max().unwrap_or(0),
            fences,
        });
        *log.assembler() = Assembler::after(last);
        log.loan.note_durable(last);
        let items = self.entries.get().max(0) as u64;
        log.counters.items_recovered.set(items);
        Recovered {
            physical: self.physical(),
            last,
        }
    }

    fn physical(&self) -> Physical {
        let mut physical = Physical {
            numbers: HashSet::with_capacity(self.scan.segments.len()),
            dead: HashSet::new(),
            of_slot: vec![0; self.log.slots.count() as usize],
        };
        for position in self.accepted() {
            let segment = &self.scan.segments[position];
            if self.dead.is_whole(position) {
                physical.dead.insert(segment.header.write_number);
            }
            physical.numbers.insert(segment.header.write_number);
            physical.of_slot[segment.slot as usize] = segment.header.write_number;
        }
        physical
    }

    /// Before anything can be cleaned, tombstones must be written, which takes a slot. If none is
    /// free, one is taken in which nothing is alive: all that says so is durable, and nothing else
    /// is written before it.
    fn release_some(&self) {
        let slots = &self.log.slots;
        for slot in (0..slots.count()).rev() {
            if slots.free_of_all() >= CLEANER_SLOTS {
                return;
            }
            if self.is_useless(slot) {
                let run = slots.slot(slot).run();
                slots.empty(slot, self.owner.epochs());
                slots.release(slot, run);
            }
        }
    }

    /// Whether nothing in a slot is alive, and nothing that it tells of needs to be told.
    fn is_useless(&self, slot: u32) -> bool {
        let slots = &self.log.slots;
        let state = slots.slot(slot);
        let table = slots.table(self.guard(), slot);
        state.state() == SlotState::Written
            && state.live_items() == 0
            && table.is_some_and(|table| table.tombstones.is_empty())
    }
}
