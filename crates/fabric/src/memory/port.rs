//! One end of the network.

use super::wire::{self, Delivery, End, InFlight, Message, Rendezvous, Wire};
use crate::error::Error;
use crate::frame::{FRAME_BYTES, Frame, Kind};
use crate::inbox::{Event, Inbox, Offer};
use crate::limits::Limits;
use crate::port::{Arming, Payload, Peer, Port, ReceiveBody, SendBody};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A port of a [`Network`](super::Network). Dropping it is its orderly death: its peers are told.
#[derive(Debug)]
pub struct MemoryPort<S, R> {
    wire: Arc<Wire>,
    number: u64,
    address: [u8; 8],
    wake: Arc<OwnedFd>,
    eager_bytes_max: usize,
    last_peer: u32,
    links: BTreeMap<Peer, Link>,
    peers: HashMap<End, Peer>,
    /// Large bodies that their receivers have not taken, by rendezvous.
    sending: BTreeMap<u64, Sending<S>>,
    /// Offers that have not been answered, by rendezvous.
    offers: BTreeMap<u64, Offered>,
    /// Receptions of bodies that are held, by rendezvous.
    receiving: BTreeMap<u64, Receiving<R>>,
    limits: Limits,
    /// What the next progress tells.
    completed: Vec<Event<S, R>>,
}

/// A connection as this end knows it.
#[derive(Debug)]
struct Link {
    end: End,
    session: u32,
    key: u64,
    is_lost: bool,
    unsent: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Sending<S> {
    peer: Peer,
    tag: u64,
    body: S,
}

#[derive(Debug)]
struct Offered {
    end: End,
    rendezvous: Rendezvous,
    body: Arc<[u8]>,
}

#[derive(Debug)]
struct Receiving<R> {
    offered: Offered,
    into: R,
    tag: u64,
}

impl Link {
    fn new(end: End) -> Link {
        Link {
            end,
            session: 0,
            key: 0,
            is_lost: false,
            unsent: Arc::default(),
        }
    }

    /// What befalls operations with this peer now.
    fn error(&self) -> Error {
        if self.is_lost {
            lost()
        } else {
            Error::Cancelled
        }
    }
}

fn lost() -> Error {
    Error::PeerLost("it closed the connection, or died".into())
}

impl<S: SendBody, R: ReceiveBody> MemoryPort<S, R> {
    pub(super) fn new(wire: Arc<Wire>, eager_bytes_max: usize) -> Self {
        let (number, wake) = wire.lock().add_port();
        MemoryPort {
            wire,
            number,
            address: wire::address(number),
            wake,
            eager_bytes_max,
            last_peer: 0,
            links: BTreeMap::new(),
            peers: HashMap::new(),
            sending: BTreeMap::new(),
            offers: BTreeMap::new(),
            receiving: BTreeMap::new(),
            limits: Limits::default(),
            completed: Vec::new(),
        }
    }

    fn add_link(&mut self, end: End) -> Peer {
        self.last_peer += 1;
        let peer = Peer(self.last_peer);
        self.links.insert(peer, Link::new(end));
        self.peers.insert(end, peer);
        peer
    }

    /// Puts a message on the wire whose body travels with it.
    fn send_eager(&mut self, peer: Peer, front: Vec<u8>, body: &[u8]) {
        let link = &self.links[&peer];
        let message = Message {
            to: Some(link.end.other()),
            front,
            body: body.into(),
            rendezvous: None,
            in_flight: Some(InFlight::new(&link.unsent)),
        };
        self.wire.lock().send(message);
    }

    /// Puts a message on the wire that offers its body.
    fn send_offer(&mut self, peer: Peer, front: Vec<u8>, body: S, tag: u64) {
        let mut wire = self.wire.lock();
        let rendezvous = Rendezvous {
            number: wire.number(),
            from: self.number,
            is_held: Arc::new(AtomicBool::new(false)),
        };
        let number = rendezvous.number;
        wire.send(Message {
            to: Some(self.links[&peer].end.other()),
            front,
            body: (&*body).into(),
            rendezvous: Some(rendezvous),
            in_flight: None,
        });
        drop(wire);
        self.sending.insert(number, Sending { peer, tag, body });
    }

    fn handle(&mut self, delivery: Delivery, inbox: &mut Inbox<S, R>) {
        match delivery {
            Delivery::Message(message) => self.handle_message(message, inbox),
            Delivery::Taken(number) => {
                if let Some(Sending { tag, body, .. }) = self.sending.remove(&number) {
                    let outcome = Ok(());
                    inbox.events.push(Event::Sent { tag, body, outcome });
                }
            }
            Delivery::Released(number) => {
                if let Some(receiving) = self.receiving.remove(&number) {
                    inbox.events.push(self.fill(receiving));
                }
            }
            Delivery::Lost(end) => self.handle_loss(end, inbox),
            Delivery::Renewed => self.renew(inbox),
        }
    }

    fn renew(&mut self, inbox: &mut Inbox<S, R>) {
        let connected = self.links.values().filter(|link| !link.is_lost);
        let ends: Vec<End> = connected.map(|link| link.end).collect();
        for end in ends {
            self.handle_loss(end, inbox);
        }
        self.number = self.wire.lock().renumber(self.number);
        self.address = wire::address(self.number);
        inbox.events.push(Event::Renewed);
    }

    fn handle_message(&mut self, message: Message, inbox: &mut Inbox<S, R>) {
        let (frame, head) = match Frame::decode(&message.front, message.body.len()) {
            Ok(parts) => parts,
            Err(error) => {
                if let Some(rendezvous) = &message.rendezvous {
                    self.let_go(rendezvous);
                }
                return inbox.events.push(Event::Garbage(error));
            }
        };
        let Some((rendezvous, end)) = message.rendezvous.zip(message.to) else {
            let is_known = || self.links.values().any(|link| link.key == frame.key);
            let packets = match self.limits.allow(head, &message.body, is_known) {
                true => inbox.keep(head, &message.body),
                false => inbox.keep(head, &[]),
            };
            let sender = message.to.filter(|_| frame.kind == Kind::Hello);
            let sender = sender.map(|end| self.sender(end));
            return inbox.events.push(Event::Message {
                frame,
                packets,
                sender,
            });
        };
        let offer = Offer {
            number: rendezvous.number,
            bytes: message.body.len(),
        };
        let head = inbox.keep(head, &[]);
        inbox.events.push(Event::Offered { frame, head, offer });
        let body = message.body;
        let offered = Offered {
            end,
            rendezvous,
            body,
        };
        self.offers.insert(offered.rendezvous.number, offered);
    }

    /// Who is at the other end, perhaps heard of for the first time.
    fn sender(&mut self, end: End) -> Peer {
        match self.peers.get(&end) {
            Some(peer) => *peer,
            None => self.add_link(end),
        }
    }

    fn handle_loss(&mut self, end: End, inbox: &mut Inbox<S, R>) {
        self.offers.retain(|_, offered| offered.end != end);
        let Some(peer) = self.peers.get(&end).copied() else {
            return self.give_up_receiving(end, &lost());
        };
        if let Some(link) = self.links.get_mut(&peer) {
            link.is_lost = true;
        }
        let error = lost();
        inbox.events.push(Event::Lost { peer, error });
    }

    fn fill(&self, receiving: Receiving<R>) -> Event<S, R> {
        let Receiving {
            offered,
            mut into,
            tag,
        } = receiving;
        into[..offered.body.len()].copy_from_slice(&offered.body);
        self.let_go(&offered.rendezvous);
        let outcome = Ok(());
        Event::Received { tag, into, outcome }
    }

    /// Tells the sender of a body that it is done with.
    fn let_go(&self, rendezvous: &Rendezvous) {
        let taken = Delivery::Taken(rendezvous.number);
        self.wire.lock().put(rendezvous.from, taken);
    }

    fn give_up_sending(&mut self, peer: Peer, error: &Error) {
        let given_up = self
            .sending
            .extract_if(.., |_, sending| sending.peer == peer);
        let events = given_up.map(|(_, Sending { tag, body, .. })| Event::Sent {
            tag,
            body,
            outcome: Err(error.clone()),
        });
        self.completed.extend(events);
    }

    fn give_up_receiving(&mut self, end: End, error: &Error) {
        let given_up = self
            .receiving
            .extract_if(.., |_, receiving| receiving.offered.end == end);
        let events = given_up.map(|(_, Receiving { into, tag, .. })| Event::Received {
            tag,
            into,
            outcome: Err(error.clone()),
        });
        self.completed.extend(events);
    }
}

impl<S: SendBody, R: ReceiveBody> Port<S, R> for MemoryPort<S, R> {
    fn address(&self) -> &[u8] {
        &self.address
    }

    fn connect(&mut self, address: &[u8]) -> Result<Peer, Error> {
        let end = self.wire.lock().connect(self.number, address);
        let end = end.ok_or_else(|| Error::Unreachable("no port has this address".into()))?;
        Ok(self.add_link(end))
    }

    fn bind(&mut self, peer: Peer, session: u32, key: u64) {
        if let Some(link) = self.links.get_mut(&peer) {
            (link.session, link.key) = (session, key);
        }
    }

    fn send(&mut self, peer: Peer, kind: Kind, credits: u16, payload: Payload<'_, S>) {
        let open = self.links.get(&peer).filter(|link| !link.is_lost);
        let (head, body_bytes): (&[u8], _) = match &payload {
            Payload::Packets(packets) => (&[], packets.len()),
            Payload::Shared(_, range) => (&[], range.len()),
            Payload::Large { head, body, .. } => (head, body.len()),
        };
        let Some(link) = open else {
            if let Payload::Large { body, tag, .. } = payload {
                let outcome = Err(self.links.get(&peer).map_or(Error::Cancelled, Link::error));
                self.completed.push(Event::Sent { tag, body, outcome });
            }
            return;
        };
        let frame = Frame {
            kind,
            session: link.session,
            key: link.key,
            credits,
            head_bytes: u16::try_from(head.len()).expect("a head of one packet"),
            body_bytes: u32::try_from(body_bytes).expect("a body below 4 GiB"),
        };
        let mut front = Vec::with_capacity(FRAME_BYTES + head.len());
        front.extend_from_slice(&frame.encode());
        front.extend_from_slice(head);
        match payload {
            Payload::Packets(packets) => self.send_eager(peer, front, packets),
            Payload::Shared(packets, range) => self.send_eager(peer, front, &packets[range]),
            Payload::Large { body, tag, .. } if body.len() > self.eager_bytes_max => {
                self.send_offer(peer, front, body, tag);
            }
            Payload::Large { body, tag, .. } => {
                self.send_eager(peer, front, &body);
                let outcome = Ok(());
                self.completed.push(Event::Sent { tag, body, outcome });
            }
        }
    }

    fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    fn unsent(&self, peer: Peer) -> usize {
        let messages = self
            .links
            .get(&peer)
            .map_or(0, |link| link.unsent.load(Ordering::Relaxed));
        messages
            + self
                .sending
                .values()
                .filter(|sending| sending.peer == peer)
                .count()
    }

    fn receive(&mut self, offer: Offer, into: R, tag: u64) {
        assert!(
            into.len() >= offer.bytes,
            "a room that is too small for the body"
        );
        let Some(offered) = self.offers.remove(&offer.number) else {
            let outcome = Err(lost());
            return self.completed.push(Event::Received { tag, into, outcome });
        };
        let receiving = Receiving { offered, into, tag };
        if receiving.offered.rendezvous.is_held.load(Ordering::Relaxed) {
            self.receiving.insert(offer.number, receiving);
        } else {
            let event = self.fill(receiving);
            self.completed.push(event);
        }
    }

    fn refuse(&mut self, offer: Offer) {
        if let Some(offered) = self.offers.remove(&offer.number) {
            self.let_go(&offered.rendezvous);
        }
    }

    fn progress(&mut self, inbox: &mut Inbox<S, R>) -> bool {
        let deliveries = self.wire.lock().take(self.number);
        let any = !deliveries.is_empty() || !self.completed.is_empty();
        if !self.wire.lock().is_alive(self.number) {
            return false;
        }
        inbox.events.append(&mut self.completed);
        for delivery in deliveries {
            self.handle(delivery, inbox);
        }
        any
    }

    fn close(&mut self, peer: Peer) {
        let Some(link) = self.links.remove(&peer) else {
            return;
        };
        self.peers.remove(&link.end);
        self.wire.lock().disconnect(link.end);
        self.offers.retain(|_, offered| offered.end != link.end);
        self.give_up_sending(peer, &link.error());
        self.give_up_receiving(link.end, &link.error());
    }

    fn arm(&mut self) -> Arming {
        if self.completed.is_empty() && self.wire.lock().arm(self.number) {
            Arming::Armed
        } else {
            Arming::Busy
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wake.as_fd())
    }

    fn lanes(&self, _peer: Peer) -> String {
        "memory".into()
    }
}

impl<S, R> Drop for MemoryPort<S, R> {
    fn drop(&mut self) {
        self.wire.lock().kill(&self.address, true);
    }
}
