//! Time, what goes wrong, and what must hold.

use crate::server::{Random, Server};
use crate::store::Store;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::{Member, MemberState};
use farcache_membership::members::{Key, Offer, Timing};
use std::collections::BTreeMap;
use std::time::Duration;

/// What may go wrong beside servers that die, sleep or are cut off.
#[derive(Clone, Copy)]
pub struct Chaos {
    /// The store falls back to an older copy, or to nothing.
    pub restores: bool,
    /// The store is out of reach for a while.
    pub outages: bool,
    /// Items move to the new owners of their keys.
    pub moves: bool,
}

const TTL: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(50);
/// For how long things go wrong, and after how much quiet all must be well.
const CHAOS: Duration = Duration::from_secs(120);
const QUIET: Duration = Duration::from_secs(60);

/// What is true, which no server knows all of.
pub struct Truth {
    pub now: Duration,
    pub ttl: Duration,
    pub grace: Duration,
    pub is_chaotic: bool,
    /// The epoch in which an address was given up in a life, or in a later one.
    given_up: BTreeMap<String, (u64, u64)>,
    /// The text of each epoch that was ever written.
    maps: BTreeMap<u64, String>,
    /// When each epoch was written first.
    written: BTreeMap<u64, Duration>,
    /// Who lived each life of each address.
    lives: BTreeMap<(String, u64), String>,
    /// Whether the store has forgotten what it had acknowledged.
    has_regressed: bool,
}

impl Truth {
    /// A map is about to replace the one in the store.
    pub fn check_map(&mut self, map: &ClusterMap, store: &Store) {
        let text = map.to_string();
        self.written.entry(map.epoch().0).or_insert(self.now);
        let known = self
            .maps
            .entry(map.epoch().0)
            .or_insert_with(|| text.clone());
        assert!(
            *known == text || self.has_regressed,
            "two maps of one epoch"
        );
        let before = store.value(&Key::Map).map(|text| {
            let text = std::str::from_utf8(text).expect("text");
            text.parse::<ClusterMap>().expect("a map")
        });
        // What is written back after a loss was decided before.
        let Some(before) = before.filter(|before| before.epoch().0 + 1 == map.epoch().0) else {
            return;
        };
        if !self.has_regressed {
            crate::moves::check(&before, map, store);
            let servers = map.content().servers.iter();
            let gone = servers.filter(|server| server.state == MemberState::Gone);
            gone.for_each(|server| self.check_gone(server, &before, map.epoch().0, store));
        }
    }

    /// Whoever is given up was away for the grace, or leaves.
    fn check_gone(&mut self, server: &Member, before: &ClusterMap, epoch: u64, store: &Store) {
        let was = before.server(server.id).map(|server| server.state);
        if was == Some(MemberState::Gone) {
            return;
        }
        let name = server.addresses[0].to_string();
        self.given_up
            .insert(name.clone(), (epoch, server.incarnation.0));
        let offer = store.value(&Key::Server(name.clone()));
        let offer = offer.map(|text| Offer::read(text).expect("an offer"));
        // An offer of an outlived life says nothing of the one that the map knows.
        match offer.filter(|offer| offer.life >= server.incarnation) {
            Some(offer) => assert!(offer.is_leaving, "{name} runs and is given up"),
            None => {
                let seen = store.last_seen(&name, server.incarnation.0);
                let is_early = seen.is_some_and(|seen| self.now - seen < GRACE);
                assert!(!is_early, "{name} is given up too early");
            }
        }
    }

    /// A new owner may decide once lease and grace have passed since its map, whoever has not heard
    /// of it.
    fn check_right(&self, server: &Server) {
        let Some(process) = &server.process else {
            return;
        };
        // Without a map it answers for no key.
        let Some(held) = process.node.held().map(|map| map.epoch().0) else {
            return;
        };
        if let Some(written) = self.written.get(&(held + 1)) {
            assert!(
                process.answers_until <= *written + TTL + GRACE || self.has_regressed,
                "{} answers by epoch {held} for too long after the next one",
                server.name
            );
        }
    }

    /// Whoever was given up does not answer by a map from before that. A server that leaves may, for
    /// the moment until it hears of the map.
    fn check_answers(&self, server: &Server) {
        let Some(process) = &server.process else {
            return;
        };
        let given_up = self.given_up.get(&server.name);
        let Some((epoch, life)) = given_up.filter(|_| !process.is_leaving) else {
            return;
        };
        let held = process.node.held().map_or(0, |map| map.epoch().0);
        let is_that_life = process.node.life().is_none_or(|it| it.0 <= *life);
        let is_old = held < *epoch && is_that_life;
        assert!(
            !is_old || process.answers_until <= self.now || self.has_regressed,
            "{} answers by epoch {held} although it was given up in {epoch}",
            server.name
        );
    }

    /// No two processes live one life.
    pub fn check_life(&mut self, offer: &Offer, session: &str) {
        let life = (offer.address.to_string(), offer.life.0);
        let lived = self.lives.entry(life).or_insert_with(|| session.to_owned());
        assert!(
            lived == session || self.has_regressed,
            "{session} lives a life of {lived}"
        );
    }
}

/// Servers, their store and the time.
pub struct World {
    random: Random,
    chaos: Chaos,
    store: Store,
    copy: Option<Store>,
    servers: Vec<Server>,
    truth: Truth,
}

const TIMING: Timing = Timing {
    grace: GRACE,
    patience: Duration::from_secs(1),
    spacing: Duration::from_millis(100),
};

impl World {
    pub fn new(seed: u64, chaos: Chaos) -> Self {
        let mut random = Random(seed);
        let servers = 2 + random.below(6);
        Self {
            random,
            chaos,
            store: Store::new(TTL),
            copy: None,
            servers: (0..servers).map(Server::new).collect(),
            truth: Truth {
                now: Duration::ZERO,
                ttl: TTL,
                grace: GRACE,
                is_chaotic: true,
                given_up: BTreeMap::new(),
                maps: BTreeMap::new(),
                written: BTreeMap::new(),
                lives: BTreeMap::new(),
                has_regressed: false,
            },
        }
    }

    /// Returns how many maps were made.
    pub fn run(mut self) -> usize {
        while self.truth.now < CHAOS {
            self.go_wrong();
            self.tick();
        }
        self.calm_down();
        while self.truth.now < CHAOS + QUIET {
            self.tick();
        }
        self.check_agreement();
        self.truth.maps.len()
    }

    fn tick(&mut self) {
        self.truth.now += TICK;
        self.store.tick(self.truth.now);
        for server in &mut self.servers {
            server.turn(&mut self.store, &mut self.random, &mut self.truth);
        }
        for server in &self.servers {
            self.truth.check_answers(server);
            self.truth.check_right(server);
        }
    }

    fn go_wrong(&mut self) {
        let now = self.truth.now;
        for server in &mut self.servers {
            let random = &mut self.random;
            let Some(process) = &mut server.process else {
                if random.one_in(100) {
                    server.start(TIMING, self.chaos.moves);
                }
                continue;
            };
            match random.below(4000) {
                0..4 => server.process = None,
                4..8 => process.is_leaving = true,
                8..12 => {
                    let milliseconds = 200 + random.below(25_000);
                    process.asleep_until = now + Duration::from_millis(milliseconds);
                }
                12..20 => process.is_cut_off = !process.is_cut_off,
                // It starts again before its lease has ended.
                20 => server.start(TIMING, self.chaos.moves),
                _ => {}
            }
        }
        if self.chaos.outages && self.random.one_in(400) {
            match self.store.is_up {
                true => self.store.is_up = false,
                false => self.store.come_up(now),
            }
        }
        if self.chaos.restores && self.random.one_in(600) {
            self.fall_back();
        }
    }

    fn fall_back(&mut self) {
        match self.random.below(3) {
            0 => self.copy = Some(self.store.clone()),
            1 => {
                self.truth.has_regressed = true;
                self.store.restore(self.copy.as_ref(), self.truth.now);
            }
            _ => {
                self.truth.has_regressed = true;
                self.store.restore(None, self.truth.now);
            }
        }
    }

    /// From now on nothing goes wrong, and somebody runs.
    fn calm_down(&mut self) {
        self.truth.is_chaotic = false;
        if !self.store.is_up {
            self.store.come_up(self.truth.now);
        }
        for server in &mut self.servers {
            if let Some(process) = &mut server.process {
                process.is_cut_off = false;
                process.asleep_until = Duration::ZERO;
            }
        }
        self.servers[0].start(TIMING, self.chaos.moves);
    }

    /// All that run have one map, and it lists exactly them, in the lives that they live.
    fn check_agreement(&self) {
        let text = self.store.value(&Key::Map).expect("a map was published");
        let map: ClusterMap = std::str::from_utf8(text)
            .expect("text")
            .parse()
            .expect("a map");
        assert_eq!(map.content().moves, [], "something moves for ever");
        let running = self.servers.iter().filter_map(|server| {
            let process = server.process.as_ref()?;
            let name = &server.name;
            assert!(!process.node.is_replaced(), "{name} was replaced by nobody");
            assert_eq!(
                process.node.held().map(|held| &**held),
                Some(&map),
                "{name}"
            );
            assert!(process.node.is_listed(), "{name} is not in the map:\n{map}");
            Some(name.clone())
        });
        let mut running: Vec<String> = running.collect();
        let owners = map.content().servers.iter();
        let owners = owners.filter(|server| server.state.owns_keys());
        let mut owners: Vec<String> = owners.map(|it| it.addresses[0].to_string()).collect();
        running.sort();
        owners.sort();
        assert_eq!(running, owners, "\n{map}");
    }
}
