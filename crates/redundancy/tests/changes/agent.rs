//! A client with one operation after the other, each run as the Rust client runs it.

use crate::history::{Answer, Change, Deed};
use crate::server::{Fault, Item};
use farcache_cluster::ServerId;
use farcache_redundancy::plan::{
    Action, Event, Fencing, Form, Found, Group, Read, ReadOutcome, Reply, Request, Settled, Write,
    WriteOutcome,
};
use farcache_redundancy::{Clock, Redundancy, SKEW_MAX, Version, Writer};
use std::time::Duration;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Wish {
    Read,
    Write(Option<u32>),
    Change(Change),
}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Known(Deed),
    /// It has had an effect, or not.
    Unknown(Deed),
    /// It has had none, and told nothing.
    Nothing,
}

/// A request that is on its way, with the value that it carries.
#[derive(Clone, Debug)]
pub struct Sent {
    pub request: Request,
    pub value: Option<u32>,
    /// Plans give requests the same numbers.
    pub plan: u64,
}

enum Plan {
    Idle,
    Read(Box<Read>, Purpose),
    Write(Box<Write>, Deed),
}

/// What a read is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Get,
    Change(Change),
    /// The end of a write that was accepted by these incarnations.
    Settle(Version, Deed),
    /// To write what is there anew.
    Finish,
}

pub struct Agent {
    redundancy: Redundancy,
    clock: Clock,
    fault: Option<Fault>,
    owners: Vec<(ServerId, bool)>,
    epoch: u64,
    plan: Plan,
    number: u64,
    version: Option<Version>,
    /// What servers have brought, newest first counts.
    brought: Vec<Item>,
    writes: Option<u32>,
    acceptors: Vec<(ServerId, u32)>,
    /// Who has answered the plan first, as which incarnation.
    incarnations: Vec<(ServerId, u32)>,
    settles: Option<(Version, Deed)>,
    unsuccessful: u32,
    pub token: Option<(u32, Version)>,
    pub out: Vec<Sent>,
    /// What servers are told, without an answer.
    pub told: Vec<Sent>,
    pub ended: Option<End>,
    pub log: String,
}

/// The incarnations of all servers; none where one is down.
pub type Incarnations<'a> = &'a dyn Fn(ServerId) -> Option<u32>;

const TRIES_MAX: u32 = 40;

impl Agent {
    pub fn new(redundancy: Redundancy, fault: Option<Fault>, number: u16) -> Agent {
        let owners = (0..redundancy.owners() as u32).map(|id| (ServerId(id), true));
        Agent {
            redundancy,
            clock: Clock::new(Writer::new(number).unwrap(), SKEW_MAX),
            fault,
            owners: owners.collect(),
            epoch: 1,
            plan: Plan::Idle,
            number: u64::from(number) << 32,
            version: None,
            brought: Vec::new(),
            writes: None,
            acceptors: Vec::new(),
            incarnations: Vec::new(),
            settles: None,
            unsuccessful: 0,
            token: None,
            out: Vec::new(),
            told: Vec::new(),
            ended: None,
            log: String::new(),
        }
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.plan, Plan::Idle)
    }

    fn group(&self) -> Group {
        Group::new(self.epoch, self.owners.iter().copied())
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Begins an operation. Which servers are up is looked at, as the client does.
    pub fn begin(&mut self, wish: Wish, now: Duration, up: Incarnations<'_>) {
        (self.unsuccessful, self.settles) = (0, None);
        match wish {
            Wish::Read => self.begin_read(Purpose::Get, now, up),
            Wish::Change(change) => self.begin_read(Purpose::Change(change), now, up),
            Wish::Write(value) => {
                self.look(up);
                self.begin_write(value, None, Deed::Write(value), now);
            }
        }
    }

    fn look(&mut self, up: Incarnations<'_>) {
        for owner in &mut self.owners {
            owner.1 = up(owner.0).is_some();
        }
        self.epoch += 1;
        self.number += 1;
        self.brought.clear();
    }

    fn begin_read(&mut self, purpose: Purpose, now: Duration, up: Incarnations<'_>) {
        self.look(up);
        let (redundancy, fencing, group) = (self.redundancy, Fencing::None, self.group());
        let mut actions = Vec::new();
        let read = match purpose {
            Purpose::Settle(..) => Read::begin_thorough(redundancy, fencing, group, &mut actions),
            Purpose::Get => Read::begin_among(redundancy, fencing, group, 0, 0, &mut actions),
            Purpose::Change(_) | Purpose::Finish => {
                let version = self.version.take();
                let version = version.unwrap_or_else(|| self.clock.next(now));
                self.version = Some(version);
                let group = match self.has(Fault::AsksQuorumOnly) {
                    true => Group::new(
                        self.epoch,
                        self.owners
                            .iter()
                            .enumerate()
                            .map(|(at, owner)| (owner.0, owner.1 && at as u64 != self.number % 3)),
                    ),
                    false => group,
                };
                Read::begin_for_change(redundancy, fencing, group, version, &mut actions)
            }
        };
        self.plan = Plan::Read(Box::new(read), purpose);
        self.carry_out_read(actions, now, up);
    }

    /// A write; of this version where promises stand behind it.
    fn begin_write(
        &mut self,
        value: Option<u32>,
        version: Option<Version>,
        deed: Deed,
        now: Duration,
    ) {
        let form = match value {
            None => Form::Tombstone,
            Some(value) => Form::of_value(self.redundancy, value % 2 == 1),
        };
        let (redundancy, fencing, group) = (self.redundancy, Fencing::None, self.group());
        let mut actions = Vec::new();
        self.number += 1;
        self.incarnations.clear();
        self.writes = value;
        let write = match version {
            Some(version) => {
                Write::begin_promised(redundancy, fencing, form, group, version, &mut actions)
            }
            None => {
                let clock = (&mut self.clock, now);
                Write::begin_among(redundancy, fencing, form, group, clock, &mut actions)
            }
        };
        self.plan = Plan::Write(Box::new(write), deed);
        self.carry_out_write(actions, now, &|_| Some(0));
    }

    /// Takes an event in.
    pub fn handle(
        &mut self,
        (plan, event, item): (u64, Event, Option<Item>),
        now: Duration,
        up: Incarnations<'_>,
    ) {
        if plan != self.number {
            return;
        }
        self.brought.extend(item);
        match &mut self.plan {
            Plan::Idle => {}
            Plan::Read(read, _) => {
                let mut actions = Vec::new();
                read.handle(event, &mut actions);
                self.carry_out_read(actions, now, up);
            }
            Plan::Write(write, _) => {
                let mut actions = Vec::new();
                write.handle(
                    event,
                    |current| self.clock.above(current, now),
                    &mut actions,
                );
                self.carry_out_write(actions, now, up);
            }
        }
    }

    /// A server has answered, as this incarnation.
    pub fn note_incarnation(&mut self, plan: u64, server: ServerId, incarnation: u32) {
        // One that has just come back is not known to all.
        if plan == self.number && !self.incarnations.iter().any(|seen| seen.0 == server) {
            self.incarnations.push((server, incarnation));
        }
    }

    /// A server is down: nobody listens there.
    pub fn gone(&mut self, sent: &Sent, now: Duration, up: Incarnations<'_>) {
        use farcache_redundancy::plan::Question;
        if sent.plan != self.number {
            return;
        }
        for owner in &mut self.owners {
            if owner.0 == sent.request.to && std::mem::take(&mut owner.1) {
                self.epoch += 1;
            }
        }
        let event = match sent.request.question {
            Question::Accept(..) | Question::AcceptPromised(..) => {
                Event::Reply(sent.request.id, Reply::NotReady)
            }
            _ => Event::Map(self.group()),
        };
        self.handle((sent.plan, event, None), now, up);
    }

    fn send(&mut self, request: Request) {
        use farcache_redundancy::plan::Question;
        if matches!(request.question, Question::Complete(_)) {
            let (value, plan) = (None, self.number);
            return self.told.push(Sent {
                request,
                value,
                plan,
            });
        }
        let value = match (&self.plan, request.question) {
            (Plan::Read(..), Question::Store(version, _)) => {
                let item = self.brought.iter().find(|item| item.0 == version);
                item.and_then(|item| item.2)
            }
            _ => self.writes,
        };
        self.out.push(Sent {
            request,
            value,
            plan: self.number,
        });
    }

    /// What comes behind the end of a plan is for the servers only.
    fn tell<O>(&mut self, actions: impl Iterator<Item = Action<O>>) {
        for action in actions {
            if let Action::Ask(request) = action {
                self.send(request);
            }
        }
    }

    fn carry_out_read(
        &mut self,
        actions: Vec<Action<ReadOutcome>>,
        now: Duration,
        up: Incarnations<'_>,
    ) {
        let mut actions = actions.into_iter();
        while let Some(action) = actions.next() {
            let event = match action {
                Action::Ask(request) => {
                    self.send(request);
                    continue;
                }
                Action::Done(outcome) => {
                    self.tell(actions);
                    return self.read_ended(outcome, now, up);
                }
                Action::Encode => Event::Encoded,
                Action::Decode(..) => Event::Decoded,
            };
            let number = self.number;
            self.handle((number, event, None), now, up);
            if self.number != number {
                return;
            }
        }
    }

    fn carry_out_write(
        &mut self,
        actions: Vec<Action<WriteOutcome>>,
        now: Duration,
        up: Incarnations<'_>,
    ) {
        let mut actions = actions.into_iter();
        while let Some(action) = actions.next() {
            match action {
                Action::Ask(request) => self.send(request),
                Action::Done(outcome) => {
                    self.tell(actions);
                    return self.write_ended(outcome, now, up);
                }
                Action::Encode | Action::Decode(..) => {
                    self.handle((self.number, Event::Encoded, None), now, up);
                }
            }
        }
    }

    fn end(&mut self, end: End) {
        self.plan = Plan::Idle;
        self.number += 1;
        self.ended = Some(end);
    }

    /// It is no more: what it has sent may arrive all the same.
    pub fn dies(&mut self) {
        let end = match &self.plan {
            _ if self.settles.is_some() => End::Unknown(self.settles.expect("just seen").1),
            Plan::Write(_, deed) => End::Unknown(*deed),
            Plan::Read(_, Purpose::Settle(_, deed)) => End::Unknown(*deed),
            _ => End::Nothing,
        };
        self.end(end);
    }

    fn again(&mut self, purpose: Purpose, now: Duration, up: Incarnations<'_>) {
        self.unsuccessful += 1;
        match (self.unsuccessful < TRIES_MAX, purpose) {
            (true, _) => self.begin_read(purpose, now, up),
            (false, Purpose::Get | Purpose::Change(_)) => self.end(End::Nothing),
            (false, Purpose::Settle(_, deed)) => self.end(End::Unknown(deed)),
            (false, Purpose::Finish) => self.finished(now, up),
        }
    }

    /// Reads once more, and writes anew what is there where that has been of no use several times.
    fn look_again(&mut self, purpose: Purpose, now: Duration, up: Incarnations<'_>) {
        let finishes = self.unsuccessful % 6 == 5;
        match purpose {
            Purpose::Settle(version, deed) if finishes => {
                self.settles = Some((version, deed));
                self.again(Purpose::Finish, now, up);
            }
            Purpose::Get if finishes => self.again(Purpose::Finish, now, up),
            purpose => self.again(purpose, now, up),
        }
    }

    fn read_ended(&mut self, outcome: ReadOutcome, now: Duration, up: Incarnations<'_>) {
        let Plan::Read(read, purpose) = &self.plan else {
            return;
        };
        let (is_complete, purpose) = (read.is_complete(), *purpose);
        let (version, value) = match outcome {
            ReadOutcome::Found(Found::Nothing) => (None, None),
            ReadOutcome::Found(Found::Deleted(version)) => (Some(version), None),
            ReadOutcome::Found(Found::Value(version)) => {
                let item = self.brought.iter().find(|item| item.0 == version);
                (Some(version), item.expect("brought").2)
            }
            ReadOutcome::Refused { current } => {
                self.version = self.clock.above(current, now).ok();
                return self.again(purpose, now, up);
            }
            ReadOutcome::Unavailable => return self.look_again(purpose, now, up),
        };
        match purpose {
            Purpose::Get => {
                self.token = version.and_then(|version| Some((value?, version)));
                self.end(End::Known(Deed::Read(value)));
            }
            Purpose::Settle(wanted, deed) => {
                let are_there = self.acceptors.iter().filter(|one| up(one.0) == Some(one.1));
                let has_enough = are_there.count() >= self.redundancy.needed();
                match Settled::by(outcome, wanted, has_enough) {
                    Settled::Acknowledged => self.end(End::Known(deed)),
                    Settled::Open => self.look_again(purpose, now, up),
                    Settled::Lost => self.end(End::Unknown(deed)),
                }
            }
            Purpose::Finish => {
                let version = self.version.take();
                self.begin_write(value, version, Deed::Read(None), now);
            }
            Purpose::Change(change) => self.change(change, (version, value), is_complete, now),
        }
    }

    fn change(
        &mut self,
        change: Change,
        (version, value): (Option<Version>, Option<u32>),
        is_complete: bool,
        now: Duration,
    ) {
        let has_token = match change {
            Change::Swap(..) => self.token.map(|token| token.1) == version,
            _ => true,
        };
        let (changed, answer) = match change.of(value).filter(|_| has_token) {
            None if is_complete => {
                return self.end(End::Known(Deed::Change(change, Answer::Refused)));
            }
            None => (value, Answer::Refused),
            Some(changed) if change == Change::Count => {
                (changed, Answer::Number(changed.expect("a number")))
            }
            Some(changed) => (changed, Answer::Done),
        };
        let version = self.version.take();
        self.begin_write(changed, version, Deed::Change(change, answer), now);
    }

    fn write_ended(&mut self, outcome: WriteOutcome, now: Duration, up: Incarnations<'_>) {
        let Plan::Write(write, deed) = &self.plan else {
            return;
        };
        let (deed, is_finish) = (*deed, matches!(deed, Deed::Read(_)));
        if let WriteOutcome::Overtaken { version } = outcome {
            self.log.push_str("overtaken ");
            if !is_finish {
                let of = |one| self.incarnations.iter().find(|seen| seen.0 == one).copied();
                self.acceptors = write.acceptors().filter_map(of).collect();
                return self.again(Purpose::Settle(version, deed), now, up);
            }
        }
        if is_finish {
            return self.finished(now, up);
        }
        match (outcome, deed) {
            (WriteOutcome::Written { .. }, deed) => self.end(End::Known(deed)),
            (WriteOutcome::Refused { current }, Deed::Change(change, _)) => {
                self.version = self.clock.above(current, now).ok();
                self.again(Purpose::Change(change), now, up);
            }
            (WriteOutcome::TooFewLive | WriteOutcome::Unavailable, _) => self.end(End::Nothing),
            (_, Deed::Change(change, _)) if self.has(Fault::CountsAgain) => {
                self.again(Purpose::Change(change), now, up);
            }
            (_, deed) => self.end(End::Unknown(deed)),
        }
    }

    /// What was there has been written anew, or somebody else has written.
    fn finished(&mut self, now: Duration, up: Incarnations<'_>) {
        match self.settles.take() {
            Some((version, deed)) => self.again(Purpose::Settle(version, deed), now, up),
            None => self.again(Purpose::Get, now, up),
        }
    }
}
