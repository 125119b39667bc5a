//! Rebuilding the index from what is on the devices.

mod claim;
mod dead;
mod items;
mod log;

use super::Tier;
use super::assembler::{Assembler, CLEANER_SLOTS};
use super::flusher::Physical;
use super::format::{Note, SegmentHeader};
use super::plan::TierPlan;
use super::scan::Scan;
use super::slots::SlotState;
use super::tenure::Tenure;
use crate::core::Core;
use crate::schedule::Instant;
use dead::Dead;
use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// How far sequence numbers jump at a restart: fillings of memory that never reached a device had
/// numbers, too, and tokens made from them.
const SEQUENCE_JUMP: u64 = 1 << 20;

/// Rebuilds the index of a store that nobody uses yet, and makes its devices this process's.
/// Returns what lies on the devices and the last write number.
///
/// # Errors
/// The devices', where they cannot be read or written at all.
pub(crate) fn recover(core: &Core, plan: &TierPlan) -> io::Result<(Physical, u64)> {
    let started = Instant::now();
    let tier = core.tier.as_ref().expect("a store with a tier");
    let mut recovery = Recovery::begin(core, tier, plan)?;
    recovery.tell_unreadable();
    recovery.cut_log();
    recovery.collect_tombstones()?;
    recovery.restore_items()?;
    claim::make_found_durable(tier, plan)?;
    claim::erase_behind_old_end(tier, plan)?;
    claim::claim(tier, plan, recovery.raises_watermark())?;
    recovery.erase_dropped()?;
    let outcome = recovery.finish();
    let microseconds = started.elapsed().as_micros() as u64;
    tier.counters.recovery_us.set(microseconds);
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

struct Recovery<'c> {
    core: &'c Core,
    tier: &'c Tier,
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
}

impl Recovery<'_> {
    fn begin<'c>(core: &'c Core, tier: &'c Tier, plan: &TierPlan) -> io::Result<Recovery<'c>> {
        let scan = Scan::headers(tier, &claim::slots_in_use(tier, plan))?;
        check_readable(scan.unreadable.len())?;
        let dead = none_dead(&scan);
        let note = Tenure::find(tier, plan);
        let floor_noted = note.as_ref().map_or(0, |note| note.flush_floor);
        Ok(Recovery {
            core,
            tier,
            is_dropped: vec![false; scan.segments.len()],
            floor: plan.superblock.flush_floor.max(floor_noted),
            note,
            watermark: scan.watermark().max(plan.superblock.watermark),
            dead,
            held: Vec::new(),
            echoing: Vec::new(),
            scan,
        })
    }

    /// Segments that are dropped may be all that tells how far nothing is missing that matters.
    /// Where something is missing up to there, a later start would cut the log at that, so the
    /// superblocks must say it before the segments are erased. True if they have to be written for
    /// that.
    fn raises_watermark(&self) -> bool {
        let superblocks = &self.tier.superblocks;
        superblocks.note(&self.tier.devices_in_service(), 0, self.watermark);
        self.is_dropped.contains(&true)
    }

    /// Numbers go on where they ended.
    fn finish(mut self) -> (Physical, u64) {
        let tier = self.tier;
        self.restore_note();
        self.hold_needed();
        self.release_some();
        let headers = || self.scan.segments.iter().map(|segment| &segment.header);
        let numbers = headers().map(|header| header.write_number);
        let last = numbers.fold(self.watermark, u64::max);
        let sequence = headers().map(|header| header.sequence).max().unwrap_or(0);
        let sequence = sequence.max(self.floor).max(self.core.fences.newest());
        if sequence > 0 {
            self.core.arena.raise_sequence(sequence + SEQUENCE_JUMP);
        }
        self.core.flush.restore(self.floor);
        let newest = |one: &SegmentHeader| one.newest_version.max(one.newest_version_of_store);
        let versions = headers().map(newest);
        self.core.versions.restore(versions.max().unwrap_or(0));
        *tier.assembler() = Assembler::after(last);
        tier.durable_through.store(last, Relaxed);
        let items = self.core.flusher_events();
        tier.counters
            .items_recovered
            .set(items.added.get() - items.removed.get());
        (self.physical(), last)
    }

    /// Before anybody moves an item, which makes it younger.
    fn restore_note(&mut self) {
        if let Some(note) = self.note.take() {
            self.core.fences.restore(note.fences.clone());
            self.tier.tenure.restore(note);
        }
    }

    fn physical(&self) -> Physical {
        let mut physical = Physical {
            numbers: HashSet::with_capacity(self.scan.segments.len()),
            dead: HashSet::new(),
            of_slot: vec![0; self.tier.slots.count() as usize],
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
        let slots = &self.tier.slots;
        for slot in (0..slots.count()).rev() {
            if slots.free_of_all() >= CLEANER_SLOTS {
                return;
            }
            if self.is_useless(slot) {
                let run = slots.slot(slot).run();
                slots.empty(slot, || self.core.epochs.retire());
                slots.release(slot, run);
            }
        }
    }

    /// Whether nothing in a slot is alive, and nothing that it tells of needs to be told.
    fn is_useless(&self, slot: u32) -> bool {
        let slots = &self.tier.slots;
        let state = slots.slot(slot);
        let table = slots.table(slot);
        state.state() == SlotState::Written
            && state.live_items() == 0
            && table.is_some_and(|table| table.tombstones.is_empty())
    }
}
