//! One server: its store is a map, its workers follow the cluster's map one after the other.

use farcache_cluster::map::{Gained, Tenure};
use farcache_cluster::{ClusterMap, ServerId};
use farcache_moving::course::ACKNOWLEDGE_MS;
use farcache_moving::giving::Outgoing;
use farcache_moving::{Course, KeyPlace, Pace, Table, Taking};
use farcache_peers::moves::Acknowledged;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nobody goes by an older map for so long after a newer one: [`World`](crate::world::World) has
/// everybody hear of it earlier.
const FENCE_MS: u64 = 2_500;

/// A worker goes by a map, and by what moved when it took that up.
pub struct Worker {
    pub map: Arc<ClusterMap>,
    pub table: Arc<Table>,
    pub outgoing: Outgoing,
}

pub struct Server {
    pub id: ServerId,
    pub instance: u64,
    pub is_alive: bool,
    pub items: BTreeMap<String, u64>,
    pub map: Arc<ClusterMap>,
    tenure: Tenure,
    pub taking: Taking,
    pub workers: Vec<Worker>,
    pub courses: Vec<Course>,
    pub pace: Pace,
}

/// What becomes of a request for a key.
pub enum Verdict {
    /// The server decides, and has all that it needs.
    Here,
    /// The server decides; this one may have something of the key.
    Bring(ServerId, u64),
    /// Another one decides.
    Elsewhere(ServerId),
    /// Nobody decides yet.
    Nobody,
}

impl Worker {
    fn new(map: &Arc<ClusterMap>, taking: &Taking, id: ServerId) -> Worker {
        Worker {
            map: Arc::clone(map),
            table: taking.table(),
            outgoing: Outgoing::new(map, id),
        }
    }
}

impl Server {
    /// Starts with this map, in its run number `instance`.
    pub fn new(
        (id, instance): (ServerId, u64),
        map: &Arc<ClusterMap>,
        workers: usize,
        now_ms: u64,
    ) -> Server {
        let taking = Taking::with_room(64).with_fence(FENCE_MS);
        taking.succeed(None, map, Some(id), now_ms);
        Server {
            id,
            instance,
            is_alive: true,
            items: BTreeMap::new(),
            tenure: Tenure::new(map, Some(id)),
            workers: (0..workers)
                .map(|_| Worker::new(map, &taking, id))
                .collect(),
            map: Arc::clone(map),
            taking,
            courses: Vec::new(),
            pace: Pace::new(0),
        }
    }

    /// Another map comes into force: as `Tenant::prepare` of the server.
    pub fn prepare(&mut self, next: &Arc<ClusterMap>, now_ms: u64) {
        if next.epoch() <= self.map.epoch() {
            return;
        }
        let tenure = Tenure::new(next, Some(self.id));
        let gained = self.tenure.gained(&tenure, None);
        if gained != Gained::Nothing {
            // The server waits for its workers to go by the map before.
            let before = Arc::clone(&self.map);
            for worker in &mut self.workers {
                if worker.map.epoch() < before.epoch() {
                    *worker = Worker::new(&before, &self.taking, self.id);
                }
            }
        }
        let is_known = gained != Gained::Everything;
        match gained {
            Gained::Nothing => {}
            Gained::Everything => {
                self.taking.void();
                self.items.clear();
            }
            Gained::Arcs(_, arcs) => self.items.retain(|key, _| {
                let hash = next.hash_of_key(key.as_bytes()).expect("keys are placed");
                !arcs.iter().any(|arc| arc.contains(hash))
            }),
        }
        let before = Some(&*self.map).filter(|_| is_known);
        self.taking.succeed(before, next, Some(self.id), now_ms);
        self.tenure = tenure;
        self.map = Arc::clone(next);
        self.follow_streams(now_ms);
    }

    /// Where a map was missed: as `Home::void_missed` of the server.
    pub fn void_what_was_missed(&mut self, now_ms: u64) {
        let (table, epoch) = (self.taking.table(), self.acknowledged().epoch);
        let mut own = table.predecessors().iter();
        let own = own.find(|it| it.server == self.id && !it.has_stopped());
        if let Some(own) = own.filter(|own| epoch >= own.epoch) {
            self.taking.void();
            self.items.clear();
            own.on_acknowledged(epoch, now_ms);
        }
    }

    fn follow_streams(&mut self, now_ms: u64) {
        let table = self.taking.table();
        let is_listed = |course: &Course| {
            let mut streams = table.streams().iter();
            streams.any(|stream| Arc::ptr_eq(stream, &course.stream))
        };
        self.courses.retain(is_listed);
        for stream in table.streams() {
            let mut known = self.courses.iter();
            if !known.any(|course| Arc::ptr_eq(&course.stream, stream)) {
                self.courses
                    .push(Course::new(Arc::clone(stream), now_ms, ACKNOWLEDGE_MS));
            }
        }
    }

    /// A worker takes up the newest map.
    pub fn follow(&mut self, worker: usize) {
        self.workers[worker] = Worker::new(&self.map, &self.taking, self.id);
    }

    pub fn acknowledged(&self) -> Acknowledged {
        let epochs = self.workers.iter().map(|worker| worker.map.epoch().0);
        Acknowledged {
            instance: self.instance,
            epoch: epochs.min().expect("workers"),
        }
    }

    pub fn place(&self, worker: usize, key: &str) -> KeyPlace {
        let hash = self.workers[worker].map.hash_of_key(key.as_bytes());
        KeyPlace::new(hash.expect("keys are placed"), key.as_bytes())
    }

    /// As the desk and the session of the server decide.
    pub fn judge(&self, worker: usize, key: &str) -> Verdict {
        let (place, worker) = (self.place(worker, key), &self.workers[worker]);
        let owner = worker.map.locate_hash(place.hash, 1)[0];
        if owner != self.id {
            return Verdict::Elsewhere(owner);
        }
        if worker.table.withholds(place.hash) {
            return Verdict::Nobody;
        }
        match worker.table.may_bring(place) {
            Some(stream) => Verdict::Bring(stream.from, stream.instance()),
            None => Verdict::Here,
        }
    }

    /// Stores what has come of a key, if it may be.
    pub fn admit(&mut self, table: &Table, place: KeyPlace, instance: u64, key: &str, item: u64) {
        if let Some(stream) = table.stream_of(place.hash) {
            let items = &mut self.items;
            stream.admit(place, instance, || {
                items.entry(key.to_owned()).or_insert(item);
            });
        }
    }

    pub fn settle(&self, worker: usize, key: &str) {
        let place = self.place(worker, key);
        if let Some(stream) = self.workers[worker].table.stream_of(place.hash) {
            stream.settle(place);
        }
    }

    /// Items of this server that go to another, behind this key.
    pub fn items_for(
        &self,
        worker: usize,
        to: ServerId,
        after: &str,
        most: usize,
    ) -> Vec<(String, u64)> {
        let is_its = |key: &str| {
            let place = self.place(worker, key);
            self.workers[worker].outgoing.to(place.hash) == Some(to)
        };
        let behind = self.items.iter().filter(|(key, _)| key.as_str() > after);
        let its = behind.filter(|(key, _)| is_its(key));
        its.take(most)
            .map(|(key, item)| (key.clone(), *item))
            .collect()
    }
}
