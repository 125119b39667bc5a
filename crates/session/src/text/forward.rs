//! Commands for keys that another server owns.

use super::run::{Flow, Run};
use super::store::skip;
use super::{Retrieval, State, Status};
use crate::arriving::WAIT_IN_INPUT_BYTES_MAX;
use crate::forward::ForeignValue;
use crate::moving::Need;
use crate::others::{Failure, Peer};
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::base64::decode_key;
use farcache_proto::meta::Flags;
use farcache_proto::number;
use farcache_proto::text::{Request, StoreVerb, Tokens, parse, split_line};
use farcache_store::{BATCH_MAX, Suspended};

/// What ends the reply to a `get` that another server has answered.
const GET_END: &[u8] = b"END\r\n";

/// The key of a command that has exactly one, as sent, and whether that is base64.
fn single_key<'a>(request: &Request<'a>) -> Option<(&'a [u8], bool)> {
    match *request {
        Request::Store(store) => Some((store.key, false)),
        Request::Delete { key, .. }
        | Request::Arithmetic { key, .. }
        | Request::Touch { key, .. } => Some((key, false)),
        Request::PlainRead(read) => Some((read.key, false)),
        Request::MetaGet(key, flags)
        | Request::MetaDelete(key, flags)
        | Request::MetaArithmetic(key, flags)
        | Request::MetaSet {
            key,
            flags: Ok(flags),
            ..
        } => Some((key, flags.has(b'b'))),
        Request::MetaDebug { key, is_base64 } => Some((key, is_base64)),
        _ => None,
    }
}

/// What a command needs of the item that its one key has.
fn need(request: &Request<'_>) -> Need {
    let changes = |flags: &Flags<'_>| b"ENRT".iter().any(|flag| flags.has(*flag));
    match request {
        Request::Store(store) if store.verb == StoreVerb::Set => Need::Nothing,
        Request::PlainRead(_) | Request::MetaDebug { .. } => Need::ToRead,
        Request::MetaGet(_, flags) if !changes(flags) => Need::ToRead,
        Request::MetaSet {
            flags: Ok(flags), ..
        } if [b'C', b'I', b'M'].iter().all(|flag| !flags.has(*flag)) => Need::Nothing,
        _ => Need::ToChange,
    }
}

/// Length of the value that follows a command's line, with its ending.
fn value_and_end_bytes(request: &Request<'_>) -> usize {
    match request {
        Request::Store(store) => store.value_bytes + 2,
        Request::MetaSet { value_bytes, .. } => value_bytes + 2,
        _ => 0,
    }
}

/// Whether a command wants no reply, whatever comes.
fn is_quiet(request: &Request<'_>) -> bool {
    match request {
        Request::Store(store) => store.quiet,
        Request::Delete { quiet, .. }
        | Request::Touch { quiet, .. }
        | Request::Arithmetic { quiet, .. } => *quiet,
        _ => false,
    }
}

impl<'i> Run<'_, 'i> {
    /// The server that decides on a key, where that is another one.
    #[inline]
    pub(super) fn owner_elsewhere(&self, key: &[u8]) -> Option<Peer> {
        self.context.owner_elsewhere(key)
    }

    /// The server that decides on the one key of a command, where that is another one. A key that
    /// makes no sense has none: this server answers it.
    pub(super) fn foreign_owner(&mut self, request: &Request<'_>) -> Option<Peer> {
        let (key, is_base64) = single_key(request)?;
        if is_base64 {
            return self.owner_elsewhere(decode_key(key)?.as_bytes());
        }
        if matches!(request, Request::Store(_) | Request::MetaSet { .. }) {
            self.prefetch_stores();
            if self.ownership.knows_next_store(key) {
                return None;
            }
        }
        (key.len() <= KEY_BYTES_MAX).then(|| self.owner_elsewhere(key))?
    }

    /// Brings what the one key of a command needs, where that moves to this server.
    ///
    /// # Errors
    /// What to do first, where that must be waited for.
    pub(super) fn bring_for(&mut self, request: &Request<'_>) -> Result<(), Flow> {
        let Some((key, is_base64)) = single_key(request) else {
            return Ok(());
        };
        let brought = match is_base64 {
            false => self.context.bring(key, need(request)),
            true => match decode_key(key) {
                Some(key) => self.context.bring(key.as_bytes(), need(request)),
                None => Ok(()),
            },
        };
        brought.map_err(|suspended| Flow::Wait(State::Command, suspended))
    }

    /// Passes a command on whose line takes `bytes`, and the reply back.
    pub(super) fn forward(
        &mut self,
        owner: Peer,
        request: &Request<'i>,
        bytes: usize,
    ) -> Option<Flow> {
        let value_bytes = value_and_end_bytes(request);
        let Some(whole) = self.rest().get(..bytes + value_bytes) else {
            return self.await_value(owner, request, bytes, value_bytes);
        };
        let Some(answer) = self.context.ask(owner, whole) else {
            self.look_ahead_for_peers(&self.rest()[whole.len()..]);
            return Some(Flow::Wait(State::Command, Suspended::OnPeer));
        };
        self.position += whole.len();
        self.push_answer(answer, is_quiet(request));
        None
    }

    /// A command's value has not arrived whole.
    fn await_value(
        &mut self,
        owner: Peer,
        request: &Request<'i>,
        bytes: usize,
        value_bytes: usize,
    ) -> Option<Flow> {
        if value_bytes <= WAIT_IN_INPUT_BYTES_MAX {
            return Some(Flow::Stop(Status::NeedInput));
        }
        let line = &self.rest()[..bytes];
        self.position += bytes;
        let quiet = is_quiet(request);
        match ForeignValue::begin(Some(owner), line, value_bytes, self.context) {
            Ok(value) => Some(Flow::Enter(State::Foreign(Box::new(value), quiet))),
            Err(failure) => {
                self.push_answer(Err(failure), quiet);
                skip(value_bytes)
            }
        }
    }

    /// Takes what has arrived of a large value; passes it on once it is complete.
    pub(super) fn foreign_value(&mut self, value: &mut ForeignValue, quiet: bool) -> Flow {
        self.position += value.take(self.rest());
        if !value.is_complete() {
            return Flow::Stop(Status::ValueWanted);
        }
        match value.ask(self.context) {
            None => Flow::Stop(Status::Suspended(Suspended::OnPeer)),
            Some(answer) => {
                self.push_answer(answer, quiet);
                Flow::Enter(State::Command)
            }
        }
    }

    fn push_answer(&mut self, answer: Result<Vec<u8>, Failure>, quiet: bool) {
        match answer {
            Ok(reply) => {
                self.charge_copy(reply.len());
                self.push(&reply);
            }
            Err(_) if quiet => {}
            Err(failure) => self.push_failure(failure),
        }
    }

    /// Answers that another server's reply is not to be had.
    pub(super) fn push_failure(&mut self, failure: Failure) {
        self.push(b"SERVER_ERROR ");
        self.push_line(failure.text());
    }

    /// Answers one of a retrieval command's keys, which the keys `left` follow, with what its owner
    /// has.
    ///
    /// # Errors
    /// [`Suspended`], where the owner has not answered yet.
    pub(super) fn forward_key(
        &mut self,
        owner: Peer,
        key: &[u8],
        left: &[u8],
        retrieval: Retrieval,
    ) -> Result<Result<(), Failure>, Suspended> {
        let Some(answer) = self.context.ask(owner, &get_of(key, retrieval)) else {
            self.look_ahead_in_keys(left, retrieval);
            return Err(Suspended::OnPeer);
        };
        let reply = match answer {
            Ok(reply) => reply,
            Err(failure) => return Ok(Err(failure)),
        };
        self.charge_copy(reply.len());
        let Some(values) = reply.strip_suffix(GET_END) else {
            // An error of the owner's own, as a whole line.
            self.push(&reply);
            return Ok(Ok(()));
        };
        self.push(values);
        Ok(Ok(()))
    }

    /// A key is asked for elsewhere: the keys that follow it are asked for at the same time.
    pub(super) fn look_ahead_in_keys(&self, left: &[u8], retrieval: Retrieval) {
        let keys = Tokens::new(left).filter(|key| key.len() <= KEY_BYTES_MAX);
        for key in keys.take(BATCH_MAX - 1) {
            match self.owner_elsewhere(key) {
                // Whether it is there already does not matter yet.
                Some(owner) => _ = self.context.ask(owner, &get_of(key, retrieval)),
                None => self.context.begin_to_bring(key),
            }
        }
    }

    /// Asks elsewhere, at the same time, for the keys of plain reads in the commands that follow.
    pub(super) fn look_ahead_for_peers(&self, mut rest: &[u8]) {
        for _ in 1..BATCH_MAX {
            let Some((line, bytes)) = split_line(rest) else {
                return;
            };
            let Ok(request @ Request::PlainRead(_)) = parse(line) else {
                return;
            };
            if let Request::PlainRead(read) = request
                && read.key.len() <= KEY_BYTES_MAX
            {
                match self.owner_elsewhere(read.key) {
                    Some(owner) => _ = self.context.ask(owner, &rest[..bytes]),
                    None => self.context.begin_to_bring(read.key),
                }
            }
            rest = &rest[bytes..];
        }
    }
}

/// The command that retrieves this key alone.
fn get_of(key: &[u8], retrieval: Retrieval) -> Vec<u8> {
    let mut request = Vec::with_capacity(key.len() + 32);
    let name: &[u8] = match (retrieval.touch, retrieval.with_cas) {
        (None, false) => b"get ",
        (None, true) => b"gets ",
        (Some(_), false) => b"gat ",
        (Some(_), true) => b"gats ",
    };
    request.extend_from_slice(name);
    if let Some(touch) = retrieval.touch {
        number::push(&mut request, touch.exptime);
        request.push(b' ');
    }
    request.extend_from_slice(key);
    request.extend_from_slice(b"\r\n");
    request
}
