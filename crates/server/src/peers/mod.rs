//! The other servers of the cluster, as one worker reaches them: requests for keys that they own
//! are passed on to them, and their replies back.
//!
//! | part | what it does |
//! |---|---|
//! | [`desk`] | who owns a key; what sessions ask for, and what has been answered |
//! | [`wire`] | one worker's connection to one peer |
//! | [`dial`] | how such a connection is made, on a thread of its own |
//! | `worker/forward.rs` | joins them with the worker's connections |

pub mod desk;
pub mod dial;
pub mod wire;

use crate::cluster::{Cluster, Follower, hello};
use crate::shared::Shared;
use crate::worker::mailbox::Mailbox;
use desk::{Answer, Desk};
use dial::Dialled;
use farcache_cluster::ServerId;
use farcache_session::counters::Counters;
use farcache_session::{FORWARDED_BYTES_MAX, Failure, Forward, Peer};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::{Interest, Wire};

/// Whose request an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The connection.
    pub slot: usize,
    /// Which of its waits.
    wait: u64,
    /// Which of the requests of that.
    index: usize,
}

/// A connection's requests to other servers, all of which it waits for.
#[derive(Default)]
pub struct Asked {
    wait: u64,
    missing: usize,
    requests: Vec<(Vec<u8>, Option<Answer>)>,
}

impl Asked {
    /// Whether there is no reply to one of them yet.
    pub fn is_waiting(&self) -> bool {
        self.missing > 0
    }

    fn bytes(&self) -> usize {
        let answers = self
            .requests
            .iter()
            .filter_map(|(_, answer)| answer.as_ref());
        answers
            .map(|answer| answer.as_ref().map_or(0, Vec::len))
            .sum()
    }
}

/// One worker's part.
pub struct Peers {
    /// What its sessions see.
    pub desk: Desk,
    wires: Vec<Wire>,
    next_wait: u64,
    /// Bytes of replies that wait for sessions.
    held_bytes: usize,
    /// Whoever brings maps waits for this worker to follow them.
    follower: Option<Arc<Follower>>,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
}

impl Drop for Peers {
    fn drop(&mut self) {
        if let Some(follower) = &self.follower {
            follower.ends();
        }
    }
}

impl Peers {
    /// The part of a worker; none where the server does not forward.
    pub fn new(shared: &Arc<Shared>, mailbox: &Arc<Mailbox>) -> Option<Box<Peers>> {
        let cluster = shared.cluster.as_ref()?;
        let member = cluster.member()?;
        let desk = Desk::new(member.place.clone(), cluster.map());
        Some(Box::new(Peers {
            follower: cluster.join(desk.epoch(), mailbox),
            desk,
            wires: Vec::new(),
            next_wait: 0,
            held_bytes: 0,
            shared: Arc::clone(shared),
            mailbox: Arc::clone(mailbox),
        }))
    }

    fn cluster(&self) -> &Cluster {
        let cluster = self.shared.cluster.as_ref();
        cluster.expect("whoever has peers is in a cluster")
    }

    fn timeout(&self) -> Duration {
        self.shared.settings.forward_timeout
    }

    /// Lets a connection's session find what it has asked for.
    pub fn stage(&mut self, asked: Asked) {
        self.held_bytes -= asked.bytes();
        let requests = asked.requests.into_iter();
        let answered = requests.filter_map(|(request, answer)| Some((request, answer?)));
        self.desk.stage(answered.collect());
    }

    /// What a session has noted, to be asked for now, and what it has not used of the answers.
    pub fn take_asked(&mut self, slot: usize, now: Instant, counters: &Counters) -> Asked {
        let mut asked = self.take_staged();
        asked.wait = self.next_wait;
        self.next_wait += 1;
        for (owner, request) in self.desk.take_noted() {
            let tag = Tag {
                slot,
                wait: asked.wait,
                index: asked.requests.len(),
            };
            let sent = self.send(owner, &request, tag, now);
            asked.missing += usize::from(sent.is_ok());
            match sent.is_ok() {
                true => counters.forwarded.bump(),
                false => counters.forward_errors.bump(),
            }
            asked.requests.push((request, sent.err().map(Err)));
        }
        asked
    }

    /// What a session has not used of the answers, for a request that waits for something else.
    pub fn take_staged(&mut self) -> Asked {
        let staged = self.desk.take_staged().into_iter();
        let requests = staged.map(|(request, answer)| (request, Some(answer)));
        let asked = Asked {
            requests: requests.collect(),
            ..Asked::default()
        };
        self.held_bytes += asked.bytes();
        asked
    }

    /// A connection closes that waits.
    pub fn forget(&mut self, asked: &Asked) {
        self.held_bytes -= asked.bytes();
    }

    fn send(&mut self, owner: Peer, request: &[u8], tag: Tag, now: Instant) -> Result<(), Failure> {
        if self.held_bytes as u64 > FORWARDED_BYTES_MAX {
            return Err(Failure::TooMuch);
        }
        let me = self.desk.me().ok_or(Failure::NoPlace)?;
        let (deadline, epoch) = (now + self.timeout(), self.desk.epoch());
        let (index, dials) = {
            let index = self.wire_to(ServerId(owner.0));
            let wire = &mut self.wires[index];
            wire.ask(tag, request, epoch, deadline, now)?;
            (index, wire.must_dial())
        };
        if dials {
            self.dial(index, me);
        }
        Ok(())
    }

    fn wire_to(&mut self, peer: ServerId) -> usize {
        let known = self.wires.iter().position(|wire| wire.peer == peer);
        known.unwrap_or_else(|| {
            self.wires.push(Wire::new(peer, self.shared.started));
            self.wires.len() - 1
        })
    }

    /// Has a connection made, as the server `me`.
    fn dial(&mut self, index: usize, me: ServerId) {
        let peer = self.wires[index].peer;
        let map = self.desk.map();
        let addresses = map.server(peer).map(|server| server.addresses.clone());
        let attempt = self.wires[index].begin_dialling();
        let started = dial::start(
            dial::Attempt {
                peer,
                index,
                attempt,
                addresses: addresses.unwrap_or_default(),
                timeout: self.timeout(),
                shared: Arc::clone(&self.shared),
                hello: hello(me, peer, &map),
            },
            Arc::clone(&self.mailbox),
        );
        if let Err(error) = started {
            let dialled = Dialled {
                index,
                attempt,
                result: Err(error.to_string()),
            };
            // The worker learns of it as of any other failure.
            self.mailbox.dialled(dialled);
        }
    }

    /// A connection has been made, or cannot be; tells of those who wait in vain.
    pub fn on_dialled(
        &mut self,
        dialled: Dialled,
        now: Instant,
        failed: &mut Vec<Tag>,
    ) -> Option<usize> {
        let wire = &mut self.wires[dialled.index];
        let is_up = wire.on_dialled(dialled.attempt, dialled.result, now, failed);
        is_up.then_some(dialled.index)
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
        if let Some(wire) = self.wires.get_mut(index) {
            wire.receive(buffer, now, answered);
        }
    }

    /// Sends what waits; returns the wires for which epoll must tell something else from now on.
    pub fn flush(&mut self, now: Instant, failed: &mut Vec<Tag>) -> Vec<(usize, Interest)> {
        let wires = self.wires.iter_mut().enumerate();
        let changed = wires.filter_map(|(index, wire)| Some((index, wire.flush(now, failed)?)));
        changed.collect()
    }

    /// Gives up what is late.
    pub fn expire(&mut self, now: Instant, late: &mut Vec<Tag>) {
        let timeout = self.timeout();
        for wire in &mut self.wires {
            wire.expire(now, timeout, late);
        }
    }

    /// When the next request will be late.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.wires.iter().filter_map(Wire::next_deadline).min()
    }

    /// Follows the map; tells of those who wait for servers that have other addresses now.
    pub fn follow_map(&mut self, now: Instant, failed: &mut Vec<Tag>) {
        if self.cluster().epoch() == self.desk.epoch() {
            return;
        }
        let (old, new) = (self.desk.map(), self.cluster().map());
        for wire in &mut self.wires {
            let addresses = |map: &farcache_cluster::ClusterMap| {
                map.server(wire.peer).map(|server| server.addresses.clone())
            };
            if addresses(&old) != addresses(&new) {
                wire.end(now, failed);
            }
        }
        self.desk.set_map(new);
        if let Some(follower) = &self.follower {
            follower.follows(self.desk.epoch());
        }
    }

    /// Notes the answer to a request of a connection; whether that has all of them now.
    pub fn answer(&mut self, asked: &mut Asked, tag: Tag, answer: Answer) -> bool {
        if asked.wait != tag.wait || !asked.is_waiting() {
            return false;
        }
        self.held_bytes += answer.as_ref().map_or(0, Vec::len);
        asked.requests[tag.index].1 = Some(answer);
        asked.missing -= 1;
        !asked.is_waiting()
    }
}
