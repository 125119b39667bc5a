//! Keys that move to this server or from it, as the whole server sees them.
//!
//! | part | what it does |
//! |---|---|
//! | [`in_flight`] | what one worker's sessions see of them, under the map that the worker goes by |
//! | [`mover`] | the thread that asks old owners for what they hold |
//! | [`line`] | its connection to one of them |
//! | [`report`] | what is told of moves in statistics and metrics |

pub mod in_flight;
pub mod line;
pub mod mover;
pub mod report;

use farcache_cluster::{ClusterMap, ServerId};
use farcache_moving::{Giving, Taking};
use farcache_peers::moves::Instance;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// All that moves to or from this server.
pub struct ServerMoves {
    /// What it is given.
    pub taking: Taking,
    /// What it gives.
    pub giving: Giving,
    /// Which run of the program this is.
    pub instance: Instance,
    started: Instant,
    /// Whether the mover has something new to look at.
    news: Mutex<bool>,
    bell: Condvar,
}

impl ServerMoves {
    /// Nothing moves yet.
    ///
    /// # Panics
    /// Where the system has no random numbers.
    pub fn new() -> ServerMoves {
        let mut instance = [0; 8];
        getrandom::fill(&mut instance).expect("the system has random numbers");
        ServerMoves {
            taking: Taking::default(),
            giving: Giving::default(),
            instance: Instance::from_ne_bytes(instance),
            started: Instant::now(),
            news: Mutex::new(false),
            bell: Condvar::new(),
        }
    }

    /// Milliseconds since the server began.
    pub fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// This map is about to come into force. `before` is the one in force, where it is the one
    /// right before and this run of the program went by it.
    pub fn succeed(&self, before: Option<&ClusterMap>, next: &ClusterMap, me: Option<ServerId>) {
        self.taking.succeed(before, next, me);
        self.giving.succeed(next, me);
        *self.news.lock().expect("no panic while held") = true;
        self.bell.notify_all();
    }

    /// Waits for another map, for so long at most.
    fn wait(&self, time: Duration) {
        let news = self.news.lock().expect("no panic while held");
        let waited = self.bell.wait_timeout_while(news, time, |news| !*news);
        let (mut news, _) = waited.expect("no panic while held");
        *news = false;
    }
}

impl Default for ServerMoves {
    fn default() -> Self {
        ServerMoves::new()
    }
}
