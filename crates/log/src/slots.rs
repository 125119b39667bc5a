//! The slots of all devices: what each holds, and which can be written.

use super::table::Table;
use crate::device::Devices;
use crate::epoch::Epochs;
use crate::schedule::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering::*};
use crate::schedule::{Mutex, MutexGuard};
use farcache_base::time::{NEVER, Seconds};
use farcache_memory::FreeMap;
use std::ops::Range;
use std::ptr::null_mut;

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SlotState {
    /// Can be written.
    Free = 0,
    /// Its segment is being assembled or written.
    Filling = 1,
    /// Its segment is on the device.
    Written = 2,
    /// Its segment holds nothing any more, but may not be overwritten yet.
    Waiting = 3,
    /// A further slot of the run that an earlier one heads.
    Tail = 4,
    /// Never used: it holds superblocks, or could not be written.
    Closed = 5,
}

impl SlotState {
    fn from_u8(value: u8) -> SlotState {
        use SlotState::*;
        [Free, Filling, Written, Waiting, Tail, Closed][usize::from(value)]
    }
}

/// What is known of one slot.
pub(crate) struct Slot {
    table: AtomicPtr<Table>,
    sequence: AtomicU64,
    /// Tombstones of single copies noted when an item from memory was last put into its segment.
    /// The tombstones of all older copies of that item are among them.
    tombstones_before: AtomicU64,
    /// The newest version of its items; 0 where none has one.
    newest_version: AtomicU64,
    live_bytes: AtomicU64,
    live_items: AtomicU32,
    expiry_max: AtomicU32,
    run: AtomicU32,
    state: AtomicU8,
}

impl Slot {
    fn new(state: SlotState) -> Slot {
        Slot {
            table: AtomicPtr::new(null_mut()),
            sequence: AtomicU64::new(0),
            tombstones_before: AtomicU64::new(0),
            newest_version: AtomicU64::new(0),
            live_bytes: AtomicU64::new(0),
            live_items: AtomicU32::new(0),
            expiry_max: AtomicU32::new(NEVER),
            run: AtomicU32::new(1),
            state: AtomicU8::new(state as u8),
        }
    }

    pub fn state(&self) -> SlotState {
        SlotState::from_u8(self.state.load(Acquire))
    }

    pub fn set_state(&self, state: SlotState) {
        self.state.store(state as u8, Release);
    }

    pub fn sequence(&self) -> u64 {
        self.sequence.load(Acquire)
    }

    pub fn run(&self) -> u32 {
        self.run.load(Acquire)
    }

    pub fn tombstones_before(&self) -> u64 {
        self.tombstones_before.load(Acquire)
    }

    pub fn raise_tombstones_before(&self, single_tombstones: u64) {
        self.tombstones_before.fetch_max(single_tombstones, AcqRel);
    }

    pub fn newest_version(&self) -> u64 {
        self.newest_version.load(Acquire)
    }

    pub fn note_version(&self, version: u64) {
        self.newest_version.fetch_max(version, AcqRel);
    }

    pub fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Relaxed)
    }

    pub fn live_items(&self) -> u32 {
        self.live_items.load(Acquire)
    }

    pub fn add_live(&self, bytes: u64, expiry: Seconds) {
        self.live_bytes.fetch_add(bytes, Relaxed);
        self.live_items.fetch_add(1, Relaxed);
        let expiry = if expiry == NEVER {
            Seconds::MAX
        } else {
            expiry
        };
        self.expiry_max.fetch_max(expiry, Relaxed);
    }

    /// True if it was the last one.
    pub fn remove_live(&self, bytes: u64) -> bool {
        self.live_bytes.fetch_sub(bytes, Relaxed);
        self.live_items.fetch_sub(1, AcqRel) == 1
    }

    /// Whether everything in it has expired.
    pub fn is_expired(&self, now: Seconds) -> bool {
        self.expiry_max.load(Relaxed) <= now
    }
}

struct Free {
    map: FreeMap,
    /// How many are free, by device.
    of_device: Box<[u32]>,
    /// Slots that are taken last: somebody wants them in a row.
    spared: Range<u32>,
    /// Tables taken out of their slots, and the epochs that must pass before they are freed.
    retired: Vec<(u64, Box<Table>)>,
    waiting: u32,
    /// The device that gets the next segment, if it has room.
    next_device: usize,
}

/// Slots that each of several devices keeps free, for when the others are gone: one to note in
/// what is missing then, without which no slot comes free again; one to clean with afterwards; and
/// one that may just be lent for tombstones.
const KEPT_PER_DEVICE: u32 = 3;

/// Which free slots a caller may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Slots that no device keeps for itself, if so many remain.
    Leaving(u32),
    /// All free slots.
    All,
}

impl Free {
    /// Free slots beyond the ones that each device keeps.
    fn beside(&self, kept: u32) -> u32 {
        let of_device = self.of_device.iter();
        of_device.map(|free| free.saturating_sub(kept)).sum()
    }
}

/// All slots, numbered through the devices.
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    spans: Box<[Range<u32>]>,
    failed: Box<[AtomicBool]>,
    segment_bytes: u64,
    free: Mutex<Free>,
    table_bytes: AtomicU64,
}

impl Slots {
    /// The slots that fit the devices, all but each device's first one free.
    pub fn new(devices: &Devices, segment_bytes: u64) -> Slots {
        let mut spans = Vec::new();
        let mut end = 0;
        for device in devices.iter() {
            let room = crate::location::SLOTS_MAX - u64::from(end);
            let count = (device.bytes() / segment_bytes).min(room) as u32;
            spans.push(end..end + count);
            end += count;
        }
        let is_first = |slot| spans.iter().any(|span: &Range<u32>| span.start == slot);
        let mut map = FreeMap::new(end);
        let state = |slot| match is_first(slot) {
            true => SlotState::Closed,
            false => SlotState::Free,
        };
        let slots: Box<[Slot]> = (0..end).map(|slot| Slot::new(state(slot))).collect();
        (0..end)
            .filter(|&slot| !is_first(slot))
            .for_each(|slot| map.give(slot));
        let of_device = spans
            .iter()
            .map(|span| (span.len() as u32).saturating_sub(1));
        let of_device = of_device.collect();
        Slots {
            slots,
            failed: spans.iter().map(|_| AtomicBool::new(false)).collect(),
            spans: spans.into(),
            segment_bytes,
            free: Mutex::new(Free {
                map,
                of_device,
                spared: 0..0,
                retired: Vec::new(),
                waiting: 0,
                next_device: 0,
            }),
            table_bytes: AtomicU64::new(0),
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().expect("no holder panics")
    }

    pub fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    pub fn slot(&self, number: u32) -> &Slot {
        &self.slots[number as usize]
    }

    /// The lowest sequence number of a segment that a crash now might leave here.
    pub fn oldest(&self) -> Option<u64> {
        let is_taken = |slot: &&Slot| {
            use SlotState::{Filling, Waiting, Written};
            matches!(slot.state(), Filling | Written | Waiting)
        };
        self.slots.iter().filter(is_taken).map(Slot::sequence).min()
    }

    /// Number of the device that a slot is on.
    pub fn device_of(&self, slot: u32) -> usize {
        self.spans.partition_point(|span| span.end <= slot)
    }

    /// The slots of a device.
    pub fn of_device(&self, device: usize) -> Range<u32> {
        self.spans[device].clone()
    }

    /// Where a slot begins on its device, in bytes.
    pub fn offset_of(&self, slot: u32) -> u64 {
        let first = self.spans[self.device_of(slot)].start;
        u64::from(slot - first) * self.segment_bytes
    }

    /// Whether the device of a slot is in service.
    pub fn is_in_service(&self, slot: u32) -> bool {
        !self.failed[self.device_of(slot)].load(Acquire)
    }

    /// Takes a device out of service: nothing of it is read or written any more. True for the first
    /// call.
    pub fn fail_device(&self, device: usize) -> bool {
        let is_first = !self.failed[device].swap(true, AcqRel);
        let mut free = self.free();
        for slot in self.of_device(device) {
            if self.take_this(&mut free, slot) {
                self.slot(slot).set_state(SlotState::Closed);
            }
        }
        is_first
    }

    /// Devices in service.
    pub fn devices_in_service(&self) -> usize {
        let in_service = self.failed.iter().filter(|failed| !failed.load(Acquire));
        in_service.count()
    }

    /// Free slots beyond the ones that each device keeps, and slots that wait to become free.
    pub fn counts(&self) -> (u32, u32) {
        let free = self.free();
        (free.beside(self.kept()), free.waiting)
    }

    /// All slots that are free.
    pub fn free_of_all(&self) -> u32 {
        self.free().map.free()
    }

    /// Slots that each device keeps free. A single one has no other whose place it could have to
    /// take.
    pub fn kept(&self) -> u32 {
        match self.devices_in_service() {
            0 | 1 => 0,
            _ => KEPT_PER_DEVICE,
        }
    }

    /// Whether `run` slots are free within reach, wherever they lie.
    pub fn has_room(&self, run: u32, reach: Reach) -> bool {
        self.has_room_among(&self.free(), run, reach)
    }

    fn has_room_among(&self, free: &Free, run: u32, reach: Reach) -> bool {
        match reach {
            Reach::Leaving(left) => free.beside(self.kept()) >= run.saturating_add(left),
            Reach::All => free.map.free() >= run,
        }
    }

    /// Takes `run` slots in a row and makes them the place of a segment.
    pub fn open(&self, run: u32, reach: Reach, sequence: u64, table: Table) -> Option<u32> {
        let mut free = self.free();
        if !self.has_room_among(&free, run, reach) {
            return None;
        }
        let mut kept = self.kept();
        if reach == Reach::All && free.beside(kept) < run {
            // Of the device that has the most.
            let most = free.of_device.iter().copied().max().unwrap_or(0);
            kept = most.saturating_sub(run);
        }
        let head = match run {
            1 => self.take_in_turn(&mut free, kept),
            _ => self.take_run(&mut free, run, kept),
        }?;
        drop(free);
        self.fill(head, run, sequence, table);
        self.slot(head).set_state(SlotState::Filling);
        Some(head)
    }

    /// Whether [`Slots::open`] would find `run` slots in a row, and leave `left`.
    pub fn has_run(&self, run: u32, left: u32) -> bool {
        let (free, kept) = (self.free(), self.kept());
        let is_there = |device| {
            free.of_device[device] >= run.saturating_add(kept)
                && free.map.has_run_in(self.of_device(device), run)
        };
        self.has_room_among(&free, run, Reach::Leaving(left)) && (0..self.spans.len()).any(is_there)
    }

    /// From now on these are taken only where no others are free.
    pub fn spare(&self, slots: Range<u32>) {
        self.free().spared = slots;
    }

    fn take_this(&self, free: &mut Free, slot: u32) -> bool {
        let is_taken = free.map.take_this(slot);
        free.of_device[self.device_of(slot)] -= u32::from(is_taken);
        is_taken
    }

    /// A free slot of the device whose turn it is, so that all devices are written at once; of the
    /// next one that has any otherwise.
    fn take_in_turn(&self, free: &mut Free, kept: u32) -> Option<u32> {
        let devices = self.spans.len();
        let spared = free.spared.clone();
        for spared in [spared, 0..0] {
            for step in 0..devices {
                let device = (free.next_device + step) % devices;
                if free.of_device[device] <= kept {
                    continue;
                }
                let span = self.of_device(device);
                let before = span.start..spared.start.clamp(span.start, span.end);
                let behind = spared.end.clamp(span.start, span.end)..span.end;
                let taken = free.map.take_one_of(before);
                if let Some(slot) = taken.or_else(|| free.map.take_one_of(behind)) {
                    free.of_device[device] -= 1;
                    free.next_device = (device + 1) % devices;
                    return Some(slot);
                }
            }
        }
        None
    }

    /// Free slots in a row, of the last device that has them and keeps as many as it must.
    fn take_run(&self, free: &mut Free, run: u32, kept: u32) -> Option<u32> {
        (0..self.spans.len()).rev().find_map(|device| {
            if free.of_device[device] < run.saturating_add(kept) {
                return None;
            }
            let head = free.map.take_run_of(self.of_device(device), run)?;
            free.of_device[device] -= run;
            Some(head)
        })
    }

    /// Gives a slot, or run, that was found on a device its table.
    pub fn adopt(&self, head: u32, run: u32, sequence: u64, table: Table) {
        let mut free = self.free();
        for slot in head..head + run {
            self.take_this(&mut free, slot);
        }
        drop(free);
        self.fill(head, run, sequence, table);
        self.slot(head).set_state(SlotState::Written);
    }

    fn fill(&self, head: u32, run: u32, sequence: u64, table: Table) {
        for tail in head + 1..head + run {
            self.slot(tail).set_state(SlotState::Tail);
        }
        let slot = self.slot(head);
        slot.tombstones_before.store(0, Relaxed);
        slot.newest_version.store(0, Relaxed);
        slot.live_bytes.store(0, Relaxed);
        slot.live_items.store(0, Relaxed);
        slot.expiry_max.store(NEVER, Relaxed);
        slot.run.store(run, Relaxed);
        slot.sequence.store(sequence, Release);
        self.table_bytes
            .fetch_add(table.memory_bytes() as u64, Relaxed);
        let before = slot.table.swap(Box::into_raw(Box::new(table)), AcqRel);
        debug_assert!(before.is_null());
    }

    /// The table of a slot.
    ///
    /// The caller either took a location in this slot from the index after its last quiescent
    /// point, holds the lock of a chain that has one while it is a participant, or is the one that
    /// retires tables.
    #[inline]
    pub fn table(&self, slot: u32) -> Option<&Table> {
        let table = self.slots[slot as usize].table.load(Acquire);
        // SAFETY: a table stays in place until every participant has passed a quiescent point since
        // it was taken out of its slot, and by this function's contract the caller is one, or is
        // the thread that frees tables.
        unsafe { table.as_ref() }
    }

    /// Puts another table, of the same items, in place of a slot's table.
    pub fn replace_table(&self, slot: u32, table: Table, epoch: impl FnOnce() -> u64) {
        self.table_bytes
            .fetch_add(table.memory_bytes() as u64, Relaxed);
        let new = Box::into_raw(Box::new(table));
        self.swap_out(slot, new, epoch);
    }

    fn swap_out(&self, slot: u32, new: *mut Table, epoch: impl FnOnce() -> u64) {
        let old = self.slot(slot).table.swap(new, AcqRel);
        if old.is_null() {
            return;
        }
        // SAFETY: the pointer came from `Box::into_raw`, and the swap made it this thread's alone,
        // but for readers, for whom it is kept until the epoch has passed.
        let old = unsafe { Box::from_raw(old) };
        self.table_bytes
            .fetch_sub(old.memory_bytes() as u64, Relaxed);
        self.free().retired.push((epoch(), old));
    }

    /// The segment of a slot holds nothing any more; its slots may not be overwritten yet.
    pub fn empty(&self, head: u32, epoch: impl FnOnce() -> u64) {
        self.swap_out(head, null_mut(), epoch);
        let run = self.slot(head).run();
        let mut free = self.free();
        free.waiting += run;
        (head..head + run).for_each(|slot| self.slot(slot).set_state(SlotState::Waiting));
    }

    /// Keeps free slots from being used until they are released; false if they are not free.
    pub fn hold(&self, head: u32, run: u32) -> bool {
        let mut free = self.free();
        if !(head..head + run).all(|slot| free.map.is_free(slot)) {
            return false;
        }
        for slot in head..head + run {
            self.take_this(&mut free, slot);
            self.slot(slot).set_state(SlotState::Waiting);
        }
        free.waiting += run;
        true
    }

    /// Waiting slots may be overwritten now.
    pub fn release(&self, head: u32, run: u32) {
        let mut free = self.free();
        free.waiting -= run;
        for slot in head..head + run {
            if self.is_in_service(slot) {
                self.slot(slot).set_state(SlotState::Free);
                free.map.give(slot);
                free.of_device[self.device_of(slot)] += 1;
            } else {
                self.slot(slot).set_state(SlotState::Closed);
            }
        }
    }

    /// Waiting slots that are to be used no more.
    pub fn close(&self, head: u32, run: u32) {
        let mut free = self.free();
        free.waiting -= run;
        (head..head + run).for_each(|slot| self.slot(slot).set_state(SlotState::Closed));
    }

    /// Frees the tables that no reader can hold any longer; for the thread that retires them.
    pub fn free_tables(&self, epochs: &Epochs) {
        let passed: Vec<_> = self
            .free()
            .retired
            .extract_if(.., |(epoch, _)| epochs.has_passed(*epoch))
            .collect();
        drop(passed);
    }

    /// Memory of all tables, in bytes.
    pub fn table_bytes(&self) -> u64 {
        self.table_bytes.load(Relaxed)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for slot in &self.slots {
            let table = slot.table.swap(null_mut(), AcqRel);
            if !table.is_null() {
                // SAFETY: it came from `Box::into_raw`, and nobody uses the slots any more.
                drop(unsafe { Box::from_raw(table) });
            }
        }
    }
}

#[cfg(test)]
mod tests;
