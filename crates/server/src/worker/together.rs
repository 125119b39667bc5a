//! Serving together: connections that are ready at once and wait for nothing but new requests are read
//! from with one system call, and answered with another.
//!
//! A request and its reply are small for most clients, and the two system calls that they take by
//! themselves cost more than their handling. Everything else takes the stages one by one: TLS, large
//! values, a request's beginning that waits for its rest, replies that wait for room.

use super::connection::Outcome;
use super::{DATAGRAMS, Worker, read, reply};
use crate::settings::IoUringMode;
use arrayvec::ArrayVec;
use farcache_proto::peek_key;
use farcache_sockets::{Batch, Receiving, Sending};
use rustix::event::epoll::{Event, EventFlags};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

/// Connections that are served together at most. The first one's reply waits for the others' handling,
/// about a microsecond each.
const TOGETHER_MAX: usize = 32;

/// Room for each connection's input, in bytes. More is read in the next turn. Not a power of two, or the
/// beginnings of all rooms would compete for the same lines of the core's cache.
const ROOM_BYTES: usize = (16 << 10) + 64;

/// What serving connections together needs.
pub(super) struct Together {
    batch: Batch,
    rooms: Box<[u8]>,
    /// Connections that are ready, and wait for nothing but requests.
    ready: Vec<usize>,
    /// What became of the calls.
    results: Vec<io::Result<usize>>,
    /// Replies to all of them.
    replies: Vec<u8>,
    /// Which part of the replies is whose.
    parts: Vec<(usize, Range<usize>)>,
}

impl Together {
    /// The means; none where they are not wanted, or the system does not permit them.
    pub fn new(mode: IoUringMode) -> Option<Box<Together>> {
        if mode == IoUringMode::Off {
            return None;
        }
        let batch = Batch::new(TOGETHER_MAX as u32)
            .inspect_err(|error| tracing::info!(%error, "no io_uring for the sockets"))
            .ok()?;
        Some(Box::new(Together {
            batch,
            rooms: vec![0; TOGETHER_MAX * ROOM_BYTES].into_boxed_slice(),
            ready: Vec::with_capacity(super::EVENTS_MAX),
            results: Vec::with_capacity(TOGETHER_MAX),
            replies: Vec::with_capacity(TOGETHER_MAX * read::SHORT_REPLIES_BYTES_MAX),
            parts: Vec::with_capacity(TOGETHER_MAX),
        }))
    }
}

impl Worker {
    /// Does what the events tell of.
    pub(super) fn dispatch_all(&mut self, events: &[Event]) {
        let together = match events.len() {
            ..2 => None,
            _ => self.together.take_if(|together| together.batch.is_usable()),
        };
        let Some(mut together) = together else {
            return events.iter().for_each(|event| self.dispatch(event));
        };
        let mut ready = std::mem::take(&mut together.ready);
        for event in events {
            match self.awaits_requests(event) {
                Some(slot) if self.defer(slot) => {}
                Some(slot) => ready.push(slot),
                None => self.dispatch(event),
            }
        }
        for slots in ready.chunks(TOGETHER_MAX) {
            self.serve_together(slots, &mut together);
        }
        ready.clear();
        together.ready = ready;
        self.together = Some(together);
    }

    /// The connection that an event tells of, if it waits for nothing but requests.
    pub(super) fn awaits_requests(&mut self, event: &Event) -> Option<usize> {
        let (name, flags) = (event.data.u64(), event.flags);
        if name >= DATAGRAMS || flags != EventFlags::IN {
            return None;
        }
        let slot = name as usize;
        let connection = self.connections.get_mut(slot)?;
        connection.awaits_requests().then_some(slot)
    }

    fn serve_together(&mut self, slots: &[usize], together: &mut Together) {
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
        self.receive_together(slots, together);
        self.prefetch_together(together);
        self.handle_together(slots, together);
        self.send_together(together);
        self.resources.after_batch(before);
    }

    fn receive_together(&self, slots: &[usize], together: &mut Together) {
        let rooms = together.rooms.chunks_exact_mut(ROOM_BYTES);
        let calls = slots.iter().zip(rooms).map(|(&slot, room)| Receiving {
            socket: self.connections[slot].transport.as_fd(),
            room,
        });
        together.batch.receive(calls, &mut together.results);
    }

    /// Starts fetching what the requests will touch, so that their cache misses overlap.
    fn prefetch_together(&self, together: &Together) {
        let rooms = together.rooms.chunks_exact(ROOM_BYTES);
        let received = together.results.iter().zip(rooms);
        let keys: ArrayVec<&[u8], TOGETHER_MAX> = received
            .filter_map(|(result, room)| peek_key(&room[..*result.as_ref().ok()?]))
            .collect();
        self.resources.store.prefetch(&keys);
    }

    fn handle_together(&mut self, slots: &[usize], together: &mut Together) {
        let rooms = together.rooms.chunks_exact(ROOM_BYTES);
        let results = together.results.drain(..);
        for ((&slot, room), result) in slots.iter().zip(rooms).zip(results) {
            let connection = &mut self.connections[slot];
            match read::on_received(connection, &mut self.resources, result, room) {
                Some(outcome) => self.settle(slot, outcome),
                None => {
                    let begin = together.replies.len();
                    let replies = self.resources.replies.contiguous();
                    together
                        .replies
                        .extend_from_slice(replies.unwrap_or_default());
                    self.resources.replies.clear();
                    together.parts.push((slot, begin..together.replies.len()));
                }
            }
        }
    }

    fn send_together(&mut self, together: &mut Together) {
        let (parts, replies) = (&together.parts, &together.replies);
        let calls = parts.iter().map(|(slot, part)| Sending {
            socket: self.connections[*slot].transport.as_fd(),
            bytes: &replies[part.clone()],
        });
        together.batch.send(calls, &mut together.results);
        for ((slot, part), result) in together.parts.drain(..).zip(together.results.drain(..)) {
            let connection = &mut self.connections[slot];
            let replies = &together.replies[part];
            let outcome: Outcome = reply::sent(connection, &mut self.resources, replies, result);
            self.settle(slot, outcome);
        }
        together.replies.clear();
    }
}
