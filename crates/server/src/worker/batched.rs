//! Batched I/O: connections that are ready at once and wait for nothing but new requests are read
//! from with one system call, and answered with another.
//!
//! A request and its reply are small for most clients, and the two system calls that they take by
//! themselves cost more than their handling. Everything else takes the stages one by one: TLS,
//! large values, a request's beginning that waits for its rest, replies that wait for room.

use super::connection::Outcome;
use super::poller::PEERS;
use super::{Worker, read, reply};
use crate::settings::IoUringMode;
use arrayvec::ArrayVec;
use farcache_proto::peek_key;
use farcache_sockets::{Batch, Receiving, Sending};
use rustix::event::epoll::{Event, EventFlags};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

/// Connections that are served together at most. The first one's reply waits for the others'
/// handling, about a microsecond each.
const BATCH_MAX: usize = 32;

/// Room for each connection's input, in bytes. More is read in the next turn. Not a power of two,
/// or the beginnings of all rooms would compete for the same lines of the core's cache.
const ROOM_BYTES: usize = (16 << 10) + 64;

/// What serving connections together needs.
pub(super) struct BatchedIo {
    batch: Batch,
    rooms: Box<[[u8; ROOM_BYTES]]>,
    /// Connections that are ready, and wait for nothing but requests.
    ready: Vec<usize>,
    /// What became of the calls.
    results: Vec<io::Result<usize>>,
    /// Replies to all of them.
    replies: Vec<u8>,
    /// The parts of the replies, each with the connection whose it is.
    parts: Vec<(usize, Range<usize>)>,
}

impl BatchedIo {
    /// The means; none where they are not wanted, or the system does not permit them.
    pub fn new(mode: IoUringMode) -> Option<Box<BatchedIo>> {
        if mode == IoUringMode::Off {
            return None;
        }
        let batch = Batch::new(BATCH_MAX as u32)
            .inspect_err(|error| tracing::info!(%error, "no io_uring for the sockets"))
            .ok()?;
        Some(Box::new(BatchedIo {
            batch,
            rooms: vec![[0; ROOM_BYTES]; BATCH_MAX].into_boxed_slice(),
            ready: Vec::with_capacity(super::EVENTS_MAX),
            results: Vec::with_capacity(BATCH_MAX),
            replies: Vec::with_capacity(BATCH_MAX * read::SHORT_REPLIES_BYTES_MAX),
            parts: Vec::with_capacity(BATCH_MAX),
        }))
    }
}

impl Worker {
    /// Does what the events tell of.
    pub(super) fn dispatch_all(&mut self, events: &[Event]) {
        let batched = match events.len() {
            ..2 => None,
            _ => self.batched.take_if(|batched| batched.batch.is_usable()),
        };
        let Some(mut batched) = batched else {
            return events.iter().for_each(|event| self.dispatch(event));
        };
        let mut ready = std::mem::take(&mut batched.ready);
        for event in events {
            match self.awaits_requests(event) {
                Some(slot) if self.defer(slot) => {}
                Some(slot) => ready.push(slot),
                None => self.dispatch(event),
            }
        }
        for slots in ready.chunks(BATCH_MAX) {
            self.serve_batched(slots, &mut batched);
        }
        ready.clear();
        batched.ready = ready;
        self.batched = Some(batched);
    }

    /// The connection that an event tells of, if it waits for nothing but requests.
    pub(super) fn awaits_requests(&mut self, event: &Event) -> Option<usize> {
        let (name, flags) = (event.data.u64(), event.flags);
        if name >= PEERS || flags != EventFlags::IN {
            return None;
        }
        let slot = name as usize;
        let connection = self.connections.get_mut(slot)?;
        connection.awaits_requests().then_some(slot)
    }

    fn serve_batched(&mut self, slots: &[usize], batched: &mut BatchedIo) {
        // One of the other events may have closed a connection, or made it do something else.
        let is_as_before = |worker: &mut Worker, slot: usize| {
            let connection = worker.connections.get_mut(slot);
            connection.is_some_and(|connection| connection.awaits_requests())
        };
        if slots.len() == 1 || !slots.iter().all(|&slot| is_as_before(self, slot)) {
            return slots
                .iter()
                .for_each(|&slot| self.serve(slot, EventFlags::IN));
        }
        let before = self.resources.before_batch();
        self.receive_batched(slots, batched);
        self.prefetch_batched(batched);
        self.handle_batched(slots, batched);
        self.send_batched(batched);
        self.resources.after_batch(before);
    }

    fn receive_batched(&self, slots: &[usize], batched: &mut BatchedIo) {
        let rooms = batched.rooms.iter_mut();
        let calls = slots.iter().zip(rooms).map(|(&slot, room)| Receiving {
            socket: self.connections[slot].transport.as_fd(),
            room,
        });
        batched.batch.receive(calls, &mut batched.results);
    }

    /// Starts fetching what the requests will touch, so that their cache misses overlap.
    fn prefetch_batched(&self, batched: &BatchedIo) {
        let received = batched.results.iter().zip(&batched.rooms);
        let keys: ArrayVec<&[u8], BATCH_MAX> = received
            .filter_map(|(result, room)| peek_key(&room[..*result.as_ref().ok()?]))
            .collect();
        self.resources.store.prefetch(&keys);
    }

    fn handle_batched(&mut self, slots: &[usize], batched: &mut BatchedIo) {
        let results = batched.results.drain(..);
        for ((&slot, room), result) in slots.iter().zip(&batched.rooms).zip(results) {
            let connection = &mut self.connections[slot];
            match read::on_received(connection, &mut self.resources, result, room) {
                Some(outcome) => self.settle(slot, outcome),
                None => {
                    let begin = batched.replies.len();
                    let replies = self.resources.replies.contiguous();
                    batched
                        .replies
                        .extend_from_slice(replies.unwrap_or_default());
                    self.resources.replies.clear();
                    batched.parts.push((slot, begin..batched.replies.len()));
                }
            }
        }
    }

    fn send_batched(&mut self, batched: &mut BatchedIo) {
        let (parts, replies) = (&batched.parts, &batched.replies);
        let calls = parts.iter().map(|(slot, part)| Sending {
            socket: self.connections[*slot].transport.as_fd(),
            bytes: &replies[part.clone()],
        });
        batched.batch.send(calls, &mut batched.results);
        for ((slot, part), result) in batched.parts.drain(..).zip(batched.results.drain(..)) {
            let connection = &mut self.connections[slot];
            let replies = &batched.replies[part];
            let outcome: Outcome = reply::sent(connection, &mut self.resources, replies, result);
            self.settle(slot, outcome);
        }
        batched.replies.clear();
    }
}
