//! Waiting for devices: whose request waits for which reads, and whose replies until what was
//! stored is durable.
//!
//! A connection that waits keeps its input, and nothing more is read from it, so its order is kept;
//! the others go on.

use super::Worker;
use super::connection::Connection;
use super::poller::{DURABLE, Poller, READS};
use super::read;
use super::reply;
use crate::resources::Resources;
use crate::resources::deferred::Piece;
use crate::resources::reads::Place;
use farcache_store::{ReadId, StoreHandle, Suspended};
use rustix::event::epoll::EventFlags;
use std::io;
use std::time::Duration;

/// How much longer than for requests a worker polls while reads are under way: an SSD answers
/// within a tenth of a millisecond or two, and being woken costs a good part of that.
pub(super) const POLL_FACTOR: u32 = 4;

/// Requests that go on together when their reads have ended, before the sockets and the reads of
/// new requests get their turn. Devices report many reads at once; answering all of them before the
/// next ones are started would leave the device idle meanwhile, and who asks for what lies in
/// memory would wait as long.
const ENDED_PER_TURN: usize = 4;

/// How long to sleep at most while reads wait for memory.
const MEMORY_WAIT: Duration = Duration::from_millis(2);

/// When devices are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The sockets have just been looked at, and whoever goes first has been served.
    Sockets,
    /// The turn before has ended, and the sockets have not been looked at since.
    Turn,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reads {
    /// Nothing.
    #[default]
    None,
    /// The connection waits for reads that are under way.
    UnderWay(ReadId),
    /// The reads have ended: the connection's request can run again.
    Ended(ReadId),
}

/// Has the poller watch what a handle's devices tell.
///
/// # Errors
/// When descriptors, rings or watches are exhausted.
pub(super) fn register(store: &StoreHandle, poller: &Poller) -> io::Result<()> {
    store.let_requests_await_room();
    store.open_reader()?;
    store
        .with_read_descriptor(|descriptor| poller.watch(READS, descriptor, EventFlags::IN))
        .transpose()?;
    store
        .with_durable_descriptor(|descriptor| poller.watch(DURABLE, descriptor, EventFlags::IN))?
        .transpose()?;
    Ok(())
}

/// Lets the next request of a connection find what was read for it; false if nothing was.
pub(super) fn stage(connection: &mut Connection, resources: &Resources) -> bool {
    let Reads::Ended(id) = connection.reads else {
        return false;
    };
    connection.reads = Reads::None;
    resources.store.stage(id);
    true
}

/// The next request of a connection has to wait.
pub(super) fn suspend(
    connection: &mut Connection,
    suspended: Suspended,
    resources: &mut Resources,
) {
    if suspended != Suspended::OnDevice {
        return;
    }
    match resources.suspend(suspended, Place::Connection(connection.slot)) {
        Some(id) => {
            connection.reads = Reads::UnderWay(id);
            connection.record.note_device();
        }
        None => connection.closing = true,
    }
}

/// Keeps the replies until what they tell of is durable, or never will be; false if it is already.
/// Where no reply is wanted but to tell of a failure, that is waited for as well.
pub(super) fn hold(connection: &mut Connection, resources: &mut Resources) -> bool {
    let mark = resources.store.durable_mark();
    let has_nothing_to_tell = resources.replies.is_empty() && !resources.replies.has_changes();
    if resources.store.is_durable(mark) || has_nothing_to_tell {
        resources.replies.forget_changes();
        return false;
    }
    let replies = std::mem::take(&mut resources.replies);
    reply::keep(connection, replies, resources);
    connection.is_held = true;
    resources.waits.held.push_back((mark, connection.slot));
    true
}

impl Worker {
    /// How long to sleep at most for what no descriptor tells of.
    pub(super) fn device_timeout(&self) -> Option<Duration> {
        let awaits_memory = self.resources.store.reads_await_memory();
        awaits_memory.then_some(MEMORY_WAIT)
    }

    /// Lets those go on whose reads have ended.
    pub(super) fn poll_devices(&mut self, after: After) {
        if self.resources.waits.places.is_empty() && !self.has_pieces() {
            return;
        }
        let waits = &mut self.resources.waits;
        self.resources.store.poll_reads(&mut waits.done);
        let ended = waits.done.drain(..).map(Piece::Ended);
        waits.deferred.pieces.extend(ended);
        self.do_pieces(match (self.must_defer(), after) {
            (false, _) => ENDED_PER_TURN,
            (true, After::Sockets) => 1,
            (true, After::Turn) => 0,
        });
    }

    pub(super) fn go_on(&mut self, id: ReadId) {
        match self.resources.waits.places.remove(&id) {
            Some(Place::Connection(slot)) => self.on_reads_ended(slot, id),
            Some(Place::Datagram) => self.datagrams.resume(id, &mut self.resources),
            Some(Place::Message) => self.resume_message(id),
            // Given up meanwhile.
            None => self.resources.store.cancel_reads(id),
        }
    }

    fn on_reads_ended(&mut self, slot: usize, id: ReadId) {
        let connection = &mut self.connections[slot];
        connection.reads = Reads::Ended(id);
        connection.unfinished = true;
        if !connection.is_queued {
            connection.is_queued = true;
            self.unfinished.push(slot);
        }
    }

    /// Something has become durable, or never will: sends the replies that waited for it.
    pub(super) fn on_durable(&mut self) {
        let mut count = [0; 8];
        // It is readable; and if it were not, the next change would make it so.
        let _ = self
            .resources
            .store
            .with_durable_descriptor(|descriptor| rustix::io::read(descriptor, &mut count[..]));
        if let Some(engine) = &mut self.messages.engine {
            engine.on_durable(&self.resources);
        }
        self.datagrams.release(&self.resources);
        while let Some(&(mark, slot)) = self.resources.waits.held.front() {
            let store = &self.resources.store;
            let is_lost = store.is_lost(mark);
            if !is_lost && !store.is_durable(mark) {
                break;
            }
            self.resources.waits.held.pop_front();
            let connection = &mut self.connections[slot];
            connection.is_held = false;
            let outcome = match is_lost {
                true => reply::send_failed(connection, &mut self.resources),
                false => read::on_writable(connection, &mut self.resources),
            };
            self.settle(slot, outcome);
        }
    }

    /// A connection that waits closes.
    pub(super) fn stop_waiting(&mut self, connection: &Connection) {
        match connection.reads {
            Reads::UnderWay(id) | Reads::Ended(id) => self.resources.give_up_reads(id),
            Reads::None => {}
        }
        if connection.is_held {
            self.resources
                .waits
                .held
                .retain(|(_, slot)| *slot != connection.slot);
        }
    }

    fn resume_message(&mut self, id: ReadId) {
        if let Some(engine) = &mut self.messages.engine {
            engine.on_reads_ended(id, &mut self.resources);
        }
    }
}
