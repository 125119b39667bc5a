//! Clients, servers, the keeper of the map and what is between them.

use crate::history::{Deed, Operation, is_linearizable};
use crate::random::Random;
use crate::server::{Phase, Server};
use crate::values;
use farcache_cluster::ServerId;
use farcache_redundancy::plan::*;
use farcache_redundancy::{Clock, Redundancy, SKEW_MAX, Version, Writer};
use std::collections::BTreeMap;
use std::time::Duration;

/// A rule that is left out, to see that the simulation finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    AcceptsOlder,
    OverwritesInPlace,
    NoFence,
    NoLeases,
    ServesAtOnce,
    KeepsWhatItHeld,
    StoresNothing,
    CallsAllComplete,
    TellsWrongVersion,
    ForgetsTombstones,
}

const CLIENTS: usize = 3;
const STEPS: usize = 700;
const OPERATIONS_MAX: usize = 40;
const FAULTS_MAX: usize = 4;

enum Plan {
    Write(Box<Write>),
    Read(Box<Read>),
}

/// A client with one operation at a time.
struct Client {
    clock: Clock,
    /// Its machine's clock against the simulation's, in milliseconds.
    skew_ms: u64,
    plan: Option<Plan>,
    /// Which of its operations this is: answers to earlier ones are passed over.
    operation: usize,
    /// Where the operation stands in the history.
    noted: usize,
    epoch: u64,
    outstanding: Vec<RequestId>,
    /// The value that it writes, or has read.
    value: Vec<u8>,
    /// What servers brought, by server and version.
    brought: BTreeMap<(ServerId, Version), Vec<u8>>,
    asked: BTreeMap<RequestId, ServerId>,
}

enum Message {
    Request(usize, usize, Request, Vec<u8>),
    Reply(usize, usize, RequestId, Reply, Vec<u8>),
}

pub struct World {
    redundancy: Redundancy,
    random: Random,
    fault: Option<Fault>,
    servers: Vec<Server>,
    /// The members of each map, by epoch.
    maps: Vec<Vec<bool>>,
    clients: Vec<Client>,
    messages: Vec<Message>,
    history: Vec<Operation>,
    time: u64,
    writes: u32,
    faults_left: usize,
    /// Reads that found something out.
    found: usize,
    story: String,
}

impl World {
    pub fn new(redundancy: Redundancy, fault: Option<Fault>, seed: u64) -> World {
        let owners = redundancy.owners();
        let mut random = Random::new(seed);
        let clients = (0..CLIENTS).map(|number| Client {
            clock: Clock::new(Writer::new(number as u16).unwrap(), SKEW_MAX),
            skew_ms: random.below(2000) as u64,
            plan: None,
            operation: 0,
            noted: 0,
            epoch: 0,
            outstanding: Vec::new(),
            value: Vec::new(),
            brought: BTreeMap::new(),
            asked: BTreeMap::new(),
        });
        World {
            clients: clients.collect(),
            redundancy,
            random,
            fault,
            servers: (0..owners).map(|_| Server::new(fault)).collect(),
            maps: vec![vec![true; owners]],
            messages: Vec::new(),
            history: Vec::new(),
            time: 0,
            writes: 0,
            faults_left: FAULTS_MAX,
            found: 0,
            story: String::new(),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn tell(&mut self, what: impl std::fmt::Debug) {
        self.story.push_str(&format!("{}: {what:?}\n", self.time));
    }

    pub fn story(mut self) -> String {
        let outcome = self.run_on();
        self.tell(outcome);
        self.story
    }

    pub fn run(mut self) -> Result<(), String> {
        self.run_on()
    }

    fn run_on(&mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            self.step()?;
        }
        self.settle()?;
        match is_linearizable(&self.history) {
            true => Ok(()),
            false => Err(format!("not linearizable: {:#?}", self.history)),
        }
    }

    fn step(&mut self) -> Result<(), String> {
        self.time += 1;
        let client = self.random.below(CLIENTS);
        match self.random.below(100) {
            0..60 => return self.deliver_any(),
            60..64 => self.drop_any(),
            64..67 => self.lose_any(client)?,
            67..85 => self.begin(client)?,
            85..90 => self.tell_map(client)?,
            90..98 => self.keep(),
            98 => self.fail_any(),
            _ => self.let_die(client),
        }
        Ok(())
    }

    /// No more faults; all come back, all is delivered, and a last read must find something out.
    fn settle(&mut self) -> Result<(), String> {
        self.faults_left = 0;
        for round in 0..4000 {
            self.time += 1;
            for server in &mut self.servers {
                if server.phase == Phase::Crashed {
                    server.phase = Phase::Out;
                }
            }
            self.heal_all();
            self.keep();
            self.tell_map(round % CLIENTS)?;
            self.deliver_any()?;
            self.lose_unanswered()?;
        }
        if self.clients.iter().any(|client| client.plan.is_some()) {
            return Err("an operation does not end".into());
        }
        let before = self.found;
        for round in 0..4000 {
            self.time += 1;
            if self.clients[0].plan.is_none() {
                self.begin_read(0)?;
            }
            self.keep();
            self.tell_map(round % CLIENTS)?;
            self.deliver_any()?;
            self.lose_unanswered()?;
            if self.found > before {
                return Ok(());
            }
        }
        let servers: String = self.servers.iter().map(|one| one.summary()).collect();
        Err(format!(
            "nothing can be read at the end:\n{servers}{}",
            self.story
        ))
    }

    // Messages.

    fn deliver_any(&mut self) -> Result<(), String> {
        if self.messages.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.messages.len());
        match self.messages.swap_remove(at) {
            Message::Request(client, operation, request, bytes) => {
                self.ask(client, operation, &request, &bytes);
                Ok(())
            }
            Message::Reply(client, operation, id, reply, bytes) => {
                self.deliver_reply(client, operation, id, reply, bytes)
            }
        }
    }

    fn drop_any(&mut self) {
        if !self.messages.is_empty() {
            let at = self.random.below(self.messages.len());
            self.messages.swap_remove(at);
        }
    }

    fn ask(&mut self, client: usize, operation: usize, request: &Request, bytes: &[u8]) {
        let number = request.to.0 as usize;
        let newest = self.maps.len() as u64 - 1;
        let server = &mut self.servers[number];
        // For a newer epoch a server fetches the map first (rule 1).
        if request.epoch > server.epoch && !self.fault.is_some_and(|one| one == Fault::NoFence) {
            if server.is_cut {
                return;
            }
            self.give_map(number, newest);
        }
        let server = &mut self.servers[number];
        if let Some((reply, bytes)) = server.answer(request, bytes) {
            let reply = Message::Reply(client, operation, request.id, reply, bytes);
            self.messages.push(reply);
        }
    }

    fn deliver_reply(
        &mut self,
        number: usize,
        operation: usize,
        id: RequestId,
        reply: Reply,
        bytes: Vec<u8>,
    ) -> Result<(), String> {
        let client = &mut self.clients[number];
        if client.operation != operation {
            return Ok(());
        }
        client.outstanding.retain(|one| *one != id);
        if let (Reply::Answer(answer), Some(server)) = (&reply, client.asked.get(&id))
            && let Some(version) = answer.brought
        {
            client.brought.insert((*server, version), bytes);
        }
        self.event(number, Event::Reply(id, reply))
    }

    fn lose_any(&mut self, number: usize) -> Result<(), String> {
        let client = &mut self.clients[number];
        if client.outstanding.is_empty() {
            return Ok(());
        }
        let at = self.random.below(client.outstanding.len());
        let id = client.outstanding.swap_remove(at);
        self.event(number, Event::Lost(id))
    }

    /// A request of which nothing is under way any more will not be answered.
    fn lose_unanswered(&mut self) -> Result<(), String> {
        for number in 0..CLIENTS {
            let operation = self.clients[number].operation;
            let is_under_way = |id: &RequestId| {
                self.messages.iter().any(|message| match message {
                    Message::Request(client, of, request, _) => {
                        (*client, *of, request.id) == (number, operation, *id)
                    }
                    Message::Reply(client, of, answered, ..) => {
                        (*client, *of, *answered) == (number, operation, *id)
                    }
                })
            };
            let outstanding = self.clients[number].outstanding.iter();
            let lost = outstanding.copied().find(|id| !is_under_way(id));
            if let Some(id) = lost {
                self.clients[number].outstanding.retain(|one| *one != id);
                self.event(number, Event::Lost(id))?;
            }
        }
        Ok(())
    }

    // Clients.

    fn group(&self, epoch: u64) -> Group {
        let members = self.maps[epoch as usize].iter().enumerate();
        Group::new(
            epoch,
            members.map(|(number, live)| (ServerId(number as u32), *live)),
        )
    }

    fn now(&self, client: usize) -> Duration {
        let ms = self.time + self.clients[client].skew_ms;
        Duration::from_secs(1_800_000_000) + Duration::from_millis(ms)
    }

    fn begin(&mut self, number: usize) -> Result<(), String> {
        if self.clients[number].plan.is_some() || self.history.len() >= OPERATIONS_MAX {
            return Ok(());
        }
        match self.random.below(10) {
            0..4 => self.begin_read(number),
            4..8 => self.begin_write(number, true),
            _ => self.begin_write(number, false),
        }
    }

    fn note(&mut self, number: usize, deed: Deed) {
        self.clients[number].noted = self.history.len();
        self.clients[number].operation += 1;
        self.clients[number].brought.clear();
        self.clients[number].asked.clear();
        self.clients[number].outstanding.clear();
        self.history.push(Operation {
            deed,
            called: self.time,
            returned: None,
        });
    }

    fn begin_write(&mut self, number: usize, has_value: bool) -> Result<(), String> {
        self.writes += 1;
        let written = has_value.then_some(self.writes);
        self.note(number, Deed::Write(written));
        let form = match has_value {
            // Below and above the threshold.
            true => {
                let is_small = self.random.once_in(3);
                Form::of_value(self.redundancy, is_small)
            }
            false => Form::Tombstone,
        };
        let (now, group) = (self.now(number), self.group(self.clients[number].epoch));
        let client = &mut self.clients[number];
        client.value = written.map_or_else(Vec::new, values::value);
        let mut actions = Vec::new();
        let clock = &mut client.clock;
        let write = Write::begin(self.redundancy, form, group, clock, now, &mut actions);
        client.plan = Some(Plan::Write(Box::new(write)));
        self.carry_out_write(number, actions)
    }

    fn begin_read(&mut self, number: usize) -> Result<(), String> {
        self.note(number, Deed::Read(None));
        let group = self.group(self.clients[number].epoch);
        let (first, spare) = (self.random.below(self.servers.len()), self.random.below(2));
        let mut actions = Vec::new();
        let read = Read::begin(self.redundancy, group, first, spare, &mut actions);
        self.clients[number].plan = Some(Plan::Read(Box::new(read)));
        self.carry_out_read(number, actions)
    }

    fn event(&mut self, number: usize, event: Event) -> Result<(), String> {
        let now = self.now(number);
        let client = &mut self.clients[number];
        match &mut client.plan {
            None => Ok(()),
            Some(Plan::Write(write)) => {
                let mut actions = Vec::new();
                write.handle(
                    event,
                    |current| client.clock.above(current, now),
                    &mut actions,
                );
                self.carry_out_write(number, actions)
            }
            Some(Plan::Read(read)) => {
                let mut actions = Vec::new();
                read.handle(event, &mut actions);
                self.carry_out_read(number, actions)
            }
        }
    }

    fn send(&mut self, number: usize, request: Request) {
        let client = &mut self.clients[number];
        client.asked.insert(request.id, request.to);
        let bytes = match request.question {
            Question::Accept(_, part) | Question::Store(_, part) => {
                values::part_of(self.redundancy, &client.value, part)
            }
            Question::Read(_) | Question::Complete(_) => Vec::new(),
            Question::AcceptPromised(..) | Question::Promise(_) => panic!("nothing is changed"),
            Question::Beneath(_) => panic!("all that is held is told at once"),
        };
        if !matches!(request.question, Question::Complete(_)) {
            client.outstanding.push(request.id);
        }
        let operation = client.operation;
        self.messages
            .push(Message::Request(number, operation, request, bytes));
    }

    fn carry_out_write(
        &mut self,
        number: usize,
        actions: Vec<Action<WriteOutcome>>,
    ) -> Result<(), String> {
        let mut encodes = false;
        for action in actions {
            match action {
                Action::Ask(request) => self.send(number, request),
                Action::Encode => encodes = true,
                Action::Decode(..) => return Err("a write decodes".into()),
                Action::Done(outcome) => self.note_written(number, outcome),
            }
        }
        if encodes {
            self.event(number, Event::Encoded)?;
        }
        self.forget_ended(number);
        Ok(())
    }

    fn note_written(&mut self, number: usize, outcome: WriteOutcome) {
        self.tell((number, outcome));
        let at = self.clients[number].noted;
        match outcome {
            WriteOutcome::Written { .. } => self.history[at].returned = Some(self.time),
            WriteOutcome::Unknown => {}
            WriteOutcome::Refused { .. } | WriteOutcome::Overtaken { .. } => {
                panic!("nothing is promised")
            }
            // It has had no effect: as if it had read what it wrote nothing over.
            WriteOutcome::TooFewLive | WriteOutcome::Unavailable | WriteOutcome::Skewed(_) => {
                self.void(at);
            }
        }
    }

    /// An operation that has neither seen nor changed anything.
    fn void(&mut self, at: usize) {
        self.history.remove(at);
        for client in &mut self.clients {
            client.noted -= usize::from(client.noted > at);
        }
    }

    fn carry_out_read(
        &mut self,
        number: usize,
        actions: Vec<Action<ReadOutcome>>,
    ) -> Result<(), String> {
        for action in actions {
            match action {
                Action::Ask(request) => {
                    if let Question::Store(version, _) = request.question {
                        self.take_copy(number, version);
                    }
                    self.send(number, request);
                }
                Action::Encode => self.event(number, Event::Encoded)?,
                Action::Decode(version, from) => {
                    self.decode(number, version, &from)?;
                    self.event(number, Event::Decoded)?;
                }
                Action::Done(outcome) => self.note_read(number, outcome)?,
            }
        }
        self.forget_ended(number);
        Ok(())
    }

    fn take_copy(&mut self, number: usize, version: Version) {
        let client = &mut self.clients[number];
        let mut brought = client.brought.iter();
        let is_copy = |bytes: &[u8]| values::number_of(bytes).is_some();
        if let Some((_, bytes)) =
            brought.find(|((_, one), bytes)| *one == version && is_copy(bytes))
        {
            client.value = bytes.clone();
        }
    }

    fn decode(&mut self, number: usize, version: Version, from: &[ServerId]) -> Result<(), String> {
        let client = &mut self.clients[number];
        let mut shards = BTreeMap::new();
        for server in from {
            let bytes = client.brought.get(&(*server, version));
            let bytes = bytes.ok_or("decodes what nobody has brought")?;
            shards.insert(server.0 as u8, bytes.clone());
        }
        client.value = values::decode(self.redundancy, &shards);
        Ok(())
    }

    fn note_read(&mut self, number: usize, outcome: ReadOutcome) -> Result<(), String> {
        self.tell((number, outcome));
        let at = self.clients[number].noted;
        let ReadOutcome::Found(found) = outcome else {
            self.void(at);
            return Ok(());
        };
        let read = match found {
            Found::Nothing | Found::Deleted(_) => None,
            Found::Value(version) => {
                self.take_copy(number, version);
                let number = values::number_of(&self.clients[number].value);
                Some(number.ok_or("a reply mixes two writes")?)
            }
        };
        self.found += 1;
        self.history[at].deed = Deed::Read(read);
        self.history[at].returned = Some(self.time);
        Ok(())
    }

    fn forget_ended(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let has_ended = match &client.plan {
            Some(Plan::Write(write)) => write.has_ended(),
            Some(Plan::Read(read)) => read.has_ended(),
            None => return,
        };
        if has_ended {
            client.plan = None;
        }
    }

    fn tell_map(&mut self, number: usize) -> Result<(), String> {
        let newest = self.maps.len() as u64 - 1;
        let client = &mut self.clients[number];
        if client.epoch == newest {
            return Ok(());
        }
        client.epoch = newest;
        self.event(number, Event::Map(self.group(newest)))
    }

    /// A client dies in the middle; another one takes its place.
    fn let_die(&mut self, number: usize) {
        if self.clients[number].plan.is_none() || !self.random.once_in(3) {
            return;
        }
        self.tell((number, "dies"));
        let at = self.clients[number].noted;
        self.clients[number].plan = None;
        self.clients[number].operation += 1;
        if matches!(self.history[at].deed, Deed::Read(_)) {
            self.void(at);
        }
    }

    // Servers and the keeper.

    fn members(&self) -> &[bool] {
        self.maps.last().unwrap()
    }

    /// Members of the newest map that are caught up.
    fn serving(&self) -> usize {
        let numbered = self.servers.iter().zip(self.members());
        let serves =
            |(server, is_member): &(&Server, &bool)| **is_member && server.phase == Phase::Serving;
        numbered.filter(serves).count()
    }

    /// A crash or a cut, as long as the promise covers it.
    fn fail_any(&mut self) {
        let number = self.random.below(self.servers.len());
        // Members that are caught up, and will stay so.
        let is_healthy = |one: usize| {
            let server = &self.servers[one];
            let serves = server.phase == Phase::Serving && server.has_lease && !server.is_cut;
            serves && self.members()[one]
        };
        let healthy = (0..self.servers.len())
            .filter(|one| is_healthy(*one))
            .count();
        let is_covered = !is_healthy(number) || healthy > self.redundancy.needed();
        let can_fail = self.servers[number].phase == Phase::Serving && !self.servers[number].is_cut;
        if self.faults_left == 0 || !can_fail || !is_covered {
            return;
        }
        self.faults_left -= 1;
        let is_crash = self.random.once_in(2);
        let server = &mut self.servers[number];
        if is_crash {
            (server.phase, server.has_lease) = (Phase::Crashed, false);
            self.tell((number, "crash"));
        } else {
            server.is_cut = true;
            self.tell((number, "cut"));
        }
    }

    fn publish(&mut self, number: usize, is_member: bool) {
        let mut members = self.members().to_vec();
        members[number] = is_member;
        self.maps.push(members);
    }

    fn give_map(&mut self, number: usize, epoch: u64) {
        let is_member = self.members()[number];
        let server = &mut self.servers[number];
        let takes_part = matches!(server.phase, Phase::Joining | Phase::Serving);
        if !takes_part || server.is_cut || server.epoch == epoch {
            return;
        }
        server.epoch = epoch;
        if !is_member {
            (server.phase, server.has_lease) = (Phase::Out, false);
        }
    }

    fn heal_all(&mut self) {
        for number in 0..self.servers.len() {
            self.heal(number);
        }
    }

    fn heal(&mut self, number: usize) {
        let is_member = self.members()[number];
        let server = &mut self.servers[number];
        if server.is_cut {
            server.is_cut = false;
            server.has_lease = is_member;
        }
    }

    /// Something that the keeper does for one server, or the server with the keeper.
    fn keep(&mut self) {
        let number = self.random.below(self.servers.len());
        let newest = self.maps.len() as u64 - 1;
        let is_member = self.members()[number];
        let is_last = self.serving() <= usize::from(self.servers[number].phase == Phase::Serving);
        let phase = self.servers[number].phase;
        let (is_cut, has_lease) = (self.servers[number].is_cut, self.servers[number].has_lease);
        let no_leases = self.has(Fault::NoLeases);
        match self.random.below(5) {
            0 if is_cut && has_lease && !no_leases => self.servers[number].has_lease = false,
            0 if is_cut && self.random.once_in(4) => self.heal(number),
            1 if is_member && !is_last => {
                let has_gone = matches!(phase, Phase::Crashed | Phase::Out);
                if has_gone || is_cut && (!has_lease || no_leases) {
                    self.publish(number, false);
                }
            }
            2 => self.give_map(number, newest),
            3 if phase == Phase::Crashed => self.servers[number].phase = Phase::Out,
            3 if phase == Phase::Out && !is_member => self.join(number),
            4 if phase == Phase::Joining => self.catch_up(number),
            _ => {}
        }
    }

    fn join(&mut self, number: usize) {
        self.publish(number, true);
        let epoch = self.maps.len() as u64 - 1;
        let (keeps, serves) = (
            self.has(Fault::KeepsWhatItHeld),
            self.has(Fault::ServesAtOnce),
        );
        let server = &mut self.servers[number];
        if !keeps {
            server.held.clear();
            server.complete = None;
        }
        server.phase = match keeps || serves {
            true => Phase::Serving,
            false => Phase::Joining,
        };
        (server.has_lease, server.is_cut, server.epoch) = (true, false, epoch);
        self.tell((number, "join"));
    }

    /// Takes over what k caught-up servers of its epoch hold (rule 8), in one step.
    fn catch_up(&mut self, number: usize) {
        let (epoch, needed) = (self.servers[number].epoch, self.redundancy.needed());
        let is_source = |one: &usize| {
            let server = &self.servers[*one];
            server.phase == Phase::Serving && server.has_lease && server.epoch == epoch
        };
        let mut sources: Vec<usize> = (0..self.servers.len()).filter(is_source).collect();
        while sources.len() > needed {
            sources.swap_remove(self.random.below(sources.len()));
        }
        if sources.len() < needed || epoch != self.maps.len() as u64 - 1 {
            return;
        }
        let complete = sources
            .iter()
            .map(|one| self.servers[*one].complete)
            .max()
            .flatten();
        let first = &self.servers[sources[0]];
        let is_common = |version: &&Version| {
            sources
                .iter()
                .all(|one| self.servers[*one].held.contains_key(version))
        };
        let common: Vec<Version> = first.held.keys().filter(is_common).copied().collect();
        if complete.is_some_and(|complete| !common.contains(&complete)) {
            return;
        }
        for version in common {
            let (part, bytes) = self.part_from(&sources, version, number);
            self.servers[number].held.insert(version, (part, bytes));
        }
        let server = &mut self.servers[number];
        if let Some(complete) = complete {
            server.mark(complete);
        }
        server.phase = Phase::Serving;
        self.tell((number, "caught up"));
    }

    fn part_from(&self, sources: &[usize], version: Version, number: usize) -> (Part, Vec<u8>) {
        let held = |one: usize| &self.servers[one].held[&version];
        let held_parts = sources.iter().map(|one| held(*one));
        let copy = held_parts.clone().find(|(part, _)| *part == Part::Copy);
        match held(sources[0]).0 {
            Part::Tombstone => return held(sources[0]).clone(),
            Part::Shard(_) => {}
            Part::Copy | Part::Witness => {
                let part = Form::of_value(self.redundancy, true).part_at(number);
                let (_, bytes) = copy.expect("one of k has the bytes");
                return (part, values::part_of(self.redundancy, bytes, part));
            }
        }
        let shards = sources.iter().map(|one| (*one as u8, held(*one).1.clone()));
        let value = values::decode(self.redundancy, &shards.collect());
        let part = Part::Shard(number as u8);
        (part, values::part_of(self.redundancy, &value, part))
    }
}
