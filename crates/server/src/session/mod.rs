//! One client's conversation, without I/O: bytes and the time go in, replies and a status come out.
//! The driver (TCP, UDP, unix socket, TLS, later the fabric) moves the bytes.

mod arriving;
pub mod auth;
mod binary;
mod replies;
pub mod stats;
mod text;
mod unsent;

pub use arriving::ArrivingLimit;
pub use binary::{Expected, Offered};
pub use replies::{
    COMPANY_COPY_BYTES_MAX, COPY_BYTES_MAX, HIGH_WATER_BYTES, MESSAGE_COPY_BYTES_MAX, Replies,
    SLICES_MAX,
};
pub use unsent::Unsent;

use crate::counters::Counters;
use crate::fabric::life_line::Caller;
use crate::settings::Protocol;
use crate::shared::Shared;
use farcache_base::time::Clock;
use farcache_proto::text::WatchFlags;
use farcache_store::{Reservation, StoreHandle};

/// Bytes of a value that are copied in about the time of one request among many: commands that copy
/// the present value, however short they are, use the quota of an event (`-R`) up accordingly.
pub(crate) const COPIED_BYTES_PER_REQUEST: usize = 256;

/// What a session works with while it handles input.
pub struct Context<'a> {
    /// The worker's access to the data.
    pub store: &'a StoreHandle,
    /// The server.
    pub shared: &'a Shared,
    /// The worker's counters.
    pub counters: &'a Counters,
    /// The time.
    pub clock: Clock,
    /// The connection, where it may become the life line of a session on the fabric.
    pub caller: Option<Caller<'a>>,
}

impl Context<'_> {
    /// The client has shown a wrong user or password.
    pub(crate) fn note_failed_login(&self) {
        self.counters.auth_errors.bump();
        let peer = self.caller.map(|caller| &caller.info.peer);
        let now_s = self.shared.seconds_now();
        self.shared.refusals.login_failed(peer, now_s);
    }
}

/// What came alone and has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
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
    /// The next request needs what lies on a device ([`StoreHandle::needs_reads`]): send the replies,
    /// start the reads, and when they are complete call again, with what was read staged and the
    /// unconsumed input, which may have grown. The request has left no trace.
    AwaitDevice,
    /// Send the replies, then close the connection.
    Close,
}

/// A conversation in one of the protocols, found out from its first byte. Small: an idle
/// connection costs little more than this.
#[derive(Default)]
pub struct Session {
    conversation: Conversation,
}

#[derive(Default)]
enum Conversation {
    #[default]
    Undecided,
    Text(text::TextSession),
    Binary(binary::State),
}

const _: () = assert!(size_of::<Session>() <= 128, "idle connections are many");

impl Session {
    /// A conversation that has not begun.
    pub fn new(protocol: Protocol) -> Session {
        let conversation = match protocol {
            Protocol::Auto => Conversation::Undecided,
            Protocol::Ascii => Conversation::Text(text::TextSession::default()),
            Protocol::Binary => Conversation::Binary(binary::State::default()),
        };
        Session { conversation }
    }

    /// A conversation in the binary protocol with a client who was let in by other means.
    pub fn let_in() -> Session {
        let conversation = Conversation::Binary(binary::State::let_in());
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
            Conversation::Undecided => match input.first() {
                None => (0, Status::NeedInput),
                Some(&first) => {
                    let by_first_byte = match first {
                        binary::FIRST_BYTE => Protocol::Binary,
                        _ => Protocol::Ascii,
                    };
                    // Whoever must authenticate has one protocol to do it in, and no other.
                    let protocol = context.shared.auth.protocol().unwrap_or(by_first_byte);
                    *self = Session::new(protocol);
                    self.advance(input, context, replies)
                }
            },
        }
    }

    /// Answers `input` if all of it is one plain get, or, where `may_store`, one packet that stores a value, and that can be done at once;
    /// otherwise nothing has happened.
    #[inline]
    pub fn answer_alone(
        &self,
        input: &[u8],
        may_store: bool,
        context: &Context<'_>,
        replies: &mut Replies,
    ) -> Option<Alone> {
        match &self.conversation {
            Conversation::Binary(binary) => {
                binary::answer_alone(binary, input, may_store, context, replies)
            }
            _ => None,
        }
    }

    /// Where the next bytes of the value now arriving go; empty when none is.
    pub fn value_buffer(&mut self) -> &mut [u8] {
        match &mut self.conversation {
            Conversation::Text(text) => text.value_buffer(),
            Conversation::Binary(binary) => binary.value_buffer(),
            Conversation::Undecided => &mut [],
        }
    }

    /// The driver has read this many bytes into [`Session::value_buffer`].
    pub fn value_received(&mut self, bytes: usize) {
        match &mut self.conversation {
            Conversation::Text(text) => text.value_received(bytes),
            Conversation::Binary(binary) => binary.value_received(bytes),
            Conversation::Undecided => {}
        }
    }

    /// Whether anything may have been changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        match &mut self.conversation {
            Conversation::Text(text) => text.take_changed(),
            Conversation::Binary(binary) => binary.take_changed(),
            Conversation::Undecided => false,
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

/// Stores a value that [`Session::offered`] wanted, now that its room is filled, and answers.
///
/// # Errors
/// The room, where a device must be read first: as after [`Status::AwaitDevice`].
pub fn received(
    room: Reservation,
    expected: &Expected,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<(), Reservation> {
    binary::received(room, expected, context, replies)
}
