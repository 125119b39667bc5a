//! What all sessions of one server share.

use crate::arriving::ArrivingLimit;
use crate::auth::Auth;
use crate::others::FORWARDED_BYTES_MAX;
use crate::stats::{Detail, StoreStatsBase};
use crate::watch::Watched;
use farcache_store::StoreConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What the operator lets sessions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether CAS is on (off with `-C`).
    pub cas: bool,
    /// Whether `flush_all` is on (off with `-F`).
    pub flush: bool,
    /// Whether the `shutdown` command is on (`-A`).
    pub shutdown_command: bool,
    /// Whether `lru_crawler metadump` and other dumps are on (off with `-X`).
    pub dump: bool,
    /// Whether `watch` is on (off with `-W`).
    pub watch: bool,
    /// Most requests that a connection may have handled before others get their turn (`-R`).
    pub requests_per_event: usize,
}

/// The state that all sessions of a server share.
pub struct Service {
    /// What they may do.
    pub options: Options,
    /// What is asked of clients first.
    pub auth: Auth,
    /// How much memory arriving values take.
    pub arriving: ArrivingLimit,
    /// How much memory values take that arrive for other servers.
    pub arriving_for_others: ArrivingLimit,
    /// What `stats detail` shows.
    pub detail: Detail,
    /// Which events anybody watches.
    pub watched: Arc<Watched>,
    /// The store's figures at the last `stats reset`.
    pub(crate) store_stats_base: StoreStatsBase,
    tracks_sizes: AtomicBool,
}

impl Service {
    /// The state of a server that starts, with a store of this configuration.
    pub fn new(
        options: Options,
        auth: Auth,
        detail: Detail,
        watched: Arc<Watched>,
        store: &StoreConfig,
    ) -> Service {
        Service {
            options,
            auth,
            arriving: ArrivingLimit::new(store),
            arriving_for_others: ArrivingLimit::of(FORWARDED_BYTES_MAX),
            detail,
            watched,
            store_stats_base: StoreStatsBase::default(),
            tracks_sizes: AtomicBool::new(false),
        }
    }

    /// Whether `stats sizes` is on.
    pub fn tracks_sizes(&self) -> bool {
        self.tracks_sizes.load(Relaxed)
    }

    /// Turns `stats sizes` on or off.
    pub fn track_sizes(&self, on: bool) {
        self.tracks_sizes.store(on, Relaxed);
    }
}
