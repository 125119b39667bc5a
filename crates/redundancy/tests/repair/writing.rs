//! A client that writes one key, by the plan that clients run where nobody fences.

use super::server::{KEYS, Server, item_of};
use crate::random::Random;
use farcache_cluster::ServerId;
use farcache_redundancy::plan::{
    Action, Event, Fencing, Form, Group, Question, Reply, Request, Write, WriteOutcome,
};
use farcache_redundancy::{Clock, Redundancy, Version};
use std::time::Duration;

pub struct Writer {
    pub key: usize,
    pub form: Form,
    redundancy: Redundancy,
    plan: Write,
    live: Vec<bool>,
    epoch: u64,
    /// What is on its way to servers, and what is on its way back.
    asked: Vec<Request>,
    events: Vec<Event>,
    pub outcome: Option<WriteOutcome>,
}

impl Writer {
    pub fn begin(
        redundancy: Redundancy,
        servers: &[Server],
        clock: &mut Clock,
        now: Duration,
        random: &mut Random,
    ) -> Writer {
        let live: Vec<bool> = servers.iter().map(|server| server.is_alive).collect();
        let is_delete = random.once_in(3);
        let form = match is_delete {
            true => Form::Tombstone,
            false => Form::of_value(redundancy, random.once_in(2)),
        };
        let mut actions = Vec::new();
        let (group, time) = (group(1, &live), (clock, now));
        let plan = Write::begin_among(redundancy, Fencing::None, form, group, time, &mut actions);
        let mut writer = Writer {
            key: random.below(KEYS),
            form,
            redundancy,
            plan,
            live,
            epoch: 1,
            asked: Vec::new(),
            events: Vec::new(),
            outcome: None,
        };
        writer.note(actions);
        writer
    }

    fn note(&mut self, actions: Vec<Action<WriteOutcome>>) {
        for action in actions {
            match action {
                Action::Ask(request) => self.asked.push(request),
                Action::Encode => self.events.push(Event::Encoded),
                Action::Done(outcome) => self.outcome = Some(outcome),
                Action::Decode(..) => panic!("a write decodes"),
            }
        }
    }

    pub fn version(&self) -> Version {
        self.plan.version()
    }

    /// Whether the server was there when the write began.
    pub fn knows(&self, server: usize) -> bool {
        self.live[server]
    }

    /// Delivers one message, at random. False where none is on its way.
    pub fn step(
        &mut self,
        servers: &mut [Server],
        (clock, now): (&mut Clock, Duration),
        random: &mut Random,
    ) -> bool {
        let all = self.asked.len() + self.events.len();
        if all == 0 {
            return false;
        }
        let at = random.below(all);
        if at < self.asked.len() {
            let request = self.asked.swap_remove(at);
            self.deliver(request, servers);
            return true;
        }
        let event = self.events.swap_remove(at - self.asked.len());
        let mut actions = Vec::new();
        self.plan
            .handle(event, |current| clock.above(current, now), &mut actions);
        self.note(actions);
        true
    }

    fn deliver(&mut self, request: Request, servers: &mut [Server]) {
        let number = request.to.0 as usize;
        let server = &mut servers[number];
        if !server.is_alive {
            return self.note_gone(number, &request);
        }
        let event = match request.question {
            Question::Accept(version, part) => {
                let item = item_of(self.redundancy, version, part);
                Event::Reply(request.id, server.accept(self.key, item))
            }
            Question::Store(version, part) => {
                let item = item_of(self.redundancy, version, part);
                // Something newer counts as stored.
                server.accept(self.key, item);
                Event::Reply(request.id, Reply::Stored { was_present: false })
            }
            Question::Read(_)
            | Question::Beneath(_)
            | Question::Complete(_)
            | Question::Promise(_)
            | Question::AcceptPromised(..) => return,
        };
        self.events.push(event);
    }

    /// Nobody listens at a server's address.
    fn note_gone(&mut self, number: usize, request: &Request) {
        if std::mem::replace(&mut self.live[number], false) {
            self.epoch += 1;
        }
        self.events.push(match request.question {
            Question::Accept(..) => Event::Reply(request.id, Reply::NotReady),
            _ => Event::Map(group(self.epoch, &self.live)),
        });
    }
}

pub fn group(epoch: u64, live: &[bool]) -> Group {
    let owners = live.iter().zip(0..);
    Group::new(epoch, owners.map(|(is_live, id)| (ServerId(id), *is_live)))
}
