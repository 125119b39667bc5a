//! One end of the network.

use super::bodies::{Bodies, Offered, let_go};
use super::links::{Link, Links, lost};
use super::wire::{self, Delivery, End, InFlight, Message, Rendezvous, Wire};
use crate::error::Error;
use crate::frame::{Frame, Kind};
use crate::inbox::{Event, Inbox, Offer};
use crate::limits::Limits;
use crate::port::{Arming, Payload, Peer, Port, ReceiveBody, SendBody};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A port of a [`Network`](super::Network). Dropping it is its orderly death: its peers are told.
#[derive(Debug)]
pub struct MemoryPort<S, R> {
    wire: Arc<Wire>,
    number: u64,
    address: [u8; 8],
    wake: Arc<OwnedFd>,
    eager_bytes_max: usize,
    links: Links,
    bodies: Bodies<S, R>,
    limits: Limits,
    /// What the next progress tells.
    completed: Vec<Event<S, R>>,
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
            links: Links::default(),
            bodies: Bodies::default(),
            limits: Limits::default(),
            completed: Vec::new(),
        }
    }

    /// Puts a message on the wire whose body travels with it.
    fn send_eager(&self, link: &Link, front: Vec<u8>, body: &[u8]) {
        let message = Message {
            to: Some(link.end.other()),
            front,
            body: body.into(),
            rendezvous: None,
            in_flight: Some(InFlight::new(&link.unsent)),
        };
        self.wire.lock().send(message);
    }

    /// Puts a message on the wire that offers its body; the number of the rendezvous.
    fn send_offer(&self, link: &Link, front: Vec<u8>, body: &[u8]) -> u64 {
        let mut wire = self.wire.lock();
        let rendezvous = Rendezvous {
            number: wire.number(),
            from: self.number,
            is_held: Arc::new(AtomicBool::new(false)),
        };
        let number = rendezvous.number;
        wire.send(Message {
            to: Some(link.end.other()),
            front,
            body: body.into(),
            rendezvous: Some(rendezvous),
            in_flight: None,
        });
        number
    }

    fn handle(&mut self, delivery: Delivery, inbox: &mut Inbox<S, R>) {
        match delivery {
            Delivery::Message(message) => self.handle_message(message, inbox),
            Delivery::Taken(number) => inbox.events.extend(self.bodies.taken(number)),
            Delivery::Released(number) => {
                inbox
                    .events
                    .extend(self.bodies.released(number, &self.wire));
            }
            Delivery::Lost(end) => self.handle_loss(end, inbox),
            Delivery::Renewed => self.renew(inbox),
        }
    }

    fn renew(&mut self, inbox: &mut Inbox<S, R>) {
        for end in self.links.open_ends() {
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
                    let_go(rendezvous, &self.wire);
                }
                return inbox.events.push(Event::Garbage(error));
            }
        };
        let Some((rendezvous, end)) = message.rendezvous.zip(message.to) else {
            let is_known = || self.links.know(frame.key);
            let packets = match self.limits.allow(head, &message.body, is_known) {
                true => inbox.keep(head, &message.body),
                false => inbox.keep(head, &[]),
            };
            let sender = message.to.filter(|_| frame.kind == Kind::Hello);
            let sender = sender.map(|end| self.links.sender(end));
            return inbox.events.push(Event::Message {
                frame,
                packets,
                sender,
            });
        };
        let head = inbox.keep(head, &[]);
        let body = message.body;
        let offer = self.bodies.offer(Offered {
            end,
            rendezvous,
            body,
        });
        inbox.events.push(Event::Offered { frame, head, offer });
    }

    fn handle_loss(&mut self, end: End, inbox: &mut Inbox<S, R>) {
        self.bodies.drop_offers(end);
        let Some(peer) = self.links.find(end) else {
            let events = &mut self.completed;
            return self.bodies.give_up_receiving(end, &lost(), events);
        };
        if let Some(link) = self.links.get_mut(peer) {
            link.is_lost = true;
        }
        let error = lost();
        inbox.events.push(Event::Lost { peer, error });
    }
}

impl<S: SendBody, R: ReceiveBody> Port<S, R> for MemoryPort<S, R> {
    fn address(&self) -> &[u8] {
        &self.address
    }

    fn connect(&mut self, address: &[u8]) -> Result<Peer, Error> {
        let end = self.wire.lock().connect(self.number, address);
        let end = end.ok_or_else(|| Error::Unreachable("no port has this address".into()))?;
        Ok(self.links.add(end))
    }

    fn bind(&mut self, peer: Peer, session: u32, key: u64) {
        if let Some(link) = self.links.get_mut(peer) {
            (link.session, link.key) = (session, key);
        }
    }

    fn send(&mut self, peer: Peer, kind: Kind, credits: u16, payload: Payload<'_, S>) {
        let open = self.links.get(peer).filter(|link| !link.is_lost);
        let Some(link) = open else {
            if let Payload::Large { body, tag, .. } = payload {
                let outcome = Err(self.links.get(peer).map_or(Error::Cancelled, Link::error));
                self.completed.push(Event::Sent { tag, body, outcome });
            }
            return;
        };
        let frame = payload.frame(kind, (link.session, link.key), credits);
        let mut front = frame.encode().to_vec();
        match payload {
            Payload::Packets(packets) => self.send_eager(link, front, packets),
            Payload::Shared(packets, range) => self.send_eager(link, front, &packets[range]),
            Payload::Large { head, body, tag } => {
                front.extend_from_slice(head);
                if body.len() > self.eager_bytes_max {
                    let number = self.send_offer(link, front, &body);
                    return self.bodies.send(number, peer, body, tag);
                }
                self.send_eager(link, front, &body);
                let outcome = Ok(());
                self.completed.push(Event::Sent { tag, body, outcome });
            }
        }
    }

    fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    fn unsent(&self, peer: Peer) -> usize {
        let messages = |link: &Link| link.unsent.load(Ordering::Relaxed);
        self.links.get(peer).map_or(0, messages) + self.bodies.unsent(peer)
    }

    fn receive(&mut self, offer: Offer, into: R, tag: u64) {
        assert!(
            into.len() >= offer.bytes,
            "a room that is too small for the body"
        );
        let event = self.bodies.receive(&offer, into, tag, &self.wire);
        self.completed.extend(event);
    }

    fn refuse(&mut self, offer: Offer) {
        self.bodies.refuse(&offer, &self.wire);
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
        let Some(link) = self.links.remove(peer) else {
            return;
        };
        self.wire.lock().disconnect(link.end);
        self.bodies.drop_offers(link.end);
        let (error, events) = (link.error(), &mut self.completed);
        self.bodies.give_up_sending(peer, &error, events);
        self.bodies.give_up_receiving(link.end, &error, events);
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
