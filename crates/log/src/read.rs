//! Reading one item's record: where it lies, and whether what was read is that record.

use crate::device::{Buffer, Direction, Engine, Memory, Outcome, Transfer};
use crate::format::{RECORD_HEADER_BYTES, record_item};
use crate::guard::Guard;
use crate::item::RawItem;
use crate::location::Location;
use crate::log::Log;
use crate::options::TierEventKind;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A record to be read.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    hash: u64,
    location: Location,
    bytes: usize,
    write_number: u64,
    device: usize,
    /// Where the blocks to read begin.
    offset: u64,
    /// Where the record lies in them.
    lead: usize,
    record_bytes: usize,
}

impl Ticket {
    /// The hash of its key.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Where the item lies.
    pub fn location(&self) -> Location {
        self.location
    }

    /// Bytes that are read for it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// One for tests of what handles tickets: nothing can be read with it.
    #[doc(hidden)]
    pub fn of_nothing(hash: u64, location: Location) -> Ticket {
        Ticket {
            hash,
            location,
            bytes: 0,
            write_number: 0,
            device: 0,
            offset: 0,
            lead: 0,
            record_bytes: 0,
        }
    }
}

/// A record that has arrived, verified.
#[derive(Clone)]
pub struct Arrived {
    location: Location,
    write_number: u64,
    buffer: Arc<Buffer>,
    item_offset: usize,
}

impl Arrived {
    /// Where the item lies on the device.
    pub fn location(&self) -> Location {
        self.location
    }

    /// The write number of its segment.
    pub fn write_number(&self) -> u64 {
        self.write_number
    }

    /// What was read. While it is kept, the item stays where it is.
    pub fn buffer(&self) -> &Arc<Buffer> {
        &self.buffer
    }

    /// As [`Arrived::buffer`], of an item that is found in another way from now on, or not at all.
    pub fn into_buffer(self) -> Arc<Buffer> {
        self.buffer
    }

    /// The item.
    pub fn item(&self) -> RawItem<'_> {
        // SAFETY: the record was verified when it arrived, so an item lies there; it is read only
        // from then on, and lies in the buffer, which this keeps.
        unsafe { RawItem::at(self.buffer.address().wrapping_add(self.item_offset)) }
    }
}

/// Why a read has brought no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The slot holds another segment by now.
    Gone,
    /// The item is there and cannot be read.
    Lost,
}

/// One thread's reads at the devices.
pub struct Reader(Engine);

impl Reader {
    /// Access to the devices of a log.
    ///
    /// # Errors
    /// The system's, where it has no ring or threads left.
    pub fn open(log: &Log) -> io::Result<Reader> {
        let (depth, uring) = (log.config.reads_max, log.config.engine.uring());
        Engine::new(&log.devices, depth, uring).map(Reader)
    }

    /// Asks for a record, under a number of the caller's; the device learns of it with
    /// [`Reader::start`].
    pub fn submit(&mut self, log: &Log, ticket: &Ticket, token: u64) {
        self.0.submit(Transfer {
            direction: Direction::Read,
            device: ticket.device,
            offset: ticket.offset,
            buffer: Memory::Own(log.reading.pool.take(ticket.bytes)),
            bytes: ticket.bytes,
            token,
        });
    }

    /// Hands the devices what was submitted, with one system call.
    pub fn start(&mut self) {
        self.0.start();
    }

    /// Appends the reads that have ended.
    pub fn poll(&mut self, ended: &mut Vec<Outcome>) {
        self.0.poll(ended);
    }

    /// Waits until a read has ended.
    pub fn wait(&mut self) {
        self.0.wait();
    }

    /// Reads that have not ended.
    pub fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    /// Readable while reads have ended that nobody was told of.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.descriptor()
    }
}

impl Log {
    /// How to read the item at a location; none if its segment has gone.
    pub fn ticket(&self, guard: Guard<'_>, hash: u64, location: Location) -> Option<Ticket> {
        let table = self.slots.table(guard, location.slot())?;
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

    /// What the read of a ticket has brought, if it is what it should be.
    ///
    /// # Errors
    /// [`Unread`] otherwise.
    pub fn arrive(
        &self,
        guard: Guard<'_>,
        ticket: &Ticket,
        outcome: Outcome,
    ) -> Result<Arrived, Unread> {
        self.counters.reads.add(1);
        self.counters.bytes_read.add(ticket.bytes as u64);
        self.note_read_result(ticket.device, outcome.result.is_ok());
        let Memory::Own(buffer) = outcome.transfer.buffer else {
            return Err(Unread::Gone);
        };
        if let Err(error) = outcome.result {
            self.counters.read_errors.add(1);
            return Err(self.unread(guard, ticket, TierEventKind::ReadFailed, &error.to_string()));
        }
        let record = &buffer[ticket.lead..ticket.lead + ticket.record_bytes];
        if record_item(record, ticket.write_number, ticket.location.item()).is_none() {
            if !self.is_current(guard, ticket) {
                return Err(Unread::Gone);
            }
            self.counters.checksum_errors.add(1);
            let place = format!("offset {}", ticket.offset);
            return Err(self.unread(guard, ticket, TierEventKind::Corrupt, &place));
        }
        let arrived = Arrived {
            location: ticket.location,
            write_number: ticket.write_number,
            item_offset: ticket.lead + RECORD_HEADER_BYTES,
            buffer: Arc::new(buffer),
        };
        if self.is_current(guard, ticket) {
            self.rebase(guard, ticket.location, arrived.item());
        }
        Ok(arrived)
    }

    fn unread(
        &self,
        guard: Guard<'_>,
        ticket: &Ticket,
        kind: TierEventKind,
        detail: &str,
    ) -> Unread {
        let name = self.devices[ticket.device].name();
        self.events.tell(kind, &name, detail);
        match self.is_current(guard, ticket) {
            true => Unread::Lost,
            false => Unread::Gone,
        }
    }

    /// Makes an item usable that another process wrote: its times are told in this one's seconds.
    fn rebase(&self, guard: Guard<'_>, location: Location, item: RawItem<'_>) {
        let Some(table) = self.slots.table(guard, location.slot()) else {
            return;
        };
        if table.epoch_shift != 0 {
            item.rebase(table.expiry(location.item()), table.epoch_shift);
        }
        if table.is_win_sent(location.item()) {
            item.set_win_sent();
        }
    }

    /// Whether the slot still holds what the ticket was for.
    fn is_current(&self, guard: Guard<'_>, ticket: &Ticket) -> bool {
        let table = self.slots.table(guard, ticket.location.slot());
        table.is_some_and(|table| table.write_number == ticket.write_number)
    }

    /// The write number of the segment of a location; none if it has gone.
    pub fn write_number_at(&self, guard: Guard<'_>, location: Location) -> Option<u64> {
        let table = self.slots.table(guard, location.slot())?;
        Some(table.write_number)
    }
}
