//! A conversation in the binary protocol: what each stage does lies in a file of its own.
//! Behaviour where the protocol's text is silent: memcached 1.6.18.

mod administration;
mod authenticate;
mod delete;
mod discovery;
mod dispatch;
mod forward;
mod get;
mod listing;
mod numbers;
mod offered;
mod reply;
mod store;
mod touch;
mod upgrade;
mod versioned;

pub use offered::{Expected, Offered};
pub(super) use offered::{offered, received};

use super::arriving::Arriving;
use super::forward::ForeignValue;
use super::{COPIED_BYTES_PER_REQUEST, Context, HIGH_WATER_BYTES, Replies, Solo, Status};
use farcache_proto::binary::{Header, MAGIC_REQUEST};
use farcache_store::BATCH_MAX;

/// First byte of a conversation in this protocol.
pub(super) const FIRST_BYTE: u8 = MAGIC_REQUEST;

/// What a binary conversation keeps between requests.
#[derive(Default)]
pub(super) struct State {
    is_authenticated: bool,
    has_changed: bool,
    /// Bytes of a refused request still to be thrown away.
    swallow_bytes: usize,
    /// The large value that is arriving, and whose it is.
    pending: Option<Box<Pending>>,
    /// The large value that is arriving for another server, and whose it is.
    foreign: Option<Box<(Header, ForeignValue)>>,
}

struct Pending {
    header: Header,
    value: Arriving,
}

impl State {
    /// A conversation with a client that has authenticated already.
    pub(super) fn authenticated() -> State {
        State {
            is_authenticated: true,
            ..State::default()
        }
    }

    /// Where the next bytes of the value now arriving go; empty when none is.
    pub(super) fn value_buffer(&mut self) -> &mut [u8] {
        match (&mut self.pending, &mut self.foreign) {
            (Some(pending), _) => pending.value.buffer(),
            (None, Some(foreign)) => foreign.1.buffer(),
            (None, None) => &mut [],
        }
    }

    /// So many bytes have been read into [`State::value_buffer`].
    pub(super) fn value_received(&mut self, bytes: usize) {
        match (&mut self.pending, &mut self.foreign) {
            (Some(pending), _) => pending.value.received(bytes),
            (None, Some(foreign)) => foreign.1.received(bytes),
            (None, None) => {}
        }
    }

    /// Whether anything may have been changed since the last call.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Whether a request of this opcode for this key that is all of the input may be carried out
    /// now, past what is done about a stream and about keys of other servers.
    #[inline]
    fn may_run_solo(
        &self,
        opcode: u8,
        key: &[u8],
        context: &Context<'_>,
        replies: &Replies,
    ) -> bool {
        self.swallow_bytes == 0
            && self.pending.is_none()
            && authenticate::may_use(self, opcode, context.service.auth)
            && replies.len() < HIGH_WATER_BYTES
            && context.owns_each(&[key])
    }

    /// Takes what has come of an arriving value; returns how many bytes of `input` that used.
    fn take_value(&mut self, input: &[u8]) -> usize {
        match (&mut self.pending, &mut self.foreign) {
            (Some(pending), _) => pending.value.take(input),
            (None, Some(foreign)) => foreign.1.take(input),
            (None, None) => 0,
        }
    }

    /// Throws bytes of a refused request away; returns how many.
    fn swallow(&mut self, input: &[u8]) -> usize {
        let bytes = self.swallow_bytes.min(input.len());
        self.swallow_bytes -= bytes;
        bytes
    }
}

/// What a stage made of the input at hand.
enum Flow {
    /// So many bytes and requests are done with.
    Done { bytes: usize, requests: usize },
    /// The request is not there whole.
    NeedInput,
    /// So many bytes are done with, and the conversation is over.
    Close { bytes: usize },
}

impl Flow {
    fn one(bytes: usize) -> Flow {
        Flow::Done { bytes, requests: 1 }
    }

    /// Done with one request that has copied a value of this length.
    fn one_with_copy(bytes: usize, value_bytes: usize) -> Flow {
        // The text protocols count batches, this one requests: each is worth a batch.
        let requests = 1 + value_bytes / (COPIED_BYTES_PER_REQUEST * BATCH_MAX);
        Flow::Done { bytes, requests }
    }
}

/// Answers `input` if all of it is one get, or one packet that stores a value, that can be answered
/// at once; otherwise nothing has happened.
#[inline]
pub(super) fn answer_solo(
    state: &State,
    input: &[u8],
    context: &Context<'_>,
    replies: &mut Replies,
) -> Option<Solo> {
    if get_solo(state, input, context, replies) {
        return Some(Solo::Get);
    }
    store::run_solo(state, input, context, replies).then_some(Solo::Store)
}

#[inline]
fn get_solo(state: &State, input: &[u8], context: &Context<'_>, replies: &mut Replies) -> bool {
    match get::run_solo(state, input, context, replies) {
        Some(Ok(_)) => true,
        Some(Err(_)) => {
            // It is asked for again, by whoever begins the wait.
            context.store.forget_reads();
            false
        }
        None => false,
    }
}

/// Handles the requests at the start of `input`; returns how many bytes of it are done with.
pub(super) fn advance(
    state: &mut State,
    input: &[u8],
    context: &Context<'_>,
    replies: &mut Replies,
) -> (usize, Status) {
    match get::run_solo(state, input, context, replies) {
        Some(Ok(used)) => return (used, Status::NeedInput),
        Some(Err(suspended)) => return (0, Status::Suspended(suspended)),
        None => {}
    }
    let mut used = 0;
    let mut requests_left = context.service.options.requests_per_event.max(1);
    loop {
        used += state.swallow(&input[used..]);
        used += state.take_value(&input[used..]);
        if let Err(suspended) = store::commit_arrived(state, context, replies) {
            return (used, Status::Suspended(suspended));
        }
        if let Err(suspended) = forward::ask_arrived(state, context, replies) {
            return (used, Status::Suspended(suspended));
        }
        if state.pending.is_some() || state.foreign.is_some() {
            return (used, Status::ValueWanted);
        }
        if used == input.len() {
            return (used, Status::NeedInput);
        }
        if requests_left == 0 || replies.len() >= HIGH_WATER_BYTES {
            return (used, Status::Yield);
        }
        let mark = replies.mark();
        match dispatch::next(state, &input[used..], requests_left, context, replies) {
            Err(suspended) => {
                replies.roll_back(mark);
                return (used, Status::Suspended(suspended));
            }
            Ok(Flow::Done { bytes, requests }) => {
                used += bytes;
                requests_left = requests_left.saturating_sub(requests);
            }
            Ok(Flow::NeedInput) => return (used, Status::NeedInput),
            Ok(Flow::Close { bytes }) => return (used + bytes, Status::Close),
        }
    }
}
