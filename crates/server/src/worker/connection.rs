//! One client's connection, as its worker keeps it.

use super::arrivals::Wait;
use super::deferred::Record;
use super::device::Reads;
use crate::connections::{ConnectionInfo, State};
use crate::mailbox::life_line::LifeLine;
use crate::net::transport::Transport;
use crate::peers::Asked;
use crate::watch::Watcher;
use farcache_session::{Session, Unsent};
use std::cell::RefCell;
use std::sync::Arc;

/// What a stage found out about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It waits for its client to send more.
    Idle,
    /// Its client must read before anything else is done for it.
    Blocked,
    /// There is more to do for it, after the others had their turn.
    Again,
    /// It is over.
    Closed,
}

/// A connection. It owns a buffer only while a request's beginning or unsent replies wait, so an
/// idle one is little more than its session.
pub(super) struct Connection {
    /// Moves the bytes.
    pub transport: Transport,
    /// Understands them.
    pub session: Session,
    /// Input not yet handled; its first `pending_used` bytes are done with.
    pub pending: Vec<u8>,
    /// Bytes at the start of `pending` that are done with.
    pub pending_used: usize,
    /// Replies that the socket did not take yet.
    pub unsent: Option<Box<Unsent>>,
    /// The session wants to go on without further input.
    pub unfinished: bool,
    /// The worker's list of connections that have more to do names it.
    pub is_queued: bool,
    /// To be closed as soon as the replies are out.
    pub closing: bool,
    /// Whether epoll reports when the socket takes bytes, instead of when it has some.
    pub awaits_room: bool,
    /// Reads that its next request waits for.
    pub reads: Reads,
    /// What its next request waits for from other servers, or has been given by them.
    pub asked: Option<Box<Asked>>,
    /// Its wait for others' large values.
    pub wait: Wait,
    /// Whether it usually needs devices.
    pub record: Record,
    /// Its replies wait until what they tell of is durable.
    pub is_held: bool,
    /// epoll tells nothing of its input while it waits.
    pub is_muted: bool,
    /// What it is shown, once it watches.
    pub watcher: Option<Arc<Watcher>>,
    /// What other threads see of it.
    pub info: Arc<ConnectionInfo>,
    /// Its session on the fabric, which ends with it.
    pub life_line: RefCell<Option<Box<LifeLine>>>,
    /// Its place at the worker.
    pub slot: usize,
}

impl Connection {
    /// A connection that has just been accepted.
    pub fn new(
        transport: Transport,
        session: Session,
        info: Arc<ConnectionInfo>,
        slot: usize,
    ) -> Self {
        Connection {
            transport,
            session,
            pending: Vec::new(),
            pending_used: 0,
            unsent: None,
            unfinished: false,
            is_queued: false,
            closing: false,
            awaits_room: false,
            reads: Reads::None,
            asked: None,
            wait: Wait::default(),
            record: Record::default(),
            is_held: false,
            is_muted: false,
            watcher: None,
            info,
            life_line: RefCell::default(),
            slot,
        }
    }

    /// Whether replies wait for the socket to take them.
    pub fn has_unsent(&self) -> bool {
        self.unsent.is_some() || self.transport.has_unsent()
    }

    /// Whether it waits for a device, another server or others' values, so that its input must wait
    /// too.
    pub fn is_suspended(&self) -> bool {
        self.is_held
            || self.wait.is_waiting()
            || matches!(self.reads, Reads::UnderWay(_))
            || self.asked.as_ref().is_some_and(|asked| asked.is_waiting())
    }

    /// Whether nothing is to be done for it but to read new requests from a socket.
    pub fn awaits_requests(&mut self) -> bool {
        matches!(self.transport, Transport::Plain(_))
            && self.pending.is_empty()
            && !self.is_queued
            && !self.unfinished
            && !self.awaits_room
            && !self.has_unsent()
            && !self.is_suspended()
            && self.session.value_buffer().is_empty()
    }

    /// Takes the waiting input away, without what is done with.
    pub fn take_pending(&mut self) -> (Vec<u8>, usize) {
        (
            std::mem::take(&mut self.pending),
            std::mem::take(&mut self.pending_used),
        )
    }

    /// Keeps `rest` until more arrives.
    pub fn keep(&mut self, rest: &[u8]) {
        self.pending_used = 0;
        if rest.is_empty() {
            self.pending = Vec::new();
        } else {
            self.pending.clear();
            self.pending.extend_from_slice(rest);
        }
    }

    /// Tells other threads what the connection is doing now.
    pub fn show(&self, outcome: Outcome, receiving_value: bool) {
        self.info.set_state(match outcome {
            Outcome::Blocked => State::Writing,
            _ if self.watcher.is_some() => State::Watching,
            _ if receiving_value => State::ReadingValue,
            _ => State::Reading,
        });
    }
}
