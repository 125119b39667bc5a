//! A change from its beginning to its end: all members promise, what they have is changed, and
//! stored while the promises stand (rule 10). Begun anew where somebody else came in between.

use super::call::{Call, Look, Patience, Turn};
use super::change::{Change, Present, Told, Written, rewritten};
use super::settling::Settling;
use super::{Redundant, failure, now, refused, too_few_live};
use crate::Error;
use crate::connections::Submitted;
use farcache_redundancy::Version;
use farcache_redundancy::coding::Parts;
use farcache_redundancy::plan::{
    Action, Fencing, Form, Found, Read, ReadOutcome, Write, WriteOutcome, pause_before,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A change that others have come in the way of takes a version ahead of its time, by as long as it
/// has waited, up to this: whoever asks for a promise meanwhile, and has waited less, is refused
/// instead of it. Else one that changes a key all the time would leave no room between its changes
/// to others, whose pauses grow (the capture effect of binary exponential backoff). What it changes
/// next has a version above that: it has its turn for as long as it has waited.
const AHEAD_MAX: Duration = Duration::from_millis(30);

/// How a change ended.
pub(super) struct Changed {
    /// What the caller is told, with the version that was stored.
    pub outcome: Result<(Told, Version), Error>,
    /// What was there before.
    pub present: Option<Present>,
}

/// A change that is under way.
pub(super) struct Changing {
    redundant: Arc<Redundant>,
    key: Box<[u8]>,
    change: Change,
    began: Instant,
    deadline: Instant,
    call: Call,
    version: Version,
    present: Option<Present>,
    /// What too few have accepted.
    left: Option<Left>,
    /// The versions with which that was tried.
    tried: Vec<Version>,
    /// How often it was begun anew.
    tries: u32,
    phase: Phase,
}

/// Shards that a change has left behind at fewer servers than it takes to read them. Those in whose
/// place they are may be missed: where nothing can be read any more, and nobody has written since,
/// the change stands in for what it has overwritten.
struct Left {
    form: Form,
    parts: Option<Parts>,
    told: Result<Told, Error>,
    present: Option<Present>,
}

enum Phase {
    Asking {
        read: Box<Read>,
        actions: Vec<Action<ReadOutcome>>,
    },
    Writing {
        write: Box<Write>,
        actions: Vec<Action<WriteOutcome>>,
        told: Result<Told, Error>,
        form: Form,
    },
    /// It has been accepted, and somebody who may have met it is writing above it.
    Settling {
        settling: Box<Settling>,
        told: Result<Told, Error>,
    },
}

/// What comes after a plan has ended.
enum Next {
    Goes,
    Ended(Result<(Told, Version), Error>),
}

impl Changing {
    /// Begins a change.
    pub fn begin(
        redundant: &Arc<Redundant>,
        key: &[u8],
        change: Change,
        deadline: Instant,
    ) -> Result<Changing, Box<(Change, Error)>> {
        let call = match Call::new(redundant, key, deadline, Look::AtAll) {
            Ok(call) => call,
            Err(error) => return Err(Box::new((change, error))),
        };
        let version = redundant.clock().next(now());
        let mut changing = Changing {
            redundant: Arc::clone(redundant),
            key: key.into(),
            change,
            began: Instant::now(),
            deadline,
            phase: asking(&call, version),
            call,
            version,
            present: None,
            left: None,
            tried: Vec::new(),
            tries: 0,
        };
        let room = redundant.workshop.pool.take_vec(0);
        let cargo = &mut changing.call.cargo;
        cargo.receive_into(&redundant.workshop, room);
        Ok(changing)
    }

    /// The value that was lent to it.
    pub fn take_lent(&mut self) -> Option<crate::SendBytes> {
        self.change.take_lent()
    }

    /// Moves it on; how it ended, once it has.
    pub fn go_on(&mut self, patience: Patience) -> Option<Changed> {
        loop {
            let next = match &mut self.phase {
                Phase::Asking { read, actions } => {
                    let step = |event, actions: &mut Vec<_>| read.handle(event, actions);
                    match self.call.go_on(actions, patience, step) {
                        Ok(Turn::Goes) => continue,
                        Ok(Turn::Waits) => return None,
                        Ok(Turn::Ended(outcome)) => {
                            let is_complete = read.is_complete();
                            self.asked(outcome, is_complete)
                        }
                        Err(error) => Next::Ended(Err(error)),
                    }
                }
                Phase::Writing { write, actions, .. } => {
                    let redundant = &self.redundant;
                    let step = |event, actions: &mut Vec<_>| {
                        write.handle(event, |current| redundant.version_above(current), actions);
                    };
                    match self.call.go_on(actions, patience, step) {
                        Ok(Turn::Goes) => continue,
                        Ok(Turn::Waits) => return None,
                        Ok(Turn::Ended(outcome)) => self.written(outcome),
                        Err(error) => Next::Ended(Err(error)),
                    }
                }
                Phase::Settling { settling, told } => match settling.go_on(patience) {
                    Ok(None) => return None,
                    Ok(Some(())) => Next::Ended(told.clone().map(|told| (told, self.version))),
                    Err(error) => Next::Ended(Err(error)),
                },
            };
            if let Next::Ended(outcome) = next {
                let present = self.present.take();
                return Some(Changed { outcome, present });
            }
        }
    }

    /// All members have promised and told what they have, or somebody was faster.
    fn asked(&mut self, outcome: ReadOutcome, is_complete: bool) -> Next {
        match outcome {
            ReadOutcome::Refused { current } => self.begin_above(current),
            ReadOutcome::Unavailable if self.call.has_too_few_for_a_write() => {
                Next::Ended(Err(too_few_live()))
            }
            ReadOutcome::Unavailable if self.is_left_alone() => self.insist(),
            ReadOutcome::Unavailable => {
                let current = self.version;
                let is_late = Instant::now() >= self.deadline;
                match is_late || self.call.cargo.has_foreign() {
                    true => Next::Ended(Err(refused(
                        "too few of the key's servers have parts of one version",
                    ))),
                    false => self.begin_above(current),
                }
            }
            ReadOutcome::Found(found) => {
                self.present = match found {
                    Found::Value(version) => match self.call.cargo.take_present(version) {
                        Some(present) => Some(present),
                        None => return Next::Ended(Err(Error::Protocol("a value without bytes"))),
                    },
                    Found::Deleted(_) | Found::Nothing => None,
                };
                self.write(is_complete)
            }
        }
    }

    /// Stores what the change makes of what is there. One whose condition does not hold stores
    /// nothing; but what it has met must be complete before anybody is told of it.
    fn write(&mut self, is_complete: bool) -> Next {
        let present = self.present.as_ref();
        let (written, told) = match self.change.apply(present) {
            Ok((written, told)) => (written, Ok(told)),
            Err(error) if is_complete => return Next::Ended(Err(error)),
            Err(error) => (rewritten(present), Err(error)),
        };
        let redundancy = self.call.redundancy();
        let (form, parts) = match written {
            Written::Tombstone => (Form::Tombstone, None),
            Written::Value {
                bytes,
                flags,
                expiry_unix,
                is_copied,
            } => {
                let is_small = is_copied || bytes.len() < self.redundant.policy.threshold_bytes();
                let form = Form::of_value(redundancy, is_small);
                let parts = Parts::new(
                    &self.redundant.workshop,
                    (form, redundancy.owners()),
                    &bytes,
                    flags,
                    expiry_unix,
                );
                (form, Some(parts))
            }
        };
        self.begin_write(form, parts, told)
    }

    fn begin_write(&mut self, form: Form, parts: Option<Parts>, told: Result<Told, Error>) -> Next {
        let redundancy = self.call.redundancy();
        self.call.begin_next(parts);
        let (group, mut actions) = (self.call.group(), Vec::new());
        let fencing = Fencing::None;
        let (version, out) = (self.version, &mut actions);
        let write = Write::begin_promised(redundancy, fencing, form, group, version, out);
        self.phase = Phase::Writing {
            write: Box::new(write),
            actions,
            told,
            form,
        };
        Next::Goes
    }

    /// Whether what it has left behind is the newest that there is.
    fn is_left_alone(&self) -> bool {
        let newest = self.call.cargo.newest();
        self.left.is_some() && newest.is_some_and(|newest| self.tried.contains(&newest))
    }

    fn insist(&mut self) -> Next {
        let Some(left) = self.left.take() else {
            return Next::Ended(Err(super::STILL_GOES));
        };
        self.present = left.present;
        self.begin_write(left.form, left.parts, left.told)
    }

    /// Keeps what too few have accepted.
    fn leave(&mut self) {
        let Phase::Writing { told, form, .. } = &self.phase else {
            return;
        };
        self.tried.push(self.version);
        self.left = Some(Left {
            form: *form,
            parts: self.call.cargo.take_parts(),
            told: told.clone(),
            present: self.present.take(),
        });
    }

    fn written(&mut self, outcome: WriteOutcome) -> Next {
        let Phase::Writing { write, told, .. } = &self.phase else {
            return Next::Ended(Err(super::STILL_GOES));
        };
        match outcome {
            WriteOutcome::Written { version, .. } => {
                Next::Ended(told.clone().map(|told| (told, version)))
            }
            WriteOutcome::Refused { current } => {
                self.leave();
                self.begin_above(current)
            }
            WriteOutcome::Overtaken { version } => {
                let acceptors = self.call.acceptors(write.acceptors());
                let at = (&self.redundant, &*self.key);
                let settling = Settling::new(at, version, acceptors, self.deadline);
                self.phase = Phase::Settling {
                    settling: Box::new(settling),
                    told: told.clone(),
                };
                Next::Goes
            }
            WriteOutcome::Unavailable => {
                let refusal = self.call.cargo.take_refusal();
                Next::Ended(Err(refusal.unwrap_or_else(|| failure(outcome))))
            }
            _ => Next::Ended(Err(failure(outcome))),
        }
    }

    /// Begins anew with a version above another, after a pause in which whoever came in between may
    /// end what it does.
    fn begin_above(&mut self, current: Version) -> Next {
        if Instant::now() >= self.deadline {
            return Next::Ended(Err(Error::Timeout));
        }
        let ahead = self.began.elapsed().min(AHEAD_MAX);
        let above = self.redundant.clock().above(current, now() + ahead);
        match above {
            Ok(version) => self.version = version,
            Err(skewed) => return Next::Ended(Err(failure(WriteOutcome::Skewed(skewed)))),
        }
        self.tries += 1;
        std::thread::sleep(pause_before(self.tries));
        let at = (&self.redundant, &*self.key);
        let call = Call::new(at.0, at.1, self.deadline, Look::AtAll);
        match call {
            Ok(call) => self.call = call,
            Err(error) => return Next::Ended(Err(error)),
        }
        let workshop = &self.redundant.workshop;
        let room = workshop.pool.take_vec(0);
        self.call.cargo.receive_into(workshop, room);
        self.phase = asking(&self.call, self.version);
        Next::Goes
    }

    /// Requests of which one must end before it goes on.
    pub fn under_way(&self) -> Vec<&Submitted> {
        match &self.phase {
            Phase::Settling { settling, .. } => settling.under_way(),
            Phase::Asking { .. } | Phase::Writing { .. } => self.call.under_way().collect(),
        }
    }
}

fn asking(call: &Call, version: Version) -> Phase {
    let (redundancy, group) = (call.redundancy(), call.group());
    let mut actions = Vec::new();
    let fencing = Fencing::None;
    let read = Read::begin_for_change(redundancy, fencing, group, version, &mut actions);
    Phase::Asking {
        read: Box::new(read),
        actions,
    }
}
