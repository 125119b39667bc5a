//! `get`, `gets`, `gat` and `gats`.

use super::batch::push_value;
use super::run::{Flow, Run};
use super::{Retrieval, State, Status};
use crate::moving::Need;
use crate::others::Failure;
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_base::time::Seconds;
use farcache_proto::text::{Reject, Tokens, split_line};
use farcache_store::{Access, BATCH_MAX, Suspended, settled};

/// Most spaces before a `get` whose line is longer than [`farcache_proto::text::LINE_BYTES_MAX`].
/// Source: memcached `proto_text.c`, `try_read_command_ascii`.
const LEADING_SPACES_MAX: usize = 100;

/// Where the keys of a retrieval command start whose line has not ended, if the input starts with
/// one that may have any number of keys.
pub(super) fn open_ended(input: &[u8]) -> Option<(usize, Retrieval)> {
    let spaces = input.iter().take_while(|byte| **byte == b' ').count();
    let command = &input[spaces..];
    let (name_bytes, with_cas) = match command {
        [b'g', b'e', b't', b' ', ..] => (4, false),
        [b'g', b'e', b't', b's', b' ', ..] => (5, true),
        _ => return None,
    };
    (spaces <= LEADING_SPACES_MAX).then_some((
        spaces + name_bytes,
        Retrieval {
            with_cas,
            touch: None,
        },
    ))
}

/// What became of some keys.
enum Keys<'i> {
    /// All keys have been taken.
    Taken,
    /// The replies are full; these keys are left.
    Left(&'i [u8]),
    /// A key is too long.
    TooLong,
    /// Another server does not tell what it has of a key; the keys before that have been answered.
    Failed(Failure),
    /// Something must be waited for first.
    Wait(Flow),
}

impl<'i> Run<'_, 'i> {
    /// A retrieval command whose whole line, of `line_bytes` at the present position, is there.
    /// `line_and_end_bytes` counts its ending too.
    pub(super) fn retrieve(
        &mut self,
        keys: Tokens<'i>,
        retrieval: Retrieval,
        line_bytes: usize,
        line_and_end_bytes: usize,
    ) -> Option<Flow> {
        let is_suspect = line_bytes > KEY_BYTES_MAX;
        if is_suspect && keys.clone().any(|key| key.len() > KEY_BYTES_MAX) {
            return self.flush().or_else(|| {
                self.position += line_and_end_bytes;
                self.reject(Reject::BAD_FORMAT);
                None
            });
        }
        match self.take_keys(keys, retrieval, line_bytes) {
            Keys::Left(left) => {
                self.position = Run::position_of(self.position, line_bytes, left);
                Some(Flow::Enter(State::Keys(retrieval)))
            }
            Keys::Wait(wait) => Some(wait),
            Keys::Failed(failure) => {
                self.position += line_and_end_bytes;
                self.push_failure(failure);
                None
            }
            Keys::Taken | Keys::TooLong => {
                self.position += line_and_end_bytes;
                self.end_retrieval()
            }
        }
    }

    /// Takes the keys at the start of the input, as far as they have arrived.
    pub(super) fn keys(&mut self, retrieval: Retrieval) -> Flow {
        if self.is_full() {
            return Flow::Stop(Status::Yield);
        }
        let rest = self.rest();
        let Some((line, bytes)) = split_line(rest) else {
            return self.keys_without_end(retrieval);
        };
        match self.take_keys(Tokens::new(line), retrieval, line.len()) {
            Keys::Left(left) => {
                self.position = Run::position_of(self.position, line.len(), left);
                Flow::Stop(Status::Yield)
            }
            Keys::Taken => {
                self.position += bytes;
                self.end_retrieval().unwrap_or(Flow::Enter(State::Command))
            }
            Keys::TooLong => self.reject_keys(),
            Keys::Failed(failure) => self.fail_keys(failure),
            Keys::Wait(wait) => wait,
        }
    }

    fn keys_without_end(&mut self, retrieval: Retrieval) -> Flow {
        let rest = self.rest();
        let whole_bytes = memchr::memrchr(b' ', rest).map_or(0, |space| space + 1);
        // A carriage return may already be there.
        if rest.len() - whole_bytes > KEY_BYTES_MAX + 1 {
            return self.reject_keys();
        }
        match self.take_keys(Tokens::new(&rest[..whole_bytes]), retrieval, whole_bytes) {
            Keys::Left(left) => {
                self.position = Run::position_of(self.position, whole_bytes, left);
                Flow::Stop(Status::Yield)
            }
            Keys::Taken => self.flush().unwrap_or_else(|| {
                self.position += whole_bytes;
                Flow::Stop(Status::NeedInput)
            }),
            Keys::TooLong => self.reject_keys(),
            Keys::Failed(failure) => self.fail_keys(failure),
            Keys::Wait(wait) => wait,
        }
    }

    /// Ends the line in an error, since another server does not tell what it has.
    fn fail_keys(&mut self, failure: Failure) -> Flow {
        self.push_failure(failure);
        Flow::Enter(State::SkipLine)
    }

    /// A key too long has come after others were answered: the line ends in an error.
    fn reject_keys(&mut self) -> Flow {
        self.flush().unwrap_or_else(|| {
            self.reject(Reject::BAD_FORMAT);
            Flow::Enter(State::SkipLine)
        })
    }

    fn end_retrieval(&mut self) -> Option<Flow> {
        if self.batch.end_retrieval() {
            return None;
        }
        self.flush().or_else(|| {
            self.push(b"END\r\n");
            None
        })
    }

    /// Takes keys of the line of `line_bytes` at the present position.
    fn take_keys(
        &mut self,
        mut keys: Tokens<'i>,
        retrieval: Retrieval,
        line_bytes: usize,
    ) -> Keys<'i> {
        let mut left = keys.rest();
        while let Some(key) = keys.next() {
            let position = Run::position_of(self.position, line_bytes, left);
            left = keys.rest();
            if key.len() > KEY_BYTES_MAX {
                return Keys::TooLong;
            }
            // Keys that are looked up together are looked at together, when they are all there.
            let is_looked_at = self.ownership.may_be_foreign
                && (self.ownership.looks_at_next_read() || retrieval.touch.is_some());
            if is_looked_at && let Some(owner) = self.owner_elsewhere(key) {
                if let Some(wait) = self.flush() {
                    return Keys::Wait(wait);
                }
                match self.forward_key(owner, key, left, retrieval) {
                    Ok(Ok(())) => {}
                    Ok(Err(failure)) => return Keys::Failed(failure),
                    Err(suspended) => {
                        self.position = position;
                        return Keys::Wait(Flow::Wait(State::Keys(retrieval), suspended));
                    }
                }
                if self.is_full() && !left.is_empty() {
                    return Keys::Left(left);
                }
                continue;
            }
            if is_looked_at && let Some(wait) = self.bring_key(key, left, retrieval, position) {
                return Keys::Wait(wait);
            }
            if self.batch.is_full()
                && let Some(wait) = self.flush()
            {
                return Keys::Wait(wait);
            }
            match retrieval.touch {
                None => {
                    self.batch.push_key(key, retrieval, position);
                    self.batch.note_looked_at(is_looked_at);
                }
                Some(touch) => {
                    let done = self.get_and_touch(key, left, touch.expiry, retrieval.with_cas);
                    if let Err(suspended) = done {
                        self.position = position;
                        return Keys::Wait(Flow::Wait(State::Keys(retrieval), suspended));
                    }
                }
            }
            if (self.batch.is_full() || retrieval.touch.is_some()) && !left.is_empty() {
                if let Some(wait) = self.flush() {
                    return Keys::Wait(wait);
                }
                if self.is_full() {
                    return Keys::Left(left);
                }
            }
        }
        Keys::Taken
    }

    /// Brings what a key needs that the keys `left` follow, where it moves to this server; what to
    /// wait for first.
    fn bring_key(
        &mut self,
        key: &[u8],
        left: &[u8],
        retrieval: Retrieval,
        position: usize,
    ) -> Option<Flow> {
        let need = match retrieval.touch {
            Some(_) => Need::ToChange,
            None if self.context.must_bring(key) => Need::ToRead,
            None => return None,
        };
        if let Some(wait) = self.flush() {
            return Some(wait);
        }
        let suspended = self.context.bring(key, need).err()?;
        self.look_ahead_in_keys(left, retrieval);
        self.position = position;
        Some(Flow::Wait(State::Keys(retrieval), suspended))
    }

    /// Answers a key that the keys `left` follow.
    ///
    /// # Errors
    /// [`Suspended`], where it must wait; nothing has been done then.
    fn get_and_touch(
        &mut self,
        key: &[u8],
        left: &[u8],
        expiry: Seconds,
        with_cas: bool,
    ) -> Result<(), Suspended> {
        let touched = settled(self.context.store.touch(key, expiry, Access::Use));
        let item = touched
            .inspect_err(|_| self.look_ahead(left))?
            .ok()
            .flatten();
        let counters = self.context.counters;
        counters.cmd_touch.bump();
        self.context.service.detail.get(key, item.is_some());
        self.context.show_fetched(key, item.as_ref());
        match &item {
            Some(_) => counters.touch_hits.bump(),
            None => counters.touch_misses.bump(),
        }
        push_value(key, with_cas, item.as_ref(), self.replies);
        Ok(())
    }

    /// A key needs a device: the reads of the keys that follow start together with its own, as far
    /// as one request may.
    #[cold]
    fn look_ahead(&self, left: &[u8]) {
        let keys = Tokens::new(left).filter(|key| key.len() <= KEY_BYTES_MAX);
        for key in keys.take(BATCH_MAX) {
            if self.context.store.exceeds_read_share() {
                return;
            }
            // What it has to read is noted, which is all that is wanted.
            let _ = self.context.store.get(key, Access::Peek);
        }
    }
}
