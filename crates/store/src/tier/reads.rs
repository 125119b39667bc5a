//! A handle's reads: what its requests met on the device, what is on its way, what has arrived.

use super::Tier;
use super::format::{RECORD_HEADER_BYTES, record_item};
use super::options::TierEventKind;
use super::room::RoomNeeds;
use crate::core::Core;
use crate::device::{Buffer, Direction, Engine, Memory, Outcome, Transfer};
use crate::handle::StoreHandle;
use crate::index::Location;
use crate::item::RawItem;
use crate::reclaim::Prospect;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The reads of one request, from [`StoreHandle::start_reads`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReadId(u64);

/// A record to be read.
#[derive(Clone, Copy)]
struct Ticket {
    hash: u64,
    location: Location,
    write_number: u64,
    device: usize,
    /// The blocks to read.
    offset: u64,
    bytes: usize,
    /// Where the record lies in them.
    lead: usize,
    record_bytes: usize,
}

/// A value that has arrived.
#[derive(Clone)]
pub(crate) struct Arrived {
    location: Location,
    write_number: u64,
    buffer: Arc<Buffer>,
    item_offset: usize,
}

impl Arrived {
    fn item(&self) -> RawItem {
        // SAFETY: the record was verified when it arrived, so an item lies there; it is read only from
        // then on, and handles keep the buffer until their next quiescent point.
        unsafe { RawItem::at(self.buffer.address().wrapping_add(self.item_offset)) }
    }
}

/// The reads of one request.
#[derive(Default)]
struct Set {
    outstanding: usize,
    arrived: Vec<Arrived>,
    /// Free segments that the request needs; 0 where it has the room.
    room: u32,
    is_in_vain: bool,
    is_cancelled: bool,
}

/// What a handle keeps of its reads.
#[derive(Default)]
pub(crate) struct Reads {
    /// An operation since the last [`StoreHandle::start_reads`] met something it needs.
    needs: Cell<bool>,
    pub(crate) room: RoomNeeds,
    wanted: RefCell<Vec<Ticket>>,
    engine: RefCell<Option<Engine>>,
    sets: RefCell<HashMap<ReadId, Set>>,
    /// Tickets under way, by the token of their transfers.
    tickets: RefCell<HashMap<u64, (ReadId, Ticket)>>,
    next: Cell<u64>,
    /// Requests whose reads have all arrived and that were told of, but not staged.
    finished: RefCell<HashMap<ReadId, Set>>,
    staged: RefCell<HashMap<u64, Arrived>>,
    /// No longer staged; items found may still refer to them.
    leaving: RefCell<Vec<Arc<Buffer>>>,
    durable_event: RefCell<Option<Arc<OwnedFd>>>,
}

impl Reads {
    pub fn needs(&self) -> bool {
        self.needs.get()
    }

    /// The request that runs cannot go on yet.
    pub fn set_needs(&self) {
        self.needs.set(true);
    }

    /// Frees what items found before may have referred to.
    pub fn quiescent(&mut self) {
        let leaving = self.leaving.get_mut();
        if !leaving.is_empty() {
            leaving.clear();
        }
    }

    fn staged(&self, location: Location, write_number: u64) -> Option<RawItem> {
        let staged = self.staged.borrow();
        let arrived = staged.get(&location.0)?;
        (arrived.write_number == write_number).then(|| arrived.item())
    }

    /// The buffer in which a staged item lies.
    pub fn buffer_of(&self, location: Location, item: RawItem) -> Option<Arc<Buffer>> {
        let staged = self.staged.borrow();
        let arrived = staged.get(&location.0)?;
        (arrived.item() == item).then(|| Arc::clone(&arrived.buffer))
    }

    fn want(&self, ticket: Ticket) {
        self.needs.set(true);
        let mut wanted = self.wanted.borrow_mut();
        if !wanted.iter().any(|other| other.location == ticket.location) {
            wanted.push(ticket);
        }
    }

    fn next(&self) -> u64 {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }
}

impl Tier {
    fn ticket(&self, hash: u64, location: Location) -> Option<Ticket> {
        let table = self.slots.table(location.slot())?;
        let device = self.slots.device_of(location.slot());
        let record = table.record(location.item());
        let block = self.devices[device].block_bytes() as u64;
        let start = record.start / block * block;
        let end = record.end.next_multiple_of(block);
        Some(Ticket {
            hash,
            location,
            write_number: table.write_number,
            device,
            offset: self.slots.offset_of(location.slot()) + start,
            bytes: (end - start) as usize,
            lead: (record.start - start) as usize,
            record_bytes: (record.end - record.start) as usize,
        })
    }

    /// Makes an item usable that another process wrote: its times are told in this one's seconds.
    fn rebase(&self, location: Location, item: RawItem) {
        let Some(table) = self.slots.table(location.slot()) else {
            return;
        };
        if table.epoch_shift != 0 {
            item.rebase(table.expiry(location.item()), table.epoch_shift);
        }
        if table.is_win_sent(location.item()) {
            item.set_win_sent();
        }
    }
}

impl Core {
    /// Takes an entry that points to a device out of the index, if it is still there.
    pub fn remove_device_entry(&self, hash: u64, location: Location) -> bool {
        let tier = self.tier.as_ref().expect("locations on devices need one");
        let chain = self.index.lock(hash);
        let Some(slot) = chain.place_of(location) else {
            return false;
        };
        let fingerprint = tier
            .slots
            .table(location.slot())
            .map(|table| table.fingerprint(location.item()));
        chain.remove(slot);
        tier.remove_live(location);
        let is_shadow = chain
            .find(|other| {
                !other.is_on_device()
                    && Some(tier.fingerprint(self.arena.item(other).key())) == fingerprint
            })
            .is_some();
        drop(chain);
        self.note_entries(-1);
        !is_shadow
    }
}

impl StoreHandle {
    /// The item at a location on a device, if it is at hand: in a buffer not yet written, or read and staged.
    pub(crate) fn at_hand(&self, location: Location) -> Option<RawItem> {
        let tier = self.core.tier.as_ref()?;
        if let Some(item) = tier.in_buffer(location) {
            return Some(item);
        }
        let write_number = tier.slots.table(location.slot())?.write_number;
        self.reads.staged(location, write_number)
    }

    /// Notes that the request cannot go on without the item at this location.
    pub(crate) fn want(&self, hash: u64, location: Location) {
        let ticket = self
            .core
            .tier
            .as_ref()
            .and_then(|tier| tier.ticket(hash, location));
        if let Some(ticket) = ticket {
            self.reads.want(ticket);
        }
    }

    /// Whether an operation since the last [`StoreHandle::start_reads`] needs something from a device. Then the
    /// outcome of the request is void: discard it, start the reads, and run the request again when they are done.
    #[inline]
    pub fn needs_reads(&self) -> bool {
        self.reads.needs()
    }

    /// Forgets what the last request would have to read: it is given up.
    pub fn forget_reads(&self) {
        self.reads.needs.set(false);
        self.reads.room.take();
        self.reads.wanted.borrow_mut().clear();
    }

    /// Starts all reads that the last request needs. What is staged now belongs to them as well: a request that needs
    /// more than it first met gets everything together.
    ///
    /// # Errors
    /// The system's, where it has no ring or threads left; the reads stay needed.
    pub fn start_reads(&self) -> io::Result<ReadId> {
        let tier = self.core.tier.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        self.open_reader()?;
        let mut engine = self.reads.engine.borrow_mut();
        let engine = engine.as_mut().expect("just made");
        let id = ReadId(self.reads.next());
        let wanted = std::mem::take(&mut *self.reads.wanted.borrow_mut());
        let staged = self.reads.staged.borrow();
        let set = Set {
            outstanding: wanted.len(),
            arrived: staged.values().cloned().collect(),
            room: self.reads.room.take(),
            ..Set::default()
        };
        drop(staged);
        self.reads.sets.borrow_mut().insert(id, set);
        for ticket in wanted {
            let token = self.reads.next();
            self.reads.tickets.borrow_mut().insert(token, (id, ticket));
            engine.submit(Transfer {
                direction: Direction::Read,
                device: ticket.device,
                offset: ticket.offset,
                buffer: Memory::Own(tier.read_pool.take(ticket.bytes)),
                bytes: ticket.bytes,
                token,
            });
        }
        engine.start();
        self.reads.needs.set(false);
        Ok(id)
    }

    /// Readable while [`StoreHandle::poll_reads`] has something to tell; none before the first read.
    ///
    /// The descriptor stays the same and open as long as the handle.
    pub fn with_read_descriptor<R>(&self, then: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        let engine = self.reads.engine.borrow();
        engine.as_ref().map(|engine| then(engine.descriptor()))
    }

    /// Opens the handle's access to the devices now instead of with the first read.
    ///
    /// # Errors
    /// The system's, where it has no ring or threads left.
    pub fn open_reader(&self) -> io::Result<()> {
        let Some(tier) = self.core.tier.as_ref() else {
            return Ok(());
        };
        let mut engine = self.reads.engine.borrow_mut();
        if engine.is_none() {
            let (depth, uring) = (tier.config.reads_max, tier.config.engine.uring());
            *engine = Some(Engine::new(&tier.devices, depth, uring)?);
        }
        Ok(())
    }

    /// Reads under way.
    pub fn reads_in_flight(&self) -> usize {
        self.reads.tickets.borrow().len()
    }

    /// Appends the requests to `done` whose reads have all arrived since the last call.
    pub fn poll_reads(&self, done: &mut Vec<ReadId>) {
        let mut ended = Vec::new();
        if let Some(engine) = self.reads.engine.borrow_mut().as_mut() {
            engine.poll(&mut ended);
        }
        if ended.is_empty() {
            // A set without reads is done at once.
            return self.take_done(done);
        }
        self.enter();
        for outcome in ended {
            self.take_outcome(outcome);
        }
        self.take_done(done);
    }

    fn take_done(&self, done: &mut Vec<ReadId>) {
        let mut sets = self.reads.sets.borrow_mut();
        sets.retain(|_, set| !(set.is_cancelled && set.outstanding == 0));
        let before = done.len();
        for (id, set) in sets.iter_mut() {
            if set.outstanding == 0 && self.has_awaited_room(set) {
                done.push(*id);
            }
        }
        done[before..].sort();
        let told = done[before..].iter();
        told.for_each(|id| {
            let set = sets.remove(id).expect("just listed");
            self.reads.finished.borrow_mut().insert(*id, set);
        });
    }

    /// Whether a request waits for room no longer.
    fn has_awaited_room(&self, set: &mut Set) -> bool {
        if set.room == 0 {
            return true;
        }
        let prospect = self.core.await_room(set.room);
        set.is_in_vain = prospect == Prospect::None;
        prospect != Prospect::Later
    }

    fn take_outcome(&self, outcome: Outcome) {
        let ticket = self
            .reads
            .tickets
            .borrow_mut()
            .remove(&outcome.transfer.token);
        let Some((id, ticket)) = ticket else { return };
        let arrived = self.verify(&ticket, outcome);
        let mut sets = self.reads.sets.borrow_mut();
        if let Some(set) = sets.get_mut(&id) {
            set.outstanding -= 1;
            set.arrived.extend(arrived);
        }
    }

    /// What was read, if it is what it should be; else the item leaves the index.
    fn verify(&self, ticket: &Ticket, outcome: Outcome) -> Option<Arrived> {
        let tier = self.core.tier.as_ref()?;
        tier.counters.reads.add(1);
        tier.counters.bytes_read.add(ticket.bytes as u64);
        tier.note_read_result(ticket.device, outcome.result.is_ok());
        let Memory::Own(buffer) = outcome.transfer.buffer else {
            return None;
        };
        if let Err(error) = outcome.result {
            self.note_bad_read(ticket, TierEventKind::ReadFailed, &error.to_string());
            return None;
        }
        let record = &buffer[ticket.lead..ticket.lead + ticket.record_bytes];
        let item = record_item(record, ticket.write_number, ticket.location.item());
        let is_whole = item.is_some();
        let arrived = Arrived {
            location: ticket.location,
            write_number: ticket.write_number,
            item_offset: ticket.lead + RECORD_HEADER_BYTES,
            buffer: Arc::new(buffer),
        };
        if !is_whole {
            if self.is_current(ticket) {
                let place = format!("offset {}", ticket.offset);
                self.note_bad_read(ticket, TierEventKind::Corrupt, &place);
            }
            return None;
        }
        if self.is_current(ticket) {
            tier.rebase(ticket.location, arrived.item());
        }
        Some(arrived)
    }

    /// Whether the slot still holds what the ticket was for.
    fn is_current(&self, ticket: &Ticket) -> bool {
        let tier = self.core.tier.as_ref();
        let table = tier.and_then(|tier| tier.slots.table(ticket.location.slot()));
        table.is_some_and(|table| table.write_number == ticket.write_number)
    }

    fn note_bad_read(&self, ticket: &Ticket, kind: TierEventKind, detail: &str) {
        let Some(tier) = self.core.tier.as_ref() else {
            return;
        };
        let counter = match kind {
            TierEventKind::Corrupt => &tier.counters.checksum_errors,
            _ => &tier.counters.read_errors,
        };
        counter.add(1);
        let name = tier.devices[ticket.device].name();
        tier.events.tell(kind, &name, detail);
        if self.is_current(ticket) {
            self.lose(ticket.hash, ticket.location);
        }
    }

    /// An item cannot be read: it is a miss from now on.
    pub(crate) fn lose(&self, hash: u64, location: Location) {
        if let Some(tier) = self.core.tier.as_ref()
            && self.core.remove_device_entry(hash, location)
        {
            tier.counters.items_lost.add(1);
            self.events().removed.add(1);
        }
    }

    /// Lets operations find what was read for a request, as if it lay in memory, until
    /// [`StoreHandle::unstage`].
    pub fn stage(&self, id: ReadId) {
        let set = self.reads.finished.borrow_mut().remove(&id);
        let set = set.unwrap_or_default();
        self.reads.room.set_in_vain(set.is_in_vain);
        let mut staged = self.reads.staged.borrow_mut();
        for one in set.arrived {
            staged.insert(one.location.0, one);
        }
    }

    /// The request has run: what was staged is found no longer. Items found stay valid until the next quiescent
    /// point, and pinned values as long as they are pinned.
    pub fn unstage(&self) {
        self.reads.room.set_in_vain(false);
        let mut staged = self.reads.staged.borrow_mut();
        let mut leaving = self.reads.leaving.borrow_mut();
        leaving.extend(staged.drain().map(|(_, one)| one.buffer));
    }

    /// Gives up the reads of a request, whether they have arrived or not.
    pub fn cancel_reads(&self, id: ReadId) {
        self.reads.finished.borrow_mut().remove(&id);
        if let Some(set) = self.reads.sets.borrow_mut().get_mut(&id) {
            set.is_cancelled = true;
        }
    }

    /// Waits for the reads of a request; for callers that have nothing else to do.
    pub fn wait_reads(&self, id: ReadId) {
        let mut done = Vec::new();
        self.poll_reads(&mut done);
        while !self.reads.finished.borrow().contains_key(&id)
            && self.reads.sets.borrow().contains_key(&id)
        {
            self.wait_for_progress();
            self.poll_reads(&mut done);
        }
    }

    /// Waits until a read has ended, or for a moment where only room is awaited.
    fn wait_for_progress(&self) {
        let mut engine = self.reads.engine.borrow_mut();
        match engine.as_mut().filter(|engine| engine.in_flight() > 0) {
            Some(engine) => engine.wait(),
            None => self.wait_for_room(),
        }
    }

    /// Runs a request to its end, waiting for the devices as often as it takes; for callers that have nothing else to
    /// do. `request` must change nothing but through this handle, and returns nothing that borrows from it.
    ///
    /// # Errors
    /// Those of [`StoreHandle::start_reads`].
    pub fn run_blocking<R>(&self, mut request: impl FnMut(&StoreHandle) -> R) -> io::Result<R> {
        loop {
            let outcome = request(self);
            if !self.needs_reads() {
                self.unstage();
                return Ok(outcome);
            }
            let id = self.start_reads()?;
            self.wait_reads(id);
            self.stage(id);
        }
    }

    /// A mark behind everything that this handle has done so far. With
    /// [`crate::Durability::Sync`] it becomes durable soon; with the others, once the mark's memory has been written
    /// out or the store has been shut down, which nobody is told of.
    pub fn durable_mark(&self) -> super::DurableMark {
        match &self.core.tier {
            Some(tier) if tier.is_sync() => {
                let mark = tier.dirty.mark();
                tier.flusher.wake();
                mark
            }
            _ => super::DurableMark(0),
        }
    }

    /// Whether everything before a mark is durable.
    pub fn is_durable(&self, mark: super::DurableMark) -> bool {
        self.core
            .tier
            .as_ref()
            .is_none_or(|tier| mark.0 <= tier.dirty.durable())
    }

    /// Shows the descriptor that becomes readable when something has become durable, or when there may be room for a
    /// request that waits for it ([`StoreHandle::poll_reads`] tells); read 8 bytes from it before
    /// looking with [`StoreHandle::is_durable`]. None without a tier.
    ///
    /// # Errors
    /// The system's, where it has no descriptors left.
    pub fn with_durable_descriptor<R>(
        &self,
        then: impl FnOnce(BorrowedFd<'_>) -> R,
    ) -> io::Result<Option<R>> {
        let Some(tier) = &self.core.tier else {
            return Ok(None);
        };
        let mut event = self.reads.durable_event.borrow_mut();
        if event.is_none() {
            *event = Some(tier.bell.subscribe()?);
        }
        Ok(event.as_ref().map(|event| then(event.as_fd())))
    }
}
