//! One thread's end of UCX.

use super::address;
use super::arrivals::{Arrivals, GREETING, MESSAGE, Offered};
use super::endpoint::Endpoint;
use super::finished::Finished;
use super::home::Home;
use super::lanes::{are_sockets, lanes_of};
use super::layout::Layout;
use super::links::{Link, Links, Stage};
use super::probe::Prober;
use super::receiving::{self, Receives};
use super::region::{Region, Regions};
use super::renewal::Probing;
use super::sending::{self, Outgoing, Sends};
use super::short_form;
use super::wake::Wake;
use super::worker::{Armed, Worker};
use crate::bytes::LentMemory;
use crate::error::Error;
use crate::frame::{FRAME_BYTES, HEAD_BYTES_MAX, Kind};
use crate::inbox::{Event, Inbox, Offer};
use crate::limits::Limits;
use crate::port::{Arming, Payload, Peer, Port, ReceiveBody, SendBody};
use crate::short;
use crate::whole::Handler;
use farcache_ucx_sys::Context;
use farcache_ucx_sys::raw::ucs_status_t;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A port of a [`Network`](super::Network).
///
/// A port that is connected to the one that greets it sees that one as the same peer.
#[derive(Debug)]
pub struct UcxPort<S, R> {
    // UCX points at what the later fields own, so the worker is dropped first.
    pub(super) worker: Worker,
    pub(super) arrivals: Arrivals<S, R>,
    pub(super) sends: Sends<S>,
    pub(super) receives: Receives<R>,
    pub(super) finished: Finished,
    regions: Regions,
    pub(super) links: Links,
    /// Closed connections of which UCX has not let go.
    pub(super) closing: Vec<Peer>,
    /// What the next progress tells.
    pub(super) completed: Vec<Event<S, R>>,
    /// For lists of what has ended, whose capacity is kept.
    pub(super) ended: Vec<(u32, ucs_status_t)>,
    /// Counted to do rare things rarely.
    pub(super) turns: u32,
    pub(super) home: Home,
    pub(super) context: Context,
    pub(super) prober: Option<Prober>,
    pub(super) probing: Probing,
    pub(super) wake: Wake,
}

impl<S: SendBody, R: ReceiveBody> UcxPort<S, R> {
    pub(super) fn new(
        context: &Context,
        regions: Regions,
        shares_memory: Option<Layout>,
    ) -> Result<Self, Error> {
        let mut worker = Worker::new(context)?;
        let header_bytes = FRAME_BYTES + HEAD_BYTES_MAX;
        if worker.header_bytes_max() < header_bytes {
            return Err(Error::Unavailable(format!(
                "headers of {header_bytes} bytes do not fit into UCX's messages here"
            )));
        }
        let finished = Finished::new(worker.library());
        let arrivals = Arrivals::new(&mut worker)?;
        let wake = Wake::new()?;
        wake.watch(&worker)?;
        Ok(UcxPort {
            home: Home::at(&worker, shares_memory),
            worker,
            arrivals,
            sends: Sends::default(),
            receives: Receives::default(),
            finished,
            regions,
            links: Links::default(),
            closing: Vec::new(),
            completed: Vec::new(),
            ended: Vec::new(),
            turns: 0,
            context: context.clone(),
            prober: None,
            probing: Probing::of(shares_memory),
            wake,
        })
    }

    /// A payload that cannot be sent.
    fn give_back(&mut self, peer: Peer, payload: Payload<'_, S>) {
        if let Payload::Large { body, tag, .. } = payload {
            let outcome = Err(self.links.get(peer).map_or(Error::Cancelled, Link::error));
            self.completed.push(Event::Sent { tag, body, outcome });
        }
    }

    /// Whether a peer has shown that it understands short messages ([`crate::short`]).
    #[must_use]
    pub fn takes_short(&self, peer: Peer) -> bool {
        self.links.get(peer).is_some_and(|link| link.takes_short)
    }

    /// Sends a message with its frame.
    fn send_long(&mut self, peer: Peer, kind: Kind, credits: u16, payload: Payload<'_, S>) {
        let is_greeting = kind == Kind::Hello;
        let Some(Link {
            stage: Stage::Open(endpoint),
            session,
            key,
            unsent,
            ..
        }) = self.links.get_mut(peer)
        else {
            return self.give_back(peer, payload);
        };
        let frame = payload.frame(kind, (*session, *key), credits).encode();
        if let Payload::Packets(packets) = payload
            && !is_greeting
            && let Some(status) =
                sending::send_at_once(&mut self.worker, endpoint, MESSAGE, &frame, packets)
        {
            return self.settle_at_once(peer, status, None);
        }
        let outgoing = Outgoing {
            peer,
            number: if is_greeting { GREETING } else { MESSAGE },
            frame,
            payload,
            trailer: if is_greeting {
                self.home.address()
            } else {
                &[]
            },
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
                self.settle_at_once(peer, status, returned);
            }
        }
    }

    /// Ends registrations once UCX holds nothing of ours, given up or not, that may name them.
    fn end_retired(&mut self) {
        let (sends, receives) = (&self.sends, &self.receives);
        self.regions
            .end_retired(|| sends.is_idle() && receives.is_idle());
    }

    /// Whether UCX has told nothing that is still to be handled, and nothing is to be looked after.
    fn is_quiet(&mut self) -> bool {
        let arrived = self.arrivals.get();
        arrived.inbox.is_empty()
            && arrived.sessions.learned.is_empty()
            && self.completed.is_empty()
            && self.finished.is_empty()
            && self.closing.is_empty()
            && self.probing.is_at_rest()
    }

    /// UCX has been moved; `any` is whether it says that anything happened.
    #[inline]
    fn after_progress(&mut self, inbox: &mut Inbox<S, R>, any: bool) -> bool {
        self.turns = self.turns.wrapping_add(1);
        if self.is_quiet() {
            return any;
        }
        self.take_in(inbox) | any
    }

    /// Hands over what UCX has told; returns whether that was anything.
    fn take_in(&mut self, inbox: &mut Inbox<S, R>) -> bool {
        let before = inbox.events.len();
        self.settle_greetings();
        self.settle_learned();
        inbox.append(&mut self.arrivals.get().inbox);
        inbox.events.append(&mut self.completed);
        if !self.finished.is_empty() {
            self.settle_finished(&mut inbox.events);
        }
        if self.is_time_to_reap() {
            self.reap();
        }
        if !self.probing.is_at_rest() {
            self.probe();
        }
        inbox.events.len() > before
    }

    fn take_offer(&mut self, offer: &Offer) -> Option<Offered> {
        let number = u32::try_from(offer.number).ok()?;
        self.arrivals.get().offers.remove(number)
    }
}

impl<S: SendBody, R: ReceiveBody> Port<S, R> for UcxPort<S, R> {
    fn address(&self) -> &[u8] {
        self.home.address()
    }

    fn connect(&mut self, address: &[u8]) -> Result<Peer, Error> {
        let address =
            address::decode(address).map_err(|error| Error::Unreachable(error.to_string()))?;
        self.home.check(&address)?;
        let endpoint = Endpoint::connect(&mut self.worker, &self.finished, address.ucx)?;
        let process = Some(address.process);
        Ok(self.links.add(Stage::Open(endpoint), process))
    }

    fn bind(&mut self, peer: Peer, session: u32, key: u64) {
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        (link.session, link.key) = (session, key);
        self.arrivals.get().sessions.add(key, session, peer);
        if let Err(error) = link.accept(&mut self.worker, &self.finished) {
            link.lose(error.clone());
            self.completed.push(Event::Lost { peer, error });
        }
    }

    fn send(&mut self, peer: Peer, kind: Kind, credits: u16, payload: Payload<'_, S>) {
        match payload {
            Payload::Packets(packets) if kind == Kind::Packets => {
                let link = self.links.get(peer);
                let worker = &mut self.worker;
                let sent = link.and_then(|link| short_form::send(worker, link, credits, packets));
                if let Some(status) = sent {
                    return self.settle_at_once(peer, status, None);
                }
                self.send_long(peer, kind, credits, payload);
            }
            Payload::Packets(packets) if kind == Kind::Welcome => {
                let packets = [packets, &[short::UNDERSTOOD]].concat();
                self.send_long(peer, kind, credits, Payload::Packets(&packets));
            }
            payload => self.send_long(peer, kind, credits, payload),
        }
    }

    #[inline]
    fn send_get(&mut self, peer: Peer, opaque: u32, item_key: &[u8]) {
        let opaque = opaque.to_be_bytes();
        let link = self.links.get(peer);
        let worker = &mut self.worker;
        match link.and_then(|link| short_form::send_get(worker, link, opaque, item_key)) {
            Some(status) => self.settle_at_once(peer, status, None),
            None => {
                let get = short::Get::new(0, opaque, item_key);
                self.send_long(peer, Kind::Packets, 0, Payload::Packets(get.packet()));
            }
        }
    }

    fn limit(&mut self, limits: Limits) {
        self.arrivals.get().limits = limits;
    }

    fn unsent(&self, peer: Peer) -> usize {
        self.links.get(peer).map_or(0, |link| link.unsent)
    }

    fn receive(&mut self, offer: Offer, into: R, tag: u64) {
        assert!(
            into.len() >= offer.bytes,
            "a room that is too small for the body"
        );
        let offered = self.take_offer(&offer);
        let peer = offered
            .as_ref()
            .and_then(|offered| self.links.find(offered.endpoint()));
        let (offered, peer) = match (offered, peer) {
            (Some(offered), Some(peer)) => (offered, peer),
            (offered, _) => {
                if let Some(offered) = offered {
                    offered.release(&mut self.worker);
                }
                let outcome = Err(Error::PeerLost("the offer is void".into()));
                return self.completed.push(Event::Received { tag, into, outcome });
            }
        };
        let started =
            self.receives
                .start(&mut self.worker, &self.finished, offered, peer, into, tag);
        match started {
            receiving::Started::Over(status, receiving) => {
                let event = self.received(status, receiving);
                self.completed.push(event);
            }
            receiving::Started::Pending => {
                if let Some(link) = self.links.get_mut(peer) {
                    link.receiving += 1;
                }
            }
        }
    }

    fn refuse(&mut self, offer: Offer) {
        if let Some(offered) = self.take_offer(&offer) {
            offered.release(&mut self.worker);
        }
    }

    fn progress(&mut self, inbox: &mut Inbox<S, R>) -> bool {
        let any = self.worker.progress();
        self.after_progress(inbox, any)
    }

    #[inline]
    fn progress_with(&mut self, inbox: &mut Inbox<S, R>, handler: &mut Handler<'_>) -> bool {
        let any = match inbox.is_empty() {
            true => self.arrivals.progress_with(&mut self.worker, handler),
            false => self.worker.progress(),
        };
        self.after_progress(inbox, any)
    }

    fn close(&mut self, peer: Peer) {
        self.close_link(peer);
    }

    fn register(&mut self, memory: &Arc<LentMemory>) -> Result<(), Error> {
        let keeper = Arc::clone(memory);
        let region = Region::new(&self.context, memory.start(), memory.len(), keeper)?;
        self.regions.add(region);
        Ok(())
    }

    fn unregister(&mut self, memory: &Arc<LentMemory>) {
        self.regions.retire(memory.start());
        self.end_retired();
    }

    fn look_after(&mut self) {
        // A peer that dies before the greeting is not known here, and may block the way even so.
        self.probing.want();
    }

    fn arm(&mut self) -> Arming {
        self.end_retired();
        let is_probing = !self.probing.is_at_rest();
        if is_probing || !self.completed.is_empty() || !self.arrivals.get().inbox.is_empty() {
            return Arming::Busy;
        }
        if self.worker.arm() == Armed::No {
            return Arming::Busy;
        }
        // Once more after UCX is armed: over Soft-RoCE wake-ups are lost otherwise.
        let any = self.worker.progress();
        if !self.closing.is_empty() {
            self.reap();
        }
        self.settle_greetings();
        if any
            || !self.finished.is_empty()
            || !self.completed.is_empty()
            || !self.arrivals.get().inbox.is_empty()
        {
            return Arming::Busy;
        }
        Arming::Armed
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wake.descriptor())
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

    fn runs_on_sockets(&self, peer: Peer) -> bool {
        are_sockets(&self.lanes(peer))
    }
}
