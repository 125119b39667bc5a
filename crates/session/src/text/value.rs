//! The values of storage commands: whole in the input, worth waiting for, or arriving in pieces.

use super::dispatch::tells_of_change;
use super::run::{Flow, Run};
use super::{State, Status};
use crate::arriving::{Arriving, WAIT_IN_INPUT_BYTES_MAX};
use crate::others::Failure;
use crate::replies::ChangeError;
use farcache_proto::text::{Request, parse};
use farcache_store::{SetMode, SetOptions, SetOutcome, StoreError, Suspended, settled};

/// What ends every value.
const VALUE_END: &[u8] = b"\r\n";

/// A value arriving in pieces, and the line of its command, which is parsed again to answer it.
pub(super) struct ArrivingValue {
    /// `None` once it has been stored.
    arriving: Option<Arriving>,
    line: Box<[u8]>,
}

impl ArrivingValue {
    /// Room for the bytes still missing.
    pub(super) fn buffer(&mut self) -> &mut [u8] {
        self.arriving.as_mut().map_or(&mut [], Arriving::buffer)
    }

    /// This many bytes have been written to the buffer.
    pub(super) fn received(&mut self, bytes: usize) {
        if let Some(arriving) = &mut self.arriving {
            arriving.received(bytes);
        }
    }
}

/// How a storage command ended.
#[derive(Clone, Copy)]
pub(super) enum Stored {
    /// The store has decided.
    Outcome(SetOutcome),
    /// The value does not end where its length says.
    BadChunk,
    /// No room for the value.
    Refused(StoreError),
}

impl Stored {
    /// The result of storing a value for which there was room: what fails now is appending or
    /// prepending it, and memcached calls that not stored.
    fn from_result(result: Result<SetOutcome, StoreError>, mode: SetMode) -> Stored {
        match result {
            Ok(outcome) => Stored::Outcome(outcome),
            Err(_) if matches!(mode, SetMode::Append | SetMode::Prepend) => {
                Stored::Outcome(SetOutcome::NotStored)
            }
            Err(error) => Stored::Refused(error),
        }
    }
}

/// What became of a value.
pub(super) enum Step {
    /// The command has been carried out; so many bytes of its value are still to be skipped.
    Done(Stored, usize),
    /// Something else comes first.
    Flow(Flow),
}

impl Run<'_, '_> {
    /// Stores the value that follows a command line of `line_bytes` (with its ending).
    ///
    /// # Errors
    /// [`Suspended`], where that must wait; nothing has changed but the position then.
    pub(super) fn take_value(
        &mut self,
        key: &[u8],
        value_bytes: usize,
        options: &SetOptions,
        line: &[u8],
        line_bytes: usize,
    ) -> Result<Step, Suspended> {
        let value_and_end_bytes = value_bytes + VALUE_END.len();
        if let Some(value) = self.rest()[line_bytes..].get(..value_and_end_bytes) {
            self.prefetch_stores();
            self.position += line_bytes + value_and_end_bytes;
            if matches!(options.mode, SetMode::Append | SetMode::Prepend) {
                self.charge_change(key)?;
                self.charge_copy(value_bytes);
            }
            let stored = self.store_value(key, value, options)?;
            return Ok(Step::Done(stored, 0));
        }
        if value_bytes <= WAIT_IN_INPUT_BYTES_MAX {
            return Ok(Step::Flow(Flow::Stop(Status::NeedInput)));
        }
        self.position += line_bytes;
        let begun = settled(Arriving::begin(key, value_bytes, *options, self.context))?;
        Ok(match begun {
            Ok(arriving) => Step::Flow(Flow::Enter(State::Value(Box::new(ArrivingValue {
                arriving: Some(arriving),
                line: line.into(),
            })))),
            Err(error) => Step::Done(Stored::Refused(error), value_and_end_bytes),
        })
    }

    /// Stores a value that is there whole, with its ending.
    fn store_value(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
    ) -> Result<Stored, Suspended> {
        let (value, end) = value.split_at(value.len() - VALUE_END.len());
        if end != VALUE_END {
            return Ok(Stored::BadChunk);
        }
        let store = self.context.store;
        Ok(match settled(store.set(key, value, options))? {
            // Too large by itself, or only together with what it is appended to?
            Err(error) if matches!(options.mode, SetMode::Append | SetMode::Prepend) => {
                match settled(store.reserve(key, value.len(), options))? {
                    Ok(_) => Stored::Outcome(SetOutcome::NotStored),
                    Err(_) => Stored::Refused(error),
                }
            }
            result => Stored::from_result(result, SetMode::Set),
        })
    }

    /// Takes what has arrived of a large value; stores and answers it once it is complete.
    pub(super) fn value(&mut self, value: &mut ArrivingValue) -> Flow {
        if let Some(arriving) = &mut value.arriving {
            self.position += arriving.take(self.rest());
            if !arriving.is_complete() {
                return Flow::Stop(Status::ValueWanted);
            }
        }
        let Some(end) = self.rest().get(..VALUE_END.len()) else {
            return Flow::Stop(Status::NeedInput);
        };
        if end == VALUE_END
            && let Some(arriving) = &value.arriving
            && self.context.has_left(arriving.key())
        {
            self.position += VALUE_END.len();
            self.refuse_value(&value.line);
            return Flow::Enter(State::Command);
        }
        let stored = match value.arriving.take() {
            Some(arriving) if end == VALUE_END => match arriving.commit(self.context) {
                Ok(committed) => Stored::from_result(committed.outcome, committed.mode),
                Err((suspended, arriving)) => {
                    value.arriving = Some(arriving);
                    return Flow::Stop(Status::Suspended(suspended));
                }
            },
            _ => Stored::BadChunk,
        };
        self.position += VALUE_END.len();
        self.has_changed = true;
        self.answer_line(&value.line, stored);
        Flow::Enter(State::Command)
    }

    /// Answers the storage command of this line, whose key another server decides on by now.
    fn refuse_value(&mut self, line: &[u8]) {
        let is_quiet = matches!(parse(line), Ok(Request::Store(store)) if store.quiet);
        if !is_quiet {
            self.push_failure(Failure::OtherMap);
        }
    }

    /// Answers the storage command of this line.
    fn answer_line(&mut self, line: &[u8], stored: Stored) {
        let mark = self.replies.mark();
        let request = parse(line);
        let tells = request.as_ref().is_ok_and(tells_of_change);
        match request {
            Ok(Request::Store(store)) => self.answer_store(&store, stored),
            Ok(Request::MetaSet {
                key,
                value_bytes,
                flags: Ok(flags),
                ..
            }) => self.answer_meta_set(key, &flags, stored, value_bytes),
            _ => unreachable!("only well-formed storage commands wait for a value"),
        }
        if tells {
            self.replies.note_change(mark, ChangeError::Line);
        }
    }
}
