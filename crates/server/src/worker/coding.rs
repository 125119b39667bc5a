//! Plans for values on several servers: joins them with the worker's peers and sessions.

use super::Worker;
use crate::coding::{PartTag, Sent, Way, own};
use crate::parts::placed::place;
use crate::resources::{Resources, context};
use farcache_cluster::{Owners, ServerId};
use farcache_proto::binary::Placed;
use farcache_session::Failure;
use std::time::Instant;

/// A worker's way to the owners of a key.
struct WorkersWay<'a>(&'a mut Resources);

impl WorkersWay<'_> {
    fn is_me(&self, server: ServerId) -> bool {
        let peers = self.0.peers.as_ref();
        peers.is_some_and(|peers| peers.desk.me() == Some(server))
    }

    /// What this server answers of its own part; none where that has to wait for something.
    fn own_answer(&self, pieces: &[&[u8]]) -> Option<Vec<u8>> {
        let resources = &*self.0;
        if resources.holds_replies {
            return None;
        }
        let context = context!(resources, None);
        own::answer(&context, pieces)
    }
}

impl Way for WorkersWay<'_> {
    fn ask(&mut self, to: ServerId, tag: PartTag, pieces: &[&[u8]]) -> Result<Sent, Failure> {
        let now = self.0.turn_began;
        if self.is_me(to)
            && let Some(answer) = self.own_answer(pieces)
        {
            return Ok(Sent::Answered(answer));
        }
        let peers = self.0.peers.as_mut().ok_or(Failure::NoPeers)?;
        peers.send_part(to, tag, pieces, now)?;
        Ok(Sent::UnderWay)
    }

    fn place(&self, key: &[u8], owners: u8) -> (Owners, Placed) {
        let map = self.0.peers.as_ref().map(|peers| peers.desk.map());
        // There are no plans without peers.
        place(&map.expect("there are peers"), key, owners)
    }

    fn is_gone(&mut self, server: ServerId) -> bool {
        let now = self.0.turn_began;
        let peers = self.0.peers.as_mut();
        peers.is_some_and(|peers| peers.wires.is_gone(server, now))
    }

    fn up_since(&mut self, server: ServerId) -> Option<Instant> {
        if self.is_me(server) {
            return Some(self.0.shared.started);
        }
        self.0.peers.as_mut()?.wires.up_since(server)
    }
}

impl Worker {
    /// Begins the plans that sessions have asked for, and gives up what is late of others.
    pub(super) fn begin_plans(&mut self) {
        let now = self.resources.turn_began;
        let Some(peers) = &mut self.resources.peers else {
            return;
        };
        let wanted = peers.take_wanted();
        if !wanted.is_empty() {
            let (map, me) = (peers.desk.map(), peers.desk.me());
            let way = &mut WorkersWay(&mut self.resources);
            for (asker, request) in wanted {
                self.coding.begin(asker, &request, (&map, me), way, now);
            }
        }
        if self.coding.next_deadline().is_some_and(|at| at <= now) {
            self.coding
                .expire(&mut WorkersWay(&mut self.resources), now);
        }
        self.tell_askers();
    }

    /// Codes what is to be coded: what was asked for before travels meanwhile.
    pub(super) fn code(&mut self) {
        let now = self.resources.turn_began;
        let way = &mut WorkersWay(&mut self.resources);
        self.coding.code(way, now);
        self.tell_askers();
    }

    /// An owner has answered a plan, or will not.
    pub(super) fn on_part(&mut self, tag: PartTag, answer: Result<Vec<u8>, Failure>) {
        let now = self.resources.turn_began;
        let way = &mut WorkersWay(&mut self.resources);
        self.coding.answer(tag, answer, way, now);
        self.tell_askers();
    }

    /// When the next request of a plan will be late.
    pub(super) fn coding_deadline(&self) -> Option<Instant> {
        self.coding.next_deadline()
    }

    fn tell_askers(&mut self) {
        for told in self.coding.take_told() {
            self.on_session_answer(told.asker, Ok(told.reply));
        }
    }
}
