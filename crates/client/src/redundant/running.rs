//! A read or a write from its beginning to its end, which may be moved on bit by bit.

use super::call::{Call, Look, Patience, Turn};
use super::settling::Settling;
use super::{Redundant, now, written};
use crate::Error;
use crate::connections::Submitted;
use farcache_redundancy::coding::{Parts, Pieces};
use farcache_redundancy::plan::{
    Action, Fencing, Form, Found, Read, ReadOutcome, Write, WriteOutcome,
};
use std::sync::Arc;
use std::time::Instant;

/// How a read ended.
pub(super) struct ReadEnd {
    pub outcome: ReadOutcome,
    pub pieces: Pieces,
    /// An owner was left out without a look at it.
    pub passes_over: bool,
    /// Fewer owners are live than it takes to make a value.
    pub has_too_few: bool,
}

/// A read that is under way.
pub(super) struct Reading {
    call: Call,
    read: Read,
    actions: Vec<Action<ReadOutcome>>,
}

impl Reading {
    /// Begins a read. The value comes into this room.
    pub fn begin(
        redundant: &Arc<Redundant>,
        key: &[u8],
        room: Vec<u8>,
        (deadline, look): (Instant, Look),
    ) -> Result<Reading, Error> {
        let redundancy = redundant.policy.of_key(key);
        let mut call = Call::new(redundant, key, deadline, look)?;
        call.cargo.receive_into(&redundant.workshop, room);
        let mut actions = Vec::new();
        let (group, fencing, first) = (call.group(), Fencing::None, call.first());
        let spare = redundant.policy.delta();
        let read = Read::begin_among(redundancy, fencing, group, first, spare, &mut actions);
        Ok(Reading {
            call,
            read,
            actions,
        })
    }

    /// Begins a read that sees to it that all members hold what it shows.
    pub fn begin_thorough(
        redundant: &Arc<Redundant>,
        key: &[u8],
        deadline: Instant,
    ) -> Result<Reading, Error> {
        let mut call = Call::new(redundant, key, deadline, Look::AtAll)?;
        let room = redundant.workshop.pool.take_vec(0);
        call.cargo.receive_into(&redundant.workshop, room);
        let mut actions = Vec::new();
        let (redundancy, group) = (call.redundancy(), call.group());
        let read = Read::begin_thorough(redundancy, Fencing::None, group, &mut actions);
        Ok(Reading {
            call,
            read,
            actions,
        })
    }

    /// Moves it on; how it ended, once it has.
    pub fn go_on(&mut self, patience: Patience) -> Result<Option<ReadEnd>, Error> {
        let Reading {
            call,
            read,
            actions,
        } = self;
        loop {
            let step = |event, actions: &mut Vec<_>| read.handle(event, actions);
            match call.go_on(actions, patience, step)? {
                Turn::Goes => {}
                Turn::Waits => return Ok(None),
                Turn::Ended(outcome) => {
                    if let ReadOutcome::Found(Found::Value(_)) = outcome {
                        call.tell_used(read.unasked());
                    }
                    return Ok(Some(ReadEnd {
                        outcome,
                        passes_over: call.passes_over(),
                        has_too_few: call.has_too_few(),
                        pieces: call.take_pieces(),
                    }));
                }
            }
        }
    }

    /// Requests of which one must end before it goes on.
    pub fn under_way(&self) -> impl Iterator<Item = &Submitted> {
        self.call.under_way()
    }
}

/// How a write ended: the version under which it was written, and whether any server had a value
/// before.
pub(super) type WriteEnd = (Result<u64, Error>, bool);

/// A write that is under way.
pub(super) struct Writing {
    redundant: Arc<Redundant>,
    call: Call,
    write: Write,
    actions: Vec<Action<WriteOutcome>>,
    /// Where it was accepted and others have come in its way.
    settling: Option<(Box<Settling>, u64)>,
}

impl Writing {
    /// Begins a write; a deletion has no parts. [`Writing::send_first`] follows where parts have
    /// not been copied yet.
    pub fn begin(
        redundant: &Arc<Redundant>,
        key: &[u8],
        (form, parts): (Form, Option<Parts>),
        deadline: Instant,
    ) -> Result<Writing, Error> {
        let redundancy = redundant.policy.of_key(key);
        let mut call = Call::new(redundant, key, deadline, Look::AtAll)?;
        call.cargo.give(parts);
        let mut actions = Vec::new();
        let write = {
            let (clock, now) = (&mut redundant.clock(), now());
            let (group, fencing) = (call.group(), Fencing::None);
            Write::begin_among(redundancy, fencing, form, group, (clock, now), &mut actions)
        };
        Ok(Writing {
            redundant: Arc::clone(redundant),
            call,
            write,
            actions,
            settling: None,
        })
    }

    /// Sends the value whose parts it was begun with.
    pub fn send_first(&mut self, value: &[u8]) {
        self.call.send_first(&mut self.actions, value);
    }

    /// Moves it on; how it ended, once it has.
    pub fn go_on(&mut self, patience: Patience) -> Result<Option<WriteEnd>, Error> {
        let Writing {
            redundant,
            call,
            write,
            actions,
            settling,
        } = self;
        loop {
            if let Some((settling, version)) = settling {
                let settled = settling.go_on(patience)?;
                return Ok(settled.map(|()| (Ok(*version), call.cargo.was_present())));
            }
            let step = |event, actions: &mut Vec<_>| {
                write.handle(event, |current| redundant.version_above(current), actions);
            };
            match call.go_on(actions, patience, step)? {
                Turn::Goes => {}
                Turn::Waits => return Ok(None),
                Turn::Ended(WriteOutcome::Overtaken { version }) => {
                    let acceptors = call.acceptors(write.acceptors());
                    let new = Settling::new(call.place(), version, acceptors, call.deadline());
                    *settling = Some((Box::new(new), version.bits()));
                }
                Turn::Ended(outcome) => {
                    // Nobody has it, and one has said why.
                    let refusal = call.cargo.take_refusal();
                    let refusal = refusal.filter(|_| outcome == WriteOutcome::Unavailable);
                    let written = refusal.map_or_else(|| written(outcome), Err);
                    return Ok(Some((written, call.cargo.was_present())));
                }
            }
        }
    }

    /// Requests of which one must end before it goes on.
    pub fn under_way(&self) -> Vec<&Submitted> {
        match &self.settling {
            Some((settling, _)) => settling.under_way(),
            None => self.call.under_way().collect(),
        }
    }
}
