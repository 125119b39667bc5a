//! What all threads of one server share.

use crate::cluster::{Cluster, EarlierMaps};
use crate::coding::figures::Figures;
use crate::connections::Connections;
use crate::latency::Latencies;
use crate::logging;
use crate::mailbox::life_line::Caller;
use crate::moves::{Home, ServerMoves};
use crate::net::tls::Tls;
use crate::panics;
use crate::refusals::Refusals;
use crate::repairer::Repairs;
use crate::settings::Settings;
use crate::test_clock::TestClock;
use crate::upgrade::registry::Registry;
use crate::upgrade::{self, Encryption};
use crate::users::Users;
use crate::watch::Hub;
use farcache_base::time::{Clock, START};
use farcache_cluster::{ClusterMap, ServerId};
use farcache_fabric::grant::{Grant, Network};
use farcache_peers::greeting::Secret;
use farcache_session::counters::{Counters, Totals};
use farcache_session::stats::Detail;
use farcache_session::{Options, Peer, Service, UpgradeRefusal};
use farcache_store::{Store, StoreHandle};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Highest verbosity that clients can ask for. Source: memcached `memcached.h`,
/// `MAX_VERBOSITY_LEVEL`.
const VERBOSITY_MAX: u32 = 2;

/// Where a server's seconds begin.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// The instant of [`START`].
    pub started: Instant,
    /// Unix time of the instant 0, in seconds.
    pub unix: i64,
}

impl Epoch {
    /// The seconds begin now.
    pub fn now() -> Epoch {
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // The server's seconds begin when Unix time's do, so that an expiry in Unix time is exact.
        let since_second_began = Duration::from_nanos(u64::from(unix.subsec_nanos()));
        Epoch {
            started: Instant::now() - since_second_began,
            unix: unix.as_secs() as i64 - i64::from(START),
        }
    }
}

/// The state that every session and worker of a server sees.
pub struct Shared {
    /// The data.
    pub store: Arc<Store>,
    /// The operator's choices.
    pub settings: Settings,
    /// Log verbosity (`-v`, `verbosity`).
    pub verbosity: AtomicU8,
    /// Set by `shutdown` and by signals: the server drains and ends.
    pub stopping: AtomicBool,
    /// Every worker's counters, and last the accepting thread's.
    pub workers: Vec<Arc<Counters>>,
    /// Totals at the last `stats reset`.
    pub totals_base: Mutex<Totals>,
    /// What all sessions share.
    pub service: Service,
    /// Who is connected.
    pub connections: Connections,
    /// Who may use the server, where clients have to authenticate.
    pub users: Option<Users>,
    /// Encryption, where it is on.
    pub tls: Option<Tls>,
    /// The cluster that the server is in, where it is in one.
    pub cluster: Option<Cluster>,
    /// Copies and shards that this server lacks are fetched.
    pub repairs: Repairs,
    /// What has come of values stored and read at several servers for clients.
    pub coding: Arc<Figures>,
    /// Every worker's times; none where nobody asks for them.
    pub latencies: Vec<Arc<Latencies>>,
    /// Clients that were turned away lately.
    pub refusals: Refusals,
    /// Who watches what happens.
    pub watch: Arc<Hub>,
    /// The instant of [`START`].
    pub started: Instant,
    /// Moves the time in tests.
    pub test_clock: TestClock,
    /// Unix time of the server's epoch, in seconds.
    pub epoch_unix: i64,
    /// The fabric, where there is one; set before the workers begin.
    pub fabric: OnceLock<Registry>,
}

impl Shared {
    /// The state of a server that starts now.
    pub fn new(store: Arc<Store>, settings: Settings) -> Self {
        Shared::since(Epoch::now(), store, settings)
    }

    /// The state of a server whose seconds begin at `epoch`.
    pub fn since(epoch: Epoch, store: Arc<Store>, settings: Settings) -> Self {
        let workers = (0..=settings.threads).map(|_| Arc::default()).collect();
        let watch = Arc::new(Hub::new(settings.watcher_buffer_bytes));
        let watch_of_store = Arc::clone(&watch);
        store.on_eviction(move |item| watch_of_store.evicted(item));
        Shared {
            users: settings.users_file().map(Users::new),
            service: Service::new(
                options(&settings),
                settings.auth(),
                Detail::new(settings.detail_prefix, settings.detail),
                Arc::clone(watch.watched()),
                store.config(),
            ),
            watch,
            store,
            settings,
            verbosity: AtomicU8::new(0),
            stopping: AtomicBool::new(false),
            workers,
            totals_base: Mutex::default(),
            connections: Connections::default(),
            tls: None,
            cluster: None,
            repairs: Repairs::default(),
            coding: Arc::default(),
            refusals: Refusals::default(),
            latencies: Vec::new(),
            started: epoch.started,
            test_clock: TestClock::default(),
            epoch_unix: epoch.unix,
            fabric: OnceLock::new(),
        }
    }

    /// Whether this server fetches copies and shards that it lacks.
    pub fn repairs(&self) -> bool {
        self.earlier().is_some()
    }

    /// The maps before the one in force; none where this server fetches nothing that it lacks.
    pub fn earlier(&self) -> Option<&Arc<EarlierMaps>> {
        self.cluster.as_ref()?.earlier()
    }

    /// The counters of all workers since the last `stats reset`.
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        self.workers.iter().for_each(|counters| sum.add(counters));
        sum.since(&self.totals_base.lock().expect("no panic while held"))
    }

    /// Counts everything anew (`stats reset`).
    pub fn reset_totals(&self) {
        let mut sum = Totals::default();
        self.workers.iter().for_each(|counters| sum.add(counters));
        *self.totals_base.lock().expect("no panic while held") = sum;
    }

    /// The server's time at an instant.
    pub fn clock_at(&self, instant: Instant) -> Clock {
        let seconds = self.test_clock.shown(self.real_seconds(instant));
        Clock {
            now: START.saturating_add(seconds as u32),
            epoch_unix: self.epoch_unix,
        }
    }

    /// Seconds from the start to an instant.
    pub fn real_seconds(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.started).as_secs()
    }

    /// The server's time now.
    pub fn clock(&self) -> Clock {
        self.clock_at(Instant::now())
    }

    /// Reads certificates and users anew; what cannot be read stays as it was.
    pub fn reload(&self) {
        if panics::contain(|| self.try_reload()).is_none() {
            tracing::error!("reading certificates and users anew has failed");
        }
    }

    fn try_reload(&self) {
        // What came of it is in the log.
        let _ = self.reload_certificates();
        match self.users.as_ref().map(Users::load) {
            Some(Ok(())) => tracing::info!(target: logging::EVENTS, "users read anew"),
            None => {}
            Some(Err(error)) => tracing::error!(%error, "the old users stay in use"),
        }
    }

    /// Reads the certificates anew; none where there is no TLS. If they cannot be read, the old
    /// ones stay, which is logged.
    pub fn reload_certificates(&self) -> Option<io::Result<()>> {
        let read = self.tls.as_ref().map(Tls::reload)?;
        match &read {
            Ok(()) => tracing::info!(target: logging::EVENTS, "certificates read anew"),
            Err(error) => tracing::error!(%error, "the old certificates stay in use"),
        }
        Some(read)
    }

    /// Grants a session on the fabric to a client of these networks, or to the server `asker`.
    ///
    /// # Errors
    /// [`UpgradeRefusal`].
    pub fn grant_session(
        &self,
        version: u32,
        networks: impl Iterator<Item = Network>,
        caller: Option<Caller<'_>>,
        asker: Option<Peer>,
    ) -> Result<Grant, UpgradeRefusal> {
        let fabric = self.fabric.get().ok_or(UpgradeRefusal::Off)?;
        let encryption = match &self.tls {
            Some(_) => Encryption::Required,
            None => Encryption::Optional,
        };
        upgrade::ask(version, networks, fabric, encryption, caller, asker)
    }

    /// Seconds from the start to now.
    pub fn seconds_now(&self) -> u64 {
        self.real_seconds(Instant::now())
    }

    /// The server is to end, for this reason.
    pub fn stop(&self, reason: &str) {
        tracing::info!(target: logging::EVENTS, reason, "stopping");
        if let Some(cluster) = &self.cluster {
            cluster.leave();
        }
        self.stopping.store(true, Relaxed);
    }

    /// Logs as much as a client asks for (`verbosity`).
    pub fn set_verbosity(&self, level: u32) {
        let level = level.min(VERBOSITY_MAX) as u8;
        self.verbosity.store(level, Relaxed);
        logging::set_verbosity(level);
    }

    fn forwarding(&self) -> &Cluster {
        let cluster = self.cluster.as_ref();
        cluster.expect("only a cluster's server moves keys")
    }

    /// Whether the server is to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }
}

impl Home for Shared {
    fn is_stopping(&self) -> bool {
        Shared::is_stopping(self)
    }

    fn store(&self) -> StoreHandle {
        self.store.handle()
    }

    fn clock(&self) -> Clock {
        Shared::clock(self)
    }

    fn move_rate(&self) -> u64 {
        self.settings.move_rate
    }

    fn moves(&self) -> &Arc<ServerMoves> {
        let moves = self.forwarding().moves();
        moves.expect("only a server that forwards moves keys")
    }

    fn decides(&self) {
        Home::moves(self).note_decision();
        self.forwarding().wake_workers();
    }

    fn void_missed(&self, epoch: u64) -> bool {
        self.forwarding().void_missed(epoch)
    }

    fn map(&self) -> Arc<ClusterMap> {
        self.forwarding().map()
    }

    fn name_in(&self, map: &ClusterMap) -> Option<ServerId> {
        self.forwarding().member()?.place.id(map)
    }

    fn secret(&self) -> Option<&Secret> {
        self.forwarding().secret()
    }
}

/// What sessions need to know of the settings.
fn options(settings: &Settings) -> Options {
    Options {
        cas: settings.cas,
        flush: settings.flush,
        shutdown_command: settings.shutdown_command,
        dump: settings.dump,
        watch: settings.watch,
        requests_per_event: settings.requests_per_event,
    }
}
