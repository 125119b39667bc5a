//! One session, as its worker keeps it.

use super::kept::{Kept, Tally};
use super::life_line::{Bond, Reserved};
use super::stalls::Taking;
use super::{CREDITS, ServerPort};
use farcache_base::time::Seconds;
use farcache_fabric::Peer;
use farcache_session::{HIGH_WATER_BYTES, Peer as Asker, Session};
use farcache_store::Store;
use std::collections::VecDeque;
use std::sync::Arc;

/// Messages that the network has not let go of, after which a session is not served further.
const UNSENT_MESSAGES_MAX: usize = 64;

/// Bytes of packets that the network has not let go of, after which a session is not served
/// further.
const UNSENT_BYTES_MAX: usize = HIGH_WATER_BYTES;

/// How far the client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has been granted the session and has not come.
    Granted { token: u64, at: Seconds },
    /// It is here.
    Open(Peer),
}

/// A session.
pub(super) struct Conversation {
    pub key: u64,
    pub stage: Stage,
    pub session: Session,
    /// The server of the cluster that speaks, where it is no client.
    pub asker: Option<Asker>,
    pub bond: Arc<Bond>,
    /// Messages that could not be handled when they came.
    pub waiting: VecDeque<Kept>,
    /// How much is kept for it.
    pub kept: Tally,
    /// The engine's list of sessions that have more to do names it.
    pub is_queued: bool,
    /// The networks in use, for people.
    pub lanes: String,
    /// Large values on their way to the client.
    pub taking: Taking,
    /// Messages that have come and have not been answered.
    unanswered: u16,
    /// Of these, how many are done with: the next message to the client says so.
    answered: u16,
    /// Bytes of packets sent since the network last had let go of everything.
    unsent_bytes: usize,
    /// Answers that the network may hold: those that it held when it was last asked, and all since.
    unsent_messages: usize,
    /// When the life line's idle time was last set back.
    noted: Seconds,
}

impl Conversation {
    /// A session granted at `now`.
    pub fn new(reserved: Reserved, now: Seconds) -> Self {
        Conversation {
            key: reserved.key,
            stage: Stage::Granted {
                token: reserved.token,
                at: now,
            },
            session: session_of(reserved.asker),
            asker: reserved.asker,
            bond: reserved.bond,
            waiting: VecDeque::new(),
            kept: Tally::default(),
            is_queued: false,
            lanes: String::new(),
            taking: Taking::default(),
            unanswered: 0,
            answered: 0,
            unsent_bytes: 0,
            unsent_messages: 0,
            noted: now,
        }
    }

    /// Takes what has been begun of another server's message out, so that others' messages go on
    /// meanwhile. A client's requests leave nothing in their session.
    pub fn take_begun(&mut self) -> Option<Session> {
        let fresh = session_of(Some(self.asker?));
        Some(std::mem::replace(&mut self.session, fresh))
    }

    /// The client, if it is here.
    pub fn peer(&self) -> Option<Peer> {
        match self.stage {
            Stage::Open(peer) => Some(peer),
            Stage::Granted { .. } => None,
        }
    }

    /// Takes note of a message at `now`; false if the client had no credit for it.
    pub fn take_credit(&mut self, now: Seconds) -> bool {
        if self.noted != now {
            self.noted = now;
            self.bond.info.set_last_command(now);
        }
        self.unanswered += 1;
        self.unanswered <= CREDITS
    }

    /// A message is done with.
    pub fn give_credit(&mut self) {
        self.answered += 1;
        self.unsent_messages += 1;
    }

    /// How many messages the one that is being sent completes.
    pub fn credits(&mut self) -> u16 {
        let credits = std::mem::take(&mut self.answered);
        self.unanswered -= credits;
        credits
    }

    /// So many bytes of packets are on their way.
    pub fn note_sent(&mut self, bytes: usize) {
        self.unsent_bytes += bytes;
    }

    /// Whether a message that comes now may be answered before anything else is looked at: it
    /// overtakes nothing, there is credit for it, and the client takes its replies, as far as that
    /// is known.
    pub fn may_use_lane(&self) -> bool {
        self.waiting.is_empty()
            && !self.is_queued
            && self.unanswered < CREDITS
            && self.unsent_messages < UNSENT_MESSAGES_MAX
            && self.unsent_bytes < UNSENT_BYTES_MAX
    }

    /// A message has been answered on the solo path at `now`.
    pub fn note_lane(&mut self, now: Seconds) {
        self.take_credit(now);
        self.give_credit();
    }

    /// Whether the client must take values that are on their way before it is sent more, because
    /// memory is short.
    pub fn must_take_first(&self, store: &Store) -> bool {
        self.taking.departing > 0 && store.is_lending_short()
    }

    /// Whether the client must take replies before it is served further.
    pub fn is_blocked(&mut self, port: &ServerPort, store: &Store) -> bool {
        let unsent = self.peer().map_or(0, |peer| port.unsent(peer));
        self.unsent_messages = unsent;
        if unsent == 0 {
            self.unsent_bytes = 0;
        }
        unsent >= UNSENT_MESSAGES_MAX
            || self.unsent_bytes >= UNSENT_BYTES_MAX
            || self.must_take_first(store)
    }
}

/// A conversation that has not begun, with a client or a server.
fn session_of(asker: Option<Asker>) -> Session {
    asker.map_or_else(Session::authenticated, Session::of_peer)
}
