//! What a port hands over.

use crate::error::Error;
use crate::frame::{Frame, Kind};
use crate::peer::Peer;
use crate::whole::{Handler, Whole};
use std::ops::Range;

/// A body that its sender offers and that is still there. It must go to
/// [`Port::receive`](crate::Port::receive) or [`Port::refuse`](crate::Port::refuse) of the port
/// that made it; it is void after the close or loss of its peer, where both do the right thing.
#[derive(Debug, PartialEq, Eq)]
pub struct Offer {
    /// Names it in its port.
    pub number: u64,
    /// Length in bytes, as the network says.
    pub bytes: usize,
}

/// One thing that happened.
#[derive(Debug)]
pub enum Event<S, R> {
    /// A message with all of its bytes; one above the port's limits comes without its body
    /// ([`Port::limit`](crate::Port::limit)).
    Message {
        /// Its frame; neither session nor key have been checked.
        frame: Frame,
        /// Where its packets lie in [`Inbox::bytes`]; whether they are packets has not been
        /// checked.
        packets: Range<usize>,
        /// The way back to the sender; only with [`Kind::Hello`](crate::Kind::Hello). To be bound
        /// ([`Port::bind`](crate::Port::bind)) and kept, or closed. Whoever greets again over the
        /// same connection is the same peer.
        sender: Option<Peer>,
    },
    /// A message whose value is still with its sender.
    Offered {
        /// Its frame, as above.
        frame: Frame,
        /// Where the part before the value lies in [`Inbox::bytes`].
        head: Range<usize>,
        /// The value.
        offer: Offer,
    },
    /// An offered body has been received, or will not be.
    Received {
        /// The receiver's name for it.
        tag: u64,
        /// The room, filled if all went well.
        into: R,
        /// How it went.
        outcome: Result<(), Error>,
    },
    /// The network has let go of a large body.
    Sent {
        /// The sender's name for it.
        tag: u64,
        /// The body.
        body: S,
        /// How it went; success does not mean that the peer has handled it.
        outcome: Result<(), Error>,
    },
    /// A peer is gone; it must still be closed.
    Lost {
        /// Which.
        peer: Peer,
        /// Why.
        error: Error,
    },
    /// The port has another address from now on. It has lost everyone, which has been told, and
    /// whatever is still on its way to the old address never comes.
    Renewed,
    /// Something arrived that is no message; it has been dropped.
    Garbage(Error),
}

/// What has happened at a port and has not been looked at, in order.
#[derive(Debug)]
pub struct Inbox<S, R> {
    /// The bytes of messages.
    pub bytes: Vec<u8>,
    /// What happened.
    pub events: Vec<Event<S, R>>,
}

/// Capacity that an emptied inbox keeps for the next messages, in bytes.
const KEPT_CAPACITY_BYTES: usize = 1 << 20;

impl<S, R> Default for Inbox<S, R> {
    fn default() -> Self {
        Inbox {
            bytes: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl<S, R> Inbox<S, R> {
    /// Whether nothing waits to be looked at.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Forgets the bytes of events that have been taken out.
    pub fn recycle(&mut self) {
        if self.events.is_empty() {
            self.bytes.clear();
            if self.bytes.capacity() > KEPT_CAPACITY_BYTES {
                self.bytes.shrink_to(KEPT_CAPACITY_BYTES);
            }
        }
    }

    /// Appends bytes of a message, in up to two pieces; returns where they lie.
    pub fn keep(&mut self, first: &[u8], second: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(first);
        self.bytes.extend_from_slice(second);
        start..self.bytes.len()
    }

    /// Takes out the messages at the front that `handler` takes.
    pub(crate) fn show(&mut self, handler: &mut Handler<'_>) {
        let bytes = &self.bytes;
        let mut takes = |event: &Event<S, R>| match event {
            Event::Message {
                frame,
                packets,
                sender: None,
            } if frame.kind != Kind::Hello => handler(Whole::new(frame, &bytes[packets.clone()])),
            _ => false,
        };
        let events = self.events.iter();
        let taken = events.take_while(|event| takes(event)).count();
        self.events.drain(..taken);
        self.recycle();
    }

    /// Moves all of another inbox behind what is here.
    pub(crate) fn append(&mut self, other: &mut Inbox<S, R>) {
        if self.events.is_empty() && self.bytes.is_empty() {
            // The capacities change hands too: each stays with one of the two.
            return std::mem::swap(self, other);
        }
        let offset = self.bytes.len();
        self.bytes.append(&mut other.bytes);
        for mut event in other.events.drain(..) {
            if let Event::Message { packets: range, .. } | Event::Offered { head: range, .. } =
                &mut event
            {
                *range = range.start + offset..range.end + offset;
            }
            self.events.push(event);
        }
    }
}
