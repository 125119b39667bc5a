//! A get from its beginning to its end, which may be moved on bit by bit.

use super::by_server::{Asked, Asking};
use super::call::{Look, Patience};
use super::running::{ReadEnd, Reading};
use super::{Redundant, bare, unused};
use crate::connections::Submitted;
use crate::{Completion, Error, ItemInfo, ReceiveBytes, Reply};
use farcache_redundancy::Side;
use farcache_redundancy::plan::{Found, ReadOutcome};
use std::sync::Arc;
use std::time::Instant;

/// A get whose plan has not ended.
pub(super) struct Getting {
    redundant: Arc<Redundant>,
    key: Box<[u8]>,
    deadline: Instant,
    step: Step,
    into: ReceiveBytes,
}

enum Step {
    /// A server has been asked to read.
    Asks(Asking),
    Reads(Box<Reading>),
}

impl Getting {
    /// Begins a get whose value comes into this memory, which it takes unless it fails.
    pub fn begin(
        redundant: &Arc<Redundant>,
        key: &[u8],
        into: &mut ReceiveBytes,
        deadline: Instant,
    ) -> Result<Getting, Error> {
        let step = match redundant.policy.decode() {
            Side::Client => {
                let room = room_of(redundant, into);
                let when = (deadline, Look::NotAgain);
                Step::Reads(Box::new(Reading::begin(redundant, key, room, when)?))
            }
            Side::Server => Step::Asks(Asking::begin(redundant, key, into, deadline)?),
        };
        Ok(Getting {
            redundant: Arc::clone(redundant),
            key: key.into(),
            deadline,
            step,
            into: std::mem::take(into),
        })
    }

    /// Requests of which one must end before it goes on.
    pub fn under_way(&self) -> Vec<&Submitted> {
        match &self.step {
            Step::Asks(asking) => asking.under_way().into_iter().collect(),
            Step::Reads(reading) => reading.under_way().collect(),
        }
    }

    /// Moves it on; how it ended, once it has.
    pub fn go_on(&mut self, patience: Patience) -> Option<Completion> {
        let reading = match &mut self.step {
            Step::Reads(reading) => reading,
            Step::Asks(asking) => match asking.go_on(patience)? {
                Asked::Ended(completion) => return Some(completion),
                Asked::Unknown(into) => {
                    if let Err(completion) = self.read(into) {
                        return Some(*completion);
                    }
                    return self.go_on(patience);
                }
            },
        };
        let mut value = Vec::new();
        let got = match reading.go_on(patience).transpose()? {
            Ok(end) => self.end(end, &mut value),
            Err(error) => Err(error),
        };
        let mut into = std::mem::take(&mut self.into);
        let outcome = match got {
            Ok(Some(ItemInfo { flags, cas })) => {
                if let Some(room) = into.owned() {
                    *room = value;
                } else if into.fill(&value) {
                    self.redundant.workshop.pool.give_back(Arc::new(value));
                } else {
                    let value_bytes = value.len();
                    return Some(unused(into, Error::BufferTooSmall { value_bytes }));
                }
                let value = into;
                return Some(bare(Ok(Reply::Value { value, flags, cas })));
            }
            Ok(None) => Error::NotFound,
            Err(error) => error,
        };
        Some(unused(into, outcome))
    }

    /// The server that was asked could not say: the client reads itself.
    fn read(&mut self, mut into: ReceiveBytes) -> Result<(), Box<Completion>> {
        let room = room_of(&self.redundant, &mut into);
        let when = (self.deadline, Look::NotAgain);
        match Reading::begin(&self.redundant, &self.key, room, when) {
            Ok(reading) => {
                (self.step, self.into) = (Step::Reads(Box::new(reading)), into);
                Ok(())
            }
            Err(error) => Err(unused(into, error).into()),
        }
    }

    /// What a first read has found. If that was not enough to say, more are made, and waited for.
    fn end(&self, end: ReadEnd, value: &mut Vec<u8>) -> Result<Option<ItemInfo>, Error> {
        let mut pieces = end.pieces;
        match end.outcome {
            ReadOutcome::Found(Found::Value(version)) => {
                let found = pieces.take_value(version);
                let (bytes, flags) = found.ok_or(Error::Protocol("a value without bytes"))?;
                *value = bytes;
                let cas = version.bits();
                Ok(Some(ItemInfo { flags, cas }))
            }
            ReadOutcome::Found(Found::Deleted(_)) => Ok(None),
            ReadOutcome::Found(Found::Nothing) if !end.passes_over => Ok(None),
            _ => {
                *value = pieces.take_room();
                let (redundant, key) = (&self.redundant, &self.key);
                redundant.get_until(key, value, self.deadline)
            }
        }
    }
}

/// The memory that was given for a value, or some of the workshop's.
fn room_of(redundant: &Redundant, into: &mut ReceiveBytes) -> Vec<u8> {
    match into.owned() {
        Some(room) => std::mem::take(room),
        None => redundant.workshop.pool.take_vec(0),
    }
}
