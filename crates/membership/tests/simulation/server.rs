//! A server: its node, and in place of the driver what the driver does.

use crate::store::Store;
use crate::world::Truth;
use farcache_cluster::map::{Epoch, Incarnation, Phase};
use farcache_cluster::{ClusterMap, ServerId};
use farcache_membership::members::{Action, Done, Identity, Key, Node, Offer, Timing, View};
use std::sync::Arc;
use std::time::Duration;

/// A small generator of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// A process, from its start to its end.
pub struct Process {
    pub node: Node,
    session: String,
    view: View,
    lease: Option<i64>,
    is_connected: bool,
    /// Generation and revision of the store as seen last, and when.
    seen: Option<(u64, i64, Duration)>,
    fed: usize,
    beat_at: Duration,
    pub asleep_until: Duration,
    pub is_cut_off: bool,
    life: Option<Incarnation>,
    has_forgotten: bool,
    pub is_leaving: bool,
    done: Done,
    lease_asked: Duration,
    must_read: bool,
    /// Until when it answers for its keys.
    pub answers_until: Duration,
}

/// A server, which may run or not.
pub struct Server {
    pub name: String,
    pub process: Option<Process>,
    /// The map that it keeps on disk.
    saved: Option<Arc<ClusterMap>>,
    highest: Epoch,
    starts: u64,
}

impl Server {
    pub fn new(index: u64) -> Self {
        Self {
            name: format!("s{index}:1"),
            process: None,
            saved: None,
            highest: Epoch(0),
            starts: 0,
        }
    }

    pub fn start(&mut self, timing: Timing, moves_items: bool) {
        self.starts += 1;
        let session = format!("{}#{}", self.name, self.starts);
        let cluster: farcache_cluster::map::Name = "c".parse().expect("a name");
        let identity = Identity {
            cluster: cluster.clone(),
            address: self.name.parse().expect("an address"),
            weight: 1,
            zone: None,
            session: session.clone(),
            moves_items,
        };
        self.process = Some(Process {
            node: Node::new(identity, timing, self.saved.clone()),
            session,
            view: View::new(cluster),
            lease: None,
            is_connected: false,
            seen: None,
            fed: 0,
            beat_at: Duration::ZERO,
            asleep_until: Duration::ZERO,
            is_cut_off: false,
            life: None,
            has_forgotten: false,
            is_leaving: false,
            done: Done::default(),
            lease_asked: Duration::ZERO,
            must_read: false,
            answers_until: Duration::ZERO,
        });
    }

    /// One turn of the driver.
    pub fn turn(&mut self, store: &mut Store, random: &mut Random, truth: &mut Truth) {
        let now = truth.now;
        let Some(process) = &mut self.process else {
            return;
        };
        if process.asleep_until > now {
            return;
        }
        if !store.is_up || process.is_cut_off {
            process.is_connected = false;
            return;
        }
        // A store that falls back was started anew.
        let generation = process.seen.map(|(generation, _, _)| generation);
        process.is_connected &= generation == Some(store.generation);
        if !process.is_connected && !process.connect(store, random, now, truth.ttl) {
            return;
        }
        process.keep_lease(store, now, truth.ttl);
        let most = random.below(4) as usize;
        process.fed = store.feed(&mut process.view, process.fed, most);
        if process.is_leaving {
            process.node.leave();
        }
        process.move_items(random, truth.is_chaotic);
        self.act(store, random, truth);
        let Some(process) = &mut self.process else {
            return;
        };
        if process.is_connected && process.lease.is_some() {
            process.answers_until = match process.node.is_replaced() {
                true => Duration::ZERO,
                false => process.lease_asked + truth.ttl + truth.grace,
            };
        }
        let has_left = process.node.has_left();
        if let Some(lease) = process
            .lease
            .filter(|_| has_left || !process.node.wants_lease())
        {
            store.revoke(lease);
            process.lease = None;
            if has_left {
                store.note_left(&self.name);
            }
        }
        if has_left {
            self.process = None;
        }
    }

    fn act(&mut self, store: &mut Store, random: &mut Random, truth: &mut Truth) {
        // A step that goes on for ever would be a bug of its own.
        for _ in 0..50 {
            let Some(process) = &mut self.process else {
                return;
            };
            let step = process.node.step(&process.view, process.lease, truth.now);
            let Some(action) = step else {
                if !std::mem::take(&mut process.must_read) {
                    return;
                }
                process.fed = store.read_all(&mut process.view);
                continue;
            };
            match action {
                Action::Adopt(map) => {
                    let name = &self.name;
                    let epoch = map.epoch();
                    assert!(epoch > self.highest, "{name}: the epoch falls to {epoch:?}");
                    self.highest = epoch;
                    self.saved = Some(map);
                }
                Action::Forget => process.has_forgotten = true,
                write => process.write(&write, store, random, truth),
            }
            if !process.is_connected {
                return;
            }
        }
        panic!("{}: there is always one thing more to do", self.name);
    }
}

impl Process {
    fn connect(
        &mut self,
        store: &Store,
        random: &mut Random,
        now: Duration,
        ttl: Duration,
    ) -> bool {
        if random.one_in(3) {
            return false;
        }
        let is_continued = self.seen.is_some_and(|(generation, revision, at)| {
            let is_same = generation == store.generation && revision <= store.revision;
            is_same && now - at < ttl
        });
        if !is_continued {
            self.node.forget_absences();
        }
        self.fed = store.read_all(&mut self.view);
        self.is_connected = true;
        self.beat_at = now;
        true
    }

    fn keep_lease(&mut self, store: &mut Store, now: Duration, ttl: Duration) {
        self.seen = Some((store.generation, store.revision, now));
        if self.beat_at > now {
            return;
        }
        self.beat_at = now + ttl / 3;
        self.lease = self.lease.filter(|lease| store.beat(*lease, now));
        if self.lease.is_none() && self.node.wants_lease() {
            self.lease = Some(store.grant(now));
        }
        if store.revision_of(&Key::Map) != self.view.map_revision() {
            self.fed = store.read_all(&mut self.view);
        }
        self.lease_asked = now;
    }

    /// What a server does about the moves of its map, sooner or later.
    fn move_items(&mut self, random: &mut Random, is_chaotic: bool) {
        let Some(map) = self.node.held().cloned() else {
            return;
        };
        if !self.node.tells_of_moves() || random.one_in(3) {
            return;
        }
        if self.done.epoch != map.epoch() {
            self.done = Done {
                epoch: map.epoch(),
                received: Vec::new(),
            };
        }
        for moved in &map.content().moves {
            let comes = moved.phase == Phase::Streaming && moved.to == self.name(&map);
            if comes && (!is_chaotic || random.one_in(20)) {
                self.done.received.push(moved.from);
            }
        }
        self.done.received.sort_unstable();
        self.done.received.dedup();
        self.node.note_done(self.done.clone());
    }

    /// Its name in this map, in which it is listed.
    fn name(&self, map: &ClusterMap) -> ServerId {
        let servers = map.content().servers.iter();
        let mut here = servers.filter(|server| {
            let address = server.addresses[0].to_string();
            self.session.split('#').next() == Some(&address)
        });
        here.next().expect("it is listed").id
    }

    /// Writes on condition. The request or its reply may be lost.
    fn write(
        &mut self,
        action: &Action,
        store: &mut Store,
        random: &mut Random,
        truth: &mut Truth,
    ) {
        if truth.is_chaotic && random.one_in(20) {
            self.is_connected = false;
            return;
        }
        let lease = self.lease.unwrap_or(0);
        let (holds, writes) = self.transaction(action, store, lease);
        let written = holds.then(|| {
            if let Action::Write { map, .. } = action {
                truth.check_map(map, store);
            }
            store.write(&writes)
        });
        if truth.is_chaotic && random.one_in(20) {
            self.is_connected = false;
        }
        if let (Action::Offer { offer, .. }, Some(Some(_))) = (action, written) {
            self.check_offer(offer, truth);
        }
        match written.flatten() {
            _ if !self.is_connected => {}
            Some(revision) => {
                for (key, value, lease) in &writes {
                    self.view.put(key, value.as_bytes(), *lease, revision);
                }
                if let Action::Offer { offer, .. } = action {
                    self.node.offered(offer);
                    self.must_read = true;
                }
            }
            // As the driver does where etcd refuses a lease that has ended.
            None if holds => self.is_connected = false,
            None => self.fed = store.read_all(&mut self.view),
        }
    }

    /// Whether the conditions hold, and what is to be written.
    fn transaction(
        &self,
        action: &Action,
        store: &Store,
        lease: i64,
    ) -> (bool, Vec<(Key, String, i64)>) {
        match action {
            Action::Offer {
                offer,
                lives_revision,
            } => {
                let name = offer.address.to_string();
                let lives = Key::Lives(name.clone());
                let holds = store.revision_of(&lives) == *lives_revision;
                let writes = vec![
                    (lives, offer.life.0.to_string(), 0),
                    (Key::Server(name), offer.written(), lease),
                ];
                (holds, writes)
            }
            Action::Campaign => {
                let holds = store.revision_of(&Key::Publisher) == 0;
                (holds, vec![(Key::Publisher, self.session.clone(), lease)])
            }
            Action::Write {
                map,
                map_revision,
                as_publisher,
                given_up,
            } => {
                let is_publisher = store.value(&Key::Publisher) == Some(self.session.as_bytes());
                let is_unchanged = store.revision_of(&Key::Map) == *map_revision;
                let mut given_up = given_up.iter();
                let are_away = given_up.all(|(key, revision)| store.revision_of(key) == *revision);
                let holds = is_unchanged && are_away && (is_publisher || !as_publisher);
                (holds, vec![(Key::Map, map.to_string(), 0)])
            }
            Action::Adopt(_) | Action::Forget => (false, Vec::new()),
        }
    }

    /// No two processes live one life, and a second life of one process begins without items.
    fn check_offer(&mut self, offer: &Offer, truth: &mut Truth) {
        truth.check_life(offer, &self.session);
        let is_next = self.life.is_some_and(|life| offer.life > life);
        assert!(
            !is_next || self.has_forgotten,
            "{}: kept its items",
            self.session
        );
        if self.life != Some(offer.life) {
            self.has_forgotten = false;
        }
        self.life = Some(offer.life);
    }
}
