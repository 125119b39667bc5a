//! The thread that accepts connections, hands each to the least loaded worker, and hears signals.

use crate::admission::Admission;
use crate::connections::{Address, ConnectionInfo, State};
use crate::mailbox::{Arrival, Mailbox};
use crate::net::listen::Listener;
use crate::shared::Shared;
use crate::signals::Signals;
use farcache_session::counters::Counters;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::{SendFlags, SocketFlags};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What a client above the limit is told, in memcached's words.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// Connections accepted from one listener before the others get their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// How long accepting rests when the process has run out of descriptors, in milliseconds.
const EXHAUSTED_REST_MS: i64 = 10;

const WAKER: u64 = u64::MAX;
const SIGNALS: u64 = u64::MAX - 1;

/// The accepting thread's state.
pub struct Acceptor {
    epoll: OwnedFd,
    listeners: Vec<Listener>,
    mailboxes: Vec<Arc<Mailbox>>,
    shared: Arc<Shared>,
    admission: Arc<Admission>,
    counters: Arc<Counters>,
    signals: Signals,
    /// The worker asked first for the next connection.
    next: usize,
    /// Whether accepting rests for want of descriptors.
    resting: bool,
}

impl Acceptor {
    /// Accepts from `listeners` for the workers behind `mailboxes`.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn new(
        listeners: Vec<Listener>,
        mailboxes: Vec<Arc<Mailbox>>,
        shared: Arc<Shared>,
        admission: Arc<Admission>,
        signals: Signals,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &admission.waker,
            EventData::new_u64(WAKER),
            EventFlags::IN,
        )?;
        epoll::add(
            &epoll,
            &signals,
            EventData::new_u64(SIGNALS),
            EventFlags::IN,
        )?;
        let counters = Arc::clone(shared.workers.last().expect("the last is the acceptor's"));
        let acceptor = Acceptor {
            epoll,
            listeners,
            mailboxes,
            shared,
            admission,
            counters,
            signals,
            next: 0,
            resting: false,
        };
        acceptor.watch_listeners()?;
        acceptor.register_listeners();
        Ok(acceptor)
    }

    /// Accepts until the server stops.
    pub fn run(mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(16);
        while !self.shared.is_stopping() {
            events.clear();
            let rest = Timespec {
                tv_sec: 0,
                tv_nsec: EXHAUSTED_REST_MS * 1_000_000,
            };
            let timeout = self.resting.then_some(&rest);
            let room = rustix::buffer::spare_capacity(&mut events);
            // A signal is the only error possible here.
            let _ = epoll::wait(&self.epoll, room, timeout);
            for event in &events {
                self.dispatch(event.data.u64());
            }
            self.go_on();
        }
    }

    fn dispatch(&mut self, token: u64) {
        match token {
            WAKER => self.admission.waker.acknowledge(),
            SIGNALS => self.signals.handle(&self.shared),
            listener => self.accept_some(listener as usize),
        }
    }

    fn accept_some(&mut self, listener: usize) {
        for _ in 0..ACCEPTS_PER_TURN {
            let paused = self.admission.is_paused() || self.resting;
            if paused || !self.accept_one(listener) {
                return;
            }
        }
    }

    /// Accepts a connection; false if none waits.
    fn accept_one(&mut self, listener: usize) -> bool {
        if !self.shared.settings.connections_refused_fast && self.is_full() {
            self.pause();
            return false;
        }
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match rustix::net::acceptfrom_with(&self.listeners[listener].socket, flags) {
            Ok((socket, peer)) => self.admit(listener, socket, peer),
            Err(error) => return self.after_error(error),
        }
        true
    }

    fn admit(
        &mut self,
        listener: usize,
        socket: OwnedFd,
        peer: Option<rustix::net::SocketAddrAny>,
    ) {
        if self.is_full() {
            self.counters.rejected_connections.bump();
            // A client that does not even take this has no claim to it.
            let _ = rustix::net::send(&socket, TOO_MANY, SendFlags::NOSIGNAL);
            return;
        }
        let listener = &self.listeners[listener];
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        let peer = peer.map_or_else(|| (*listener.address).clone(), Address::Tcp);
        let arrival = Arrival {
            socket,
            peer,
            listener: Arc::clone(&listener.address),
            tls: listener.tls,
        };
        self.least_loaded().deliver(arrival);
    }

    fn after_error(&mut self, error: rustix::io::Errno) -> bool {
        use rustix::io::Errno;
        match error {
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => {
                tracing::warn!(%error, "cannot accept connections for now");
                self.resting = true;
                self.pause();
                false
            }
            // The client has gone while it waited.
            Errno::CONNABORTED | Errno::INTR => true,
            _ => false,
        }
    }

    fn is_full(&self) -> bool {
        let open: usize = self
            .mailboxes
            .iter()
            .map(|mailbox| mailbox.connections.load(SeqCst))
            .sum();
        open >= self.shared.settings.connections_max
    }

    /// The worker with the fewest connections; in turn where several have as few.
    fn least_loaded(&mut self) -> &Mailbox {
        let count = self.mailboxes.len();
        let first = self.next;
        let chosen = (0..count)
            .map(|offset| (first + offset) % count)
            .min_by_key(|index| self.mailboxes[*index].connections.load(Relaxed))
            .expect("there is a worker");
        self.next = (chosen + 1) % count;
        &self.mailboxes[chosen]
    }

    fn pause(&self) {
        if self.admission.is_paused() {
            return;
        }
        self.counters.listen_disabled_num.bump();
        self.admission.set_paused(true);
        for listener in &self.listeners {
            epoll::delete(&self.epoll, &listener.socket).expect("the socket is registered");
        }
    }

    /// Ends a pause whose reason is gone.
    fn go_on(&mut self) {
        let resting = std::mem::take(&mut self.resting);
        if self.admission.is_paused() && (resting || !self.is_full()) {
            match self.watch_listeners() {
                Ok(()) => self.admission.set_paused(false),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections for now");
                    self.resting = true;
                }
            }
        }
    }

    /// Has epoll tell of connections; listeners that it knows already stay as they are.
    fn watch_listeners(&self) -> io::Result<()> {
        for (index, listener) in self.listeners.iter().enumerate() {
            let data = EventData::new_u64(index as u64);
            match epoll::add(&self.epoll, &listener.socket, data, EventFlags::IN) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn register_listeners(&self) {
        for listener in &self.listeners {
            let own = (*listener.address).clone();
            let shared_address = Arc::clone(&listener.address);
            let fd = listener.socket.as_raw_fd();
            let now = self.shared.clock().now;
            let info = ConnectionInfo::new(fd, own, shared_address, State::Listening, now);
            self.shared.connections.add_listener(info);
        }
    }
}
