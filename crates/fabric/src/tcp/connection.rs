//! One connected stream.

use super::incoming::{Found, Incoming};
use super::outgoing::Outgoing;
use super::stream::Stream;
use crate::error::Error;
use crate::frame::{Frame, Kind};
use crate::inbox::{Event, Inbox, Offer};
use crate::port::{Peer, ReceiveBody, SendBody};

/// A stream with what waits to be written and what has been read.
pub(super) struct Connection<S, R> {
    pub(super) stream: Stream,
    pub(super) outgoing: Outgoing<S>,
    pub(super) incoming: Incoming<R>,
    /// What the frames of this peer's messages carry.
    pub(super) session: u32,
    pub(super) key: u64,
    /// Counts the peer's offers.
    offers: u32,
    /// The loss has been told.
    pub(super) is_lost: bool,
    /// Input waits that the socket does not report.
    pub(super) has_input: bool,
    /// The socket is watched for room to write.
    pub(super) watches_room: bool,
}

impl<S: SendBody, R: ReceiveBody> Connection<S, R> {
    pub(super) fn new(stream: Stream) -> Self {
        Connection {
            stream,
            outgoing: Outgoing::new(),
            incoming: Incoming::new(),
            session: 0,
            key: 0,
            offers: 0,
            is_lost: false,
            // The handshake may have left some.
            has_input: true,
            watches_room: false,
        }
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.is_lost && (!self.outgoing.is_empty() || self.stream.has_unsent())
    }

    /// Writes what waits. Returns whether anything happened.
    pub(super) fn write(&mut self, peer: Peer, inbox: &mut Inbox<S, R>) -> bool {
        let before = self.outgoing.messages();
        let events = &mut inbox.events;
        let written = self.outgoing.write(&mut self.stream, |tag, body| {
            let outcome = Ok(());
            events.push(Event::Sent { tag, body, outcome });
        });
        if let Err(error) = written.and_then(|()| self.stream.flush()) {
            self.lose(peer, &Error::PeerLost(error.to_string()), &mut inbox.events);
            return true;
        }
        self.outgoing.messages() != before
    }

    /// Reads what is there. Returns whether anything happened.
    pub(super) fn read(&mut self, peer: Peer, inbox: &mut Inbox<S, R>) -> bool {
        let mut happened = false;
        let number = offer_number(peer, self.offers);
        let (session, key) = (self.session, self.key);
        let offers = &mut self.offers;
        let outcome = self.incoming.read(&mut self.stream, number, |found| {
            happened = true;
            let event = match found {
                Found::Packets(packets) => Event::Message {
                    frame: frame(session, key, 0, packets.len()),
                    packets: inbox.keep(packets, &[]),
                    sender: None,
                },
                Found::Head(head, bytes) => {
                    *offers = offers.wrapping_add(1);
                    Event::Offered {
                        frame: frame(session, key, head.len(), bytes),
                        head: inbox.keep(head, &[]),
                        offer: Offer { number, bytes },
                    }
                }
                Found::Received { into, tag } => {
                    let outcome = Ok(());
                    Event::Received { tag, into, outcome }
                }
            };
            inbox.events.push(event);
        });
        match outcome {
            Ok(may_be_more) => self.has_input = may_be_more,
            Err(error) => {
                self.lose(peer, &error, &mut inbox.events);
                happened = true;
            }
        }
        happened
    }

    /// Takes note of the end, and gives everything back that was lent.
    fn lose(&mut self, peer: Peer, error: &Error, events: &mut Vec<Event<S, R>>) {
        if self.is_lost {
            return;
        }
        self.is_lost = true;
        self.has_input = false;
        self.abandon(error, events);
        let error = error.clone();
        events.push(Event::Lost { peer, error });
    }

    /// Gives everything back that was lent.
    pub(super) fn abandon(&mut self, error: &Error, events: &mut Vec<Event<S, R>>) {
        self.outgoing.abandon(|tag, body| {
            let outcome = Err(error.clone());
            events.push(Event::Sent { tag, body, outcome });
        });
        if let Some((into, tag)) = self.incoming.abandon() {
            let outcome = Err(error.clone());
            events.push(Event::Received { tag, into, outcome });
        }
    }
}

/// Names an offer: the upper half is its peer, the lower counts.
fn offer_number(peer: Peer, count: u32) -> u64 {
    u64::from(peer.0) << 32 | u64::from(count)
}

/// The peer of an offer.
pub(super) fn peer_of_offer(number: u64) -> Peer {
    Peer((number >> 32) as u32)
}

fn frame(session: u32, key: u64, head_bytes: usize, body_bytes: usize) -> Frame {
    Frame {
        kind: Kind::Packets,
        session,
        key,
        credits: 0,
        head_bytes: u16::try_from(head_bytes).unwrap_or(u16::MAX),
        body_bytes: u32::try_from(body_bytes).unwrap_or(u32::MAX),
    }
}
