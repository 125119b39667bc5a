//! Time, messages and misfortune.

use crate::clients::{Deed, Outcome, Watched};
use crate::server::{Server, Verdict};
use farcache_cluster::map::{Epoch, Move, Phase, difference, plan_moves};
use farcache_cluster::{ClusterMap, MapContent, ServerId};
use farcache_moving::course::{Step, Trouble};
use farcache_moving::patience::Patience;
use farcache_moving::{KeyPlace, Stage, Table};
use farcache_peers::moves::PulledHead;
use std::collections::BTreeMap;
use std::sync::Arc;

const KEYS: usize = 12;
const WORKERS: usize = 2;
const END_MS: u64 = 60_000;
/// How long requests are tried for.
const TIMEOUT_MS: u64 = 1_000;
/// Items of one answer to a pull.
const BATCH: usize = 2;

#[derive(Clone, Copy)]
pub struct Chaos {
    pub crashes: bool,
    pub cuts: bool,
    pub flushes: bool,
}

/// Whose request it is, and where it is.
#[derive(Clone, Debug)]
struct Request {
    key: usize,
    /// Which of the key's requests.
    number: u64,
    deed: Deed,
    asked: usize,
    /// Who carries it out, where that is another one.
    owner: Option<usize>,
    /// Of the run of the server where it is.
    instance: u64,
    patience: Option<Patience>,
    /// The worker that has asked what the old owner has, and has the answer.
    fetched_by: Option<usize>,
}

#[derive(Clone, Debug)]
enum Event {
    /// A client asks something.
    Begin(usize),
    /// A request is to be carried out at the server that was asked.
    At(Request),
    /// The same at the owner.
    AtOwner(Request),
    /// The owner has answered; none where it does not own the key.
    Answer(Request, Option<Outcome>),
    Late(usize, u64),
    Fetch(Request, (usize, usize, usize), u64),
    Fetched(Request, (usize, usize), u64, Option<Option<u64>>),
    NewMap(usize, Arc<ClusterMap>),
    Follow(usize, usize),
    Step(usize),
    Asked(usize, usize, u64, Step),
    Told(usize, u64, u64, Reply),
    Publish,
    Crash,
    Start(usize),
    Cut,
    Flush,
}

/// What the mover of a server is told.
#[derive(Clone, Debug)]
enum Reply {
    Said(farcache_peers::moves::Acknowledged),
    Items(PulledHead, u64, Vec<(String, u64)>),
    Trouble(Trouble),
}

pub struct World {
    random: u64,
    now_ms: u64,
    next: u64,
    events: BTreeMap<(u64, u64), Event>,
    servers: Vec<Server>,
    maps: Vec<Arc<ClusterMap>>,
    /// Two servers that do not hear one another, and until when.
    cut: Option<(usize, usize, u64)>,
    watched: Vec<Watched>,
    numbers: Vec<u64>,
    versions: u64,
    instances: u64,
    brought: u64,
    /// Whether items may be lost without anybody being wrong.
    loses: bool,
}

fn name(index: usize) -> String {
    format!("key:{index}")
}

fn map(epoch: u64, count: usize, owners: &[usize], moves: Vec<Move>) -> ClusterMap {
    let mut text = format!("farcache-cluster-map 1\ncluster c\nepoch {epoch}\nplacement ketama\n");
    for id in 0..count {
        let state = match owners.contains(&id) {
            true => "serving",
            false => "draining",
        };
        let name = id + 1;
        text += &format!(
            "server {name} incarnation=1 weight=1 zone=- state={state} addresses=h{name}:1\n"
        );
    }
    let map: ClusterMap = (text + "end\n").parse().expect("a map");
    let content = MapContent {
        moves,
        ..map.into_content()
    };
    ClusterMap::new(content).expect("a map")
}

impl World {
    pub fn new(seed: u64, chaos: Chaos) -> World {
        let mut world = World {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            now_ms: 0,
            next: 0,
            events: BTreeMap::new(),
            servers: Vec::new(),
            maps: Vec::new(),
            cut: None,
            watched: (0..KEYS).map(|_| Watched::default()).collect(),
            numbers: vec![0; KEYS],
            versions: 0,
            instances: 0,
            brought: 0,
            loses: chaos.crashes || chaos.cuts || chaos.flushes,
        };
        let count = 2 + world.below(3) as usize;
        let first = Arc::new(map(1, count, &[0], Vec::new()));
        for id in 0..count {
            world.instances += 1;
            let server = Server::new(ServerId(id as u32 + 1), world.instances, &first, WORKERS);
            world.servers.push(server);
            world.at(1, Event::Step(id));
        }
        world.maps.push(first);
        (0..KEYS).for_each(|key| world.at(1, Event::Begin(key)));
        world.at(500, Event::Publish);
        if chaos.cuts {
            world.at(700, Event::Cut);
        }
        if chaos.crashes {
            world.at(900, Event::Crash);
        }
        if chaos.flushes {
            world.at(800, Event::Flush);
        }
        world
    }

    fn below(&mut self, end: u64) -> u64 {
        // Source: G. Marsaglia, "Xorshift RNGs".
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 8) % end
    }

    fn at(&mut self, after_ms: u64, event: Event) {
        self.next += 1;
        self.events
            .insert((self.now_ms + after_ms, self.next), event);
    }

    /// Sends something: soon as a rule, sometimes much later.
    fn send(&mut self, event: Event) {
        let delay = match self.below(20) {
            0 => self.below(400),
            _ => 1 + self.below(4),
        };
        self.at(delay, event);
    }

    fn is_cut(&self, one: usize, other: usize) -> bool {
        let between =
            |(first, second)| (first, second) == (one, other) || (second, first) == (one, other);
        let is_now = |until: u64| self.now_ms < until;
        self.cut
            .is_some_and(|(first, second, until)| is_now(until) && between((first, second)))
    }

    pub fn run(mut self) -> u64 {
        while let Some(((at, _), event)) = self.events.pop_first() {
            if at > END_MS {
                break;
            }
            self.now_ms = at;
            self.handle(event);
        }
        self.brought
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Begin(key) => self.begin(key),
            Event::At(request) => self.ask(request),
            Event::AtOwner(request) => self.at_owner(request),
            Event::Answer(request, outcome) => self.answered(request, outcome),
            Event::Late(key, number) => self.late(key, number),
            Event::Fetch(request, way, instance) => self.fetch(request, way, instance),
            Event::Fetched(request, at, instance, item) => {
                self.fetched(request, at, instance, item)
            }
            Event::NewMap(id, map) => self.new_map(id, &map),
            Event::Follow(id, worker) => self.servers[id].follow(worker),
            Event::Step(id) => self.step(id),
            Event::Asked(by, from, epoch, step) => self.asked(by, from, epoch, step),
            Event::Told(by, from, epoch, reply) => self.told(by, from, epoch, reply),
            Event::Publish => self.publish(),
            Event::Crash => self.crash(),
            Event::Start(id) => self.start(id),
            Event::Cut => self.cut_off(),
            Event::Flush => self.flush(),
        }
    }

    // Clients.

    fn begin(&mut self, key: usize) {
        self.versions += 1;
        let deed = match self.below(10) {
            0..=5 => Deed::Get,
            6..=8 => Deed::Set(self.versions),
            _ => Deed::Delete,
        };
        self.numbers[key] += 1;
        self.watched[key].deed = Some(deed);
        let asked = self.below(self.servers.len() as u64) as usize;
        let request = Request {
            key,
            number: self.numbers[key],
            deed,
            asked,
            owner: None,
            instance: self.servers[asked].instance,
            patience: None,
            fetched_by: None,
        };
        self.at(4 * TIMEOUT_MS, Event::Late(key, request.number));
        self.send(Event::At(request));
    }

    fn end(&mut self, key: usize, number: u64, outcome: Outcome) {
        if self.numbers[key] != number || self.watched[key].deed.is_none() {
            return;
        }
        if let Err(wrong) = self.watched[key].end(outcome, self.loses) {
            panic!("at {} ms, {}: {wrong}", self.now_ms, name(key));
        }
        let pause = 1 + self.below(40);
        self.at(pause, Event::Begin(key));
    }

    fn late(&mut self, key: usize, number: u64) {
        self.end(key, number, Outcome::Failed);
    }

    // Requests.

    fn is_there(&self, id: usize, instance: u64) -> bool {
        self.servers[id].is_alive && self.servers[id].instance == instance
    }

    /// Refused because maps differ: tries again, or gives up.
    fn refused(&mut self, mut request: Request) {
        let first = Patience::new(self.now_ms, TIMEOUT_MS);
        let patience = request.patience.get_or_insert(first);
        match patience.next_try_ms(self.now_ms) {
            Some(at_ms) => {
                (request.owner, request.fetched_by) = (None, None);
                self.at(at_ms - self.now_ms, Event::At(request));
            }
            None => self.end(request.key, request.number, Outcome::Failed),
        }
    }

    fn ask(&mut self, mut request: Request) {
        let asked = request.asked;
        if !self.is_there(asked, request.instance) {
            return self.end(request.key, request.number, Outcome::Failed);
        }
        let worker = self.worker_of(&mut request);
        match self.servers[asked].judge(worker, &name(request.key)) {
            Verdict::Nobody => self.refused(request),
            Verdict::Elsewhere(owner) => {
                let owner = owner.0 as usize - 1;
                if self.is_cut(asked, owner) || !self.servers[owner].is_alive {
                    return self.end(request.key, request.number, Outcome::Failed);
                }
                request.owner = Some(owner);
                request.fetched_by = None;
                self.send(Event::AtOwner(request));
            }
            verdict => self.carry_out(request, asked, worker, &verdict),
        }
    }

    /// The worker whose client asks: the same as before, where it has waited for another server.
    fn worker_of(&mut self, request: &mut Request) -> usize {
        let any = self.below(WORKERS as u64) as usize;
        request.fetched_by.unwrap_or(any)
    }

    fn at_owner(&mut self, mut request: Request) {
        let owner = request.owner.expect("it was passed on");
        if !self.servers[owner].is_alive {
            // Whoever asked learns of it by the connection, or never.
            return;
        }
        let worker = self.worker_of(&mut request);
        match self.servers[owner].judge(worker, &name(request.key)) {
            Verdict::Nobody | Verdict::Elsewhere(_) => self.send(Event::Answer(request, None)),
            verdict => self.carry_out(request, owner, worker, &verdict),
        }
    }

    fn answered(&mut self, request: Request, outcome: Option<Outcome>) {
        match outcome {
            None if self.is_there(request.asked, request.instance) => self.refused(request),
            None => self.end(request.key, request.number, Outcome::Failed),
            Some(outcome) => self.end(request.key, request.number, outcome),
        }
    }

    /// The server `at` decides.
    fn carry_out(&mut self, request: Request, at: usize, worker: usize, verdict: &Verdict) {
        let key = name(request.key);
        let is_needed = !matches!(request.deed, Deed::Set(_)) && request.fetched_by.is_none();
        if let Verdict::Bring(from, instance) = verdict
            && is_needed
            && !self.servers[at].items.contains_key(&key)
        {
            let from = from.0 as usize - 1;
            let is_reached = self.servers[from].is_alive && !self.is_cut(at, from);
            let event = match is_reached {
                true => Event::Fetch(request, (from, at, worker), *instance),
                false => Event::Fetched(request, (at, worker), *instance, None),
            };
            return self.send(event);
        }
        let server = &mut self.servers[at];
        if request.deed != Deed::Get {
            server.settle(worker, &key);
        }
        let outcome = match request.deed {
            Deed::Get => Outcome::Done(server.items.get(&key).copied()),
            Deed::Set(version) => {
                server.items.insert(key, version);
                Outcome::Done(None)
            }
            Deed::Delete => {
                server.items.remove(&key);
                Outcome::Done(None)
            }
        };
        match request.owner {
            Some(_) => self.send(Event::Answer(request, Some(outcome))),
            None => self.end(request.key, request.number, outcome),
        }
    }

    /// Server `from` is asked by `to` what it has of a key.
    fn fetch(&mut self, request: Request, way: (usize, usize, usize), instance: u64) {
        let (from, to, asking) = way;
        let (key, worker) = (name(request.key), self.below(WORKERS as u64) as usize);
        let server = &self.servers[from];
        let (place, to_id) = (server.place(worker, &key), self.servers[to].id);
        let gives = server.workers[worker].outgoing.to(place.hash) == Some(to_id);
        let item = match server.is_alive && server.instance == instance && gives {
            true => Some(server.items.get(&key).copied()),
            false => None,
        };
        self.send(Event::Fetched(request, (to, asking), instance, item));
    }

    fn fetched(
        &mut self,
        mut request: Request,
        (at, worker): (usize, usize),
        instance: u64,
        item: Option<Option<u64>>,
    ) {
        if !self.servers[at].is_alive {
            return;
        }
        let key = name(request.key);
        let place = self.servers[at].place(worker, &key);
        let table = Arc::clone(&self.servers[at].workers[worker].table);
        match item {
            Some(Some(item)) => {
                self.brought += 1;
                self.servers[at].admit(&table, place, instance, &key, item);
            }
            Some(None) => self.settle_at(&table, place),
            // Nothing can be had: it counts as evicted.
            None => {}
        }
        request.fetched_by = Some(worker);
        // The request runs again, by what its worker goes by now.
        match request.owner {
            Some(_) => self.at_owner(request),
            None => self.ask(request),
        }
    }

    fn settle_at(&self, table: &Table, place: KeyPlace) {
        if let Some(stream) = table.stream_of(place.hash) {
            stream.settle(place);
        }
    }

    // Maps.

    fn publish(&mut self) {
        let wait = 50 + self.below(1_500);
        self.at(wait, Event::Publish);
        let current = Arc::clone(self.maps.last().expect("a map"));
        let Some(next) = self.next_map(&current) else {
            return;
        };
        let next = Arc::new(next);
        self.maps.push(Arc::clone(&next));
        for id in 0..self.servers.len() {
            // Before an old owner is given up.
            let delay = 1 + match self.below(10) {
                0 => self.below(1_500),
                _ => self.below(60),
            };
            self.at(delay, Event::NewMap(id, Arc::clone(&next)));
        }
    }

    fn everybody_goes_by(&self, epoch: u64) -> bool {
        let mut alive = self.servers.iter().filter(|server| server.is_alive);
        alive.all(|server| server.acknowledged().epoch >= epoch)
    }

    /// What a publisher makes next; none where it waits.
    fn next_map(&mut self, current: &ClusterMap) -> Option<ClusterMap> {
        let (count, epoch) = (self.servers.len(), current.epoch().0);
        if !self.everybody_goes_by(epoch) {
            return None;
        }
        let owners: Vec<usize> = (0..count)
            .filter(|id| current.content().servers[*id].state.owns_keys())
            .collect();
        let moves = &current.content().moves;
        let in_phase = |phase| moves.iter().any(|moved| moved.phase == phase);
        if in_phase(Phase::HandingOver) {
            // All of them, or some before the others.
            let mut advanced: Vec<Move> = moves.clone();
            let all = self.below(2) == 0;
            let pick = self.below(advanced.len() as u64) as usize;
            for (index, moved) in advanced.iter_mut().enumerate() {
                if all || index == pick {
                    moved.phase = Phase::Streaming;
                }
            }
            advanced.sort_by_key(|moved| (moved.from, moved.to, moved.phase));
            return Some(map(epoch + 1, count, &owners, joined(advanced)));
        }
        if in_phase(Phase::Streaming) {
            let must_wait = !self.loses || self.below(3) > 0;
            if must_wait && !self.are_done(moves) {
                return None;
            }
            return Some(map(epoch + 1, count, &owners, Vec::new()));
        }
        let mut after: Vec<usize> = (0..count).filter(|_| self.below(2) == 0).collect();
        if after.is_empty() {
            after.push(self.below(count as u64) as usize);
        }
        let plain = map(epoch + 1, count, &after, Vec::new());
        let mut moves = plan_moves(&difference(current, &plain).expect("comparable"));
        if self.below(4) == 0 {
            moves
                .iter_mut()
                .for_each(|moved| moved.phase = Phase::Streaming);
        }
        let content = MapContent {
            moves,
            epoch: Epoch(epoch + 1),
            ..plain.into_content()
        };
        Some(ClusterMap::new(content).expect("a map"))
    }

    fn are_done(&self, moves: &[Move]) -> bool {
        moves.iter().all(|moved| {
            let taker = &self.servers[moved.to.0 as usize - 1];
            let table = taker.taking.table();
            let mut streams = table.streams().iter().filter(|it| it.from == moved.from);
            taker.is_alive && streams.all(|it| matches!(it.stage(), Stage::Done | Stage::Lost))
        })
    }

    fn new_map(&mut self, id: usize, map: &Arc<ClusterMap>) {
        if !self.servers[id].is_alive {
            return;
        }
        let now_ms = self.now_ms;
        self.servers[id].prepare(map, now_ms);
        for worker in 0..WORKERS {
            let delay = 1 + self.below(30);
            self.at(delay, Event::Follow(id, worker));
        }
    }

    // The movers.

    fn step(&mut self, id: usize) {
        let wait = 2 + self.below(20);
        self.at(wait, Event::Step(id));
        if !self.servers[id].is_alive {
            return;
        }
        let now_ms = self.now_ms;
        let steps: Vec<(usize, u64, Step)> = self.servers[id]
            .courses
            .iter_mut()
            .map(|course| {
                let step = course.next(now_ms);
                (course.stream.from.0 as usize - 1, course.stream.epoch, step)
            })
            .collect();
        for (from, epoch, step) in steps {
            if !matches!(step, Step::Wait(_) | Step::Over) {
                self.send(Event::Asked(id, from, epoch, step));
            }
        }
    }

    /// The mover of server `by` asks server `from`.
    fn asked(&mut self, by: usize, from: usize, epoch: u64, step: Step) {
        let worker = self.below(WORKERS as u64) as usize;
        let (server, to) = (&self.servers[from], self.servers[by].id);
        let reply = match step {
            _ if self.is_cut(by, from) => Reply::Trouble(Trouble::Silent),
            _ if !server.is_alive => Reply::Trouble(Trouble::NobodyThere),
            Step::Acknowledge => Reply::Said(server.acknowledged()),
            Step::Pull(pull) if pull.instance != server.instance => {
                Reply::Items(PulledHead::OtherInstance, pull.instance, Vec::new())
            }
            Step::Pull(_) if !server.workers[worker].outgoing.has_any_for(to) => {
                Reply::Trouble(Trouble::Refused)
            }
            Step::Pull(pull) => {
                // The place is the number of the key behind the last.
                let after = match pull.place[0] {
                    0 => String::new(),
                    place => name_at(place),
                };
                let items = server.items_for(worker, to, &after, BATCH);
                let last = items.last().map(|(key, _)| place_of(key));
                let next = last.filter(|_| items.len() == BATCH);
                let head = PulledHead::Items { next, progress: 0 };
                Reply::Items(head, pull.instance, items)
            }
            _ => return,
        };
        self.send(Event::Told(by, from as u64 + 1, epoch, reply));
    }

    fn told(&mut self, by: usize, from: u64, epoch: u64, reply: Reply) {
        let (now_ms, table) = (self.now_ms, self.servers[by].taking.table());
        let mut courses = std::mem::take(&mut self.servers[by].courses);
        let course = courses
            .iter_mut()
            .find(|course| u64::from(course.stream.from.0) == from && course.stream.epoch == epoch);
        if let Some(course) = course.filter(|_| self.servers[by].is_alive) {
            match reply {
                Reply::Said(said) => course.on_acknowledged(said, now_ms),
                Reply::Trouble(trouble) => course.on_trouble(trouble, now_ms),
                Reply::Items(head, instance, items) => {
                    for (key, item) in items {
                        let hash = self.servers[by].map.hash_of_key(key.as_bytes());
                        let place = KeyPlace::new(hash.expect("keys are placed"), key.as_bytes());
                        self.brought += 1;
                        self.servers[by].admit(&table, place, instance, &key, item);
                    }
                    course.on_pulled(head, Vec::new());
                }
            }
        }
        self.servers[by].courses = courses;
    }

    // Misfortune.

    fn crash(&mut self) {
        let wait = 500 + self.below(6_000);
        self.at(wait, Event::Crash);
        let id = self.below(self.servers.len() as u64) as usize;
        if self.servers[id].is_alive {
            self.servers[id].is_alive = false;
            let away = 20 + self.below(3_000);
            self.at(away, Event::Start(id));
        }
    }

    /// A server begins anew, with the newest map and nothing else.
    fn start(&mut self, id: usize) {
        self.instances += 1;
        let map = Arc::clone(self.maps.last().expect("a map"));
        let name = self.servers[id].id;
        self.servers[id] = Server::new(name, self.instances, &map, WORKERS);
    }

    fn cut_off(&mut self) {
        let wait = 400 + self.below(4_000);
        self.at(wait, Event::Cut);
        let count = self.servers.len() as u64;
        let (one, other) = (self.below(count) as usize, self.below(count) as usize);
        let until = self.now_ms + self.below(2_500);
        self.cut = Some((one, other, until));
    }

    /// All servers are flushed at once, as by a client that asks each of them.
    fn flush(&mut self) {
        let wait = 400 + self.below(4_000);
        self.at(wait, Event::Flush);
        for server in &mut self.servers {
            server.taking.void();
            server.items.clear();
        }
        for watched in &mut self.watched {
            // What is under way may come before or after.
            if watched.deed.is_some() {
                watched.perhaps.extend(watched.stored);
            }
            watched.stored = None;
            watched.may_be_gone = true;
        }
    }
}

/// Moves of the same ends and phase are one.
fn joined(moves: Vec<Move>) -> Vec<Move> {
    let mut joined: Vec<Move> = Vec::new();
    for moved in moves {
        match joined.last_mut() {
            Some(last)
                if (last.from, last.to, last.phase) == (moved.from, moved.to, moved.phase) =>
            {
                last.arcs.extend(moved.arcs);
                last.arcs.sort_unstable();
            }
            _ => joined.push(moved),
        }
    }
    joined
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = (0..KEYS).map(name).collect();
    names.sort();
    names
}

fn place_of(key: &str) -> [u8; 16] {
    let position = names().iter().position(|name| name == key);
    [position.expect("a key") as u8 + 1; 16]
}

fn name_at(place: u8) -> String {
    names()[usize::from(place) - 1].clone()
}
