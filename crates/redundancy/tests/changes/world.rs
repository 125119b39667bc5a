//! Clients, servers and what is on its way between them, moved on at random.

use crate::agent::{Agent, End, Sent, Wish};
use crate::history::{Change, Deed, Operation, is_linearizable};
use crate::random::Random;
use crate::server::{Fault, Item, Server};
use farcache_cluster::ServerId;
use farcache_redundancy::Redundancy;
use farcache_redundancy::plan::Event;
use std::fmt::Write as _;
use std::time::Duration;

const AGENTS: usize = 3;
const OPERATIONS: usize = 14;
const STEPS_MAX: usize = 20_000;

/// 2027-01-15.
const START: Duration = Duration::from_secs(1_800_000_000);

enum Message {
    /// To a server, from an agent that waits for the answer, or does not any more.
    Request(usize, Sent, bool),
    Reply(usize, u64, Event, Option<Item>),
}

pub struct World {
    random: Random,
    servers: Vec<Server>,
    agents: Vec<Agent>,
    skews: Vec<u64>,
    messages: Vec<Message>,
    /// By agent: what it does, and since when.
    open: Vec<Option<(Wish, u64)>>,
    /// By agent: the beginning of the oldest operation that was open when its own began.
    besides: Vec<u64>,
    operations: Vec<Operation>,
    begun: usize,
    step: u64,
    /// The only one that fails: nobody has the others catch up.
    unreliable: usize,
    /// When it came back last.
    returned: u64,
    writes: u32,
    story: String,
}

impl World {
    pub fn new(redundancy: Redundancy, fault: Option<Fault>, seed: u64) -> World {
        let mut random = Random::new(seed);
        let servers = (0..redundancy.owners()).map(|_| Server {
            fault,
            ..Server::default()
        });
        let agents = (0..AGENTS).map(|number| Agent::new(redundancy, fault, number as u16 + 1));
        World {
            servers: servers.collect(),
            agents: agents.collect(),
            skews: (0..AGENTS).map(|_| random.below(60) as u64).collect(),
            messages: Vec::new(),
            open: vec![None; AGENTS],
            besides: vec![0; AGENTS],
            operations: Vec::new(),
            begun: 0,
            step: 0,
            unreliable: random.below(redundancy.owners()),
            returned: 0,
            writes: 0,
            story: String::new(),
            random,
        }
    }

    /// What the callers saw, if it can be put in order; else the story.
    pub fn run(mut self) -> Result<(), String> {
        self.play();
        match is_linearizable(&self.operations) {
            true => Ok(()),
            false => Err(self.story),
        }
    }

    pub fn story(mut self) -> String {
        self.play();
        self.story
    }

    fn play(&mut self) {
        while (self.step as usize) < STEPS_MAX && !self.is_over() {
            self.step += 1;
            self.advance();
        }
        for agent in 0..AGENTS {
            if self.open[agent].is_some() {
                self.agents[agent].dies();
                self.note_end(agent);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.begun >= OPERATIONS && self.open.iter().all(Option::is_none)
    }

    fn now(&self, agent: usize) -> Duration {
        START + Duration::from_micros((self.step + self.skews[agent]) * 4)
    }

    fn advance(&mut self) {
        match self.random.below(100) {
            0..=7 => self.begin(),
            8 if self.random.once_in(3) => self.crash_or_return(),
            9 if self.random.once_in(12) => {
                let agent = self.random.below(AGENTS);
                if self.open[agent].is_some() {
                    writeln!(self.story, "{} agent {agent} dies", self.step).unwrap();
                    self.agents[agent].dies();
                    self.note_end(agent);
                }
            }
            _ => self.deliver(),
        }
    }

    fn crash_or_return(&mut self) {
        let server = &mut self.servers[self.unreliable];
        let what = match server.is_down {
            true => {
                server.comes_back();
                self.returned = self.step;
                "returns"
            }
            false => {
                server.is_down = true;
                "crashes"
            }
        };
        writeln!(
            self.story,
            "{} server {} {what}",
            self.step, self.unreliable
        )
        .unwrap();
    }

    fn begin(&mut self) {
        let agent = self.random.below(AGENTS);
        if self.begun >= OPERATIONS || !self.agents[agent].is_idle() {
            return;
        }
        self.begun += 1;
        self.writes += 1000;
        let odd = u32::from(self.random.once_in(2));
        let value = self.writes + odd;
        let token = self.agents[agent].token;
        let wish = match (self.random.below(10), token) {
            (0..=1, _) => Wish::Read,
            // A write beside another one may be shown twice: see the design's page.
            (2, _) if agent == 0 => Wish::Write(Some(value)),
            (3, _) if agent == 0 => Wish::Write(None),
            (4, _) => Wish::Change(Change::Add(value)),
            (5..=6, Some((old, _))) => Wish::Change(Change::Swap(old, value)),
            (7, _) if self.random.once_in(3) => Wish::Change(Change::Delete),
            _ if self.begun == 1 => Wish::Write(Some(value)),
            _ => Wish::Change(Change::Count),
        };
        writeln!(self.story, "{} agent {agent}: {wish:?}", self.step).unwrap();
        self.open[agent] = Some((wish, self.step));
        let since = self.open.iter().flatten().map(|open| open.1);
        self.besides[agent] = since.min().unwrap_or(self.step);
        let now = self.now(agent);
        let up = incarnations(&self.servers);
        self.agents[agent].begin(wish, now, &up);
        self.after(agent);
    }

    fn deliver(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let at = self.random.below(self.messages.len());
        let message = self.messages.swap_remove(at);
        let is_lost = self.random.once_in(150);
        match message {
            Message::Request(agent, sent, is_awaited) => {
                if is_lost && is_awaited {
                    // It may arrive all the same.
                    self.messages
                        .push(Message::Request(agent, sent.clone(), false));
                    let lost = Event::Lost(sent.request.id);
                    return self.told(agent, (sent.plan, lost, None));
                }
                self.requested(agent, sent, is_awaited);
            }
            Message::Reply(agent, plan, event, item) => self.told(agent, (plan, event, item)),
        }
    }

    fn requested(&mut self, agent: usize, sent: Sent, is_awaited: bool) {
        let server = sent.request.to.0 as usize;
        if self.servers[server].is_down {
            if is_awaited {
                let now = self.now(agent);
                let up = incarnations(&self.servers);
                self.agents[agent].gone(&sent, now, &up);
                self.after(agent);
            }
            return;
        }
        let (reply, item) = self.servers[server].answer(sent.request.question, sent.value);
        let (question, value) = (sent.request.question, sent.value);
        writeln!(
            self.story,
            "{} {server} from {agent}: {question:?} {value:?}: {reply:?} {item:?}",
            self.step
        )
        .unwrap();
        if is_awaited {
            let event = Event::Reply(sent.request.id, reply);
            self.messages
                .push(Message::Reply(agent, sent.plan, event, item));
            // It comes over a connection to just this process.
            // Who began before it returned may not know it: it is no witness against them.
            let is_known = server != self.unreliable || self.besides[agent] > self.returned;
            let incarnation = match is_known {
                true => self.servers[server].incarnation,
                false => u32::MAX,
            };
            self.agents[agent].note_incarnation(sent.plan, sent.request.to, incarnation);
        }
    }

    fn told(&mut self, agent: usize, what: (u64, Event, Option<Item>)) {
        let now = self.now(agent);
        let up = incarnations(&self.servers);
        self.agents[agent].handle(what, now, &up);
        self.after(agent);
    }

    fn after(&mut self, agent: usize) {
        for sent in std::mem::take(&mut self.agents[agent].out) {
            self.messages.push(Message::Request(agent, sent, true));
        }
        let log = std::mem::take(&mut self.agents[agent].log);
        self.story.push_str(&log);
        if self.agents[agent].ended.is_some() {
            self.note_end(agent);
        }
    }

    fn note_end(&mut self, agent: usize) {
        let end = self.agents[agent].ended.take();
        let (Some(end), Some((_, called))) = (end, self.open[agent].take()) else {
            return;
        };
        writeln!(self.story, "{} agent {agent}: {end:?}", self.step).unwrap();
        let (deed, returned) = match end {
            End::Known(deed) => (deed, Some(self.step)),
            End::Unknown(deed) => (unknown(deed), None),
            End::Nothing => return,
        };
        self.operations.push(Operation {
            deed,
            called,
            returned,
        });
    }
}

/// What it would have told is not known.
fn unknown(deed: Deed) -> Deed {
    match deed {
        Deed::Change(change, _) => Deed::Change(change, crate::history::Answer::Unknown),
        other => other,
    }
}

fn incarnations(servers: &[Server]) -> impl Fn(ServerId) -> Option<u32> + use<> {
    let all: Vec<_> = servers
        .iter()
        .map(|server| (!server.is_down).then_some(server.incarnation))
        .collect();
    move |server| all[server.0 as usize]
}
