//! The SSD tier: what leaves memory stays a hit, and is there again after a restart.
//!
//! `docs/design/tier.md` says how it works and what it guarantees.

mod assembler;
mod bell;
mod check;
mod cleaner;
mod counters;
mod dirty;
mod durable;
mod flusher;
mod format;
mod members;
mod mover;
mod options;
mod persist;
mod plan;
mod reads;
mod recovery;
mod room;
mod runs;
mod scan;
mod slots;
mod spill;
mod stats;
mod superblocks;
mod table;
mod tenure;
mod tombstones;

pub use check::{CheckFinding, CheckKind, CheckReport, check_devices};
pub use dirty::DurableMark;
pub(crate) use flusher::FlusherThread;
pub use options::{Durability, EngineChoice, TierConfig, TierEvent, TierEventKind, TierStats};
pub use plan::{TierPlan, TierRefusal, Unusable};
pub use reads::ReadId;
pub(crate) use reads::Reads;
pub(crate) use recovery::recover;
pub(crate) use spill::{Copied, PROGRESS_WAIT, Spilled};

use crate::core::Core;
use crate::device::{Buffer, BufferPool, Devices, Uring};
use crate::index::Location;
use crate::item::RawItem;
use crate::options::StoreConfig;
use crate::schedule::Instant;
use crate::schedule::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use crate::schedule::{Mutex, MutexGuard};
use assembler::{Appended, Assembler};
use bell::Bell;
use counters::{Counters, EventList};
use dirty::Dirty;
use farcache_base::time::{Seconds, is_expired};
use flusher::FlusherDoor;
use format::Tombstone;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};
use runs::RunsWanted;
use slots::Slots;
use std::io;
use std::sync::Arc;
use superblocks::Superblocks;
use tenure::Tenure;
use tombstones::Tombstones;

/// The tier of one store.
pub(crate) struct Tier {
    pub config: TierConfig,
    pub devices: Devices,
    pub slots: Slots,
    pub tombstones: Tombstones,
    pub dirty: Dirty,
    pub bell: Bell,
    pub flusher: FlusherDoor,
    pub counters: Counters,
    pub events: EventList,
    pub read_pool: BufferPool,
    write_pool: BufferPool,
    /// Stands where a buffer was.
    no_buffer: Arc<Buffer>,
    superblocks: Superblocks,
    tenure: Tenure,
    /// Devices that are not used, because they fell behind.
    devices_aside: usize,
    secrets: RapidSecrets,
    assembler: Mutex<Assembler>,
    /// Held while a mark is made on an item of a segment that may just be changing its table.
    marks: Mutex<()>,
    /// Slots, each with its run, of dead segments found when the store was opened, of which
    /// something has yet to be told again.
    held: Mutex<Vec<(u32, u32)>>,
    durable_through: AtomicU64,
    /// The last segment that took one of the slots that devices keep.
    lent_to: AtomicU64,
    is_full: AtomicBool,
    /// Tombstones wait to be told, and no slot can be spared for them.
    is_short_of_tombstone_slots: AtomicBool,
    /// Somebody found no slot to write to.
    is_room_wanted: AtomicBool,
    /// Slots in a row that somebody found no place for.
    runs: RunsWanted,
    /// Memory has been written out, and nothing has come since.
    is_at_rest: AtomicBool,
    /// Live items may be dropped to make room.
    evicts: bool,
    /// Bytes read from the devices in one window.
    window_bytes: u64,
    /// Memory that values being read, and values read that clients have yet to take, may have, in
    /// bytes.
    read_bytes_max: u64,
    /// Reads that failed since the last that did not, by device.
    read_failures: Box<[AtomicU32]>,
}

/// Reads that fail one after the other before a device is taken out of service.
const READ_FAILURES_MAX: u32 = 16;

/// What the reads of one request may bring before it should go on with less, as a part of the
/// memory for all: one in so many bytes.
const REQUEST_READ_SHARE: u64 = 8;

/// Values read may take so much of the store's memory limit, on top of it, where that is more than
/// [`TierConfig::read_buffer_bytes`]: one in so many bytes.
const READ_BYTES_SHARE: u64 = 4;

impl EngineChoice {
    fn uring(self) -> Uring {
        match self {
            EngineChoice::Auto => Uring::IfPossible,
            EngineChoice::Uring => Uring::Required,
            EngineChoice::Threads => Uring::Never,
        }
    }
}

impl Tier {
    /// A tier whose devices have been looked at.
    ///
    /// # Errors
    /// The kernel's, where it has no memory to give.
    pub fn new(plan: &TierPlan, store: &StoreConfig) -> io::Result<Tier> {
        let config = plan.config.clone();
        let memory_bytes = store.memory_bytes;
        let devices: Devices = config.devices.clone().into();
        let segment_bytes = u64::from(plan.superblock.segment_bytes);
        let write_bytes = segment_bytes * (u64::from(config.write_buffers) + 4);
        Ok(Tier {
            slots: Slots::new(&devices, segment_bytes),
            tombstones: Tombstones::default(),
            dirty: Dirty::default(),
            bell: Bell::default(),
            flusher: FlusherDoor::default(),
            counters: Counters::default(),
            events: EventList::default(),
            read_pool: BufferPool::new(config.read_buffer_bytes, store.huge_pages)?,
            write_pool: BufferPool::new(write_bytes as usize, store.huge_pages)?,
            no_buffer: Arc::new(Buffer::new(1)),
            superblocks: plan.superblocks(),
            tenure: Tenure::default(),
            devices_aside: plan.devices_aside(),
            secrets: RapidSecrets::seed(plan.superblock.fingerprint_seed),
            assembler: Mutex::new(Assembler::after(0)),
            marks: Mutex::new(()),
            held: Mutex::default(),
            durable_through: AtomicU64::new(0),
            lent_to: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            is_short_of_tombstone_slots: AtomicBool::new(false),
            is_room_wanted: AtomicBool::new(false),
            runs: RunsWanted::default(),
            is_at_rest: AtomicBool::new(false),
            evicts: store.evict,
            window_bytes: memory_bytes.max(1),
            read_bytes_max: (config.read_buffer_bytes as u64).max(memory_bytes / READ_BYTES_SHARE),
            read_failures: devices.iter().map(|_| AtomicU32::new(0)).collect(),
            devices,
            config,
        })
    }

    /// The devices in service, by number.
    fn devices_in_service(&self) -> Vec<usize> {
        let is_in_service = |number: &usize| {
            let first = self.slots.of_device(*number).start;
            self.slots.is_in_service(first)
        };
        (0..self.devices.len()).filter(is_in_service).collect()
    }

    fn assembler(&self) -> MutexGuard<'_, Assembler> {
        self.assembler.lock().expect("no holder panics")
    }

    /// Tells keys apart whose tags are alike.
    pub fn fingerprint(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }

    /// Whether the segment of a location has not been emptied since the location was taken from the
    /// index.
    pub fn has_segment_of(&self, location: Location) -> bool {
        self.slots.table(location.slot()).is_some()
    }

    /// The fingerprint of the key at a location; none where its segment has been emptied meanwhile.
    pub fn fingerprint_at(&self, location: Location) -> Option<u64> {
        let table = self.slots.table(location.slot())?;
        Some(table.fingerprint(location.item()))
    }

    /// Whether a location holds, for all that is known without reading it, the key of this
    /// fingerprint.
    pub fn has_fingerprint(&self, location: Location, fingerprint: u64) -> bool {
        self.fingerprint_at(location) == Some(fingerprint)
    }

    /// What the reads of one request may bring before it should go on with less, in bytes: nobody
    /// knows when its client will take that.
    fn request_bytes_max(&self) -> u64 {
        self.read_bytes_max / REQUEST_READ_SHARE
    }

    /// Whether readers may see the item of this key at a location.
    pub fn is_visible(&self, core: &Core, location: Location, key: &[u8], now: Seconds) -> bool {
        let table = self.slots.table(location.slot());
        let is_alive = table.is_some_and(|table| !is_expired(table.expiry(location.item()), now));
        is_alive && !self.is_void(core, location, key)
    }

    /// Whether a flush or a fence has voided the item of this key at a location.
    pub fn is_void(&self, core: &Core, location: Location, key: &[u8]) -> bool {
        let sequence = self.slots.slot(location.slot()).sequence();
        sequence <= core.flush.floor() || core.fences.void(sequence, key)
    }

    /// Whether the item at a location has expired.
    pub fn is_expired(&self, location: Location, now: Seconds) -> bool {
        let table = self.slots.table(location.slot());
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
        self.is_in_service() && !self.is_full.load(Acquire)
    }

    /// The item at a location, if its segment is still in its buffer.
    pub fn in_buffer(&self, location: Location) -> Option<RawItem> {
        let table = self.slots.table(location.slot())?;
        let address = table.address_in_buffer(location.item())?;
        // SAFETY: the record was complete before its location was published, is never changed, and
        // stays as long as the table, which stays until the caller's next quiescent point.
        Some(unsafe { RawItem::at(address) })
    }

    /// Notes a read; true if it is the second one of late.
    pub fn note_read(&self, location: Location) -> bool {
        let table = self.slots.table(location.slot());
        table.is_some_and(|table| table.note_read(location.item(), self.window()))
    }

    fn window(&self) -> u64 {
        self.counters.bytes_read.get() / self.window_bytes
    }

    /// Whether a client has been told to recache the item.
    pub fn is_win_sent(&self, location: Location) -> bool {
        let table = self.slots.table(location.slot());
        table.is_some_and(|table| table.is_win_sent(location.item()))
    }

    /// Notes that a client is told to recache the item; true for the first. With its chain locked.
    pub fn claim_win(&self, location: Location) -> bool {
        let _marks = self.marks.lock().expect("no holder panics");
        let table = self.slots.table(location.slot());
        table.is_some_and(|table| table.set_win_sent(location.item()))
    }

    /// Accounts for an item to which the index no longer points. With its chain locked.
    pub fn remove_live(&self, location: Location) {
        let Some(table) = self.slots.table(location.slot()) else {
            return;
        };
        let record = table.record(location.item());
        let slot = self.slots.slot(location.slot());
        if slot.remove_live(record.end - record.start) && self.is_full.load(Relaxed) {
            self.flusher.wake();
        }
    }

    /// The copy at a location was overwritten or deleted: it must never be found again. With its
    /// chain locked.
    pub fn kill(&self, location: Location) {
        let Some(table) = self.slots.table(location.slot()) else {
            return;
        };
        let tombstone = Tombstone {
            write_number: table.write_number,
            item: location.item(),
        };
        self.remove_live(location);
        self.tombstones.note(tombstone);
    }

    /// Whether anything can be written at all.
    pub fn is_in_service(&self) -> bool {
        self.slots.devices_in_service() > 0
    }

    pub fn is_sync(&self) -> bool {
        self.config.durability == Durability::Sync
    }

    /// As [`Tier::takes_items`], but looked at anew where it seems that they may not.
    pub fn takes_items_after_all(&self, deadline: Instant) -> bool {
        if self.is_in_service() && !self.takes_items() {
            self.set_room_wanted(true);
            let rest = deadline.saturating_duration_since(Instant::now());
            self.flusher.wait_for_look(rest);
        }
        self.takes_items()
    }

    fn is_room_wanted(&self) -> bool {
        self.is_room_wanted.load(Acquire)
    }

    fn set_room_wanted(&self, is_wanted: bool) {
        self.is_room_wanted.store(is_wanted, Release);
    }

    fn is_at_rest(&self) -> bool {
        self.is_at_rest.load(Acquire)
    }

    /// Told that memory has been written out: until something leaves it again nothing is evicted to
    /// keep slots free.
    pub fn set_at_rest(&self, is_at_rest: bool) {
        self.is_at_rest.store(is_at_rest, Release);
    }

    fn is_short_of_tombstone_slots(&self) -> bool {
        self.is_short_of_tombstone_slots.load(Acquire)
    }

    fn set_short_of_tombstone_slots(&self, is_short: bool) {
        self.is_short_of_tombstone_slots.store(is_short, Release);
    }

    fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Release);
    }

    /// There is no slot to open: will there be one?
    fn no_slot(&self) -> Appended {
        if !self.is_in_service() {
            return Appended::Full;
        }
        self.set_room_wanted(true);
        self.flusher.wake();
        if self.is_full.load(Acquire) {
            Appended::Full
        } else {
            Appended::Busy
        }
    }

    /// Notes how a read of a device went; enough failures in a row take it out of service.
    pub fn note_read_result(&self, device: usize, is_ok: bool) {
        let failures = &self.read_failures[device];
        if is_ok {
            if failures.load(Relaxed) > 0 {
                failures.store(0, Relaxed);
            }
        } else if failures.fetch_add(1, Relaxed) + 1 == READ_FAILURES_MAX {
            self.flusher.wake();
        }
    }

    fn has_failed_reads(&self, device: usize) -> bool {
        self.read_failures[device].load(Relaxed) >= READ_FAILURES_MAX
    }
}
