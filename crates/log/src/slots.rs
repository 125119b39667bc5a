//! The slots of all devices: what each holds, and which can be written.

mod free;
mod slot;

use super::table::Table;
use crate::device::Devices;
use crate::epoch::Epochs;
use crate::guard::Guard;
use crate::schedule::atomic::{AtomicBool, AtomicU64, Ordering::*};
use crate::schedule::{Mutex, MutexGuard};
use free::Free;
pub(crate) use free::Reach;
pub(crate) use slot::{Slot, SlotState};
use std::ops::Range;
use std::ptr::{NonNull, null_mut};

/// Slots that each of several devices keeps free, for when the others are gone: one to note in
/// what is missing then, without which no slot comes free again; one to clean with afterwards; and
/// one that may just be lent for tombstones.
const KEPT_PER_DEVICE: u32 = 3;

/// A table that was taken out of its slot. Readers may look at it until its epoch has passed, so it
/// is not a `Box`, which nobody else may look into. It is freed when this is dropped.
struct Retired(NonNull<Table>);

// SAFETY: a table may be freed by any thread, as one in a `Box` may: see below.
unsafe impl Send for Retired {}
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Box<Table>>();
};

impl Drop for Retired {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw`, and was taken out of its slot once. This
        // is dropped when no reader has it any longer: in `free_tables`, or with all slots.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

struct Pool {
    free: Free,
    /// Tables taken out of their slots, and the epochs that must pass before they are freed.
    retired: Vec<(u64, Retired)>,
    waiting: u32,
}

/// All slots, numbered through the devices.
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    spans: Box<[Range<u32>]>,
    failed: Box<[AtomicBool]>,
    segment_bytes: u64,
    pool: Mutex<Pool>,
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
        let state = |slot| match is_first(slot) {
            true => SlotState::Closed,
            false => SlotState::Free,
        };
        let slots: Box<[Slot]> = (0..end).map(|slot| Slot::new(state(slot))).collect();
        let mut free = Free::new(&spans);
        (0..end)
            .filter(|&slot| !is_first(slot))
            .for_each(|slot| free.give(slot));
        Slots {
            slots,
            failed: spans.iter().map(|_| AtomicBool::new(false)).collect(),
            spans: spans.into(),
            segment_bytes,
            pool: Mutex::new(Pool {
                free,
                retired: Vec::new(),
                waiting: 0,
            }),
            table_bytes: AtomicU64::new(0),
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().expect("no holder panics")
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
        free::device_of(&self.spans, slot)
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
        let mut pool = self.pool();
        for slot in self.of_device(device) {
            if pool.free.take_this(slot) {
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
        let pool = self.pool();
        (pool.free.beside(self.kept()), pool.waiting)
    }

    /// All slots that are free.
    pub fn free_of_all(&self) -> u32 {
        self.pool().free.count()
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
        self.pool().free.has(run, reach, self.kept())
    }

    /// Takes `run` slots in a row and makes them the place of a segment.
    pub fn open(&self, run: u32, reach: Reach, sequence: u64, table: Table) -> Option<u32> {
        let head = self.pool().free.take(run, reach, self.kept())?;
        self.fill(head, run, sequence, table);
        self.slot(head).set_state(SlotState::Filling);
        Some(head)
    }

    /// Whether [`Slots::open`] would find `run` slots in a row, and leave `left`.
    pub fn has_run(&self, run: u32, left: u32) -> bool {
        self.pool().free.has_run(run, left, self.kept())
    }

    /// From now on these are taken only where no others are free.
    pub fn spare(&self, slots: Range<u32>) {
        self.pool().free.spare(slots);
    }

    /// Gives a slot, or run, that was found on a device its table.
    pub fn adopt(&self, head: u32, run: u32, sequence: u64, table: Table) {
        let mut pool = self.pool();
        for slot in head..head + run {
            pool.free.take_this(slot);
        }
        drop(pool);
        self.fill(head, run, sequence, table);
        self.slot(head).set_state(SlotState::Written);
    }

    fn fill(&self, head: u32, run: u32, sequence: u64, table: Table) {
        for tail in head + 1..head + run {
            self.slot(tail).set_state(SlotState::Tail);
        }
        let slot = self.slot(head);
        slot.begin(run, sequence);
        self.table_bytes
            .fetch_add(table.memory_bytes() as u64, Relaxed);
        let before = slot.table.swap(Box::into_raw(Box::new(table)), AcqRel);
        debug_assert!(before.is_null());
    }

    /// The table of a slot.
    #[inline]
    pub fn table<'g>(&'g self, _: Guard<'g>, slot: u32) -> Option<&'g Table> {
        let table = self.slots[slot as usize].table.load(Acquire);
        // SAFETY: it came from `Box::into_raw`. Once it is taken out of its slot it is freed when
        // every participant has passed a quiescent point, by the flusher: the guard shows that
        // neither happens before it ends.
        unsafe { table.as_ref() }
    }

    /// Puts another table, of the same items, in place of a slot's table.
    pub fn replace_table(&self, slot: u32, table: Table, epochs: &Epochs) {
        self.table_bytes
            .fetch_add(table.memory_bytes() as u64, Relaxed);
        let new = Box::into_raw(Box::new(table));
        self.swap_out(slot, new, epochs);
    }

    fn swap_out(&self, slot: u32, new: *mut Table, epochs: &Epochs) {
        let old = self.slot(slot).table.swap(new, AcqRel);
        let Some(old) = NonNull::new(old).map(Retired) else {
            return;
        };
        // SAFETY: it is not freed before `old` is dropped.
        let bytes = unsafe { old.0.as_ref() }.memory_bytes();
        self.table_bytes.fetch_sub(bytes as u64, Relaxed);
        // Begun after the swap: whoever passes it has not seen the table since.
        self.pool().retired.push((epochs.retire(), old));
    }

    /// The segment of a slot holds nothing any more; its slots may not be overwritten yet.
    pub fn empty(&self, head: u32, epochs: &Epochs) {
        self.swap_out(head, null_mut(), epochs);
        let run = self.slot(head).run();
        let mut pool = self.pool();
        pool.waiting += run;
        (head..head + run).for_each(|slot| self.slot(slot).set_state(SlotState::Waiting));
    }

    /// Keeps free slots from being used until they are released; false if they are not free.
    pub fn hold(&self, head: u32, run: u32) -> bool {
        let mut pool = self.pool();
        if !(head..head + run).all(|slot| pool.free.is_free(slot)) {
            return false;
        }
        for slot in head..head + run {
            pool.free.take_this(slot);
            self.slot(slot).set_state(SlotState::Waiting);
        }
        pool.waiting += run;
        true
    }

    /// Waiting slots may be overwritten now.
    pub fn release(&self, head: u32, run: u32) {
        let mut pool = self.pool();
        pool.waiting -= run;
        self.give_back(&mut pool, head..head + run);
    }

    /// Of a run that nobody has written yet only `needed` slots are. The others are free as before,
    /// with what lies there: a segment that was said to take them would hide that from a recovery,
    /// although it is not gone.
    pub fn shorten(&self, head: u32, run: u32, needed: u32) {
        let mut pool = self.pool();
        self.slot(head).set_run(needed);
        self.give_back(&mut pool, head + needed..head + run);
    }

    fn give_back(&self, pool: &mut Pool, slots: Range<u32>) {
        for slot in slots {
            if self.is_in_service(slot) {
                self.slot(slot).set_state(SlotState::Free);
                pool.free.give(slot);
            } else {
                self.slot(slot).set_state(SlotState::Closed);
            }
        }
    }

    /// Waiting slots that are to be used no more.
    pub fn close(&self, head: u32, run: u32) {
        let mut pool = self.pool();
        pool.waiting -= run;
        (head..head + run).for_each(|slot| self.slot(slot).set_state(SlotState::Closed));
    }

    /// Frees the tables that no reader can hold any longer; for the thread that retires them.
    pub fn free_tables(&self, epochs: &Epochs) {
        let passed: Vec<_> = self
            .pool()
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
