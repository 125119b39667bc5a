//! Waiting for other servers: which connection waits for which replies.
//!
//! A connection that waits keeps its input, and nothing more is read from it, as while it waits for
//! a device.

use super::Worker;
use super::connection::Connection;
use super::poller::PEERS;
use crate::fabric::engine::Engine;
use crate::peers::desk::Answer;
use crate::peers::wire::Interest;
use crate::peers::{Asked, Asker, Tag, Waiter};
use crate::resources::Resources;
use farcache_session::{Failure, Status};
use farcache_store::Suspended;
use rustix::event::epoll::EventFlags;
use slab::Slab;
use std::time::Duration;

/// Lets a connection's session find the replies that it has waited for.
#[inline]
pub(super) fn stage(connection: &mut Connection, resources: &mut Resources) {
    if let Some(peers) = &mut resources.peers
        && let Some(asked) = connection.asked.take()
    {
        peers.stage(*asked);
    }
}

/// The session has run: begins its wait, if it has to, and keeps what it may still need.
#[inline]
pub(super) fn settle(connection: &mut Connection, status: Status, resources: &mut Resources) {
    let Some(peers) = &mut resources.peers else {
        return;
    };
    let now = resources.turn_began;
    match status {
        Status::Suspended(Suspended::OnPeer) => {
            let asked = peers.take_asked(
                Waiter::Connection(connection.slot),
                now,
                &resources.counters,
            );
            // Where there is nothing to wait for, it goes on with the next turn.
            connection.unfinished = !asked.is_waiting();
            connection.asked = Some(Box::new(asked));
        }
        Status::Suspended(Suspended::OnDevice | Suspended::OnArrivals) => {
            peers.desk.take_noted();
            let asked = peers.take_staged();
            connection.asked = Some(Box::new(asked));
        }
        _ => {
            peers.desk.take_noted();
            peers.desk.take_staged();
        }
    }
}

/// The questions of a connection, or a message.
fn asked_of<'a>(
    connections: &'a mut Slab<Box<Connection>>,
    engine: &'a mut Option<Engine>,
    waiter: Waiter,
) -> Option<&'a mut Asked> {
    match waiter {
        Waiter::Connection(slot) => connections.get_mut(slot)?.asked.as_deref_mut(),
        Waiter::Message(index) => engine.as_mut()?.asked_mut(index),
    }
}

impl Worker {
    /// Follows the map, sends what has been asked for, gives up what is late.
    pub(super) fn tend_peers(&mut self) {
        if self.resources.peers.is_some() {
            self.follow_map();
            self.tend();
        }
    }

    /// Places keys by the newest map from now on.
    pub(super) fn follow_map(&mut self) {
        let Some(peers) = &mut self.resources.peers else {
            return;
        };
        let mut failed = Vec::new();
        peers.follow_map(self.resources.turn_began, &mut failed);
        self.fail_forwards(&failed, Failure::Unreachable);
    }

    fn tend(&mut self) {
        let now = self.resources.turn_began;
        let Some(peers) = &mut self.resources.peers else {
            return;
        };
        let mut late = Vec::new();
        peers.wires.expire(now, &mut late);
        self.fail_forwards(&late, Failure::Late);
        self.begin_plans();
        self.flush_peers();
        if self.coding.has_to_code() {
            self.code();
            self.flush_peers();
        }
        self.retry_refused();
    }

    /// Sends what waits.
    pub(super) fn flush_peers(&mut self) {
        let now = self.resources.turn_began;
        let Some(peers) = &mut self.resources.peers else {
            return;
        };
        let mut failed = Vec::new();
        for (index, interest) in peers.wires.flush(now, &mut failed) {
            let Some(socket) = peers.wires.socket(index) else {
                continue;
            };
            let flags = match interest {
                Interest::Input => EventFlags::IN,
                Interest::InputAndRoom => EventFlags::IN | EventFlags::OUT,
            };
            self.poller.watch_for(PEERS + index as u64, socket, flags);
        }
        self.fail_forwards(&failed, Failure::Unreachable);
    }

    /// How long to sleep at most before a request is late.
    pub(super) fn peer_timeout(&self) -> Option<Duration> {
        let deadline = self.resources.peers.as_ref()?.next_deadline();
        let deadlines = deadline.into_iter().chain(self.coding_deadline());
        let deadline = deadlines.min()?;
        // Deadlines are whole milliseconds: just before one there would be nothing to do yet.
        let wait = deadline.saturating_duration_since(std::time::Instant::now());
        Some(wait + Duration::from_millis(1))
    }

    /// Connections to peers have been made, or cannot be.
    pub(super) fn collect_dialled(&mut self) {
        for dialled in self.mailbox.collect_dialled() {
            let now = self.resources.turn_began;
            let Some(peers) = &mut self.resources.peers else {
                return;
            };
            let mut failed = Vec::new();
            if let Some(index) = peers.wires.on_dialled(dialled, now, &mut failed)
                && let Some(socket) = peers.wires.socket(index)
            {
                let name = PEERS + index as u64;
                // If the kernel is out of memory for it, its requests are given up in time.
                let _ = self.poller.watch(name, socket, EventFlags::IN);
            }
            for (tag, failure) in failed {
                self.on_answer(tag, Err(failure));
            }
        }
    }

    /// A peer has sent something, or takes more.
    pub(super) fn on_peer(&mut self, index: usize) {
        let now = self.resources.turn_began;
        let Some(peers) = &mut self.resources.peers else {
            return;
        };
        let mut answered = Vec::new();
        peers
            .wires
            .receive(index, &mut self.resources.buffer, now, &mut answered);
        for (tag, answer) in answered {
            self.on_answer(tag, answer);
        }
    }

    /// Takes what has come from peers over the fabric.
    pub(super) fn hear_calls(&mut self) {
        let now = self.resources.turn_began;
        let Some(peers) = &mut self.resources.peers else {
            return;
        };
        let mut answered = Vec::new();
        peers.wires.hear_calls(now, &mut answered);
        for (tag, answer) in answered {
            self.on_answer(tag, answer);
        }
    }

    fn fail_forwards(&mut self, tags: &[Tag], failure: Failure) {
        for tag in tags {
            self.on_answer(*tag, Err(failure));
        }
    }

    fn on_answer(&mut self, tag: Tag, answer: Answer) {
        match tag {
            Tag::Session(asker) => self.on_session_answer(asker, answer),
            Tag::Plan(tag) => self.on_part(tag, answer),
        }
    }

    /// What a session has asked for is there.
    pub(super) fn on_session_answer(&mut self, tag: Asker, answer: Answer) {
        if answer
            .as_ref()
            .is_err_and(|failure| *failure != Failure::OtherMap)
        {
            self.resources.counters.forward_errors.bump();
        }
        let now = self.resources.turn_began;
        // It may have ended, and another one have its place.
        let (Some(asked), Some(peers)) = (
            asked_of(&mut self.connections, &mut self.messages.engine, tag.waiter),
            &mut self.resources.peers,
        ) else {
            return;
        };
        if peers.answer(asked, tag, answer, now) {
            if asked.is_refused() {
                self.resources.counters.forward_errors.bump();
            }
            self.queue_waiter(tag.waiter);
        }
    }

    /// Has the requests of a connection or a message run again.
    fn queue_waiter(&mut self, waiter: Waiter) {
        match waiter {
            Waiter::Connection(slot) => self.queue(slot),
            Waiter::Message(index) => {
                if let Some(engine) = &mut self.messages.engine {
                    engine.queue_answered(index);
                }
            }
        }
    }

    /// Has a connection's requests run again.
    fn queue(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        connection.unfinished = true;
        if !connection.is_queued {
            connection.is_queued = true;
            self.unfinished.push(slot);
        }
    }

    /// Lets those go on whose requests were refused, because maps differed.
    fn retry_refused(&mut self) {
        let now = self.resources.turn_began;
        let Some(peers) = &mut self.resources.peers else {
            return;
        };
        for tag in peers.take_delayed(now) {
            let Some(peers) = &self.resources.peers else {
                return;
            };
            let asked = asked_of(&mut self.connections, &mut self.messages.engine, tag.waiter);
            if asked.is_some_and(|asked| peers.end_delay(asked, tag)) {
                self.queue_waiter(tag.waiter);
            }
        }
    }

    /// A connection that may wait for peers closes.
    pub(super) fn stop_asking(&mut self, connection: &mut Connection) {
        let asked: Option<Box<Asked>> = connection.asked.take();
        if let (Some(peers), Some(asked)) = (&mut self.resources.peers, asked) {
            peers.forget(&asked);
        }
    }
}
