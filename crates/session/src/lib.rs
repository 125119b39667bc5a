//! One client's conversation, without I/O: bytes and the time go in, replies and a status come out.
//!
//! A driver (TCP, UDP, unix socket, TLS, the fabric) moves the bytes; a [`Host`] is all that a
//! session sees of its server. So a session can be driven, and tested, without sockets, threads or
//! clocks.
//!
//! | part | what it does |
//! |---|---|
//! | `text`, `binary` | the two protocols: a file for each stage or kind of command |
//! | `auth` | how clients authenticate in them |
//! | `stats` | `stats` in all its forms |
//! | `discovery` | which servers the cluster has, as clients of ElastiCache ask for it |
//! | `watch` | what clients that watch are told of requests |
//! | `arriving` | values that are still arriving |
//! | `queue` | large values that wait until others' have arrived |
//! | `forward` | requests for keys that another server of the cluster owns |
//! | `moving` | keys that are on their way to this server: what the old owner has of them is brought first |
//! | `peer` | the other end of that: what such a server asks |
//! | `replies`, `unsent` | replies on their way out |
//! | `host` | what a session may ask of its server |
//! | `service` | what all sessions of one server share |
#![forbid(unsafe_code)]

mod arriving;
mod auth;
mod binary;
pub mod counters;
mod discovery;
mod forward;
mod host;
mod moving;
mod others;
mod peer;
mod queue;
mod replies;
mod report;
mod service;
pub mod stats;
mod text;
mod unsent;
pub mod watch;

pub use arriving::ArrivingLimit;
pub use auth::Auth;
pub use binary::{Expected, Offered};
pub use discovery::Configuration;
pub use forward::{Forward, Refusing};
pub use host::{
    Host, HostTopic, Networks, Overview, Peering, ProcessorTime, Reload, UpgradeRefusal,
    UpgradeRequest,
};
pub use moving::{Moves, Source, moved_options};
pub use others::{FORWARDED_BYTES_MAX, Failure, Peer};
pub use queue::Turn;
pub use replies::{
    BATCHED_COPY_BYTES_MAX, COPY_BYTES_MAX, HIGH_WATER_BYTES, MESSAGE_COPY_BYTES_MAX, Replies,
    SLICES_MAX,
};
pub use service::{Options, Service};
pub use unsent::Unsent;

use counters::Counters;
use farcache_base::time::Clock;
use farcache_proto::text::WatchFlags;
use farcache_store::{Reservation, StoreHandle, Suspended, Uncommitted};

/// The version told to clients: the memcached release whose protocol this server speaks, since
/// clients choose features by it, then the server's own.
pub const VERSION: &str = concat!("1.6.45-farcache-", env!("CARGO_PKG_VERSION"));

/// Which protocols a connection may speak (`-B`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Found out from the first byte of each connection.
    #[default]
    Auto,
    /// Text and meta commands only.
    Ascii,
    /// The binary protocol only.
    Binary,
}

/// Bytes of a value that are copied in about the time of one request among many: commands that copy
/// the present value, however short they are, use the quota of an event (`-R`) up accordingly.
pub(crate) const COPIED_BYTES_PER_REQUEST: usize = 256;

/// What a session works with while it handles input.
pub struct Context<'a> {
    /// The worker's access to the data.
    pub store: &'a StoreHandle,
    /// What all sessions of the server share.
    pub service: &'a Service,
    /// The server, as seen from this connection.
    pub host: &'a dyn Host,
    /// Who owns keys, where the server is in a cluster whose servers forward.
    pub forward: Option<&'a dyn Forward>,
    /// Where its large values wait while others' arrive; none where it cannot wait, and is refused.
    pub turn: Option<&'a Turn>,
    /// The worker's counters.
    pub counters: &'a Counters,
    /// The time.
    pub clock: Clock,
}

impl Context<'_> {
    /// The client has shown a wrong user or password.
    pub(crate) fn note_failed_login(&self) {
        self.counters.auth_errors.bump();
        self.host.note_failed_login();
    }
}

/// What came alone and has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solo {
    /// A get.
    Get,
    /// A value to store.
    Store,
}

/// What the driver should do after [`Session::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything complete has been handled: send the replies, keep the unconsumed input (a
    /// request's beginning) and bring more.
    NeedInput,
    /// A large value is arriving: read its bytes straight into [`Session::value_buffer`], tell
    /// [`Session::value_received`], and call `advance` again when the buffer is full. Input handed
    /// to `advance` before that is the same bytes, and is taken too.
    ValueWanted,
    /// The replies have reached the high-water mark, or the request quota of one event is used up:
    /// send them, then call again with the unconsumed input.
    Yield,
    /// The next request has to wait: send the replies, begin the wait, and when it is over call
    /// again, with what was read staged and the unconsumed input, which may have grown. The request
    /// has left no trace.
    Suspended(Suspended),
    /// Send the replies, then close the connection.
    Close,
}

/// A conversation in one of the protocols, found out from its first byte. Small: an idle
/// connection costs little more than this.
#[derive(Default)]
pub struct Session {
    conversation: Conversation,
}

enum Conversation {
    Undecided(Protocol),
    Text(text::TextSession),
    Binary(binary::State),
    /// With another server of the cluster.
    Peer(Box<peer::PeerSession>),
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation::Undecided(Protocol::Auto)
    }
}

const _: () = assert!(size_of::<Session>() <= 128, "idle connections are many");

impl Session {
    /// A conversation that has not begun.
    pub fn new(protocol: Protocol) -> Session {
        let conversation = Conversation::Undecided(protocol);
        Session { conversation }
    }

    /// A conversation in the text protocol on behalf of a client who was let in elsewhere.
    fn authenticated_text() -> Session {
        let conversation = Conversation::Text(text::TextSession::authenticated());
        Session { conversation }
    }

    /// A conversation in the binary protocol with a client who was let in by other means.
    pub fn authenticated() -> Session {
        let conversation = Conversation::Binary(binary::State::authenticated());
        Session { conversation }
    }

    /// A conversation with another server of the cluster, which was let in by other means: frames
    /// may follow.
    #[must_use]
    pub fn of_peer(from: Peer) -> Session {
        let conversation = Conversation::Peer(Box::new(peer::PeerSession::let_in(from)));
        Session { conversation }
    }

    /// Looks at the head of a packet whose value is still with its sender, in the binary protocol.
    pub fn offered(
        &self,
        head: &[u8],
        value_bytes: usize,
        context: &Context<'_>,
        replies: &mut Replies,
    ) -> Offered {
        match &self.conversation {
            Conversation::Binary(binary) => {
                binary::offered(binary, head, value_bytes, context, replies)
            }
            _ => Offered::Malformed,
        }
    }

    /// Handles the requests at the start of `input`; returns how many bytes of it are done with.
    ///
    /// May be called with empty input, as after [`Status::Yield`].
    pub fn advance(
        &mut self,
        input: &[u8],
        context: &Context<'_>,
        replies: &mut Replies,
    ) -> (usize, Status) {
        match &mut self.conversation {
            Conversation::Text(text) => text.advance(input, context, replies),
            Conversation::Binary(binary) => binary::advance(binary, input, context, replies),
            Conversation::Peer(peer) => peer.advance(input, context, replies),
            Conversation::Undecided(protocol) => match input.first() {
                None => (0, Status::NeedInput),
                Some(&first) => {
                    self.conversation = begun(first, *protocol, context);
                    self.advance(input, context, replies)
                }
            },
        }
    }

    /// Answers `input` if all of it is one plain get, or one packet that stores a value, and that
    /// can be done at once; otherwise nothing has happened. For sessions whose replies never have
    /// to wait until something is durable.
    #[inline]
    pub fn answer_solo(
        &self,
        input: &[u8],
        context: &Context<'_>,
        replies: &mut Replies,
    ) -> Option<Solo> {
        match &self.conversation {
            Conversation::Binary(binary) => binary::answer_solo(binary, input, context, replies),
            _ => None,
        }
    }

    /// Where the next bytes of the value now arriving go; empty when none is.
    pub fn value_buffer(&mut self) -> &mut [u8] {
        match &mut self.conversation {
            Conversation::Text(text) => text.value_buffer(),
            Conversation::Binary(binary) => binary.value_buffer(),
            Conversation::Peer(peer) => peer.value_buffer(),
            Conversation::Undecided(_) => &mut [],
        }
    }

    /// The driver has read this many bytes into [`Session::value_buffer`].
    pub fn value_received(&mut self, bytes: usize) {
        match &mut self.conversation {
            Conversation::Text(text) => text.value_received(bytes),
            Conversation::Binary(binary) => binary.value_received(bytes),
            Conversation::Peer(peer) => peer.value_received(bytes),
            Conversation::Undecided(_) => {}
        }
    }

    /// Whether anything may have been changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        match &mut self.conversation {
            Conversation::Text(text) => text.take_changed(),
            Conversation::Binary(binary) => binary.take_changed(),
            Conversation::Peer(peer) => peer.take_changed(),
            Conversation::Undecided(_) => false,
        }
    }

    /// What this connection watches, once it has become a watcher: it makes no more requests, its
    /// input is to be thrown away, and it is sent events.
    pub fn watching(&self) -> Option<WatchFlags> {
        match &self.conversation {
            Conversation::Text(text) => text.watching(),
            _ => None,
        }
    }
}

/// The conversation that begins with this byte.
fn begun(first: u8, protocol: Protocol, context: &Context<'_>) -> Conversation {
    if first == peer::FIRST_BYTE && context.forward.is_some() {
        return Conversation::Peer(Box::default());
    }
    let by_first_byte = match first {
        binary::FIRST_BYTE => Protocol::Binary,
        _ => Protocol::Ascii,
    };
    let protocol = match protocol {
        // A client that must authenticate has one protocol to do it in, and no other.
        Protocol::Auto => context.service.auth.protocol().unwrap_or(by_first_byte),
        chosen => chosen,
    };
    match protocol {
        Protocol::Binary => Conversation::Binary(binary::State::default()),
        _ => Conversation::Text(text::TextSession::default()),
    }
}

/// Stores a value that [`Session::offered`] wanted, now that its room is filled, and answers.
///
/// # Errors
/// The room, where something must be waited for first: as after [`Status::Suspended`].
pub fn received(
    room: Reservation,
    expected: &Expected,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<(), Uncommitted> {
    binary::received(room, expected, context, replies)
}
