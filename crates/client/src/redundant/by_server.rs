//! Operations that a server carries out for the client: it stores and reads the parts of a value,
//! and codes (`encode=server`, `decode=server`). If it fails in the middle, it is as if the
//! client had crashed: nobody knows whether a write has taken effect.

use super::call::Patience;
use super::{Redundant, bare, is_of_other_owners, lost_way, refused, unused};
use crate::connections::{Connections, Submitted};
use crate::{
    Completion, Delivery, Error, Operation, ReceiveBytes, Route, SendBytes, Store, StoreMode, Value,
};
use farcache_cluster::ServerId;
use farcache_proto::binary::Status;
use farcache_redundancy::Redundancy;
use farcache_redundancy::spread::{SPREAD_BYTES, Spread};
use std::sync::Arc;
use std::time::Instant;

/// Part of an operation's time that a server has for a read before the client reads itself.
const READ_PART: u32 = 2;

const NOT_SUPPORTED: u16 = Status::NotSupported as u16;
const IN_DOUBT: u16 = Status::InDoubt as u16;
const TEMPORARY_FAILURE: u16 = Status::TemporaryFailure as u16;

/// The owners of a key, those that were not down a moment ago first, and what they are told.
fn spread_of(
    redundant: &Redundant,
    key: &[u8],
    value_bytes: usize,
    deadline: Instant,
) -> Result<(Vec<ServerId>, [u8; SPREAD_BYTES]), Error> {
    let policy = &redundant.policy;
    let redundancy = policy.of_key(key);
    let (owners, placed) = redundant.place(key, deadline)?;
    let is_shards = matches!(redundancy, Redundancy::Erasure(_));
    let spread = Spread {
        redundancy,
        is_copied: is_shards && value_bytes < policy.threshold_bytes(),
        spare: policy.delta() as u8,
        owners_sum: placed.sum,
        time: deadline.saturating_duration_since(Instant::now()),
    };
    let mut order = owners.to_vec();
    order.sort_by_key(|owner| redundant.availability.was_just_down(*owner));
    Ok((order, spread.encode()))
}

/// A value that a server stores.
pub(super) struct Sending {
    redundant: Arc<Redundant>,
    key: Box<[u8]>,
    /// Who is asked after the one that has been, if that is not there.
    owners: std::vec::IntoIter<ServerId>,
    to: ServerId,
    spread: [u8; SPREAD_BYTES],
    flags: u32,
    expiry_s: u32,
    deadline: Instant,
    request: Option<Submitted>,
    lent: Option<SendBytes>,
    /// Whether the value is the caller's own memory, which it gets back.
    is_callers: bool,
}

impl Sending {
    /// Sends a value.
    pub fn begin(
        redundant: &Arc<Redundant>,
        store: Store<'_>,
        deadline: Instant,
    ) -> Result<Box<Sending>, Box<Completion>> {
        let value_bytes = store.value.as_slice().len();
        let is_callers = matches!(store.value, Value::Lent(_));
        let value = match store.value {
            Value::Lent(bytes) => bytes,
            Value::Copied(bytes) => {
                let mut copy = redundant.workshop.pool.take_vec(bytes.len());
                copy.clear();
                copy.extend_from_slice(bytes);
                copy.into()
            }
        };
        let checked = crate::engine::check_key(store.key).and_then(|()| {
            let is_too_large = value_bytes > farcache_base::limits::VALUE_BYTES_MAX;
            if is_too_large {
                Err(Error::TooLarge)
            } else {
                Ok(())
            }
        });
        let placed = checked.and_then(|()| spread_of(redundant, store.key, value_bytes, deadline));
        let (owners, spread) = match placed {
            Ok(placed) => placed,
            Err(error) => {
                return Err(Box::new(Completion {
                    lent: Some(value).filter(|_| is_callers),
                    ..bare(Err(error))
                }));
            }
        };
        let mut owners = owners.into_iter();
        let mut sending = Box::new(Sending {
            redundant: Arc::clone(redundant),
            key: store.key.into(),
            to: owners.next().unwrap_or(ServerId(0)),
            owners,
            spread,
            flags: store.flags,
            expiry_s: store.expiry_s,
            deadline,
            request: None,
            lent: Some(value),
            is_callers,
        });
        sending.send();
        Ok(sending)
    }

    fn send(&mut self) {
        let Some(value) = self.lent.take() else {
            return;
        };
        let store = Store {
            mode: StoreMode::Spread(self.spread),
            key: &self.key,
            value: Value::Lent(value),
            flags: self.flags,
            expiry_s: self.expiry_s,
            cas: 0,
        };
        let (connections, to, deadline) = (&self.redundant.connections, self.to, self.deadline);
        self.request = Some(submit(connections, Operation::Store(store), to, deadline));
    }

    /// Moves it on: the version under which it was written, once it has been.
    pub fn go_on(&mut self, patience: Patience) -> Option<Result<u64, Error>> {
        loop {
            let ended = ended(&mut self.request, patience)?;
            self.lent = ended.lent;
            let error = match ended.outcome {
                Ok(crate::Reply::Done { cas }) => {
                    self.redundant.availability.note_down(self.to, false);
                    return Some(Ok(cas));
                }
                Ok(_) => return Some(Err(Error::Protocol("the answer to another question"))),
                Err(error) => error,
            };
            if let Err(error) = self.choose_next(error) {
                return Some(Err(error));
            }
            self.send();
        }
    }

    /// Chooses whom to send it to after a server that has not stored it.
    ///
    /// # Errors
    /// There is nobody, or it may have been stored.
    fn choose_next(&mut self, error: Error) -> Result<(), Error> {
        let redundant = &self.redundant;
        if redundant.follows_map && is_of_other_owners(&error) && Instant::now() < self.deadline {
            redundant.hear_of_owners(self.to, self.deadline);
            let value_bytes = self.lent.as_ref().map_or(0, |value| value.len());
            let (owners, spread) = spread_of(redundant, &self.key, value_bytes, self.deadline)?;
            (self.owners, self.spread) = (owners.into_iter(), spread);
        } else if !is_unsent(redundant, self.to, &error) {
            return Err(told(error));
        }
        self.to = self.owners.next().ok_or(error)?;
        Ok(())
    }

    /// The memory that was lent for the value.
    pub fn take_lent(&mut self) -> Option<SendBytes> {
        let lent = self.lent.take()?;
        if self.is_callers {
            return Some(lent);
        }
        self.redundant
            .workshop
            .pool
            .give_back(Arc::new(lent.into_vec()));
        None
    }

    /// The request that must end before it goes on.
    pub fn under_way(&self) -> Option<&Submitted> {
        self.request.as_ref()
    }
}

/// A value that a server reads.
pub(super) struct Asking {
    redundant: Arc<Redundant>,
    to: ServerId,
    until: Instant,
    request: Option<Submitted>,
}

/// What has come of it.
pub(super) enum Asked {
    Ended(Completion),
    /// The server could not say; room for the value, of which nothing has come.
    Unknown(ReceiveBytes),
}

impl Asking {
    /// Asks for a value, which comes into this memory, taken unless it fails.
    pub fn begin(
        redundant: &Arc<Redundant>,
        key: &[u8],
        into: &mut ReceiveBytes,
        deadline: Instant,
    ) -> Result<Asking, Error> {
        let now = Instant::now();
        let until = now + deadline.saturating_duration_since(now) / READ_PART;
        let (mut owners, spread) = spread_of(redundant, key, 0, until)?;
        let first = redundant.first_of(redundant.policy.of_key(key));
        let is_up = |owner: &&ServerId| !redundant.availability.was_just_down(**owner);
        let up = owners.iter().filter(is_up).count();
        owners[..up].rotate_left(first % up.max(1));
        let to = owners.first().copied().unwrap_or(ServerId(0));
        let into = std::mem::take(into);
        let get = Operation::GetSpread { key, spread, into };
        Ok(Asking {
            redundant: Arc::clone(redundant),
            to,
            until,
            request: Some(submit(&redundant.connections, get, to, until)),
        })
    }

    /// What has come of it, once that is known.
    pub fn go_on(&mut self, patience: Patience) -> Option<Asked> {
        let ended = ended(&mut self.request, patience)?;
        let error = match ended.outcome {
            Ok(_) => {
                self.redundant.availability.note_down(self.to, false);
                return Some(Asked::Ended(ended));
            }
            Err(error) => error,
        };
        let into = ended.unused.unwrap_or_default();
        _ = is_unsent(&self.redundant, self.to, &error);
        if self.redundant.follows_map && is_of_other_owners(&error) {
            self.redundant.hear_of_owners(self.to, self.until);
            return Some(Asked::Unknown(into));
        }
        let is_known = matches!(
            error,
            Error::NotFound
                | Error::InvalidKey
                | Error::BufferTooSmall { .. }
                | Error::Unsupported
                | Error::Server {
                    status: NOT_SUPPORTED,
                    ..
                }
        ) || is_of_other_owners(&error);
        Some(match is_known {
            true => Asked::Ended(unused(into, told(error))),
            false => Asked::Unknown(into),
        })
    }

    /// The request that must end before it goes on.
    pub fn under_way(&self) -> Option<&Submitted> {
        self.request.as_ref()
    }
}

fn submit(
    connections: &Connections,
    operation: Operation<'_>,
    to: ServerId,
    until: Instant,
) -> Submitted {
    let delivery = Delivery {
        route: Route::Server(to.0 as usize),
        timeout: Some(until.saturating_duration_since(Instant::now())),
    };
    let request = connections.submit(operation, delivery);
    connections.flush();
    request
}

/// How a request has ended, once it has.
fn ended(request: &mut Option<Submitted>, patience: Patience) -> Option<Completion> {
    if patience == Patience::Looks && !request.as_ref()?.is_complete() {
        return None;
    }
    Some(request.take()?.complete())
}

/// Whether nothing has reached the server, so that another one may be asked.
fn is_unsent(redundant: &Redundant, server: ServerId, error: &Error) -> bool {
    if redundant.availability.is_gone(server, error) {
        redundant.availability.note_down(server, true);
    }
    matches!(error, Error::Connect(_) | Error::ServerDead)
}

/// What the caller is told.
fn told(error: Error) -> Error {
    match error {
        Error::Server {
            status: IN_DOUBT, ..
        } => lost_way(),
        Error::Server {
            status: TEMPORARY_FAILURE,
            message,
        } => refused(&message),
        error => error,
    }
}
