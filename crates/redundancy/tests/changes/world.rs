//! Clients, servers and what is on its way between them, moved on at random.

use crate::agent::{Agent, End, Sent, Wish};
use crate::history::{Deed, Operation, is_linearizable};
use crate::links::Links;
use crate::random::Random;
use crate::server::{Fault, Had, Item, Server};
use crate::wishes::{Asked, Kind};
use farcache_cluster::ServerId;
use farcache_redundancy::Redundancy;
use farcache_redundancy::plan::Event;
use std::fmt::Write as _;
use std::time::Duration;

pub const AGENTS: usize = 3;
/// Who reads at the end.
const READER: usize = 0;
const OPERATIONS: usize = 14;
const STEPS_MAX: usize = 20_000;

/// 2027-01-15.
const START: Duration = Duration::from_secs(1_800_000_000);

/// How often a link is cut, or all are whole again, of this many steps.
const CUT_EVERY: usize = 30;

/// Among many writers so many messages take much longer than others, up to so many steps.
const LATE_EVERY: usize = 6;
const DELAY_MAX: usize = 150;

enum Message {
    /// To a server, from an agent that waits for the answer, or does not any more.
    Request(usize, Sent, bool),
    /// From a server to an agent, about a plan.
    Reply(usize, usize, u64, Event, Option<Item>),
}

impl Message {
    fn is_held_back(&self, links: &Links) -> bool {
        match self {
            Message::Request(agent, sent, _) => {
                links.is_request_cut(*agent, sent.request.to.0 as usize)
            }
            Message::Reply(server, agent, ..) => links.is_reply_cut(*agent, *server),
        }
    }
}

pub struct World {
    random: Random,
    servers: Vec<Server>,
    agents: Vec<Agent>,
    skews: Vec<u64>,
    /// What is on its way, each not to arrive before a step.
    messages: Vec<(u64, Message)>,
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
    kind: Kind,
    links: Links,
    keeps_all: bool,
}

impl World {
    pub fn new(redundancy: Redundancy, fault: Option<Fault>, seed: u64) -> World {
        let mut random = Random::new(seed);
        let remembered = seed as usize % 3;
        let servers = (0..redundancy.owners()).map(|_| Server {
            fault,
            had: Had::of(remembered),
            keeps_older: redundancy.keeps_older(),
            older_max: usize::MAX,
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
            kind: Kind::OneWriter,
            links: Links::default(),
            keeps_all: true,
            random,
        }
    }

    /// Plain values are written by all, some of whom are servers that code for clients.
    pub fn of_writers(
        kind: Kind,
        redundancy: Redundancy,
        fault: Option<Fault>,
        seed: u64,
    ) -> World {
        World {
            kind,
            links: Links::of_coders(seed as usize % (AGENTS + 1).min(redundancy.owners())),
            ..World::new(redundancy, fault, seed)
        }
    }

    /// What the callers saw, if it can be put in order; else the story.
    pub fn run(mut self) -> Result<(), String> {
        self.play();
        let must_be_there = self.keeps_all && self.operations.iter().any(has_written);
        let can_read = self.read_at_the_end();
        match (can_read || !must_be_there) && is_linearizable(&self.operations) {
            true => Ok(()),
            false => Err(self.story),
        }
    }

    /// When nothing fails any more, whoever has died: whether what is there can be read.
    fn read_at_the_end(&mut self) -> bool {
        self.links = Links::default();
        for server in self.servers.iter_mut().filter(|server| server.is_down) {
            server.comes_back();
        }
        self.begin_with(READER, Wish::Read);
        let (is_open, last) = (|open: &[Option<_>]| open[READER].is_some(), self.step);
        while is_open(&self.open) && self.step < last + STEPS_MAX as u64 {
            self.step += 1;
            self.deliver();
        }
        let read = self.operations.last();
        read.is_some_and(|read| matches!(read.deed, Deed::Read(_)) && read.called >= last)
    }

    /// Its servers keep no more than so much of what was there before.
    pub fn keeping(mut self, older_max: usize) -> World {
        for server in &mut self.servers {
            server.older_max = older_max;
        }
        self.keeps_all = false;
        self
    }

    /// Its servers know of every version whether they have had it.
    pub fn remembering_all(mut self) -> World {
        for server in &mut self.servers {
            server.had = Had::of(usize::MAX);
        }
        self
    }

    /// How many plain writes have ended, or changes where all count, and how many of them as
    /// unknown. A plain write beside changes of copies may be.
    pub fn writes(mut self) -> (usize, usize) {
        self.play();
        let is_write = |one: &&Operation| match self.kind {
            Kind::CountersAlone => matches!(one.deed, Deed::Change(..)),
            _ => matches!(one.deed, Deed::Write(_)),
        };
        let writes = self.operations.iter().filter(is_write);
        let unknown = writes.clone().filter(|one| one.returned.is_none());
        (writes.count(), unknown.count())
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
            8 if self.kind.has_crashes() && self.random.once_in(3) => self.crash_or_return(),
            9 if self.kind.has_faults() && self.random.once_in(12) => {
                let agent = self.random.below(AGENTS);
                if self.open[agent].is_some() {
                    writeln!(self.story, "{} agent {agent} dies", self.step).unwrap();
                    self.agents[agent].dies();
                    self.note_end(agent);
                }
            }
            10 if self.kind.has_cuts() && self.random.once_in(CUT_EVERY / 10) => self.cut_or_heal(),
            _ => self.deliver(),
        }
    }

    fn cut_or_heal(&mut self) {
        let told = match self.random.once_in(2) {
            true => self.links.heal().to_string(),
            false => self.links.cut(&mut self.random, self.servers.len()),
        };
        writeln!(self.story, "{} {told}", self.step).unwrap();
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
        let is_coder = self.links.is_own(self.unreliable, self.unreliable);
        if is_coder && server.is_down && self.open[self.unreliable].is_some() {
            self.agents[self.unreliable].dies();
            self.note_end(self.unreliable);
        }
        writeln!(
            self.story,
            "{} server {} {what}",
            self.step, self.unreliable
        )
        .unwrap();
    }

    fn begin(&mut self) {
        let agent = self.random.below(AGENTS);
        let is_away = self.links.is_own(agent, agent) && self.servers[agent].is_down;
        if self.begun >= OPERATIONS || is_away || !self.agents[agent].is_idle() {
            return;
        }
        self.begun += 1;
        self.writes += 1000;
        let odd = u32::from(self.random.once_in(2));
        let value = self.writes + odd;
        let asked = Asked {
            agent,
            is_first: self.begun == 1,
            value,
            token: self.agents[agent].token.map(|token| token.0),
        };
        let wish = self.kind.wish(asked, &mut self.random);
        self.begin_with(agent, wish);
    }

    fn begin_with(&mut self, agent: usize, wish: Wish) {
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
        let (not_before, message) = &self.messages[at];
        if self.step < *not_before || message.is_held_back(&self.links) {
            return;
        }
        let (_, message) = self.messages.swap_remove(at);
        let is_lost = self.kind.has_faults() && self.random.once_in(150);
        match message {
            Message::Request(agent, sent, is_awaited) => {
                if is_lost && is_awaited {
                    // It may arrive all the same.
                    self.send(Message::Request(agent, sent.clone(), false));
                    let lost = Event::Lost(sent.request.id);
                    return self.told(agent, (sent.plan, lost, None));
                }
                self.requested(agent, sent, is_awaited);
            }
            Message::Reply(_, agent, plan, event, item) => self.told(agent, (plan, event, item)),
        }
    }

    fn send(&mut self, message: Message) {
        let is_late = self.kind != Kind::OneWriter && self.random.once_in(LATE_EVERY);
        let delay = is_late.then(|| self.random.below(DELAY_MAX) as u64);
        self.messages
            .push((self.step + delay.unwrap_or(0), message));
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
            let plan = sent.plan;
            self.send(Message::Reply(server, agent, plan, event, item));
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
        let sent = std::mem::take(&mut self.agents[agent].out);
        let is_own = |sent: &Sent| self.links.is_own(agent, sent.request.to.0 as usize);
        let (own, others): (Vec<Sent>, Vec<Sent>) = sent.into_iter().partition(is_own);
        for sent in others {
            self.send(Message::Request(agent, sent, true));
        }
        for told in std::mem::take(&mut self.agents[agent].told) {
            self.send(Message::Request(agent, told, false));
        }
        let log = std::mem::take(&mut self.agents[agent].log);
        self.story.push_str(&log);
        if self.agents[agent].ended.is_some() {
            self.note_end(agent);
        }
        // A server that codes stores its own part before anything else happens.
        for sent in own {
            self.requested(agent, sent, true);
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

/// Whether it has stored something, and its caller was told so.
fn has_written(operation: &Operation) -> bool {
    let is_write = match operation.deed {
        Deed::Write(_) => true,
        Deed::Read(_) => false,
        Deed::Change(_, answer) => answer != crate::history::Answer::Refused,
    };
    is_write && operation.returned.is_some()
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
