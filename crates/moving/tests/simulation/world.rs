//! Time, messages and misfortune.

use crate::clients::{Deed, Outcome, Watched};
use crate::lines::{Ends, Lines};
use crate::server::{Server, Verdict};
use farcache_cluster::map::{Epoch, Move, Phase, difference, plan_moves};
use farcache_cluster::{ClusterMap, MapContent, ServerId};
use farcache_moving::course::{Step, Trouble};
use farcache_moving::patience::Patience;
use farcache_moving::{KeyPlace, Predecessor, Stage, Table};
use farcache_peers::moves::PulledHead;
use std::collections::BTreeMap;
use std::sync::Arc;

#[path = "movers.rs"]
mod movers;
#[path = "requests.rs"]
mod requests;

use movers::map;

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
    /// Connections of movers end, and are made anew.
    pub resets: bool,
    /// Keys get other owners without a move, by maps that do not wait until everybody goes by the
    /// one before.
    pub jumps: bool,
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
    /// A request is to be carried out at the key's owner.
    AtOwner(Request),
    /// The owner has answered; none where it does not own the key.
    Answer(Request, Option<Outcome>),
    Late(usize, u64),
    Fetch(Request, (usize, usize, usize), u64),
    Fetched(Request, (usize, usize), u64, Option<Option<u64>>),
    NewMap(usize, Arc<ClusterMap>),
    Follow(usize, usize),
    Step(usize),
    Asked(Ends, u64, Step),
    Told(Ends, u64, Reply),
    /// The server asks another one that may decide by an older map.
    AskedForMap(usize, Arc<Predecessor>),
    ToldMap(Arc<Predecessor>, Result<u64, Trouble>),
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
    /// Those without a value are asked for one by one.
    Items(PulledHead, u64, Vec<(String, Option<u64>)>),
    Item(u64, String, Option<u64>),
    OtherInstance,
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
    jumps: bool,
    resets: bool,
    lines: Lines,
}

fn name(index: usize) -> String {
    format!("key:{index}")
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
            loses: chaos.crashes || chaos.cuts || chaos.flushes || chaos.jumps,
            jumps: chaos.jumps,
            resets: chaos.resets,
            lines: Lines::default(),
        };
        let count = 2 + world.below(3) as usize;
        let first = Arc::new(map(1, count, &[0], Vec::new()));
        for id in 0..count {
            world.instances += 1;
            let run = (ServerId(id as u32 + 1), world.instances);
            let server = Server::new(run, &first, WORKERS, 0);
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

    /// How long something is under way: a short time as a rule, sometimes much longer.
    fn delay_ms(&mut self) -> u64 {
        match self.below(20) {
            0 => self.below(400),
            _ => 1 + self.below(4),
        }
    }

    fn send(&mut self, event: Event) {
        let delay = self.delay_ms();
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
            Event::Asked(ends, line, step) => self.asked(ends, line, step),
            Event::Told(ends, line, reply) => self.told(ends, line, reply),
            Event::AskedForMap(by, predecessor) => self.asked_for_map(by, predecessor),
            Event::ToldMap(predecessor, said) => self.told_map(&predecessor, said),
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
        self.lines.end_of(id);
        self.servers[id] = Server::new((name, self.instances), &map, WORKERS, self.now_ms);
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
