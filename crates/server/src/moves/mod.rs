//! Keys that move to this server or from it, as the whole server sees them.
//!
//! | part | what it does |
//! |---|---|
//! | [`in_flight`] | what one worker's sessions see of them, under the map that the worker goes by |
//! | [`mover`] | the thread that asks old owners for what they hold |
//! | [`ahead`] | connections to those that are about to give keys |
//! | [`source`] | one of these old owners, as the mover knows it |
//! | [`standoff`] | the thread that asks who may decide by an older map |
//! | [`line`] | their connections to one of these servers |
//! | [`report`] | what is told of moves in statistics and metrics |

pub mod ahead;
pub mod in_flight;
pub mod line;
pub mod mover;
pub mod report;
pub mod source;
pub mod standoff;

use farcache_base::time::Clock;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_moving::course::ACKNOWLEDGE_MS;
use farcache_moving::{Giving, Taking};
use farcache_peers::greeting::Secret;
use farcache_peers::moves::Instance;
use farcache_store::StoreHandle;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// What the threads of moves ask of their server, which forwards requests.
pub trait Home: Send + Sync {
    /// Whether the server ends.
    fn is_stopping(&self) -> bool;

    /// Access to the data.
    fn store(&self) -> StoreHandle;

    /// The server's time.
    fn clock(&self) -> Clock;

    /// Bytes that may come by moves each second.
    fn move_rate(&self) -> u64;

    /// This server has begun to decide on keys: requests that wait for that go on.
    fn decides(&self);

    /// Voids all that was stored before this server went by the map of this epoch, before which it
    /// had missed one; false while some of its workers go by an older one.
    fn void_missed(&self, epoch: u64) -> bool;

    /// What moves.
    fn moves(&self) -> &Arc<ServerMoves>;

    /// The cluster's map in force.
    fn map(&self) -> Arc<ClusterMap>;

    /// The server's name in a map; none before the map gives it one.
    fn name_in(&self, map: &ClusterMap) -> Option<ServerId>;

    /// What the cluster's servers share.
    fn secret(&self) -> Option<&Secret>;
}

/// All that moves to or from this server.
pub struct ServerMoves {
    /// What it is given.
    pub taking: Taking,
    /// What it gives.
    pub giving: Giving,
    /// Which run of the program this is.
    pub instance: Instance,
    /// How long an old owner may take to acknowledge, in milliseconds.
    acknowledge_ms: u64,
    started: Instant,
    /// How often something has changed that the threads of moves wait for: a map has come into
    /// force, an old owner has been connected to or not.
    news: Mutex<u64>,
    bell: Condvar,
    /// How often an old owner has stopped deciding on keys that this server has now.
    decisions: AtomicU64,
}

impl ServerMoves {
    /// Nothing moves yet. `fence` is the time after which nobody decides by a map that another one
    /// has followed; none where that may last for ever.
    ///
    /// # Panics
    /// Where the system has no random numbers.
    pub fn new(fence: Option<Duration>) -> ServerMoves {
        let mut instance = [0; 8];
        getrandom::fill(&mut instance).expect("the system has random numbers");
        let fence_ms = fence.map(|fence| fence.as_millis() as u64 + 1);
        ServerMoves {
            taking: match fence_ms {
                Some(fence_ms) => Taking::default().with_fence(fence_ms),
                None => Taking::default(),
            },
            giving: Giving::default(),
            instance: Instance::from_ne_bytes(instance),
            acknowledge_ms: fence_ms.unwrap_or(0).max(ACKNOWLEDGE_MS),
            started: Instant::now(),
            news: Mutex::new(0),
            bell: Condvar::new(),
            decisions: AtomicU64::new(0),
        }
    }

    /// Milliseconds since the server began.
    pub fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// This map is about to come into force. `before` is the one in force, where it is the one
    /// right before and this run of the program went by it.
    pub fn succeed(&self, before: Option<&ClusterMap>, next: &ClusterMap, me: Option<ServerId>) {
        self.taking.succeed(before, next, me, self.now_ms());
        self.giving.succeed(next, me);
        self.wake();
    }

    /// How often this server has begun to decide on keys.
    pub fn decisions(&self) -> u64 {
        self.decisions.load(SeqCst)
    }

    /// This server has begun to decide on keys. Whoever calls this wakes the workers.
    pub fn note_decision(&self) {
        self.decisions.fetch_add(1, SeqCst);
    }

    /// Has the threads of moves look again what there is to do, as where a map has come into force.
    pub fn wake(&self) {
        *self.news.lock().expect("no panic while held") += 1;
        self.bell.notify_all();
    }

    /// Waits for something else to have changed than what was `seen`, for so long at most.
    fn wait(&self, seen: &mut u64, time: Duration) {
        let news = self.news.lock().expect("no panic while held");
        let is_old = |news: &mut u64| *news == *seen;
        let waited = self.bell.wait_timeout_while(news, time, is_old);
        *seen = *waited.expect("no panic while held").0;
    }
}
