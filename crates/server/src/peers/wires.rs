//! One worker's connections to the other servers, and its sessions with them on the fabric.

use super::Tag;
use super::attempt::{self, Attempt, HasCalls};
use super::calls::Calls;
use super::desk::Answer;
use super::lane::{Carrier, Lane};
use super::wire::{Interest, Wire};
use crate::dial::{CallPort, Dialled, Unconnected, hello};
use crate::mailbox::Mailbox;
use crate::shared::Shared;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_fabric::Grant;
use farcache_peers::frame::Kind;
use farcache_session::Failure;
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Servers that give keys to which connections are made ahead: each is dialled by a thread.
const CONNECTED_AHEAD_MAX: usize = 8;

/// The servers that give keys to this one by the map.
fn givers(map: &ClusterMap, me: ServerId) -> BTreeSet<ServerId> {
    let moves = map.content().moves.iter();
    let taken = moves.filter(|moved| moved.to == me);
    taken.map(|moved| moved.from).collect()
}

/// All of them; each is made when it is first needed.
pub struct Wires {
    wires: Vec<Wire>,
    /// Nothing is to be sent and nothing outstanding, and nobody has touched a wire since that was
    /// seen: a server that asks no other one need not look at all of them in every turn.
    are_at_rest: bool,
    /// Sessions with other servers on the fabric, once there are any.
    calls: Option<Calls>,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
}

impl Wires {
    pub(super) fn new(shared: &Arc<Shared>, mailbox: &Arc<Mailbox>) -> Wires {
        Wires {
            wires: Vec::new(),
            are_at_rest: true,
            calls: None,
            shared: Arc::clone(shared),
            mailbox: Arc::clone(mailbox),
        }
    }

    fn timeout(&self) -> Duration {
        self.shared.settings.forward_timeout
    }

    /// The wire to this peer, by its number.
    pub(super) fn to(&mut self, peer: ServerId, lane: Lane) -> usize {
        let mut wires = self.wires.iter();
        let known = wires.position(|wire| wire.peer == peer && wire.lane == lane);
        known.unwrap_or_else(|| {
            let wire = Wire::new(peer, lane, self.shared.started);
            self.wires.push(wire);
            self.wires.len() - 1
        })
    }

    /// Sends a frame, as the server `me` of this map, and has the wire connected where it is not.
    ///
    /// # Errors
    /// Nothing can be sent.
    pub(super) fn ask(
        &mut self,
        index: usize,
        tag: Tag,
        frame: (Kind, &[&[u8]]),
        (me, map): (ServerId, &ClusterMap),
        now: Instant,
    ) -> Result<Carrier, Failure> {
        let (deadline, epoch) = (now + self.timeout(), map.epoch().0);
        self.are_at_rest = false;
        let wire = &mut self.wires[index];
        let carrier = wire.ask(tag, frame, epoch, deadline, now)?;
        if wire.must_dial() {
            self.dial(index, me, map);
        }
        Ok(carrier)
    }

    /// A server that is back is asked again at once.
    pub(super) fn end_rest(&mut self, index: usize, now: Instant) {
        self.wires[index].end_rest(now);
    }

    /// Whether nobody listened at a server's addresses a moment ago.
    pub fn is_gone(&mut self, server: ServerId, now: Instant) -> bool {
        let index = self.to(server, Lane::Parts);
        self.wires[index].is_gone(now)
    }

    /// Since when there has been a connection to a server for parts, where there is one.
    pub fn up_since(&mut self, server: ServerId) -> Option<Instant> {
        let index = self.to(server, Lane::Parts);
        self.wires[index].up_since()
    }

    /// Has a connection made, as the server `me`.
    fn dial(&mut self, index: usize, me: ServerId, map: &ClusterMap) {
        let peer = self.wires[index].peer;
        let addresses = map.server(peer).map(|server| server.addresses.clone());
        let attempt = self.wires[index].begin_dialling();
        let started = attempt::start(
            Attempt {
                index,
                attempt,
                addresses: addresses.unwrap_or_default(),
                timeout: self.timeout(),
                shared: Arc::clone(&self.shared),
                hello: hello(me, peer, map),
                calls: match self.calls {
                    Some(_) => HasCalls::Yes,
                    None => HasCalls::No,
                },
            },
            Arc::clone(&self.mailbox),
        );
        if let Err(error) = started {
            let dialled = Dialled {
                index,
                attempt,
                result: Err(Unconnected::because(error.to_string())),
            };
            // The worker learns of it as of any other failure.
            self.mailbox.dialled(dialled);
        }
    }

    /// Connects to servers that give keys to this one by the map: each read of a key that has not
    /// come yet would wait for that. Where there are many, connections are made as they are needed.
    pub(super) fn connect_ahead(&mut self, me: ServerId, map: &ClusterMap, now: Instant) {
        for giver in givers(map, me).into_iter().take(CONNECTED_AHEAD_MAX) {
            let index = self.to(giver, Lane::Moves);
            if self.wires[index].want(now) {
                self.dial(index, me, map);
            }
        }
    }

    /// A connection has been made, or cannot be; adds the requests that wait in vain to `failed`.
    pub fn on_dialled(
        &mut self,
        dialled: Dialled,
        now: Instant,
        failed: &mut Vec<(Tag, Failure)>,
    ) -> Option<usize> {
        let failure = match &dialled.result {
            Err(unconnected) if unconnected.is_nobody_there => Failure::NobodyThere,
            _ => Failure::Unreachable,
        };
        let mut tags = Vec::new();
        self.are_at_rest = false;
        let wire = &mut self.wires[dialled.index];
        let (result, session) = match dialled.result {
            Ok(made) => (Ok(made.socket), Some((made.grant, made.port))),
            Err(reason) => (Err(reason), None),
        };
        let is_up = wire.on_dialled(dialled.attempt, result, now, &mut tags);
        failed.extend(tags.into_iter().map(|tag| (tag, failure)));
        if is_up && let Some((Some(grant), port)) = session {
            self.greet(dialled.index, &grant, port, now);
        }
        is_up.then_some(dialled.index)
    }

    /// A peer has granted a session on the fabric; `port` is for it, if there was none.
    fn greet(&mut self, index: usize, grant: &Grant, port: Option<Box<CallPort>>, now: Instant) {
        if self.calls.is_none() {
            self.calls = port.map(Calls::new);
        }
        let (Some(calls), wire) = (&mut self.calls, &mut self.wires[index]) else {
            return;
        };
        match calls.greet(grant) {
            Ok(call) => wire.beside.begin(call, now),
            Err(error) => {
                tracing::debug!(%error, peer = wire.peer.0, "no session on the fabric");
            }
        }
    }

    /// Sessions with other servers on the fabric.
    pub fn calls(&self) -> Option<&Calls> {
        self.calls.as_ref()
    }

    /// Sessions with other servers on the fabric, to move their port.
    pub fn calls_mut(&mut self) -> Option<&mut Calls> {
        self.calls.as_mut()
    }

    /// Takes what has come of them.
    pub fn hear_calls(&mut self, now: Instant, answered: &mut Vec<(Tag, Answer)>) {
        self.are_at_rest = false;
        let (Some(calls), wires) = (&mut self.calls, &mut self.wires) else {
            return;
        };
        calls.tell(|calls, whose, news| {
            let mut wires = wires.iter_mut();
            let is_its = |wire: &&mut Wire| wire.beside.call().is_some_and(|call| whose.is(call));
            if let Some(wire) = wires.find(is_its) {
                wire.on_news(&news, calls, now, answered);
            }
        });
    }

    /// The socket of a wire that is up.
    pub fn socket(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.wires.get(index)?.socket()
    }

    /// Reads what has come, into `buffer` first.
    pub fn receive(
        &mut self,
        index: usize,
        buffer: &mut [u8],
        now: Instant,
        answered: &mut Vec<(Tag, Answer)>,
    ) {
        self.are_at_rest = false;
        if let Some(wire) = self.wires.get_mut(index) {
            wire.receive(buffer, now, answered);
        }
    }

    /// Sends what waits; returns the wires for which epoll must tell something else from now on.
    pub fn flush(&mut self, now: Instant, failed: &mut Vec<Tag>) -> Vec<(usize, Interest)> {
        if self.are_at_rest {
            return Vec::new();
        }
        if let Some(calls) = &mut self.calls {
            self.wires
                .iter_mut()
                .for_each(|wire| wire.beside.flush(calls, now));
        }
        let wires = self.wires.iter_mut().enumerate();
        let changed = wires.filter_map(|(index, wire)| Some((index, wire.flush(now, failed)?)));
        let changed = changed.collect();
        self.are_at_rest = self.wires.iter().all(Wire::is_at_rest);
        changed
    }

    /// Gives up what is late.
    pub fn expire(&mut self, now: Instant, late: &mut Vec<Tag>) {
        if self.are_at_rest {
            return;
        }
        let timeout = self.timeout();
        for wire in &mut self.wires {
            wire.expire(now, timeout, late);
        }
    }

    /// When the next request will be late.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.wires.iter().filter_map(Wire::next_deadline).min()
    }

    /// Another map is followed; adds requests to `failed` whose servers have other addresses now.
    pub(super) fn follow(
        &mut self,
        (old, new): (&ClusterMap, &ClusterMap),
        now: Instant,
        failed: &mut Vec<Tag>,
    ) {
        self.are_at_rest = false;
        for wire in &mut self.wires {
            let addresses =
                |map: &ClusterMap| map.server(wire.peer).map(|server| server.addresses.clone());
            if addresses(old) != addresses(new) {
                wire.end(now, failed);
            }
        }
    }
}
