//! What a worker sleeps on: epoll, and the names of what it tells of.

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// The mailbox. Connections are named by their place in the slab.
pub(super) const MAILBOX: u64 = u64::MAX;

/// The port of the fabric.
pub(super) const PORT: u64 = u64::MAX - 1;

/// The reads of the SSD tier.
pub(super) const READS: u64 = u64::MAX - 2;

/// What tells of what is durable.
pub(super) const DURABLE: u64 = u64::MAX - 3;

/// The port towards other servers.
pub(super) const CALLS: u64 = u64::MAX - 4;

/// The first datagram socket; the others follow.
pub(super) const DATAGRAMS: u64 = u64::MAX / 2;

/// The first connection to a peer; the others follow.
pub(super) const PEERS: u64 = u64::MAX / 4;

/// A worker's epoll.
pub(super) struct Poller(OwnedFd);

impl Poller {
    /// It watches nothing yet.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Watches a descriptor, until it is closed.
    ///
    /// # Errors
    /// When memory or watches are exhausted.
    pub fn watch(&self, name: u64, watched: impl AsFd, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(
            &self.0,
            watched,
            EventData::new_u64(name),
            flags,
        )?)
    }

    /// Watches a descriptor for something else than before, or from now on if it is not watched.
    /// Where memory or watches are exhausted it stays unwatched until the next call.
    pub fn watch_for(&self, name: u64, watched: impl AsFd, flags: EventFlags) {
        let name = EventData::new_u64(name);
        match epoll::modify(&self.0, &watched, name, flags) {
            Err(Errno::NOENT) => drop(epoll::add(&self.0, &watched, name, flags)),
            changed => changed.expect("an open descriptor"),
        }
    }

    /// What has happened, or happens within the time; without one it waits for as long as it takes.
    pub fn wait(&self, events: &mut Vec<Event>, timeout: Option<Duration>) {
        events.clear();
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        // A signal is the only error possible here; the next turn waits again.
        let room = rustix::buffer::spare_capacity(events);
        let _ = epoll::wait(&self.0, room, timeout.as_ref());
    }
}
