//! A conversation in the text protocol, meta commands included. One file per stage:
//! `dispatch` takes commands off the input, `batch` looks keys up together, the others carry a
//! kind of command out.

mod admin;
mod batch;
mod dispatch;
mod dump;
mod forward;
mod get;
mod meta_delete;
mod meta_get;
mod meta_set;
mod meta_token;
mod mutate;
mod ownership;
mod prefetch;
mod run;
mod store;
mod value;

use super::auth::{Auth, TextStep, text_step};
use super::{Context, Replies, Status};
use crate::forward::ForeignValue;
use dump::Dump;
use farcache_base::time::Seconds;
use farcache_proto::text::WatchFlags;
use run::{Flow, Run};
use value::ArrivingValue;

/// Where a conversation in the text protocol stands between two calls.
#[derive(Default)]
pub(super) struct TextSession {
    state: State,
    is_authenticated: bool,
    has_changed: bool,
}

#[derive(Default)]
enum State {
    /// At the beginning of a command.
    #[default]
    Command,
    /// Within the keys of a retrieval command.
    Keys(Retrieval),
    /// Within a line to be thrown away.
    SkipLine,
    /// Before so many bytes to be thrown away.
    SkipBytes(usize),
    /// Within a large value.
    Value(Box<ArrivingValue>),
    /// Within a large value that is for another server; whether its command wants no reply.
    Foreign(Box<ForeignValue>, bool),
    /// Within a dump of the store.
    Dump(Box<Dump>),
    /// The connection has become a watcher.
    Watch(WatchFlags),
}

/// What a retrieval command does with each of its keys.
#[derive(Clone, Copy)]
struct Retrieval {
    /// Return CAS tokens.
    with_cas: bool,
    /// Give the item this expiry.
    touch: Option<Touch>,
}

/// A new expiry.
#[derive(Clone, Copy)]
struct Touch {
    expiry: Seconds,
    /// As the client gave it.
    exptime: i64,
}

impl TextSession {
    /// A conversation on behalf of a client who was let in elsewhere.
    pub(super) fn authenticated() -> TextSession {
        TextSession {
            is_authenticated: true,
            ..TextSession::default()
        }
    }

    /// Handles the requests at the start of `input`; returns how many bytes of it are done with.
    pub(super) fn advance(
        &mut self,
        input: &[u8],
        context: &Context<'_>,
        replies: &mut Replies,
    ) -> (usize, Status) {
        let mut run = Run::new(input, context, replies);
        if let Flow::Stop(status) = self.authenticate(&mut run) {
            return (run.position, status);
        }
        loop {
            let flow = match &mut self.state {
                State::Command => run.commands(),
                State::Keys(retrieval) => run.keys(*retrieval),
                State::SkipLine => run.skip_line(),
                State::SkipBytes(bytes) => run.skip_bytes(bytes),
                State::Value(value) => run.value(value),
                State::Foreign(value, quiet) => run.foreign_value(value, *quiet),
                State::Dump(dump) => run.dump(dump),
                State::Watch(_) => run.discard(),
            };
            match flow {
                Flow::Enter(state) => self.state = state,
                Flow::Wait(state, suspended) => {
                    self.state = state;
                    self.has_changed |= run.has_changed;
                    return (run.position, Status::Suspended(suspended));
                }
                Flow::Stop(status) => {
                    self.has_changed |= run.has_changed;
                    return (run.position, status);
                }
            }
        }
    }

    /// Whether anything may have been changed since the last call.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    fn authenticate(&mut self, run: &mut Run<'_, '_>) -> Flow {
        if self.is_authenticated || run.context.service.auth != Auth::Text {
            return Flow::Enter(State::Command);
        }
        loop {
            let counters = run.context.counters;
            let is_user = |name: &[u8], password: &[u8]| run.context.host.is_user(name, password);
            let (bytes, reply) = match text_step(is_user, run.rest()) {
                TextStep::NeedInput => return Flow::Stop(Status::NeedInput),
                TextStep::Close => return Flow::Stop(Status::Close),
                TextStep::Refused(bytes, reply) => (bytes, reply),
                TextStep::Authenticated(bytes) => {
                    counters.auth_cmds.bump();
                    self.is_authenticated = true;
                    (bytes, "STORED\r\n")
                }
                TextStep::Failed(bytes) => {
                    counters.auth_cmds.bump();
                    run.context.note_failed_login();
                    (bytes, "CLIENT_ERROR authentication failure\r\n")
                }
            };
            run.position += bytes;
            run.replies.buffer().extend_from_slice(reply.as_bytes());
            if self.is_authenticated {
                return Flow::Enter(State::Command);
            }
        }
    }

    /// Where the next bytes of the value now arriving go; empty when none is.
    pub(super) fn value_buffer(&mut self) -> &mut [u8] {
        match &mut self.state {
            State::Value(value) => value.buffer(),
            State::Foreign(value, _) => value.buffer(),
            _ => &mut [],
        }
    }

    /// The driver has read this many bytes into the value buffer.
    pub(super) fn value_received(&mut self, bytes: usize) {
        match &mut self.state {
            State::Value(value) => value.received(bytes),
            State::Foreign(value, _) => value.received(bytes),
            _ => {}
        }
    }

    /// What this connection watches, once it has become a watcher.
    pub(super) fn watching(&self) -> Option<WatchFlags> {
        match self.state {
            State::Watch(flags) => Some(flags),
            _ => None,
        }
    }
}
