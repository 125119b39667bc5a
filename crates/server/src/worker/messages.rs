//! The fabric's part in a worker's turn.
//!
//! While there are sessions on the fabric the worker looks at its sockets every few turns only
//! ([`super::turns`]). Before it sleeps it arms the port, whose descriptor is then in its epoll
//! set, once.

use super::Worker;
use super::device::After;
use super::poller::{CALLS, PORT};
use super::turns::Turns;
use crate::fabric::engine::Engine;
use crate::peers::calls::Calls;
use crate::resources::Resources;
use farcache_fabric::Arming;
use rustix::event::epoll::EventFlags;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How much longer than for sockets a worker polls while there are sessions on the fabric. Its
/// clients may compute while a large value travels, and on the same host a sleeping processor takes
/// a quarter of such a value's time to wake up: 300 us make that a tenth of the time in between
/// (docs/journal/2026-11-22-libmemcached.md).
pub(super) const POLL_FACTOR: u32 = 6;

/// Looks at the port towards other servers in a turn in which answers are awaited: another server
/// takes a microsecond or two, and the rest of a turn costs as much as several looks.
const CALL_LOOKS_PER_TURN: u32 = 16;

/// Longest sleep of a worker that has sessions on the fabric: a wake-up may get lost in the
/// network.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// Attempts to arm the port in a row after which more of them at once are in vain.
const ARMINGS_MAX: u32 = 8;

/// Pause between two such attempts.
pub(super) const NAP: Duration = Duration::from_micros(50);

/// How long the end waits for messages on their way, at most.
const FINISH_TIME_MAX: Duration = Duration::from_secs(5);

/// A worker's part in the fabric, and when to look at the sockets.
pub(super) struct Messages {
    /// The clients' sessions, once one has asked for the fabric.
    pub engine: Option<Engine>,
    turns: Turns,
    /// Something has happened since the last look at the sockets.
    has_moved: bool,
    /// Attempts to arm the port since the last that went well and the last that something had
    /// happened.
    armings: u32,
}

impl Messages {
    /// Nobody uses the fabric yet.
    pub fn new() -> Self {
        Messages {
            engine: None,
            turns: Turns::new(),
            has_moved: false,
            armings: 0,
        }
    }

    /// Whether the next turn is the fabric's too, after one in which something came or not.
    fn has_turn(&mut self, has_moved: bool, may_poll: bool) -> bool {
        let has_turn = if has_moved {
            self.turns.found();
            self.turns.has_left()
        } else {
            self.turns.has_more(may_poll)
        };
        has_turn && self.has_sessions()
    }

    fn has_sessions(&self) -> bool {
        self.engine.as_ref().is_some_and(Engine::has_sessions)
    }

    /// Moves the clients' port; whether anything happened.
    fn turn(&mut self, resources: &mut Resources) -> bool {
        let engine = self.engine.as_mut();
        engine.is_some_and(|engine| engine.turn(resources))
    }
}

impl Worker {
    /// Takes its port, where one has been opened for a client.
    fn take_port(&mut self) {
        let shared = &self.resources.shared;
        let fabric = shared.fabric.get();
        let port = fabric.and_then(|fabric| fabric.places[self.index].take_port());
        self.messages.engine = port.map(|port| Engine::new(port, Arc::clone(shared), self.index));
    }

    /// Whether there are sessions on the fabric, or were a moment ago.
    pub(super) fn uses_messages(&self) -> bool {
        let now = self.resources.clock.now;
        let engine = self.messages.engine.as_ref();
        engine.is_some_and(|engine| engine.is_in_use(now)) || self.has_calls()
    }

    /// Whether other servers are asked over the fabric.
    fn has_calls(&self) -> bool {
        let peers = self.resources.peers.as_ref();
        let calls = peers.and_then(|peers| peers.wires.calls());
        calls.is_some_and(Calls::is_in_use)
    }

    /// Takes what other servers have answered over the fabric; whether anything happened.
    fn serve_calls(&mut self) -> bool {
        let Some(peers) = &mut self.resources.peers else {
            return false;
        };
        let Some(calls) = peers.wires.calls_mut().filter(|calls| calls.is_in_use()) else {
            return false;
        };
        let looks = match calls.is_awaited() {
            true => CALL_LOOKS_PER_TURN,
            false => 1,
        };
        let has_moved = (0..looks).any(|_| calls.turn());
        if has_moved {
            self.hear_calls();
            // Whoever has waited for this is not to wait for a look at the sockets, too; what it
            // asks next must be on its way before this worker may sleep.
            self.resume_unfinished();
            self.flush_peers();
        }
        has_moved
    }

    /// The port towards other servers says that there is something to do.
    pub(super) fn on_calls(&mut self) {
        self.messages.has_moved |= self.serve_calls();
    }

    /// Prepares the port towards other servers for sleep; false if there is something to do.
    fn arm_calls(&mut self) -> bool {
        let Some(peers) = &mut self.resources.peers else {
            return true;
        };
        let Some(calls) = peers.wires.calls_mut().filter(|calls| calls.is_in_use()) else {
            return true;
        };
        if calls.arm() == Arming::Busy {
            return false;
        }
        if let Some(descriptor) = calls.descriptor() {
            let flags = EventFlags::IN | EventFlags::ONESHOT;
            self.poller.watch_for(CALLS, descriptor, flags);
        }
        true
    }

    /// Whether there are sessions on the fabric.
    pub(super) fn has_sessions(&self) -> bool {
        self.messages.has_sessions()
    }

    /// Serves the fabric; whether the sockets need not be looked at in this turn.
    pub(super) fn serve_messages(&mut self) -> bool {
        if !self.uses_messages() {
            return false;
        }
        let lets_sockets_first = self.lets_sockets_first();
        let has_heard = self.serve_calls();
        let messages = &mut self.messages;
        let has_moved = messages.turn(&mut self.resources);
        messages.has_moved |= has_moved | has_heard;
        let may_poll = self.permit.may_poll(self.resources.turn_began);
        let goes_first = messages.has_turn(has_moved, may_poll);
        if goes_first && self.unfinished.is_empty() && !lets_sockets_first {
            messages.turns.take();
            if has_moved {
                self.resources.store.quiescent();
            }
            return true;
        }
        if let Some(engine) = &mut messages.engine {
            engine.sweep(&mut self.resources);
        }
        false
    }

    /// The sockets have been looked at, and something was found or not. Whether the fabric has been
    /// busy since the last time.
    pub(super) fn after_look(&mut self, has_found: bool) -> bool {
        let messages = &mut self.messages;
        messages.turns.looked(has_found);
        if messages.has_moved {
            messages.armings = 0;
        }
        std::mem::take(&mut messages.has_moved)
    }

    /// Lets others have the processor who want it; `now` is the time.
    pub(super) fn yield_processor(&mut self, now: Instant) {
        rustix::thread::sched_yield();
        self.messages.turns.gave_way(now.elapsed());
    }

    /// Prepares the fabric for sleep: how long that may be at most; none if there is something to
    /// do.
    pub(super) fn arm_messages(&mut self) -> Option<Option<Duration>> {
        let has_calls = self.has_calls();
        let are_calls_armed = self.arm_calls();
        let messages = &mut self.messages;
        let now = self.resources.clock.now;
        let engine = messages.engine.as_mut();
        let mut engine = engine.filter(|engine| engine.is_in_use(now));
        if engine.is_none() && !has_calls {
            return Some(None);
        }
        let is_busy = |engine: &mut &mut Engine| engine.arm() == Arming::Busy;
        if !are_calls_armed || engine.as_mut().is_some_and(is_busy) {
            messages.armings += 1;
            return None;
        }
        messages.turns.slept();
        messages.armings = 0;
        if let Some(descriptor) = engine.and_then(|engine| engine.descriptor()) {
            let flags = EventFlags::IN | EventFlags::ONESHOT;
            self.poller.watch_for(PORT, descriptor, flags);
        }
        Some(Some(SLEEP_MAX))
    }

    /// Whether the port could not be armed for some time.
    pub(super) fn is_long_unarmed(&self) -> bool {
        self.messages.armings > ARMINGS_MAX
    }

    /// The port says that there is something to do, or other threads have.
    pub(super) fn on_port(&mut self) {
        self.messages.has_moved |= self.messages.turn(&mut self.resources);
    }

    /// Takes what other threads have sent about the fabric.
    pub(super) fn collect_messages_mail(&mut self) {
        if self.messages.engine.is_none() {
            self.take_port();
        }
        if let Some(engine) = &mut self.messages.engine {
            engine.collect(&self.mailbox, self.resources.clock.now);
        }
        for bond in self.mailbox.collect_ended() {
            let connection = self.connections.get(bond.slot);
            let is_its = connection.is_some_and(|connection| {
                let life_line = connection.life_line.borrow();
                life_line.as_ref().is_some_and(|line| line.is_end_of(&bond))
            });
            if is_its {
                self.close(bond.slot);
            }
        }
    }

    /// Answers what has come over the fabric, as far as that waits for devices too.
    fn finish_messages(&mut self) {
        self.on_port();
        let deadline = Instant::now() + FINISH_TIME_MAX;
        while self.has_parked_messages() && Instant::now() < deadline {
            self.poll_devices(After::Sockets);
            self.on_durable();
            self.resources.store.quiescent();
            rustix::thread::sched_yield();
        }
    }

    fn has_parked_messages(&self) -> bool {
        let engine = self.messages.engine.as_ref();
        engine.is_some_and(Engine::has_parked)
    }

    /// Answers what has come over the fabric, and ends its sessions.
    pub(super) fn drain_messages(&mut self) {
        self.finish_messages();
        let Some(mut engine) = self.messages.engine.take() else {
            return;
        };
        engine.end_all(&mut self.resources);
        let deadline = Instant::now() + FINISH_TIME_MAX;
        let mut is_closed = false;
        while !engine.is_empty() {
            let now = Instant::now();
            if now >= deadline && !std::mem::replace(&mut is_closed, true) {
                engine.close_all();
            } else if is_closed {
                break;
            }
            self.resources.set_time(now);
            if !engine.turn(&mut self.resources) {
                rustix::thread::sched_yield();
            }
            self.resources.store.quiescent();
        }
    }
}
