//! The log of one store: its devices, what lies on them, and what is being assembled for them.

mod assembler;
mod crowding;
mod door;
mod fillings;
mod notes;
mod open_segment;
mod phases;
mod pressure;
mod reading;
mod reserve;
mod runs;

pub(crate) use assembler::Assembler;
pub use assembler::{Appended, Incoming, Source};
pub(crate) use door::{Job, Queue};
pub use fillings::Fillings;
pub(crate) use notes::Notes;
pub(crate) use open_segment::put_header;
pub(crate) use reserve::{CLEANER_SLOTS, TOMBSTONE_SLOTS};

use crate::counters::{Counters, EventList};
use crate::device::{Buffer, BufferPool, Devices};
use crate::format::Tombstone;
use crate::guard::Guard;
use crate::item::RawItem;
use crate::location::Location;
use crate::options::{Durability, TierConfig};
use crate::plan::TierPlan;
use crate::schedule::Instant;
use crate::schedule::{Mutex, MutexGuard};
use crate::slots::Slots;
use crate::superblocks::Superblocks;
use crate::tombstones::Tombstones;
use crowding::Crowding;
use door::FlusherDoor;
use farcache_base::time::{Seconds, is_expired};
use phases::Phases;
use pressure::Pressure;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};
use reading::Reading;
use reserve::Loan;
use runs::RunsWanted;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The log of one store.
pub struct Log {
    pub(crate) config: TierConfig,
    pub(crate) devices: Devices,
    pub(crate) slots: Slots,
    pub(crate) tombstones: Tombstones,
    pub(crate) flusher: FlusherDoor,
    pub(crate) phases: Phases,
    pub(crate) counters: Counters,
    pub(crate) events: EventList,
    pub(crate) reading: Reading,
    pub(crate) write_pool: BufferPool,
    /// Stands where a buffer was.
    pub(crate) no_buffer: Arc<Buffer>,
    pub(crate) superblocks: Superblocks,
    pub(crate) notes: Notes,
    /// Devices that are not used, because they fell behind.
    pub(crate) devices_aside: usize,
    pub(crate) secrets: RapidSecrets,
    pub(crate) assembler: Mutex<Assembler>,
    /// Held while a mark is made on an item of a segment that may just be changing its table.
    pub(crate) marks: Mutex<()>,
    /// Slots, each with its run, of dead segments found when the store was opened, of which
    /// something has yet to be told again.
    pub(crate) held: Mutex<Vec<(u32, u32)>>,
    pub(crate) loan: Loan,
    pub(crate) pressure: Pressure,
    crowding: Crowding,
    /// Slots in a row that somebody found no place for.
    pub(crate) runs: RunsWanted,
    /// Live items may be dropped to make room.
    pub(crate) evicts: bool,
}

/// How the owner of a log uses it.
#[derive(Clone, Copy, Debug)]
pub struct LogUse {
    /// Live items may be dropped to make room.
    pub evicts: bool,
    /// Memory that the owner keeps items in, in bytes: items read twice while so much is read from
    /// the devices are read often.
    pub memory_bytes: u64,
    /// Buffers lie in huge pages.
    pub huge_pages: bool,
}

impl Log {
    /// A log whose devices have been looked at.
    ///
    /// # Errors
    /// The kernel's, where it has no memory to give.
    pub fn new(plan: &TierPlan, how: LogUse) -> io::Result<Log> {
        let config = plan.config.clone();
        let devices: Devices = config.devices.clone().into();
        let segment_bytes = u64::from(plan.superblock.segment_bytes);
        let write_bytes = segment_bytes * (u64::from(config.write_buffers) + 4);
        Ok(Log {
            slots: Slots::new(&devices, segment_bytes),
            tombstones: Tombstones::default(),
            flusher: FlusherDoor::default(),
            phases: Phases::default(),
            counters: Counters::default(),
            events: EventList::default(),
            reading: Reading::new(&config, how)?,
            write_pool: BufferPool::new(write_bytes as usize, how.huge_pages)?,
            no_buffer: Arc::new(Buffer::new(1)),
            superblocks: plan.superblocks(),
            notes: Notes::default(),
            devices_aside: plan.devices_aside(),
            secrets: RapidSecrets::seed(plan.superblock.fingerprint_seed),
            assembler: Mutex::new(Assembler::after(0)),
            marks: Mutex::new(()),
            held: Mutex::default(),
            loan: Loan::default(),
            pressure: Pressure::default(),
            crowding: Crowding::default(),
            runs: RunsWanted::default(),
            evicts: how.evicts,
            devices,
            config,
        })
    }

    /// The devices in service, by number.
    pub(crate) fn devices_in_service(&self) -> Vec<usize> {
        let is_in_service = |number: &usize| {
            let first = self.slots.of_device(*number).start;
            self.slots.is_in_service(first)
        };
        (0..self.devices.len()).filter(is_in_service).collect()
    }

    pub(crate) fn assembler(&self) -> MutexGuard<'_, Assembler> {
        self.assembler.lock().expect("no holder panics")
    }

    /// Tells keys apart whose tags are alike.
    pub fn fingerprint(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }

    /// Whether the segment of a location has not been emptied since the location was taken from the
    /// index.
    pub fn has_segment_of(&self, guard: Guard<'_>, location: Location) -> bool {
        self.slots.table(guard, location.slot()).is_some()
    }

    /// The fingerprint of the key at a location; none where its segment has been emptied meanwhile.
    pub fn fingerprint_at(&self, guard: Guard<'_>, location: Location) -> Option<u64> {
        let table = self.slots.table(guard, location.slot())?;
        Some(table.fingerprint(location.item()))
    }

    /// Whether a location holds, for all that is known without reading it, the key of this
    /// fingerprint.
    pub fn has_fingerprint(&self, guard: Guard<'_>, location: Location, fingerprint: u64) -> bool {
        self.fingerprint_at(guard, location) == Some(fingerprint)
    }

    /// What the reads of one request may bring before it should go on with less, in bytes: nobody
    /// knows when its client will take that.
    pub fn request_bytes_max(&self) -> u64 {
        self.reading.request_bytes_max()
    }

    /// Whether there is memory for a read of so many bytes; one alone always has it.
    pub fn has_memory_for(&self, bytes: usize) -> bool {
        self.reading.has_memory_for(bytes)
    }

    /// The memory into which values are read: first byte and size. It stays where it is as long as
    /// the log.
    pub fn read_region(&self) -> (*const u8, usize) {
        self.reading.pool.region()
    }

    /// When items may be dropped, and when requests may be answered.
    pub fn durability(&self) -> Durability {
        self.config.durability
    }

    /// What is counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The sequence number of the filling at a location.
    #[inline]
    pub fn sequence_at(&self, location: Location) -> u64 {
        self.slots.slot(location.slot()).sequence()
    }

    /// The lowest sequence number of a segment that a crash now might leave behind; none where
    /// there is no segment.
    pub fn oldest_sequence(&self) -> Option<u64> {
        self.slots.oldest()
    }

    /// The newest version of any item in the segment at a location; 0 where none has one.
    pub fn newest_version_at(&self, location: Location) -> u64 {
        self.slots.slot(location.slot()).newest_version()
    }

    /// Whether the device of a location is in service.
    pub fn is_readable(&self, location: Location) -> bool {
        self.slots.is_in_service(location.slot())
    }

    /// When the item at a location expires, in this process's seconds; none if its segment has
    /// gone.
    pub fn expiry_at(&self, guard: Guard<'_>, location: Location) -> Option<Seconds> {
        let table = self.slots.table(guard, location.slot())?;
        Some(table.expiry(location.item()))
    }

    /// An item moved from one location on a device to another, with its chain locked: the older
    /// copies of its key are told dead before the new place comes free.
    pub fn inherit(&self, guard: Guard<'_>, from: Location, to: Location) {
        // A client may have been told to recache it since its fields were read.
        if self.is_win_sent(guard, from) {
            self.claim_win(guard, to);
        }
        let older_copies = self.slots.slot(from.slot()).tombstones_before();
        let segment = self.slots.slot(to.slot());
        segment.raise_tombstones_before(older_copies);
    }

    /// Has the flusher look for work now.
    pub fn wake(&self) {
        self.flusher.wake();
    }

    /// Waits until everything handed over so far is durable; false if that takes longer than
    /// `time`.
    pub fn drain(&self, time: Duration) -> bool {
        self.flusher.drain(time)
    }

    /// Waits until the flusher has got something done, or until the time is up.
    pub fn wait_for_progress(&self, time: Duration) {
        self.flusher.wait_for_progress(time);
    }

    /// How long the flusher has waited for anything but devices, in the times that it asked for: so
    /// tests can hold it to a bound whatever else their machine does.
    pub fn waited(&self) -> Duration {
        self.flusher.waited()
    }

    /// Whether the item at a location has expired.
    pub fn is_expired(&self, guard: Guard<'_>, location: Location, now: Seconds) -> bool {
        let table = self.slots.table(guard, location.slot());
        table.is_some_and(|table| is_expired(table.expiry(location.item()), now))
    }

    /// Whether a flush with this floor has voided the item at a location.
    pub fn is_flushed(&self, location: Location, floor: u64) -> bool {
        self.slots.slot(location.slot()).sequence() <= floor
    }

    /// Size of all devices, in bytes.
    pub fn bytes(&self) -> u64 {
        self.devices.iter().map(|device| device.bytes()).sum()
    }

    /// Whether items may leave memory for a device, now or when it has caught up.
    pub fn takes_items(&self) -> bool {
        self.is_in_service() && !self.pressure.is_full()
    }

    /// The item at a location, if its segment is still in its buffer.
    ///
    /// # Safety
    /// While the guard has been there, the owner's index had the location, which it had from
    /// [`Log::append`]. There the item was written before the owner was told where.
    pub unsafe fn in_buffer<'g>(
        &'g self,
        guard: Guard<'g>,
        location: Location,
    ) -> Option<RawItem<'g>> {
        let table = self.slots.table(guard, location.slot())?;
        let address = table.address_in_buffer(location.item())?;
        // SAFETY: the record was complete before its location was published, as the caller says,
        // is never changed, and stays as long as the table, which stays as long as the guard.
        Some(unsafe { RawItem::at(address) })
    }

    /// Notes a read; true if it is the second one of late.
    pub fn note_read(&self, guard: Guard<'_>, location: Location) -> bool {
        let table = self.slots.table(guard, location.slot());
        table.is_some_and(|table| table.note_read(location.item(), self.window()))
    }

    pub(crate) fn window(&self) -> u64 {
        self.reading.window(self.counters.bytes_read.get())
    }

    /// Whether a client has been told to recache the item.
    pub fn is_win_sent(&self, guard: Guard<'_>, location: Location) -> bool {
        let table = self.slots.table(guard, location.slot());
        table.is_some_and(|table| table.is_win_sent(location.item()))
    }

    /// Notes that a client is told to recache the item; true for the first. With its chain locked.
    pub fn claim_win(&self, guard: Guard<'_>, location: Location) -> bool {
        let _marks = self.marks.lock().expect("no holder panics");
        let table = self.slots.table(guard, location.slot());
        table.is_some_and(|table| table.set_win_sent(location.item()))
    }

    /// Accounts for an item to which the index no longer points. With its chain locked.
    pub fn remove_live(&self, guard: Guard<'_>, location: Location) {
        let Some(table) = self.slots.table(guard, location.slot()) else {
            return;
        };
        let record = table.record(location.item());
        let slot = self.slots.slot(location.slot());
        if slot.remove_live(record.end - record.start) && self.pressure.is_full() {
            self.flusher.wake();
        }
    }

    /// The copy at a location was overwritten or deleted: it must never be found again. With its
    /// chain locked.
    pub fn kill(&self, guard: Guard<'_>, location: Location) {
        let Some(table) = self.slots.table(guard, location.slot()) else {
            return;
        };
        let tombstone = Tombstone {
            write_number: table.write_number,
            item: location.item(),
        };
        self.remove_live(guard, location);
        self.tombstones.note(tombstone);
    }

    /// Whether anything can be written at all.
    pub fn is_in_service(&self) -> bool {
        self.slots.devices_in_service() > 0
    }

    /// Whether requests are answered only when what they changed is durable.
    pub fn is_sync(&self) -> bool {
        self.config.durability == Durability::Sync
    }

    /// As [`Log::takes_items`], but looked at anew where it seems that they may not.
    pub fn takes_items_after_all(&self, deadline: Instant) -> bool {
        if self.is_in_service() && !self.takes_items() {
            self.pressure.set_room_wanted(true);
            let rest = deadline.saturating_duration_since(Instant::now());
            self.flusher.wait_for_look(rest);
        }
        self.takes_items()
    }

    /// Told that memory has been written out: until something leaves it again nothing is evicted to
    /// keep slots free.
    pub fn set_at_rest(&self, is_at_rest: bool) {
        self.pressure.set_at_rest(is_at_rest);
    }

    /// There is no slot to open: will there be one?
    pub(crate) fn no_slot(&self) -> Appended {
        if !self.is_in_service() {
            return Appended::Full;
        }
        self.pressure.set_room_wanted(true);
        self.flusher.wake();
        if self.pressure.is_full() {
            Appended::Full
        } else {
            Appended::Busy
        }
    }

    /// Notes how a read of a device went; enough failures in a row take it out of service.
    pub(crate) fn note_read_result(&self, device: usize, is_ok: bool) {
        if self.reading.note_result(device, is_ok) {
            self.flusher.wake();
        }
    }
}
