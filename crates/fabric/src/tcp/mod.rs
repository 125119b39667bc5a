//! An ordinary memcached as a peer: its byte stream of binary packets, cut into messages and
//! offers.
//!
//! For clients only, which connect by other means and hand the stream over: [`TcpPort::adopt`].
//! Streams are TCP or unix sockets, plain or encrypted. Packets are written when the port
//! progresses, all that wait in one system call, and a large value goes from and to where it lies
//! without another copy. A message's frame carries what [`Port::bind`] named, so that its receiver
//! knows which server answered.

mod connection;
mod incoming;
mod outgoing;
mod stream;

pub use stream::{Stream, Translator};

use crate::error::Error;
use crate::frame::Kind;
use crate::inbox::{Event, Inbox, Offer};
use crate::port::{Arming, Payload, Peer, Port, ReceiveBody, SendBody};
use connection::{Connection, peer_of_offer};
use rustix::event::epoll;
use rustix::event::{Timespec, epoll::EventFlags};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Most sockets whose readiness is learnt with one system call.
const READY_MAX: usize = 32;

/// A client's end of any number of streams.
pub struct TcpPort<S, R> {
    epoll: OwnedFd,
    connections: Vec<Option<Connection<S, R>>>,
    /// How many of them there are.
    count: usize,
    /// Completions found outside of [`Port::progress`].
    completed: Vec<Event<S, R>>,
}

impl<S: SendBody, R: ReceiveBody> TcpPort<S, R> {
    /// A port without connections.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(TcpPort {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Vec::new(),
            count: 0,
            completed: Vec::new(),
        })
    }

    /// Takes a connected stream.
    ///
    /// # Errors
    /// The system does not watch it.
    pub fn adopt(&mut self, stream: Stream) -> io::Result<Peer> {
        let free = self.connections.iter().position(Option::is_none);
        let index = free.unwrap_or(self.connections.len());
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.epoll, &stream, data, EventFlags::IN)?;
        let connection = Some(Connection::new(stream));
        match self.connections.get_mut(index) {
            Some(place) => *place = connection,
            None => self.connections.push(connection),
        }
        self.count += 1;
        Ok(Peer(
            u32::try_from(index).expect("fewer than 2^32 connections"),
        ))
    }

    /// Whether anything waits to be written.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        let mut connections = self.connections.iter().flatten();
        connections.any(Connection::has_unsent)
    }

    /// The connection, if it is neither closed nor lost.
    fn alive(&mut self, peer: Peer) -> Option<&mut Connection<S, R>> {
        let connection = self.connections.get_mut(peer.0 as usize)?.as_mut()?;
        (!connection.is_lost).then_some(connection)
    }

    /// Which connections have something to read, asked of the system; of one connection that is
    /// learnt by reading.
    fn ready(&self) -> ([usize; READY_MAX], usize) {
        let mut ready = [0; READY_MAX];
        if self.count == 1 {
            let only = self.connections.iter().position(Option::is_some);
            ready[0] = only.unwrap_or_default();
            return (ready, 1);
        }
        let mut events = [const { MaybeUninit::uninit() }; READY_MAX];
        let found = epoll::wait(&self.epoll, &mut events, Some(&Timespec::default()));
        let mut count = 0;
        // Interrupted or not, the next turn asks again.
        for event in found.map(|(found, _)| found).unwrap_or_default() {
            ready[count] = event.data.u64() as usize;
            count += 1;
        }
        (ready, count)
    }

    fn watch(&self, index: usize, connection: &Connection<S, R>, room: bool) {
        let mut flags = EventFlags::IN;
        flags.set(EventFlags::OUT, room);
        let data = epoll::EventData::new_u64(index as u64);
        // It fails only for sockets that are not watched, and all are.
        let _ = epoll::modify(&self.epoll, &connection.stream, data, flags);
    }
}

impl<S: SendBody, R: ReceiveBody> Port<S, R> for TcpPort<S, R> {
    fn address(&self) -> &[u8] {
        &[]
    }

    fn connect(&mut self, _address: &[u8]) -> Result<Peer, Error> {
        let reason = "a TCP port takes connected streams";
        Err(Error::Unreachable(reason.into()))
    }

    fn bind(&mut self, peer: Peer, session: u32, key: u64) {
        if let Some(connection) = self.alive(peer) {
            (connection.session, connection.key) = (session, key);
        }
    }

    /// A memcached knows packets only: other kinds are not sent.
    fn send(&mut self, peer: Peer, kind: Kind, _credits: u16, payload: Payload<'_, S>) {
        let connection = self.alive(peer).filter(|_| kind == Kind::Packets);
        if let Some(packets) = payload.packets() {
            if let Some(connection) = connection {
                connection.outgoing.push_packets(packets);
            }
            return;
        }
        match (payload, connection) {
            (Payload::Packets(_) | Payload::Shared(..), _) => {}
            (Payload::Large { head, body, tag }, Some(connection)) => {
                connection.outgoing.push_large(head, body, tag);
            }
            (Payload::Large { body, tag, .. }, None) => {
                let outcome = Err(Error::PeerLost("nothing is sent to it any more".into()));
                self.completed.push(Event::Sent { tag, body, outcome });
            }
        }
    }

    fn unsent(&self, peer: Peer) -> usize {
        let connection = self.connections.get(peer.0 as usize);
        connection
            .and_then(Option::as_ref)
            .map_or(0, |connection| connection.outgoing.messages())
    }

    fn receive(&mut self, offer: Offer, into: R, tag: u64) {
        assert!(into.len() >= offer.bytes, "the room is too small");
        let into = match self.alive(peer_of_offer(offer.number)) {
            None => into,
            Some(connection) => match connection.incoming.accept(offer.number, into, tag) {
                Ok(()) => {
                    connection.has_input = true;
                    return;
                }
                Err(into) => into,
            },
        };
        let outcome = Err(Error::PeerLost("the value's sender is gone".into()));
        self.completed.push(Event::Received { tag, into, outcome });
    }

    fn refuse(&mut self, offer: Offer) {
        if let Some(connection) = self.alive(peer_of_offer(offer.number)) {
            connection.has_input |= connection.incoming.refuse(offer.number);
        }
    }

    fn progress(&mut self, inbox: &mut Inbox<S, R>) -> bool {
        let mut happened = !self.completed.is_empty();
        inbox.events.append(&mut self.completed);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let Some(connection) = connection else {
                continue;
            };
            let peer = Peer(index as u32);
            if connection.has_unsent() {
                happened |= connection.write(peer, inbox);
            }
            if connection.has_input {
                happened |= connection.read(peer, inbox);
            }
        }
        if self.count > 0 {
            let (ready, count) = self.ready();
            for &index in &ready[..count] {
                if let Some(connection) = self.alive(Peer(index as u32)) {
                    happened |= connection.read(Peer(index as u32), inbox);
                }
            }
        }
        happened
    }

    fn close(&mut self, peer: Peer) {
        let place = self.connections.get_mut(peer.0 as usize);
        if let Some(mut connection) = place.and_then(Option::take) {
            connection.abandon(&Error::Cancelled, &mut self.completed);
            self.count -= 1;
        }
    }

    fn arm(&mut self) -> Arming {
        if !self.completed.is_empty() {
            return Arming::Busy;
        }
        for index in 0..self.connections.len() {
            let Some(connection) = &self.connections[index] else {
                continue;
            };
            if connection.has_input {
                return Arming::Busy;
            }
            let room = connection.has_unsent();
            if room != connection.watches_room {
                self.watch(index, connection, room);
            }
            if let Some(connection) = &mut self.connections[index] {
                connection.watches_room = room;
            }
        }
        Arming::Armed
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }

    fn lanes(&self, _peer: Peer) -> String {
        "tcp".into()
    }
}
