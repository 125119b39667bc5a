//! What may be moved to the slot that is kept for tombstones, where no other is left: with its
//! tombstones written there, too, more slots must come free than it takes.

use super::Flushed;
use super::candidates::Candidates;
use super::cleaner::{CLEANED_PER_TURN, UNTOLD_MIN};
use crate::format::{ENTRY_BYTES, HEADER_BYTES};
use crate::log::Log;

/// Live parts that are put together in the last free slot, in 1024ths of a segment: what cannot go
/// wrong, because there is no other place for what does not fit.
const LAST_SLOT_LIVE_MAX: u64 = 1024 - 128;
/// Segments looked at, the emptiest first, for what fits the last free slot.
const LAST_SLOT_CANDIDATES: usize = 64;

/// The segments to be moved there; none where that gains nothing. So many slots that wait for
/// tombstones may be counted on.
pub(super) fn segments_to_move(
    candidates: &Candidates<'_, impl Flushed>,
    slots_tellable: u32,
) -> Vec<u32> {
    let log = candidates.log;
    let tombstones = parts_of(log, log.tombstone_bytes());
    let has_died = |slot: &u32| candidates.has_died(*slot);
    let is_short = log.pressure.is_short_of_tombstone_slots();
    let chosen = fitting(candidates, LAST_SLOT_LIVE_MAX.saturating_sub(tombstones));
    let gains_slots = chosen.len() as u32 + slots_tellable >= UNTOLD_MIN;
    if gains_slots || (is_short && chosen.iter().any(has_died)) {
        return chosen;
    }
    if !is_short || log.evicts {
        return Vec::new();
    }
    one_that_shrinks(candidates).into_iter().collect()
}

/// A segment in which nothing is alive though it tells of tombstones that must be told again: these
/// and others that wait can be told in the slot that is left, and its slot takes the place of that
/// one. None where there is no such segment, or too little room for others.
pub(super) fn segment_to_retire(candidates: &Candidates<'_, impl Flushed>) -> Option<u32> {
    let log = candidates.log;
    let dead = candidates.settled();
    let dead = dead.filter(|&slot| log.slots.slot(slot).live_items() == 0);
    let counted = dead.map(|slot| (candidates.bytes_to_carry(slot), slot));
    let (carried, slot) = counted.min()?;
    let taken = parts_of(log, log.tombstone_bytes()) + parts_of(log, carried);
    (taken <= LAST_SLOT_LIVE_MAX).then_some(slot)
}

/// A segment in which something has died and that fits the last free slot, with its end and what it
/// tells of. One in which an item died whose tombstone waits does: the item took more room than the
/// end takes. Its slot takes the place of the last one, and the tombstones in it need not be told.
fn one_that_shrinks(candidates: &Candidates<'_, impl Flushed>) -> Option<u32> {
    let log = candidates.log;
    let fits = |slot: &u32| {
        let state = log.slots.slot(*slot);
        let table = u64::from(state.live_items()) * ENTRY_BYTES as u64;
        let carried = candidates.bytes_to_carry(*slot);
        let bytes = HEADER_BYTES as u64 + state.live_bytes() + table + carried;
        state.run() == 1 && bytes + log.tombstone_bytes() <= log.slots.segment_bytes()
    };
    let mut segments = candidates.shrinkable(1024);
    segments.retain(|&(live, slot)| live > 0 && candidates.has_died(slot));
    segments.sort_unstable();
    let slots = segments.into_iter().map(|(_, slot)| slot);
    slots.take(LAST_SLOT_CANDIDATES).find(fits)
}

/// Segments that cleaning may gain from and that fit into so much room together, in 1024ths of a
/// segment; the emptiest first.
fn fitting(candidates: &Candidates<'_, impl Flushed>, mut room: u64) -> Vec<u32> {
    let mut segments = candidates.shrinkable(room);
    segments.sort_unstable();
    let mut chosen = Vec::new();
    for (live, slot) in segments.into_iter().take(LAST_SLOT_CANDIDATES) {
        let part = live + carried_part(candidates, slot);
        if part <= room && chosen.len() < CLEANED_PER_TURN as usize {
            room -= part;
            chosen.push(slot);
        }
    }
    chosen
}

/// What the tombstones take, in 1024ths of a segment, that must be told again when a segment is
/// moved in which something is alive. Of others they are the live part.
fn carried_part(candidates: &Candidates<'_, impl Flushed>, slot: u32) -> u64 {
    match candidates.log.slots.slot(slot).live_items() {
        0 => 0,
        _ => parts_of(candidates.log, candidates.bytes_to_carry(slot)),
    }
}

/// Bytes in 1024ths of a segment.
fn parts_of(log: &Log, bytes: u64) -> u64 {
    (bytes * 1024).div_ceil(log.slots.segment_bytes())
}
