//! Waiting for others' values to arrive: large values may take a part of the memory while they do,
//! and a connection whose value would be too much beside them waits for its turn.
//!
//! It keeps its input, and nothing more is read from it, as while it waits for a device. Who sends
//! half of a value and no more must not stop it for ever: it is refused when none of the others'
//! values has ended for a time, or when it has waited for too long
//! ([`crate::resources::arrivals`]).

use super::Worker;
use super::connection::Connection;
use crate::resources::Resources;
use farcache_session::{Status, Turn};
use farcache_store::Suspended;

/// What a connection knows of its wait.
#[derive(Default)]
pub(super) struct Wait {
    /// Its place among all.
    pub turn: Turn,
    /// The worker's list names it.
    is_listed: bool,
    /// It is to wait on; otherwise its request is tried once more.
    is_waiting: bool,
}

impl Wait {
    /// Whether its input must wait.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }
}

/// The session has run: begins its wait, goes on with it, or ends it.
#[inline]
pub(super) fn settle(connection: &mut Connection, status: Status, resources: &mut Resources) {
    let begins = status == Status::Suspended(Suspended::OnArrivals);
    if begins || connection.wait.is_listed {
        list(connection, begins, resources);
    }
}

fn list(connection: &mut Connection, begins: bool, resources: &mut Resources) {
    let arrivals = &mut resources.waits.arrivals;
    let wait = &mut connection.wait;
    wait.is_waiting = begins;
    if begins && !wait.is_listed {
        arrivals.begin(connection.slot);
    } else if !begins {
        wait.turn.leave();
        arrivals.forget(connection.slot);
    }
    wait.is_listed = begins;
}

impl Worker {
    /// Lets those try again for whom there may be room now, or who have waited for long enough.
    pub(super) fn tend_arrivals(&mut self) {
        if self.resources.waits.arrivals.is_empty() {
            return;
        }
        let now = self.resources.turn_began;
        let limit = &self.resources.shared.service.arriving;
        let ended = limit.ended();
        let arrivals = &mut self.resources.waits.arrivals;
        arrivals.look(ended, now);
        let mut blocked = Vec::new();
        for waiting in arrivals.waiting() {
            let (slot, is_in_vain) = (waiting.slot, waiting.is_in_vain);
            let connection = &mut self.connections[slot];
            if is_in_vain || waiting.is_too_long {
                connection.wait.turn.give_up();
            } else if !limit.may_try(&connection.wait.turn) {
                continue;
            }
            if is_in_vain {
                limit.note_in_vain(ended);
            }
            connection.wait.is_waiting = false;
            connection.unfinished = true;
            if connection.has_unsent() {
                blocked.push(slot);
            } else if !connection.is_queued {
                connection.is_queued = true;
                self.unfinished.push(slot);
            }
        }
        for slot in blocked {
            self.let_pass(slot);
        }
    }

    /// The client has yet to take replies that come first: others must not wait for that.
    fn let_pass(&mut self, slot: usize) {
        let wait = &mut self.connections[slot].wait;
        wait.is_listed = false;
        wait.turn.leave();
        self.resources.waits.arrivals.forget(slot);
    }

    /// A connection that may wait closes.
    pub(super) fn stop_queueing(&mut self, connection: &Connection) {
        if connection.wait.is_listed {
            self.resources.waits.arrivals.forget(connection.slot);
        }
    }
}
