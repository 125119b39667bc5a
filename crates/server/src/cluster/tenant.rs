//! What the server holds of keys that others may have owned is dropped before it answers for them.
//!
//! A map that gives this server keys which it did not own in the map before comes into force only
//! when what the store holds of them has been voided, for ever. What it may trust after a restart
//! is noted beside its items.

use super::{EarlierMaps, Place};
use crate::logging::EVENTS;
use crate::mailbox::Mailbox;
use crate::moves::ServerMoves;
use farcache_cluster::ClusterMap;
use farcache_cluster::hash::HashAlgorithm;
use farcache_cluster::map::{Gained, Tenure};
#[cfg(feature = "etcd")]
use farcache_membership::members::Done;
use farcache_peers::moves::Acknowledged;
use farcache_store::{KeyArcs, Store};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a new map waits for workers that go by the one before the present.
const WORKERS_WAIT_MAX: Duration = Duration::from_secs(5);
const WORKERS_INTERVAL: Duration = Duration::from_millis(1);

/// Hashes a key as the cluster's map does; for the store, which knows no maps.
pub fn hash_of_key(hash: u8, key: &[u8]) -> u32 {
    let algorithm = HashAlgorithm::ALL.get(usize::from(hash));
    algorithm.copied().unwrap_or_default().digest(key)
}

/// A worker that goes by the cluster's map.
pub struct Follower {
    /// Of the map that it goes by.
    epoch: AtomicU64,
    mailbox: Arc<Mailbox>,
}

impl Follower {
    /// The worker goes by the map of this epoch from now on.
    pub fn follows(&self, epoch: u64) {
        self.epoch.store(epoch, SeqCst);
    }

    /// The worker answers nobody any more.
    pub fn ends(&self) {
        self.follows(u64::MAX);
    }
}

/// The server as one that holds items for keys that it owns.
pub struct Tenant {
    store: Arc<Store>,
    place: Place,
    moves: Arc<ServerMoves>,
    /// The map that this run of the program went by last.
    map: Mutex<Option<Arc<ClusterMap>>>,
    /// Those before; none where the server fetches nothing that it lacks.
    earlier: Option<Arc<EarlierMaps>>,
    /// Under the map in force; none before there was one.
    tenure: Mutex<Option<Tenure>>,
    followers: Mutex<Vec<Arc<Follower>>>,
    fences: AtomicU64,
    flushes: AtomicU64,
}

/// What becomes of items with a version where everything is voided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Versioned {
    Stay,
    Go,
}

impl Versioned {
    /// What is dropped, in words.
    fn dropped(self) -> &'static str {
        match self {
            Versioned::Stay => "all items but copies and shards of values on several servers",
            Versioned::Go => "all items",
        }
    }
}

impl Tenant {
    /// The server at this place, with what it noted before it started. `fence` is the time after
    /// which nobody answers by a map that another one has followed; `earlier` is for a server that
    /// fetches copies and shards that it lacks.
    pub fn new(
        store: &Arc<Store>,
        place: Place,
        fence: Option<Duration>,
        earlier: Option<EarlierMaps>,
    ) -> Tenant {
        let noted = store.tenure().and_then(|noted| Tenure::decode(&noted));
        Tenant {
            store: Arc::clone(store),
            place,
            moves: Arc::new(ServerMoves::new(fence)),
            map: Mutex::default(),
            earlier: earlier.map(Arc::new),
            tenure: Mutex::new(noted),
            followers: Mutex::default(),
            fences: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
        }
    }

    /// A worker begins to go by the map of this epoch.
    pub fn join(&self, epoch: u64, mailbox: &Arc<Mailbox>) -> Arc<Follower> {
        let follower = Arc::new(Follower {
            epoch: AtomicU64::new(epoch),
            mailbox: Arc::clone(mailbox),
        });
        let mut followers = self.followers.lock().expect("no panic while held");
        followers.push(Arc::clone(&follower));
        follower
    }

    /// Wakes all workers.
    pub fn wake_followers(&self) {
        let followers = self.followers.lock().expect("no panic while held");
        let each = followers.iter();
        each.for_each(|follower| follower.mailbox.waker.wake());
    }

    /// How often some of the keys, and how often all of them were voided.
    pub fn counts(&self) -> (u64, u64) {
        (self.fences.load(SeqCst), self.flushes.load(SeqCst))
    }

    /// This map is about to come into force. `life` is that of a server that counts its lives.
    pub fn prepare(&self, map: &ClusterMap, life: Option<u64>) {
        if map.epoch().0 == 0 && map.content().servers.is_empty() {
            // There is no cluster yet.
            return;
        }
        let next = Tenure::new(map, self.place.id(map));
        let mut tenure = self.tenure.lock().expect("no panic while held");
        let gained = match &*tenure {
            Some(before) => before.gained(&next, life),
            None => Gained::Everything,
        };
        if let (Some(before), false) = (&*tenure, gained == Gained::Nothing) {
            // Who goes by an older map may still store what this one voids.
            self.await_followers(before.epoch());
        }
        let is_known = gained != Gained::Everything;
        if !is_known {
            self.moves.taking.void();
        }
        let mut before = self.map.lock().expect("no panic while held");
        let lives_on = before.as_ref().is_some_and(|it| self.lives_on(it, map));
        let versioned = match lives_on {
            true => self.versioned_of_this_life(),
            false => Versioned::Go,
        };
        self.void(gained, &next, versioned);
        let known = before.as_ref().filter(|_| is_known);
        self.catch_up(known, map);
        if tenure.as_ref() != Some(&next) {
            self.note(&next);
            *tenure = Some(next);
        }
        // After the fence, which would void what comes by new moves.
        let known = known.map(|map| &**map);
        self.moves.succeed(known, map, self.place.id(map));
        *before = Some(Arc::new(map.clone()));
    }

    /// Whether both maps know the server in the same life in the same cluster.
    fn lives_on(&self, before: &ClusterMap, next: &ClusterMap) -> bool {
        let life = |map: &ClusterMap| Some(map.server(self.place.id(map)?)?.incarnation);
        let (before_life, next_life) = (life(before), life(next));
        before.content().cluster == next.content().cluster
            && before_life.is_some()
            && before_life == next_life
    }

    /// By a map that is about to come into force this server may own parts of values that it did
    /// not own by the one before, where that is known.
    fn catch_up(&self, before: Option<&Arc<ClusterMap>>, next: &ClusterMap) {
        let Some(earlier) = &self.earlier else {
            return;
        };
        if before.is_some_and(|before| before.places_as(next)) {
            return;
        }
        let before = before.and_then(|map| Some((Arc::clone(map), self.place.id(map)?)));
        earlier.succeed(before, next.epoch());
    }

    /// The maps before the one in force; none where the server fetches nothing that it lacks.
    pub fn earlier(&self) -> Option<&Arc<EarlierMaps>> {
        self.earlier.as_ref()
    }

    /// Drops everything: others have owned the keys, nobody knows for how long.
    #[cfg(feature = "etcd")]
    pub fn forget_items(&self) {
        self.moves.taking.void();
        self.store.flush();
        self.distrust();
    }

    /// Whatever the server has, others may have changed it meanwhile.
    fn distrust(&self) {
        let map = self.map.lock().expect("no panic while held");
        if let Some(earlier) = &self.earlier {
            earlier.succeed(
                None,
                map.as_ref().map(|map| map.epoch()).unwrap_or_default(),
            );
        }
    }

    /// Voids all that was stored before all workers went by the map of this epoch: by a map that
    /// was missed before it others may have owned what workers have stored until then that went by
    /// the one before. False while some still do.
    pub fn void_missed(&self, epoch: u64) -> bool {
        if self.acknowledged().epoch < epoch {
            return false;
        }
        self.moves.taking.void();
        self.void_all(self.versioned_of_this_life());
        self.distrust();
        true
    }

    /// The keys that move to or from this server.
    pub fn moves(&self) -> &Arc<ServerMoves> {
        &self.moves
    }

    /// The map that all workers follow; wakes the workers that do not follow the newest yet.
    pub fn acknowledged(&self) -> Acknowledged {
        let newest = self.tenure.lock().expect("no panic while held");
        let newest = newest.as_ref().map_or(0, Tenure::epoch);
        let followers = self.followers.lock().expect("no panic while held");
        let mut epoch = newest;
        for follower in followers.iter() {
            let followed = follower.epoch.load(SeqCst);
            if followed < newest {
                follower.mailbox.waker.wake();
            }
            epoch = epoch.min(followed);
        }
        Acknowledged {
            instance: self.moves.instance,
            epoch,
        }
    }

    /// What this server has done about the moves of the map in force; none while some of its
    /// workers go by an older map still.
    #[cfg(feature = "etcd")]
    pub fn done(&self) -> Option<Done> {
        let epoch = self.acknowledged().epoch;
        let map = self.map.lock().expect("no panic while held");
        let map = map.as_ref().filter(|map| map.epoch().0 == epoch)?;
        let me = self.place.id(map)?;
        let moves = self.moves.figures(map, me, epoch).into_iter();
        let received = moves.filter(|moved| moved.to == me && moved.is_done());
        Some(Done {
            epoch: map.epoch(),
            received: received.map(|moved| moved.from).collect(),
        })
    }

    /// In a server that repairs, what it has from this life in the map stays: others may lack it,
    /// and are asked what it is worth.
    fn versioned_of_this_life(&self) -> Versioned {
        match self.earlier {
            Some(_) => Versioned::Stay,
            None => Versioned::Go,
        }
    }

    fn void_all(&self, versioned: Versioned) {
        match versioned {
            Versioned::Stay => self.store.fence(KeyArcs::all()),
            Versioned::Go => self.store.flush(),
        }
    }

    fn void(&self, gained: Gained, next: &Tenure, versioned: Versioned) {
        match gained {
            Gained::Nothing => {}
            Gained::Arcs(hash, arcs) => {
                let arcs = arcs.iter().map(|arc| (arc.first, arc.last)).collect();
                self.store.fence(KeyArcs { hash, arcs });
                self.fences.fetch_add(1, SeqCst);
                tracing::info!(
                    target: EVENTS,
                    epoch = next.epoch(),
                    "what was held before of keys that are owned anew was dropped"
                );
            }
            Gained::Everything => {
                let had_items = self.store.has_items();
                self.void_all(versioned);
                if had_items {
                    self.flushes.fetch_add(1, SeqCst);
                    tracing::warn!(
                        target: EVENTS,
                        epoch = next.epoch(),
                        "{} were dropped: others may have owned their keys meanwhile",
                        versioned.dropped()
                    );
                }
            }
        }
    }

    /// Written down before the map is in force: a restart then knows what was voided for it.
    fn note(&self, tenure: &Tenure) {
        let noted = self
            .store
            .note_tenure(&tenure.encode(Store::TENURE_BYTES_MAX));
        if let Err(error) = noted {
            // An older note remains, by which a restart drops more.
            tracing::warn!(
                target: EVENTS,
                %error,
                "the cluster's epoch cannot be noted on the SSD"
            );
        }
    }

    fn await_followers(&self, epoch: u64) {
        let started = Instant::now();
        let followers = self.followers.lock().expect("no panic while held");
        for follower in followers.iter() {
            while follower.epoch.load(SeqCst) < epoch {
                follower.mailbox.waker.wake();
                if started.elapsed() > WORKERS_WAIT_MAX {
                    tracing::warn!(
                        target: EVENTS,
                        epoch,
                        "a worker does not follow the cluster's map"
                    );
                    return;
                }
                std::thread::sleep(WORKERS_INTERVAL);
            }
        }
    }
}

#[cfg(all(test, feature = "etcd"))]
mod tests {
    use super::*;
    use farcache_cluster::ServerId;
    use farcache_cluster::map::Epoch;
    use farcache_store::{Access, SetOptions, SetOutcome, StoreConfig};

    fn map(epoch: u64) -> ClusterMap {
        let text = format!(
            "farcache-cluster-map 1\ncluster c\nepoch {epoch}\nplacement slots\n\
             server 1 incarnation=1 weight=1 zone=- state=serving addresses=h1:1\n\
             server 2 incarnation=1 weight=1 zone=- state=serving addresses=h2:1\n\
             slots 1 0-8191\nslots 2 8192-16383\nend\n"
        );
        text.parse().expect("a map")
    }

    #[test]
    fn a_server_says_nothing_of_a_map_before_all_of_its_workers_go_by_it() {
        let store = Store::new(StoreConfig::default()).expect("memory for a test");
        let tenant = Tenant::new(&store, Place::Named(ServerId(1)), None, None);
        let mailbox = Arc::new(Mailbox::new().expect("descriptors"));
        tenant.prepare(&map(1), None);
        let workers = [(); 2].map(|()| tenant.join(1, &mailbox));
        let done = |epoch| Done {
            epoch: Epoch(epoch),
            ..Done::default()
        };
        assert_eq!(tenant.done(), Some(done(1)));
        tenant.prepare(&map(2), None);
        workers[0].follows(2);
        assert_eq!(tenant.done(), None, "one goes by the map before");
        workers[1].follows(2);
        assert_eq!(tenant.done(), Some(done(2)));
    }

    /// Its item is the one that a worker stores by the map before the one that was missed.
    #[test]
    fn where_a_map_was_missed_all_is_dropped_again_once_all_workers_go_by_the_next() {
        let store = Store::new(StoreConfig::default()).expect("memory for a test");
        let tenant = Tenant::new(
            &store,
            Place::Named(ServerId(1)),
            Some(Duration::from_secs(5)),
            None,
        );
        let mailbox = Arc::new(Mailbox::new().expect("descriptors"));
        tenant.prepare(&map(1), None);
        let workers = [(); 2].map(|()| tenant.join(1, &mailbox));
        tenant.prepare(&map(3), None);
        workers[0].follows(3);
        let handle = store.handle();
        let stored = handle.set(b"k", b"value", &SetOptions::default());
        assert!(matches!(stored, Ok(SetOutcome::Stored { .. })));
        let has_it = || matches!(handle.get(b"k", Access::Peek), Ok(Some(_)));
        assert!(
            !tenant.void_missed(3) && has_it(),
            "one goes by the map before"
        );
        let table = tenant.moves().taking.table();
        let mut own = table.predecessors().iter();
        assert!(own.any(|it| it.server == ServerId(1)), "so nobody decides");
        workers[1].follows(3);
        assert!(tenant.void_missed(3) && !has_it());
    }
}
