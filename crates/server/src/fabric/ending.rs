//! A session ends, for whatever reason: everything that it held is given back.

use super::conversation::Conversation;
use super::engine::Engine;
use super::life_line::Bond;
use crate::resources::Resources;
use farcache_base::time::Seconds;
use farcache_fabric::{Error, Frame, Kind, Peer};
use std::sync::Arc;

/// How long a client may take to receive the last messages, in seconds.
const CLOSE_SECONDS_MAX: Seconds = 2;

/// How long a client that has retired keeps its connection on the network, in seconds. Both ends
/// may still be setting it up, and UCX 1.13 ends a process whose peer leaves meanwhile.
pub(super) const RETIRED_SECONDS: Seconds = 2;

/// Clients to which something is still being sent, at most: of whoever ends beyond that, the first
/// are not told why.
const CLOSING_MAX: usize = 256;

/// A client that gets the last messages before it is let go.
pub(super) struct Closing {
    peer: Peer,
    /// Its connection, and the session's key.
    bond: Arc<Bond>,
    key: u64,
    not_before: Seconds,
    until: Seconds,
}

impl Engine {
    /// The client has said goodbye.
    pub(super) fn on_goodbye(&mut self, frame: &Frame) {
        if let Some(number) = self.find(frame) {
            self.figures.goodbyes.bump();
            self.end_now(number);
        }
    }

    /// The client goes back to its connection.
    pub(super) fn on_retire(&mut self, frame: &Frame, resources: &Resources) {
        let Some(number) = self.find(frame) else {
            return;
        };
        self.figures.sessions_retired.bump();
        self.flush();
        let conversation = self.remove(number);
        conversation.bond.release();
        if let Some(peer) = conversation.peer() {
            let line = (conversation.bond, conversation.key);
            let not_before = resources.clock.now + RETIRED_SECONDS;
            self.close_later(peer, line, not_before, not_before);
        }
    }

    /// The network has lost a client.
    pub(super) fn on_lost(&mut self, peer: Peer, error: &Error) {
        tracing::debug!(%error, "the fabric has lost a client");
        if let Some(&number) = self.by_peer.get(&peer) {
            self.figures.peers_lost.bump();
            self.end_now(number);
        } else if let Some(place) = self.closing.iter().position(|one| one.peer == peer) {
            self.close_at(place);
        } else {
            self.port.close(peer);
        }
    }

    /// The port is to be found at another address. Whoever has been granted a session at the old
    /// one and has not come would wait in vain: its connection ends, and it asks anew.
    pub(super) fn on_renewed(&mut self, resources: &Resources) {
        // A grant is posted before the address is read for it, so whoever has read the old one is
        // known after this.
        self.place().note_address(self.port.address());
        let mailbox = Arc::clone(&resources.mailbox);
        self.collect(&mailbox, resources.clock.now);
        for number in 0..self.conversations.len() as u32 {
            let conversation = self.conversations[number as usize].as_ref();
            if conversation.is_some_and(|conversation| conversation.peer().is_none()) {
                self.remove(number).bond.end();
            }
        }
    }

    /// The client's TCP connection has ended.
    pub(super) fn on_life_line_lost(&mut self, session: u32, key: u64) {
        self.figures.life_lines_lost.bump();
        if let Some(number) = self.find_key(session, key) {
            self.end_now(number);
        } else if let Some(place) = self.closing.iter().position(|one| one.key == key) {
            self.close_at(place);
        }
    }

    /// The client has asked for the end of the session, or has broken a rule of the protocol inside
    /// of its messages, and has been answered.
    pub(super) fn end_after_replies(&mut self, number: u32, resources: &mut Resources) {
        self.flush();
        self.end_with(number, "the session was ended", resources);
    }

    /// The client has broken a rule.
    pub(super) fn cut_off(&mut self, number: u32, rule: &'static str, resources: &mut Resources) {
        self.figures.malformed.bump();
        self.end_with(number, rule, resources);
    }

    /// The client has sent more than it may.
    pub(super) fn cut_off_debtor(&mut self, number: u32, resources: &mut Resources) {
        self.figures.over_credit.bump();
        self.end_with(number, "more messages than credits", resources);
    }

    /// More has come of the client's messages than is kept until it takes its replies.
    pub(super) fn cut_off_hoarder(&mut self, number: u32, resources: &mut Resources) {
        self.figures.over_memory.bump();
        self.end_with(
            number,
            "more kept messages than there is memory for",
            resources,
        );
    }

    /// The server ends: everyone is told.
    pub fn end_all(&mut self, resources: &mut Resources) {
        let mailbox = Arc::clone(&resources.mailbox);
        self.collect(&mailbox, resources.clock.now);
        for number in 0..self.conversations.len() as u32 {
            let Some(conversation) = &self.conversations[number as usize] else {
                continue;
            };
            match conversation.peer() {
                Some(_) => self.end_with(number, "the server ends", resources),
                None => self.expire(number),
            }
        }
    }

    /// Lets go of everyone, whatever they have not received.
    pub fn close_all(&mut self) {
        while !self.closing.is_empty() {
            self.close_at(0);
        }
    }

    /// Ends a session that was granted and not opened; the client's connection stays.
    pub(super) fn expire(&mut self, number: u32) {
        // Its greeting may be stuck.
        self.port.look_after();
        let conversation = self.remove(number);
        conversation.bond.release();
    }

    /// Ends a session whose client is not there to be told.
    pub(super) fn end_now(&mut self, number: u32) {
        self.flush();
        let conversation = self.remove(number);
        match conversation.peer() {
            Some(peer) => self.close(peer),
            None => self.port.look_after(),
        }
        conversation.bond.end();
    }

    /// Ends a session and tells the client why.
    pub(super) fn end_with(
        &mut self,
        number: u32,
        reason: &'static str,
        resources: &mut Resources,
    ) {
        self.flush();
        let conversation = self.remove(number);
        let fd = conversation.bond.info.fd;
        tracing::debug!(fd, session = number, reason, "session ended on the fabric");
        match conversation.peer() {
            Some(peer) => {
                self.say_goodbye(peer, reason);
                let line = (conversation.bond, conversation.key);
                self.close_when_sent(peer, line, resources.clock.now);
            }
            None => conversation.bond.end(),
        }
    }

    /// Takes a session out of all lists.
    fn remove(&mut self, number: u32) -> Box<Conversation> {
        let conversation = self.conversations[number as usize]
            .take()
            .expect("the session is there");
        self.live -= 1;
        if let Some(peer) = conversation.peer() {
            self.by_peer.remove(&peer);
            self.registry().leave_lanes(&conversation.lanes);
        }
        self.place().give_number(number);
        self.count_sessions();
        self.count_tokens();
        conversation
    }

    pub(super) fn say_goodbye(&mut self, peer: Peer, reason: &str) {
        self.send_small(peer, Kind::Goodbye, 0, reason.as_bytes());
    }

    /// Lets go of a client, and of its connection, when it has received everything.
    pub(super) fn close_when_sent(&mut self, peer: Peer, line: (Arc<Bond>, u64), now: Seconds) {
        self.close_later(peer, line, now, now + CLOSE_SECONDS_MAX);
    }

    fn close_later(
        &mut self,
        peer: Peer,
        (bond, key): (Arc<Bond>, u64),
        not_before: Seconds,
        until: Seconds,
    ) {
        self.closing.push(Closing {
            peer,
            bond,
            key,
            not_before,
            until,
        });
        if self.closing.len() > CLOSING_MAX {
            self.close_at(0);
        }
    }

    /// Whether a client is being let go.
    pub(super) fn is_closing(&self, peer: Peer) -> bool {
        self.closing.iter().any(|one| one.peer == peer)
    }

    /// Lets go of the clients that have received everything, or have had their time.
    pub(super) fn close_sent(&mut self, now: Seconds) {
        for place in (0..self.closing.len()).rev() {
            let one = &self.closing[place];
            let has_all = now >= one.not_before && self.port.unsent(one.peer) == 0;
            if has_all || now >= one.until {
                self.close_at(place);
            }
        }
    }

    fn close_at(&mut self, place: usize) {
        let closing = self.closing.swap_remove(place);
        self.close(closing.peer);
        closing.bond.end();
    }

    fn close(&mut self, peer: Peer) {
        self.port.close(peer);
        self.count_endpoints(-1);
    }

    /// Shows how many sessions are open.
    pub(super) fn count_sessions(&self) {
        self.figures.sessions.set(self.by_peer.len() as u64);
    }

    /// Shows that there are so many more connections.
    pub(super) fn count_endpoints(&self, more: i64) {
        let endpoints = self.figures.endpoints.get().wrapping_add_signed(more);
        self.figures.endpoints.set(endpoints);
    }
}
