//! One thread's end of UCX.

use super::arrivals::{Arrivals, GREETING, Greeting, MESSAGE, Offered};
use super::endpoint::{Endpoint, EndpointId};
use super::errors::error_of;
use super::finished::Finished;
use super::lanes::lanes_of;
use super::links::{Link, Links, Stage};
use super::receiving::{self, Receives, Receiving};
use super::region::Regions;
use super::sending::{self, Outgoing, Returned, Sends};
use super::worker::{Armed, Worker};
use crate::error::Error;
use crate::frame::{FRAME_BYTES, Frame, HEAD_BYTES_MAX, Kind};
use crate::inbox::{Event, Inbox, Offer};
use crate::port::{Arming, Payload, Peer, Port, ReceiveBody, SendBody};
use farcache_ucx_sys::Context;
use farcache_ucx_sys::raw::ucs_status_t;
use std::os::fd::BorrowedFd;

/// Turns that a port that ends gives UCX to let go of everything, before it ends the worker, which
/// lets go of the rest.
const LAST_TURNS_MAX: usize = 1000;

/// A port of a [`Network`](super::Network).
///
/// A port that is connected to the one that greets it sees that one as the same peer.
#[derive(Debug)]
pub struct UcxPort<S, R> {
    // UCX points at what the later fields own, so the worker is dropped first.
    worker: Worker,
    arrivals: Arrivals<S, R>,
    sends: Sends<S>,
    receives: Receives<R>,
    finished: Finished,
    regions: Regions,
    links: Links,
    /// What the next progress tells.
    completed: Vec<Event<S, R>>,
    /// For lists of what has ended, whose capacity is kept.
    ended: Vec<(u32, ucs_status_t)>,
}

impl<S: SendBody, R: ReceiveBody> UcxPort<S, R> {
    pub(super) fn new(context: &Context, regions: Regions) -> Result<Self, Error> {
        let mut worker = Worker::new(context)?;
        let header_bytes = FRAME_BYTES + HEAD_BYTES_MAX;
        if worker.header_bytes_max() < header_bytes {
            return Err(Error::Unavailable(format!(
                "headers of {header_bytes} bytes do not fit into UCX's messages here"
            )));
        }
        let finished = Finished::new(worker.library());
        let arrivals = Arrivals::new(&mut worker)?;
        Ok(UcxPort {
            worker,
            arrivals,
            sends: Sends::default(),
            receives: Receives::default(),
            finished,
            regions,
            links: Links::default(),
            completed: Vec::new(),
            ended: Vec::new(),
        })
    }

    /// Gives the senders of greetings their numbers.
    fn settle_greetings(&mut self) {
        let arrived = self.arrivals.get();
        for greeting in arrived.greetings.drain(..) {
            let Greeting {
                event,
                endpoint,
                address,
            } = greeting;
            let peer = self.links.greeted(endpoint, address);
            if let Event::Message { sender, .. } = &mut arrived.inbox.events[event] {
                *sender = Some(peer);
            }
        }
    }

    /// Moves what arrived outside of progress behind what is in the inbox.
    fn move_early(&mut self, inbox: &mut Inbox<S, R>) {
        let early = &mut self.arrivals.get().inbox;
        if !early.is_empty() {
            inbox.append(early);
        }
    }

    fn settle_finished(&mut self, inbox: &mut Inbox<S, R>) {
        let mut ended = std::mem::take(&mut self.ended);
        self.finished.take_sends(&mut ended);
        for (index, status) in ended.drain(..) {
            let (peer, returned) = self.sends.free(index);
            self.settle_send(peer, status, returned, &mut inbox.events);
            self.count_sent(peer);
        }
        self.finished.take_receives(&mut ended);
        for (index, status) in ended.drain(..) {
            let receiving = self.receives.free(index);
            inbox.events.push(self.received(status, receiving));
        }
        self.ended = ended;
        for (endpoint, status) in self.finished.take_failures() {
            if let Some(peer) = self.links.find(endpoint) {
                let error = error_of(self.worker.library(), "the connection failed", status);
                self.lose(peer, error, &mut inbox.events);
            }
        }
    }

    /// Tells what became of a send, when that is worth telling.
    fn settle_send(
        &mut self,
        peer: Peer,
        status: ucs_status_t,
        returned: Option<Returned<S>>,
        events: &mut Vec<Event<S, R>>,
    ) {
        let mut outcome = Ok(());
        if status.is_error() {
            let error = error_of(self.worker.library(), "sending", status);
            self.lose(peer, error.clone(), events);
            outcome = Err(self.links.get(peer).map_or(error, Link::error));
        }
        if let Some(Returned { body, tag }) = returned {
            events.push(Event::Sent { tag, body, outcome });
        }
    }

    /// One message less is on its way; the last one of a closed connection ends it.
    fn count_sent(&mut self, peer: Peer) {
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        link.unsent -= 1;
        if link.unsent == 0 && matches!(link.stage, Stage::Closing(_)) {
            self.links.remove(peer);
        }
    }

    fn lose(&mut self, peer: Peer, error: Error, events: &mut Vec<Event<S, R>>) {
        if let Some(link) = self.links.get_mut(peer)
            && link.lose(error.clone())
        {
            events.push(Event::Lost { peer, error });
        }
    }

    fn received(&self, status: ucs_status_t, receiving: Receiving<R>) -> Event<S, R> {
        let Receiving {
            endpoint,
            into,
            tag,
        } = receiving;
        let outcome = if status.is_error() {
            let peer = self
                .links
                .find(endpoint)
                .and_then(|peer| self.links.get(peer));
            Err(match peer {
                Some(Link {
                    stage: Stage::Lost(_, error),
                    ..
                }) => error.clone(),
                _ => error_of(self.worker.library(), "receiving", status),
            })
        } else {
            Ok(())
        };
        Event::Received { tag, into, outcome }
    }

    /// Makes the connection over which a greeting came ours.
    fn accept(&mut self, peer: Peer) {
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        let Stage::Greeted { endpoint, address } = &link.stage else {
            return;
        };
        match Endpoint::accept(&mut self.worker, &self.finished, address, *endpoint) {
            Ok(endpoint) => link.stage = Stage::Open(endpoint),
            Err(error) => {
                link.lose(error.clone());
                self.completed.push(Event::Lost { peer, error });
            }
        }
    }

    /// A payload that cannot be sent.
    fn give_back(&mut self, peer: Peer, payload: Payload<'_, S>) {
        if let Payload::Large { body, tag, .. } = payload {
            let outcome = Err(self.links.get(peer).map_or(Error::Cancelled, Link::error));
            self.completed.push(Event::Sent { tag, body, outcome });
        }
    }

    fn take_offer(&mut self, offer: &Offer) -> Option<Offered> {
        let number = u32::try_from(offer.number).ok()?;
        self.arrivals.get().offers.remove(number)
    }
}

/// What goes in front of a message.
fn frame<S: SendBody>(
    kind: Kind,
    (session, key): (u32, u64),
    credits: u16,
    payload: &Payload<'_, S>,
) -> [u8; FRAME_BYTES] {
    let (head_bytes, body_bytes) = match payload {
        Payload::Packets(packets) => (0, packets.len()),
        Payload::Large { head, body, .. } => (head.len(), body.len()),
    };
    let frame = Frame {
        kind,
        session,
        key,
        credits,
        head_bytes: u16::try_from(head_bytes).expect("a head of one packet"),
        body_bytes: u32::try_from(body_bytes).expect("a body below 4 GiB"),
    };
    frame.encode()
}

impl<S: SendBody, R: ReceiveBody> Port<S, R> for UcxPort<S, R> {
    fn address(&self) -> &[u8] {
        self.worker.address()
    }

    fn connect(&mut self, address: &[u8]) -> Result<Peer, Error> {
        let endpoint = Endpoint::connect(&mut self.worker, &self.finished, address)?;
        Ok(self.links.add(Stage::Open(endpoint)))
    }

    fn bind(&mut self, peer: Peer, session: u32, key: u64) {
        if let Some(link) = self.links.get_mut(peer) {
            (link.session, link.key) = (session, key);
            self.accept(peer);
        }
    }

    fn send(&mut self, peer: Peer, kind: Kind, credits: u16, payload: Payload<'_, S>) {
        let is_greeting = kind == Kind::Hello;
        let address = is_greeting.then(|| self.worker.address().to_vec());
        let Some(Link {
            stage: Stage::Open(endpoint),
            session,
            key,
            unsent,
        }) = self.links.get_mut(peer)
        else {
            return self.give_back(peer, payload);
        };
        let outgoing = Outgoing {
            peer,
            number: if is_greeting { GREETING } else { MESSAGE },
            frame: frame(kind, (*session, *key), credits, &payload),
            payload,
            trailer: address.as_deref().unwrap_or_default(),
        };
        let started = self.sends.start(
            &mut self.worker,
            endpoint,
            &self.finished,
            &self.regions,
            outgoing,
        );
        match started {
            sending::Started::Pending => *unsent += 1,
            sending::Started::Over(status, returned) => {
                if status.is_error() || returned.is_some() {
                    let mut events = std::mem::take(&mut self.completed);
                    self.settle_send(peer, status, returned, &mut events);
                    self.completed = events;
                }
            }
        }
    }

    fn unsent(&self, peer: Peer) -> usize {
        self.links.get(peer).map_or(0, |link| link.unsent)
    }

    fn receive(&mut self, offer: Offer, into: R, tag: u64) {
        assert!(
            into.len() >= offer.bytes,
            "a room that is too small for the body"
        );
        let Some(offered) = self.take_offer(&offer) else {
            let outcome = Err(Error::PeerLost("the offer is void".into()));
            return self.completed.push(Event::Received { tag, into, outcome });
        };
        let started = self
            .receives
            .start(&mut self.worker, &self.finished, offered, into, tag);
        if let receiving::Started::Over(status, receiving) = started {
            let event = self.received(status, receiving);
            self.completed.push(event);
        }
    }

    fn refuse(&mut self, offer: Offer) {
        if let Some(offered) = self.take_offer(&offer) {
            offered.release(&mut self.worker);
        }
    }

    fn progress(&mut self, inbox: &mut Inbox<S, R>) -> bool {
        let before = inbox.events.len();
        self.move_early(inbox);
        inbox.events.append(&mut self.completed);
        std::mem::swap(inbox, &mut self.arrivals.get().inbox);
        let any = self.worker.progress();
        self.settle_greetings();
        std::mem::swap(inbox, &mut self.arrivals.get().inbox);
        if !self.finished.is_empty() {
            self.settle_finished(inbox);
        }
        any || inbox.events.len() > before
    }

    fn close(&mut self, peer: Peer) {
        self.close_link(peer);
    }

    fn arm(&mut self) -> Arming {
        if !self.completed.is_empty() || !self.arrivals.get().inbox.is_empty() {
            return Arming::Busy;
        }
        if self.worker.arm() == Armed::No {
            return Arming::Busy;
        }
        // Once more after UCX is armed: over Soft-RoCE wake-ups are lost otherwise.
        let any = self.worker.progress();
        self.settle_greetings();
        if any || !self.finished.is_empty() || !self.arrivals.get().inbox.is_empty() {
            return Arming::Busy;
        }
        Arming::Armed
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.worker.descriptor())
    }

    fn lanes(&self, peer: Peer) -> String {
        let Some(Link {
            stage: Stage::Open(endpoint),
            ..
        }) = self.links.get(peer)
        else {
            return String::new();
        };
        let description = endpoint.describe(&self.worker);
        description.map_or_else(|error| error.to_string(), |text| lanes_of(&text))
    }
}

impl<S, R> UcxPort<S, R> {
    /// Offers that came by this endpoint, or all.
    fn release_offers(&mut self, endpoint: Option<EndpointId>) {
        let offers = &mut self.arrivals.get().offers;
        let is_meant = |came_by: EndpointId| endpoint.is_none_or(|endpoint| endpoint == came_by);
        let numbers: Vec<u32> = offers
            .iter()
            .filter_map(|(number, offered)| is_meant(offered.endpoint()).then_some(number))
            .collect();
        for number in numbers {
            if let Some(offered) = self.arrivals.get().offers.remove(number) {
                offered.release(&mut self.worker);
            }
        }
    }

    fn close_link(&mut self, peer: Peer) {
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        let error = link.error();
        let stage = std::mem::replace(&mut link.stage, Stage::Closing(error));
        let is_over = link.unsent == 0;
        if let Stage::Open(endpoint) | Stage::Lost(Some(endpoint), _) = stage {
            let id = endpoint.id();
            endpoint.close(&mut self.worker);
            self.release_offers(Some(id));
        }
        if is_over {
            self.links.remove(peer);
        }
    }
}

impl<S, R> Drop for UcxPort<S, R> {
    fn drop(&mut self) {
        for peer in self.links.peers() {
            self.close_link(peer);
        }
        self.release_offers(None);
        let mut turns = 0;
        while self.sends.pending() + self.receives.pending() > 0 && turns < LAST_TURNS_MAX {
            self.worker.progress();
            turns += 1;
        }
    }
}
