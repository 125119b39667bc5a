//! A conversation in the binary protocol: what each stage does lies in a file of its own.
//! Behaviour where the protocol's text is silent: memcached 1.6.18.

mod administration;
mod authenticate;
mod delete;
mod dispatch;
mod get;
mod numbers;
mod offered;
mod reply;
mod store;
mod touch;
mod upgrade;

pub use offered::{Expected, Offered};
pub(super) use offered::{offered, received};

use super::arriving::Arriving;
use super::{Alone, COPIED_BYTES_PER_REQUEST, Context, HIGH_WATER_BYTES, Replies, Status};
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
}

struct Pending {
    header: Header,
    value: Arriving,
}

impl State {
    /// A conversation with a client that has authenticated already.
    pub(super) fn let_in() -> State {
        State {
            is_authenticated: true,
            ..State::default()
        }
    }

    /// Where the next bytes of the value now arriving go; empty when none is.
    pub(super) fn value_buffer(&mut self) -> &mut [u8] {
        self.pending
            .as_mut()
            .map_or(&mut [], |pending| pending.value.buffer())
    }

    /// So many bytes have been read into [`State::value_buffer`].
    pub(super) fn value_received(&mut self, bytes: usize) {
        if let Some(pending) = &mut self.pending {
            pending.value.received(bytes);
        }
    }

    /// Whether anything may have been changed since the last call.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Whether a request of this opcode that is all of the input may be carried out now, past what is done about a stream.
    #[inline]
    fn may_run_alone(&self, opcode: u8, context: &Context<'_>, replies: &Replies) -> bool {
        self.swallow_bytes == 0
            && self.pending.is_none()
            && authenticate::may_use(self, opcode, &context.shared.auth)
            && !context.store.needs_reads()
            && replies.len() < HIGH_WATER_BYTES
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

    /// One request that has copied a value of this length.
    fn one_with_copy(bytes: usize, value_bytes: usize) -> Flow {
        // The text protocols count batches, this one requests: each is worth a batch.
        let requests = 1 + value_bytes / (COPIED_BYTES_PER_REQUEST * BATCH_MAX);
        Flow::Done { bytes, requests }
    }
}

/// Answers `input` if all of it is one get, or one packet that stores a value where `may_store`, that can be answered at once; otherwise
/// nothing has happened.
#[inline]
pub(super) fn answer_alone(
    state: &State,
    input: &[u8],
    may_store: bool,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Option<Alone> {
    if get_alone(state, input, context, replies) {
        return Some(Alone::Get);
    }
    (may_store && store::run_alone(state, input, context, replies)).then_some(Alone::Store)
}

#[inline]
fn get_alone(state: &State, input: &[u8], context: &Context<'_>, replies: &mut Replies) -> bool {
    let done = get::run_alone(state, input, context, replies);
    if matches!(done, Some((_, Status::AwaitDevice))) {
        // It is asked for again, by whoever starts the reads.
        context.store.forget_reads();
        return false;
    }
    done.is_some()
}

/// Handles the requests at the start of `input`; returns how many bytes of it are done with.
pub(super) fn advance(
    state: &mut State,
    input: &[u8],
    context: &Context<'_>,
    replies: &mut Replies,
) -> (usize, Status) {
    if let Some(done) = get::run_alone(state, input, context, replies) {
        return done;
    }
    let mut used = 0;
    let mut requests_left = context.shared.settings.requests_per_event.max(1);
    loop {
        used += state.swallow(&input[used..]);
        used += store::take_value(state, &input[used..], context, replies);
        if context.store.needs_reads() {
            return (used, Status::AwaitDevice);
        }
        if state.pending.is_some() {
            return (used, Status::ValueWanted);
        }
        if used == input.len() {
            return (used, Status::NeedInput);
        }
        if requests_left == 0 || replies.len() >= HIGH_WATER_BYTES {
            return (used, Status::Yield);
        }
        let mark = replies.mark();
        let flow = dispatch::next(state, &input[used..], requests_left, context, replies);
        if context.store.needs_reads() {
            replies.roll_back(mark);
            return (used, Status::AwaitDevice);
        }
        match flow {
            Flow::Done { bytes, requests } => {
                used += bytes;
                requests_left = requests_left.saturating_sub(requests);
            }
            Flow::NeedInput => return (used, Status::NeedInput),
            Flow::Close { bytes } => return (used + bytes, Status::Close),
        }
    }
}
