//! A handle's reads: what its requests met on the device, what is on its way, what has arrived.

mod sets;
mod staging;

pub use sets::ReadId;

use super::StoreHandle;
use super::room::RoomNeeds;
use crate::index::Location;
use crate::reclaimer::Prospect;
use crate::suspended::Suspended;
use crate::tier::Removed;
use farcache_log::{Outcome, Reader, Ticket, Unread};
use sets::{Set, Sets, Token};
use staging::Staging;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

/// What a handle keeps of its reads.
#[derive(Default)]
pub(crate) struct Reads {
    pub(super) room: RoomNeeds,
    /// What the operations since the last [`StoreHandle::start_reads`] have met and need.
    wanted: RefCell<Vec<Ticket>>,
    reader: RefCell<Option<Reader>>,
    sets: RefCell<Sets>,
    /// Started, and not yet given to the reader: it gets them together, and no more than there is
    /// memory for.
    queue: RefCell<VecDeque<Token>>,
    /// What the reader has told last; kept for its memory.
    ended: RefCell<Vec<Outcome>>,
    staging: RefCell<Staging>,
    /// Reads in the queue wait for memory, and others know.
    is_short: Cell<bool>,
    pub(super) durable_event: RefCell<Option<Arc<OwnedFd>>>,
}

impl Reads {
    /// Frees what items found before may have referred to.
    pub fn quiescent(&mut self) {
        self.staging.get_mut().quiescent();
    }

    fn want(&self, ticket: Ticket) {
        let mut wanted = self.wanted.borrow_mut();
        if !wanted
            .iter()
            .any(|other| other.location() == ticket.location())
        {
            wanted.push(ticket);
        }
    }
}

impl StoreHandle {
    /// Notes that the request cannot go on without the item at this location.
    ///
    /// # Errors
    /// [`Suspended`], unless the item's segment has gone meanwhile.
    pub(crate) fn want(&self, hash: u64, location: Location) -> Result<(), Suspended> {
        let tier = self.core.tier.as_ref();
        let Some(ticket) = tier.and_then(|tier| tier.ticket(self.guard(), hash, location)) else {
            return Ok(());
        };
        self.reads.want(ticket);
        Err(Suspended::OnDevice)
    }

    /// Whether what the last request would have to read, with what is staged for it, is more than
    /// one request should keep of the memory for reads: a request for several items should be given
    /// up and made for fewer.
    pub fn exceeds_read_share(&self) -> bool {
        let Some(tier) = self.core.tier.as_ref() else {
            return false;
        };
        let wanted = self.reads.wanted.borrow();
        let wanted_bytes: usize = wanted.iter().map(Ticket::bytes).sum();
        let staged_bytes = self.reads.staging.borrow().staged_bytes();
        (wanted_bytes + staged_bytes) as u64 > tier.request_bytes_max()
    }

    /// Forgets what the last request would have to read: it is given up.
    pub fn forget_reads(&self) {
        self.reads.room.take();
        self.reads.wanted.borrow_mut().clear();
    }

    /// Starts all reads that the last request, which is [`Suspended`], needs; the device gets them
    /// with the next [`StoreHandle::submit_reads`] or [`StoreHandle::poll_reads`], all that have
    /// gathered together. What is staged now belongs to them as well: a request that needs more
    /// than it first met gets everything together.
    ///
    /// # Errors
    /// The system's, where it has no ring or threads left; the reads stay needed.
    pub fn start_reads(&self) -> io::Result<ReadId> {
        if self.core.tier.is_none() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.open_reader()?;
        let mut sets = self.reads.sets.borrow_mut();
        let id = sets.open(
            &mut self.reads.wanted.borrow_mut(),
            self.reads.staging.borrow().staged(),
            self.reads.room.take(),
        );
        self.reads.queue.borrow_mut().extend(sets.tokens(id));
        Ok(id)
    }

    /// Hands the devices the reads that were started since the last time, with one system call.
    pub fn submit_reads(&self) {
        if !self.reads.queue.borrow().is_empty() {
            self.submit_queue(false);
        }
    }

    /// With `is_urgent` the first read is submitted whatever memory it takes.
    fn submit_queue(&self, mut is_urgent: bool) {
        let mut reader = self.reads.reader.borrow_mut();
        let (Some(tier), Some(reader)) = (&self.core.tier, reader.as_mut()) else {
            return;
        };
        let mut queue = self.reads.queue.borrow_mut();
        let mut sets = self.reads.sets.borrow_mut();
        while let Some(&token) = queue.front() {
            match sets.wanted(token) {
                None => sets.end(token, None),
                // A request that keeps memory already gets the rest that it needs to let go of it.
                Some(ticket)
                    if is_urgent
                        || sets.keeps_memory(token)
                        || tier.has_memory_for(ticket.bytes()) =>
                {
                    reader.submit(tier, ticket, token.0);
                    is_urgent = false;
                }
                Some(_) => break,
            }
            queue.pop_front();
        }
        self.note_short(!queue.is_empty());
        reader.start();
    }

    /// Says whether reads of this handle wait for memory; for
    /// [`StoreHandle::is_read_memory_short`].
    pub(crate) fn note_short(&self, is_short: bool) {
        if self.reads.is_short.replace(is_short) == is_short {
            return;
        }
        if let Some(tier) = self.core.tier.as_ref() {
            let count = &tier.counters().handles_short;
            match is_short {
                true => count.add(1),
                false => count.subtract(1),
            }
        }
    }

    /// Whether reads of any handle wait for memory that values take which have been read already.
    pub fn is_read_memory_short(&self) -> bool {
        let tier = self.core.tier.as_ref();
        tier.is_some_and(|tier| tier.counters().handles_short.get() > 0)
    }

    /// Readable while [`StoreHandle::poll_reads`] has something to tell; none before the first
    /// read. The wait for it may end with `EINTR` instead: then, too, there may be something to
    /// tell.
    ///
    /// The descriptor stays the same and open as long as the handle.
    pub fn with_read_descriptor<R>(&self, then: impl FnOnce(BorrowedFd<'_>) -> R) -> Option<R> {
        let reader = self.reads.reader.borrow();
        reader.as_ref().map(|reader| then(reader.descriptor()))
    }

    /// Opens the handle's access to the devices now instead of with the first read.
    ///
    /// # Errors
    /// The system's, where it has no ring or threads left.
    pub fn open_reader(&self) -> io::Result<()> {
        let Some(tier) = self.core.tier.as_ref() else {
            return Ok(());
        };
        let mut reader = self.reads.reader.borrow_mut();
        if reader.is_none() {
            *reader = Some(Reader::open(tier)?);
        }
        Ok(())
    }

    /// Reads under way.
    pub fn reads_in_flight(&self) -> usize {
        self.reads.sets.borrow().outstanding()
    }

    /// Whether reads wait for memory that others' values take, which no descriptor tells of: look
    /// again soon.
    pub fn reads_await_memory(&self) -> bool {
        !self.reads.queue.borrow().is_empty()
    }

    /// Appends the requests to `done` whose reads have all arrived since the last call.
    pub fn poll_reads(&self, done: &mut Vec<ReadId>) {
        self.submit_reads();
        let mut ended = self.reads.ended.take();
        if let Some(reader) = self.reads.reader.borrow_mut().as_mut() {
            reader.poll(&mut ended);
        }
        if !ended.is_empty() {
            self.enter();
        }
        for outcome in ended.drain(..) {
            self.take_outcome(outcome);
        }
        self.reads.ended.replace(ended);
        let mut sets = self.reads.sets.borrow_mut();
        sets.tell(done, |set| self.has_awaited_room(set));
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
        let token = Token(outcome.token());
        let ticket = self.reads.sets.borrow().ticket(token);
        let tier = self.core.tier.as_ref();
        let arrived = match tier.map(|tier| tier.arrive(self.guard(), &ticket, outcome)) {
            Some(Ok(arrived)) => Some(arrived),
            Some(Err(Unread::Lost)) => {
                self.lose(ticket.hash(), ticket.location());
                None
            }
            Some(Err(Unread::Gone)) | None => None,
        };
        self.reads.sets.borrow_mut().end(token, arrived);
    }

    /// An item cannot be read: it is a miss from now on.
    pub(crate) fn lose(&self, hash: u64, location: Location) {
        self.core.forget_version_at(location);
        if let Some(tier) = self.core.tier.as_ref()
            && self
                .core
                .remove_device_entry(self.guard(), hash, location, true)
                == Removed::Item
        {
            tier.counters().items_lost.add(1);
            self.events().removed.add(1);
        }
    }

    /// Gives up the reads of a request, whether they have arrived or not.
    pub fn cancel_reads(&self, id: ReadId) {
        self.reads.sets.borrow_mut().give_up(id);
    }

    /// Waits for the reads of a request; for callers that have nothing else to do.
    pub fn wait_reads(&self, id: ReadId) {
        let mut done = Vec::new();
        self.poll_reads(&mut done);
        while self.reads.sets.borrow().is_under_way(id) {
            self.wait_for_progress();
            self.poll_reads(&mut done);
        }
    }

    /// Waits until a read has ended, or for a moment where only room is awaited.
    fn wait_for_progress(&self) {
        if self.reads_await_memory() {
            // The caller may be the one who keeps it.
            return self.submit_queue(true);
        }
        let mut reader = self.reads.reader.borrow_mut();
        match reader.as_mut().filter(|reader| reader.in_flight() > 0) {
            Some(reader) => reader.wait(),
            None => self.wait_for_room(),
        }
    }

    /// Runs a request to its end, waiting for the devices as often as it takes; for callers that
    /// have nothing else to do. `request` must change nothing but through this handle, and returns
    /// nothing that borrows from it.
    ///
    /// # Errors
    /// As [`StoreHandle::start_reads`]; also where the request waits for anything but devices.
    pub fn run_blocking<R>(
        &self,
        mut request: impl FnMut(&StoreHandle) -> Result<R, Suspended>,
    ) -> io::Result<R> {
        loop {
            let id = match request(self) {
                Ok(outcome) => {
                    self.unstage();
                    return Ok(outcome);
                }
                Err(Suspended::OnDevice) => self.start_reads()?,
                Err(suspended @ (Suspended::OnPeer | Suspended::OnArrivals)) => {
                    return Err(io::Error::other(suspended));
                }
            };
            self.wait_reads(id);
            self.stage(id);
        }
    }
}
