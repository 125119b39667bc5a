//! One plan: what it asks goes out, what comes back goes in. The Rust client's `redundant::call`
//! does the same, and waits.

mod asking;

use super::cargo::Cargo;
use super::order::{self, Order};
use super::plan::{Plan, Wish, Wishes};
use super::settling::{Settling, was_there};
use super::telling::tell_used;
use super::{PartTag, Told, Tools, Way, unix_time};
use crate::waiting::Asker;
use farcache_cluster::ServerId;
use farcache_proto::binary::{Header, Placed, Status};
use farcache_redundancy::coding::Parts;
use farcache_redundancy::plan::{
    self, Event, Found, KnownOwners, ReadOutcome, Settled, WriteOutcome,
};
use farcache_redundancy::spread::Spread;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Part of the client's time after which a read does not wait for a server any more, and asks
/// another one.
const READ_PART: u32 = 4;

/// Pause before an owner is asked again that gives the key to others: one of the two servers has
/// not heard of the other's map.
const OWNERS_PAUSE: Duration = Duration::from_millis(20);

/// So much sooner than its client gives up a plan ends, so that the client hears of it.
const NOTICE_PART: u32 = 16;

struct UnderWay {
    asked: plan::Request,
    deadline: Instant,
    /// By which owners.
    owners_sum: u32,
    /// How often it was made before, of an owner that gave the key to others.
    repeated: u32,
}

/// A request that is made again, of an owner that gave the key to others.
struct Repeated {
    asked: plan::Request,
    at: Instant,
    repeated: u32,
}

/// A plan that runs.
pub struct Run {
    tag: PartTag,
    /// None once it has been told.
    asker: Option<Asker>,
    told: Option<Told>,
    header: Header,
    key: Box<[u8]>,
    spread: Spread,
    begun: Instant,
    deadline: Instant,
    /// How long a read waits for one server.
    part_time: Duration,
    plan: Plan,
    /// Where a write was accepted and others have come in its way: reads look for its end.
    settling: Option<Settling>,
    owners: KnownOwners,
    /// What they are told of that.
    placed: Placed,
    /// Requests that owners have refused which give the key to others, and those that are made
    /// again.
    refused: Vec<UnderWay>,
    pausing: Vec<Repeated>,
    wishes: Wishes,
    to_code: Vec<Wish>,
    events: VecDeque<Event>,
    under_way: Vec<UnderWay>,
    cargo: Cargo,
    is_over: bool,
}

impl Run {
    /// Begins the plan for a request, at a server of this name.
    pub fn begin(
        order: Order<'_>,
        (tag, asker): (PartTag, Asker),
        me: Option<ServerId>,
        tools: &mut Tools,
        way: &mut dyn Way,
        now: Instant,
    ) -> Run {
        let Order {
            header,
            key,
            spread,
            ref owners,
            placed,
            store,
        } = order;
        let mut owners = KnownOwners::new(owners.iter().copied());
        let redundancy = spread.redundancy;
        if store.is_none() {
            owners.leave_out(redundancy, |server| way.is_gone(server));
        }
        let group = owners.group();
        let (mut wishes, mut parts) = (Wishes::new(), None);
        let plan = match store {
            Some((set, value)) => {
                let stored_as = (spread.form(), redundancy.owners());
                let (flags, expiry_unix) = (set.flags, set.expiration);
                let workshop = &tools.workshop;
                parts = Some(Parts::new(workshop, stored_as, value, flags, expiry_unix));
                let what = (redundancy, spread.form());
                Plan::write(what, group, &mut tools.clock, &mut wishes)
            }
            None => {
                let first = owners.iter().position(|owner| Some(owner) == me);
                let (first, spare) = (first.unwrap_or_default(), spread.spare.into());
                Plan::read(redundancy, group, (first, spare), &mut wishes)
            }
        };
        Run {
            tag,
            asker: Some(asker),
            told: None,
            header,
            key: key.into(),
            spread,
            begun: now,
            deadline: now + (spread.time - spread.time / NOTICE_PART),
            part_time: spread.time / READ_PART,
            plan,
            settling: None,
            owners,
            placed,
            refused: Vec::new(),
            pausing: Vec::new(),
            wishes,
            to_code: Vec::new(),
            events: VecDeque::new(),
            under_way: Vec::new(),
            cargo: Cargo::new(redundancy, &tools.workshop, parts),
            is_over: false,
        }
    }

    /// Its number, which no other one has.
    pub fn number(&self) -> u64 {
        self.tag.number
    }

    /// What has come of it, once.
    pub fn take_told(&mut self) -> Option<Told> {
        self.told.take()
    }

    /// Whether something is to be coded before it goes on.
    pub fn has_to_code(&self) -> bool {
        !self.to_code.is_empty()
    }

    /// When something of it will be late.
    pub fn next_deadline(&self) -> Instant {
        let deadlines = self.under_way.iter().map(|one| one.deadline);
        let next_read = self.settling.as_ref().and_then(|it| it.next_read);
        let repeated = self.pausing.iter().map(|one| one.at);
        let deadlines = deadlines.chain(next_read).chain(repeated);
        deadlines.min().unwrap_or(self.deadline).min(self.deadline)
    }

    /// Carries out what the plan wants, and gives it what has happened, until it waits; whether it
    /// has ended.
    pub fn go_on(&mut self, tools: &mut Tools, way: &mut dyn Way, now: Instant) -> bool {
        let due = self.pausing.extract_if(.., |one| one.at <= now);
        for Repeated {
            asked, repeated, ..
        } in due.collect::<Vec<_>>()
        {
            self.ask(asked, repeated, tools, way, now);
        }
        while !self.is_over {
            while let Some(wish) = self.wishes.pop_front() {
                match wish {
                    Wish::Ask(request) => self.ask(request, 0, tools, way, now),
                    Wish::Written(outcome) => self.written(outcome, now),
                    Wish::Got(outcome) if self.settling.is_some() => {
                        self.settle(outcome, way, now);
                    }
                    Wish::Got(outcome) => {
                        self.tell_used(outcome, tools, way);
                        let reply = self.got(outcome);
                        self.tell(reply);
                    }
                    Wish::Encode | Wish::Decode(..) => self.to_code.push(wish),
                }
            }
            if let Some(refused) = self.refused.pop() {
                self.find_owners(&refused, way, now);
                continue;
            }
            let Some(event) = self.events.pop_front() else {
                break;
            };
            self.plan.handle(event, &mut tools.clock, &mut self.wishes);
        }
        let has_ended = !self.is_pausing() && self.plan.has_ended();
        let has_nothing_to_do =
            self.under_way.is_empty() && self.to_code.is_empty() && self.pausing.is_empty();
        if !has_ended && has_nothing_to_do && !self.is_over && !self.is_pausing() {
            // No plan of today's does; whoever waits would wait in vain.
            self.give_up();
        }
        (has_ended || self.is_over) && self.wishes.is_empty()
    }

    /// A write has ended, or its end is to be looked for.
    fn written(&mut self, outcome: WriteOutcome, now: Instant) {
        if let (Plan::Write(write), WriteOutcome::Overtaken { version }) = (&self.plan, outcome) {
            let mut settling = Settling::new(version, write.acceptors());
            settling.pause(now);
            self.settling = Some(settling);
            return;
        }
        // Nobody has it, and one has said why.
        let refused = self.cargo.refused();
        self.tell(order::written(&self.header, outcome, refused));
    }

    /// A read that looks for the end of a write has ended.
    fn settle(&mut self, outcome: ReadOutcome, way: &mut dyn Way, now: Instant) {
        let Some(settling) = &mut self.settling else {
            return;
        };
        let (owners, needed) = (&self.owners, self.spread.redundancy.needed());
        let (begun, longest) = (self.begun, self.spread.time);
        let settled = settling.seen(outcome, needed, |server| {
            !owners.is_down(server) && was_there(way.up_since(server), begun, longest)
        });
        match settled {
            Settled::Open => settling.pause(now),
            Settled::Acknowledged => {
                let version = settling.version;
                let written = WriteOutcome::Written {
                    version,
                    was_present: false,
                };
                self.tell(order::written(&self.header, written, None));
            }
            Settled::Lost => self.give_up(),
        }
    }

    fn is_pausing(&self) -> bool {
        let settling = self.settling.as_ref();
        settling.is_some_and(|settling| settling.next_read.is_some())
    }

    /// Begins the next read that looks for the end of a write.
    fn look(&mut self, tools: &mut Tools) {
        // Answers to what was asked before do not belong to it.
        self.tag.number = tools.number();
        self.under_way.clear();
        self.refused.clear();
        self.pausing.clear();
        self.events.clear();
        self.owners = KnownOwners::new(self.owners.iter());
        let (redundancy, group) = (self.spread.redundancy, self.owners.group());
        self.cargo = Cargo::new(redundancy, &tools.workshop, None);
        self.plan = Plan::read_thoroughly(redundancy, group, &mut self.wishes);
    }

    /// Has owners told, now and then, that a value is in use of which they were not asked.
    fn tell_used(&self, outcome: ReadOutcome, tools: &Tools, way: &mut dyn Way) {
        let (Plan::Read(read), ReadOutcome::Found(Found::Value(_))) = (&self.plan, outcome) else {
            return;
        };
        let unasked = read.unasked();
        if let Some(owners) = tools.uses.owners_to_tell(unasked, &self.key, unix_time()) {
            tell_used(way, owners, &self.key);
        }
    }

    fn tell(&mut self, reply: Vec<u8>) {
        if let Some(asker) = self.asker.take() {
            self.told = Some(Told { asker, reply });
        }
    }

    /// Ends it without knowing what came of it.
    fn give_up(&mut self) {
        let status = match (&self.plan, &self.settling) {
            (Plan::Read(_), None) => Status::TemporaryFailure,
            _ => Status::InDoubt,
        };
        self.tell(order::refusal(&self.header, status, status.text()));
        self.is_over = true;
        self.wishes.clear();
    }

    /// What the client of a read is told. What takes more than one read to say, it finds out
    /// itself.
    fn got(&mut self, outcome: ReadOutcome) -> Vec<u8> {
        let (header, not_found) = (&self.header, Status::NotFound);
        let nothing = || order::refusal(header, not_found, not_found.text());
        match outcome {
            ReadOutcome::Found(Found::Value(version)) => {
                let found = self.cargo.take_value(version);
                found.map_or_else(
                    || order::refusal(header, Status::TemporaryFailure, "a value without bytes"),
                    |(value, flags)| order::value(header, version.bits(), flags, &value),
                )
            }
            ReadOutcome::Found(Found::Deleted(_)) => nothing(),
            ReadOutcome::Found(Found::Nothing) if !self.owners.passes_over() => nothing(),
            _ => {
                let why = "too few of the key's servers have parts of one version";
                order::refusal(header, Status::TemporaryFailure, why)
            }
        }
    }

    /// Codes what is to be coded.
    pub fn code(&mut self, tools: &mut Tools) {
        let workshop = &tools.workshop;
        for wish in std::mem::take(&mut self.to_code) {
            match wish {
                Wish::Encode => {
                    self.cargo.encode(workshop);
                    self.events.push_back(Event::Encoded);
                }
                Wish::Decode(version, from) => {
                    self.cargo.decode(workshop, version, &from);
                    self.events.push_back(Event::Decoded);
                }
                Wish::Ask(_) | Wish::Written(_) | Wish::Got(_) => {}
            }
        }
    }

    /// Gives up what is late, or everything, and begins what was to come after a pause; whether
    /// there is something to go on with.
    pub fn expire(&mut self, tools: &mut Tools, now: Instant) -> bool {
        if self.deadline <= now {
            self.give_up();
            return true;
        }
        let settling = self.settling.as_mut();
        let next_read = settling.and_then(|it| it.next_read.take_if(|at| *at <= now));
        if next_read.is_some() {
            self.look(tools);
            return true;
        }
        let late = self.under_way.extract_if(.., |one| one.deadline <= now);
        let late = late.map(|one| Event::Lost(one.asked.id));
        self.events.extend(late);
        !self.events.is_empty() || self.pausing.iter().any(|one| one.at <= now)
    }
}
