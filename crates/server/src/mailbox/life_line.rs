//! The client's TCP connection and its session on the fabric: when one ends, so does the other.

use super::Mailbox;
use crate::connections::ConnectionInfo;
use farcache_session::Peer;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What joins the two ends, which may belong to different workers.
#[derive(Debug)]
pub struct Bond {
    /// The connection's place at its worker.
    pub slot: usize,
    /// The connection as others see it.
    pub info: Arc<ConnectionInfo>,
    /// The connection's worker.
    mailbox: Arc<Mailbox>,
    has_ended: AtomicBool,
}

impl Bond {
    /// The session is over. Its connection stays, and may ask anew.
    pub(crate) fn release(&self) {
        self.has_ended.store(true, Relaxed);
        self.info.set_fabric(None);
    }

    /// The session is over: its connection is to be closed, unless it was to stay.
    pub(crate) fn end(self: &Arc<Self>) {
        if !self.has_ended.load(Relaxed) {
            self.release();
            self.mailbox.end_life_line(Arc::clone(self));
        }
    }
}

/// A connection's hold on its session; dropped with the connection, which ends the session.
#[derive(Debug)]
pub struct LifeLine {
    bond: Arc<Bond>,
    owner: Arc<Mailbox>,
    session: u32,
    key: u64,
}

impl LifeLine {
    /// Whether this is the connection's end of `bond`.
    pub fn is_end_of(&self, bond: &Arc<Bond>) -> bool {
        Arc::ptr_eq(&self.bond, bond)
    }
}

impl Drop for LifeLine {
    fn drop(&mut self) {
        if !self.bond.has_ended.load(Relaxed) {
            self.owner.post(Mail::Release {
                session: self.session,
                key: self.key,
            });
        }
    }
}

/// The connection on which a request came, for requests that change what the connection is.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// The connection's place at its worker.
    pub slot: usize,
    /// The connection as others see it.
    pub info: &'a Arc<ConnectionInfo>,
    /// Whether it is encrypted.
    pub is_encrypted: bool,
    /// The connection's worker.
    pub mailbox: &'a Arc<Mailbox>,
    /// Its session on the fabric.
    pub life_line: &'a RefCell<Option<Box<LifeLine>>>,
}

impl Caller<'_> {
    /// Whether the connection has a session that has not ended.
    pub(crate) fn is_bound(&self) -> bool {
        let life_line = self.life_line.borrow();
        life_line
            .as_ref()
            .is_some_and(|line| !line.bond.has_ended.load(Relaxed))
    }

    /// Makes the connection the life line of a session of the worker behind `owner`.
    pub(crate) fn bind(&self, owner: &Arc<Mailbox>, session: u32, key: u64) -> Arc<Bond> {
        let bond = Arc::new(Bond {
            slot: self.slot,
            info: Arc::clone(self.info),
            mailbox: Arc::clone(self.mailbox),
            has_ended: AtomicBool::new(false),
        });
        let line = LifeLine {
            bond: Arc::clone(&bond),
            owner: Arc::clone(owner),
            session,
            key,
        };
        *self.life_line.borrow_mut() = Some(Box::new(line));
        bond
    }
}

/// A session that has been granted.
#[derive(Debug)]
pub struct Reserved {
    /// Its number.
    pub session: u32,
    /// To be carried by every message.
    pub key: u64,
    /// To be shown once.
    pub token: u64,
    /// The client's connection.
    pub bond: Arc<Bond>,
    /// The server of the cluster whose it is, where it is no client's.
    pub asker: Option<Peer>,
}

/// What a worker is told about its part of the fabric.
#[derive(Debug)]
pub enum Mail {
    /// A client has been granted a session.
    Reserve(Reserved),
    /// The life line of a session is gone.
    Release {
        /// The session's number.
        session: u32,
        /// Its key: the number may have been given to another since.
        key: u64,
    },
}
