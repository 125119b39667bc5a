//! A plan of either kind, and what it wants.

use super::unix_time;
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};
use farcache_redundancy::plan::{
    self, Action, Event, Fencing, Form, Group, Read, ReadOutcome, Write, WriteOutcome,
};
use farcache_redundancy::{Clock, Redundancy, Version};
use std::collections::VecDeque;

/// A plan for a key that lies in several places.
pub enum Plan {
    Write(Box<Write>),
    Read(Box<Read>),
}

/// What a plan wants.
pub enum Wish {
    Ask(plan::Request),
    Encode,
    Decode(Version, ArrayVec<ServerId, OWNERS_MAX>),
    Written(WriteOutcome),
    Got(ReadOutcome),
}

/// What plans want, the oldest first.
pub type Wishes = VecDeque<Wish>;

/// Adds what a plan wants by these actions; `done` makes a wish of its end.
fn add<O>(wishes: &mut Wishes, actions: Vec<Action<O>>, done: impl Fn(O) -> Wish) {
    wishes.extend(actions.into_iter().map(|action| match action {
        Action::Ask(request) => Wish::Ask(request),
        Action::Encode => Wish::Encode,
        Action::Decode(version, from) => Wish::Decode(version, from),
        Action::Done(outcome) => done(outcome),
    }));
}

impl Plan {
    /// Writes a value of this form.
    pub fn write(
        (redundancy, form): (Redundancy, Form),
        group: Group,
        clock: &mut Clock,
        wishes: &mut Wishes,
    ) -> Plan {
        let (clock, fencing, mut actions) = ((clock, unix_time()), Fencing::None, Vec::new());
        let write = Write::begin_among(redundancy, fencing, form, group, clock, &mut actions);
        add(wishes, actions, Wish::Written);
        Plan::Write(Box::new(write))
    }

    /// Reads a value. [`Read::begin_among`] says what `first` and `spare` mean.
    pub fn read(
        redundancy: Redundancy,
        group: Group,
        (first, spare): (usize, usize),
        wishes: &mut Wishes,
    ) -> Plan {
        let (fencing, mut actions) = (Fencing::None, Vec::new());
        let read = Read::begin_among(redundancy, fencing, group, first, spare, &mut actions);
        add(wishes, actions, Wish::Got);
        Plan::Read(Box::new(read))
    }

    /// Reads a value as [`Read::begin_thorough`] does.
    pub fn read_thoroughly(redundancy: Redundancy, group: Group, wishes: &mut Wishes) -> Plan {
        let mut actions = Vec::new();
        let read = Read::begin_thorough(redundancy, Fencing::None, group, &mut actions);
        add(wishes, actions, Wish::Got);
        Plan::Read(Box::new(read))
    }

    /// Takes note of what has happened.
    pub fn handle(&mut self, event: Event, clock: &mut Clock, wishes: &mut Wishes) {
        match self {
            Plan::Write(write) => {
                let mut actions = Vec::new();
                write.handle(
                    event,
                    |current| clock.above(current, unix_time()),
                    &mut actions,
                );
                add(wishes, actions, Wish::Written);
            }
            Plan::Read(read) => {
                let mut actions = Vec::new();
                read.handle(event, &mut actions);
                add(wishes, actions, Wish::Got);
            }
        }
    }

    /// Whether it wants nothing more.
    pub fn has_ended(&self) -> bool {
        match self {
            Plan::Write(write) => write.has_ended(),
            Plan::Read(read) => read.has_ended(),
        }
    }
}
