//! The interface that every network implements.

use crate::bytes::LentMemory;
use crate::error::Error;
use crate::frame::{Frame, Kind};
use crate::inbox::{Inbox, Offer};
use crate::limits::Limits;
pub use crate::peer::Peer;
use crate::short::Get;
use crate::whole::Handler;
use stable_deref_trait::StableDeref;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Whether a port's thread may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arming {
    /// Nothing is left to do; the descriptor becomes readable when there is.
    Armed,
    /// There is something to do: call [`Port::progress`].
    Busy,
}

/// Bytes that are sent from where they lie: they neither move nor change until dropped.
pub trait SendBody: StableDeref + Deref<Target = [u8]> + Send + 'static {}
impl<T: StableDeref + Deref<Target = [u8]> + Send + 'static> SendBody for T {}

/// Room that is received into where it lies: it does not move until dropped.
pub trait ReceiveBody: StableDeref + DerefMut<Target = [u8]> + Send + 'static {}
impl<T: StableDeref + DerefMut<Target = [u8]> + Send + 'static> ReceiveBody for T {}

/// What a message carries.
#[derive(Debug)]
pub enum Payload<'a, S> {
    /// One or several whole packets; copied before the call returns.
    Packets(&'a [u8]),
    /// One or several whole packets, at a place in memory that the port may hold a share of until
    /// they are sent, instead of copying them: for many of them.
    Shared(&'a Arc<Vec<u8>>, Range<usize>),
    /// One packet whose value lies elsewhere: all of the packet before its value (copied), and the
    /// value, which the port holds until it is sent. [`crate::Event::Sent`] brings it back.
    Large {
        /// Header, extras and key.
        head: &'a [u8],
        /// The value.
        body: S,
        /// Named by the completion.
        tag: u64,
    },
}

/// Packets of so many bytes are better sent as [`Payload::Shared`]: copying them once more would
/// cost more than sharing them.
pub const SHARED_BYTES_MIN: usize = 4 << 10;

impl<S> Payload<'_, S> {
    /// The packets, where there is nothing else.
    #[must_use]
    pub fn packets(&self) -> Option<&[u8]> {
        match self {
            Payload::Packets(packets) => Some(packets),
            Payload::Shared(packets, range) => Some(&packets[range.clone()]),
            Payload::Large { .. } => None,
        }
    }
}

impl<S: Deref<Target = [u8]>> Payload<'_, S> {
    /// What goes in front of a message that carries it.
    pub(crate) fn frame(&self, kind: Kind, (session, key): (u32, u64), credits: u16) -> Frame {
        let (head_bytes, body_bytes) = match self {
            Payload::Packets(packets) => (0, packets.len()),
            Payload::Shared(_, range) => (0, range.len()),
            Payload::Large { head, body, .. } => (head.len(), body.len()),
        };
        Frame {
            kind,
            session,
            key,
            credits,
            head_bytes: u16::try_from(head_bytes).expect("a head of one packet"),
            body_bytes: u32::try_from(body_bytes).expect("a body below 4 GiB"),
        }
    }
}

/// One thread's end of the fabric: any number of connections, all moved by [`Port::progress`].
///
/// Nothing arrives and nothing completes but in [`Port::progress`]. A port may be handed from
/// thread to thread, and is used by one at a time.
pub trait Port<S: SendBody, R: ReceiveBody>: Send {
    /// Where others find this port; to be carried to them by other means. Empty where a port cannot
    /// be found (TCP: its server is an ordinary memcached).
    ///
    /// It may be another one after a peer was lost: a port whose way in was blocked by a process
    /// that died loses everyone and starts anew (over UCX within a host). So whoever hands it on
    /// looks again after [`crate::Event::Lost`].
    fn address(&self) -> &[u8];

    /// Begins a connection to the port with this address. The address must come from a server that
    /// is trusted: networks read it by the lengths that stand in it.
    ///
    /// # Errors
    /// [`Error::Unreachable`] where no network leads there, [`Error::System`].
    fn connect(&mut self, address: &[u8]) -> Result<Peer, Error>;

    /// Names the session and the key that every message to this peer carries from now on.
    ///
    /// A sender that greeted is answered only after this, and only from here on does the port look
    /// at what the sender says of itself (over UCX its address, read by the lengths that stand in
    /// it): a server binds whom it has let in, and closes everyone else, without an answer.
    fn bind(&mut self, peer: Peer, session: u32, key: u64);

    /// Sends a message. It is on its way when this returns; a failure later is told as the loss of
    /// the peer. `credits` goes into the frame ([`crate::Frame::credits`]).
    ///
    /// Nothing is sent to a peer that is lost or closed; a large body then comes back by
    /// [`crate::Event::Sent`] with an error.
    fn send(&mut self, peer: Peer, kind: Kind, credits: u16, payload: Payload<'_, S>);

    /// Sends one plain get by itself, whose opaque number is this.
    ///
    /// # Panics
    /// With an item's key of more than 250 bytes.
    fn send_get(&mut self, peer: Peer, opaque: u32, item_key: &[u8]) {
        let get = Get::new(0, opaque.to_be_bytes(), item_key);
        self.send(peer, Kind::Packets, 0, Payload::Packets(get.packet()));
    }

    /// From now on, longer messages are not put together. Without this there is no limit.
    fn limit(&mut self, _limits: Limits) {}

    /// Messages to this peer of which the network has not yet let go.
    fn unsent(&self, peer: Peer) -> usize;

    /// Receives an offered body into the start of `into`, without a copy where the network can do
    /// that; [`crate::Event::Received`] brings it back with `tag`.
    ///
    /// # Panics
    /// When `into` is shorter than the offer.
    fn receive(&mut self, offer: Offer, into: R, tag: u64);

    /// Gives an offered body up; its sender is told that it was sent.
    fn refuse(&mut self, offer: Offer);

    /// Moves what can be moved and hands what happened to `inbox`, behind what is there already.
    /// Returns whether anything happened.
    fn progress(&mut self, inbox: &mut Inbox<S, R>) -> bool;

    /// Moves what can be moved, as [`Port::progress`]; messages that come whole while nothing waits
    /// in `inbox` are shown to `handler` first, in order and until it leaves one to the inbox.
    fn progress_with(&mut self, inbox: &mut Inbox<S, R>, handler: &mut Handler<'_>) -> bool {
        let is_first = inbox.is_empty();
        let happened = self.progress(inbox);
        if is_first {
            inbox.show(handler);
        }
        happened
    }

    /// Ends a connection at once. Everything that is under way for the peer completes with
    /// [`Error::Cancelled`] or [`Error::PeerLost`] in a later [`Port::progress`], after which the
    /// network touches none of its memory any more. Unreceived offers of the peer are given up.
    fn close(&mut self, peer: Peer);

    /// Registers memory that large bodies will be sent from and received into, once, instead of
    /// piece by piece when it is first used. Does nothing where the network has no use for it.
    ///
    /// # Errors
    /// [`Error::System`]: the network's reason, such as a limit for locked memory.
    fn register(&mut self, _memory: &Arc<LentMemory>) -> Result<(), Error> {
        Ok(())
    }

    /// Ends a registration, at once or when nothing is under way any more.
    fn unregister(&mut self, _memory: &Arc<LentMemory>) {}

    /// Looks after the way into this port. To be called when somebody who was expected has not
    /// come.
    fn look_after(&mut self) {}

    /// Prepares for sleep; to be called anew before each wait for [`Port::descriptor`], which
    /// should have a time limit all the same.
    fn arm(&mut self) -> Arming;

    /// Readable when an armed port has something to do; none where the port's other descriptors
    /// are waited for already.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// The networks in use towards a peer, for people.
    fn lanes(&self, peer: Peer) -> String;

    /// Whether nothing but the kernel's sockets carries messages to a peer: a socket of one's own
    /// then does it faster.
    fn runs_on_sockets(&self, _peer: Peer) -> bool {
        false
    }
}
