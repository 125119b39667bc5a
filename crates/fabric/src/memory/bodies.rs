//! Large bodies on their way out and in, by the numbers of their rendezvous.

use super::links::lost;
use super::wire::{Delivery, End, Rendezvous, Wire};
use crate::error::Error;
use crate::inbox::{Event, Offer};
use crate::port::{Peer, ReceiveBody};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a port has of them.
#[derive(Debug)]
pub(super) struct Bodies<S, R> {
    /// Not yet taken by their receivers.
    sending: BTreeMap<u64, Sending<S>>,
    /// Offers that have not been answered.
    offers: BTreeMap<u64, Offered>,
    /// Receptions of bodies that are held.
    receiving: BTreeMap<u64, Receiving<R>>,
}

#[derive(Debug)]
struct Sending<S> {
    peer: Peer,
    tag: u64,
    body: S,
}

/// A body that a peer offers.
#[derive(Debug)]
pub(super) struct Offered {
    /// Our end of the connection that it came by.
    pub end: End,
    pub rendezvous: Rendezvous,
    pub body: Arc<[u8]>,
}

#[derive(Debug)]
struct Receiving<R> {
    offered: Offered,
    into: R,
    tag: u64,
}

impl<S, R> Default for Bodies<S, R> {
    fn default() -> Self {
        Bodies {
            sending: BTreeMap::new(),
            offers: BTreeMap::new(),
            receiving: BTreeMap::new(),
        }
    }
}

impl<S, R> Bodies<S, R> {
    /// A body has been offered to a peer.
    pub fn send(&mut self, number: u64, peer: Peer, body: S, tag: u64) {
        self.sending.insert(number, Sending { peer, tag, body });
    }

    /// Bodies that this peer has yet to take.
    pub fn unsent(&self, peer: Peer) -> usize {
        let sending = self.sending.values();
        sending.filter(|sending| sending.peer == peer).count()
    }

    /// The receiver of a body is done with it.
    pub fn taken(&mut self, number: u64) -> Option<Event<S, R>> {
        let Sending { tag, body, .. } = self.sending.remove(&number)?;
        let outcome = Ok(());
        Some(Event::Sent { tag, body, outcome })
    }

    /// A body has been offered to us.
    pub fn offer(&mut self, offered: Offered) -> Offer {
        let offer = Offer {
            number: offered.rendezvous.number,
            bytes: offered.body.len(),
        };
        self.offers.insert(offer.number, offered);
        offer
    }

    /// The offer is void.
    pub fn refuse(&mut self, offer: &Offer, wire: &Wire) {
        if let Some(offered) = self.offers.remove(&offer.number) {
            let_go(&offered.rendezvous, wire);
        }
    }

    /// No offer that came by this end can be taken any more.
    pub fn drop_offers(&mut self, end: End) {
        self.offers.retain(|_, offered| offered.end != end);
    }

    /// Gives back what is under way to a peer.
    pub fn give_up_sending(&mut self, peer: Peer, error: &Error, events: &mut Vec<Event<S, R>>) {
        let given_up = self
            .sending
            .extract_if(.., |_, sending| sending.peer == peer);
        events.extend(given_up.map(|(_, Sending { tag, body, .. })| Event::Sent {
            tag,
            body,
            outcome: Err(error.clone()),
        }));
    }

    /// Gives back the rooms for what was to come by this end.
    pub fn give_up_receiving(&mut self, end: End, error: &Error, events: &mut Vec<Event<S, R>>) {
        let given_up = self
            .receiving
            .extract_if(.., |_, receiving| receiving.offered.end == end);
        events.extend(
            given_up.map(|(_, Receiving { into, tag, .. })| Event::Received {
                tag,
                into,
                outcome: Err(error.clone()),
            }),
        );
    }
}

impl<S, R: ReceiveBody> Bodies<S, R> {
    /// Receives an offered body, unless it is held.
    pub fn receive(
        &mut self,
        offer: &Offer,
        into: R,
        tag: u64,
        wire: &Wire,
    ) -> Option<Event<S, R>> {
        let Some(offered) = self.offers.remove(&offer.number) else {
            let outcome = Err(lost());
            return Some(Event::Received { tag, into, outcome });
        };
        let receiving = Receiving { offered, into, tag };
        if receiving.offered.rendezvous.is_held.load(Ordering::Relaxed) {
            self.receiving.insert(offer.number, receiving);
            return None;
        }
        Some(receiving.fill(wire))
    }

    /// A body that was held moves again.
    pub fn released(&mut self, number: u64, wire: &Wire) -> Option<Event<S, R>> {
        let receiving = self.receiving.remove(&number)?;
        Some(receiving.fill(wire))
    }
}

impl<R: ReceiveBody> Receiving<R> {
    fn fill<S>(self, wire: &Wire) -> Event<S, R> {
        let Receiving {
            offered,
            mut into,
            tag,
        } = self;
        into[..offered.body.len()].copy_from_slice(&offered.body);
        let_go(&offered.rendezvous, wire);
        let outcome = Ok(());
        Event::Received { tag, into, outcome }
    }
}

/// Tells the sender of a body that it is done with.
pub(super) fn let_go(rendezvous: &Rendezvous, wire: &Wire) {
    let taken = Delivery::Taken(rendezvous.number);
    wire.lock().put(rendezvous.from, taken);
}
