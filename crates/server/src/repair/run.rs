//! The thread: when a pass begins, whom it asks, and what comes of it.

use super::making::Making;
use super::pass::{Pass, ended};
use super::sources::Sources;
use crate::cluster::{Cluster, EarlierMaps, Round};
use crate::dial::{self, hello};
use crate::logging::EVENTS;
use crate::repairer::{Repairs, Status};
use crate::shared::Shared;
use farcache_cluster::map::{Epoch, MemberState};
use farcache_cluster::{Address, ClusterMap, ServerId};
use farcache_redundancy::Version;
use farcache_redundancy::plan::repair::{Limits, Repair};
use farcache_store::StoreHandle;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// How often it is looked whether the map has changed, a server is back, or this one ends.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Before it asks a server again that could not be reached.
const DIAL_INTERVAL: Duration = Duration::from_secs(1);

/// So long a server that catches up waits for one that cannot be reached.
const PATIENCE: Duration = Duration::from_secs(10);

/// A pass that begins so soon after this server did may miss a write: one that found this server
/// down when it began and has not ended.
const WRITES_LAST: Duration = Duration::from_secs(2);

/// Pause after a pass that left something undone; each further one is twice as long, up to the
/// interval between passes.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// After so many passes that left something undone a server counts as caught up all the same: what
/// is damaged everywhere stays so.
const TRIES_MAX: u32 = 5;

/// Starts the thread, where this server is one of a cluster and repairs.
///
/// # Errors
/// When threads are exhausted.
pub fn start(shared: &Arc<Shared>) -> io::Result<Option<JoinHandle<()>>> {
    if !shared.repairs() {
        return Ok(None);
    }
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("repair".to_owned());
    Ok(Some(thread.spawn(move || Runner::new(&shared).run())?))
}

/// What the thread yields to the workers where processors are short: it has a tenth of their share.
const NICE: i32 = 10;

/// Has this thread give way to those that clients wait for.
fn give_way() {
    let thread = rustix::thread::gettid();
    // Where the system forbids that, it goes on as it is.
    if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
        tracing::debug!(%error, "the repair has the priority of the workers");
    }
}

/// The other servers that own keys, and what would make a pass necessary if it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct View {
    me: ServerId,
    others: BTreeMap<ServerId, (u64, MemberState, Vec<Address>)>,
}

impl View {
    /// None where the map does not list this server as an owner of keys.
    fn new(cluster: &Cluster, map: &ClusterMap) -> Option<View> {
        let me = cluster.member()?.place.id(map)?;
        let servers = map.content().servers.iter();
        let mut owners: BTreeMap<_, _> = servers
            .filter(|server| server.state.owns_keys())
            .map(|server| {
                let known = (server.incarnation.0, server.state, server.addresses.clone());
                (server.id, known)
            })
            .collect();
        owners.remove(&me)?;
        Some(View { me, others: owners })
    }
}

struct Runner<'a> {
    shared: &'a Shared,
    handle: StoreHandle,
    plan: Repair,
    making: Making,
    view: Option<View>,
    /// Which catching up this is.
    round: Round,
    /// Since when this server catches up, if it does.
    began: Instant,
    /// Writers of versions up to this one had ended then.
    ended_at_return: Version,
    /// When the last pass began.
    pass_began: Instant,
    /// Since when servers cannot be reached.
    away: BTreeMap<ServerId, Instant>,
    dialled: Instant,
    due: Instant,
    tries: u32,
}

impl<'a> Runner<'a> {
    fn new(shared: &'a Shared) -> Runner<'a> {
        let now = Instant::now();
        let limits = Limits {
            bytes_per_second: shared.settings.repair_rate,
            ..Limits::default()
        };
        Runner {
            handle: shared.store.handle(),
            plan: Repair::new(limits),
            making: Making::default(),
            view: None,
            round: Round::default(),
            began: now,
            ended_at_return: ended(),
            pass_began: now,
            away: BTreeMap::new(),
            dialled: now,
            due: now,
            tries: 0,
            shared,
        }
    }

    fn cluster(&self) -> &'a Cluster {
        let cluster = self.shared.cluster.as_ref();
        cluster.expect("the thread runs in a cluster only")
    }

    fn earlier(&self) -> &'a EarlierMaps {
        let earlier = self.shared.earlier();
        earlier.expect("the thread runs where this server repairs")
    }

    fn repairs(&self) -> &'a Repairs {
        &self.shared.repairs
    }

    fn run(mut self) {
        give_way();
        while !self.shared.is_stopping() {
            self.handle.park();
            let is_demanded = self.repairs().take_demand(Instant::now() + LOOK_INTERVAL);
            let map = self.cluster().map();
            let view = View::new(self.cluster(), &map);
            self.look_at_round();
            let has_changed = view != self.view;
            self.view = view;
            let is_due = Instant::now() >= self.due;
            let is_back = self.is_one_back(&map);
            if has_changed {
                self.tries = 0;
            }
            if has_changed || is_demanded || is_due || is_back {
                self.run_pass(&map);
            }
        }
    }

    /// By a new map this server may own parts that it lacks: they have to be fetched.
    fn look_at_round(&mut self) {
        let round = self.earlier().round();
        if std::mem::replace(&mut self.round, round) != round {
            (self.began, self.ended_at_return) = (Instant::now(), ended());
            (self.due, self.tries) = (self.began, 0);
        }
    }

    /// Whether a server can be reached again that could not.
    fn is_one_back(&mut self, map: &ClusterMap) -> bool {
        let now = Instant::now();
        if self.away.is_empty() || now - self.dialled < DIAL_INTERVAL {
            return false;
        }
        self.dialled = now;
        let Some(view) = &self.view else {
            return false;
        };
        let (me, away) = (view.me, self.away.keys());
        let is_back = away.clone().any(|peer| self.dial(me, *peer, map).is_ok());
        is_back || self.has_waited_in_vain(now)
    }

    /// Whether a server that catches up need not wait for others any more.
    fn has_waited_in_vain(&self, now: Instant) -> bool {
        let mut since = self.away.values();
        self.shared.store.is_catching_up() && since.all(|since| now - *since >= PATIENCE)
    }

    fn dial(&self, me: ServerId, peer: ServerId, map: &ClusterMap) -> Result<OwnedFd, String> {
        let server = map.server(peer);
        let addresses = server.map_or(&[][..], |server| &server.addresses);
        let timeout = self.shared.settings.forward_timeout;
        let secret = self.cluster().secret();
        dial::connect(addresses, timeout, &hello(me, peer, map), secret)
    }

    /// Connects to all others that own keys, and notes who cannot be reached.
    fn connect(&mut self, view: &View, map: &ClusterMap) -> Vec<(ServerId, OwnedFd)> {
        let mut sockets = Vec::new();
        let mut away = BTreeMap::new();
        for peer in view.others.keys() {
            match self.dial(view.me, *peer, map) {
                Ok(socket) => sockets.push((*peer, socket)),
                Err(reason) => {
                    let since = self.away.get(peer).copied();
                    if since.is_none() {
                        let peer = peer.0;
                        tracing::warn!(target: EVENTS, peer, reason, "no repair from a server");
                    }
                    away.insert(*peer, since.unwrap_or_else(Instant::now));
                }
            }
        }
        self.away = away;
        sockets
    }

    fn run_pass(&mut self, map: &Arc<ClusterMap>) {
        let interval = self.shared.settings.repair_interval;
        self.pass_began = Instant::now();
        self.due = self.pass_began + interval;
        let Some(view) = self.view.clone() else {
            return;
        };
        let sockets = self.connect(&view, map);
        let timeout = self.shared.settings.forward_timeout;
        let sources = Sources::new(sockets, map.epoch().0, timeout);
        let (shared, repairs) = (self.shared, self.repairs());
        let (started, bytes) = (Instant::now(), self.plan.figures().bytes_fetched);
        let unreachable = self.away.len() as u64;
        let report = |plan: &Repair, progress| {
            repairs.change(|status| {
                status.figures = plan.figures();
                status.progress = Some(progress);
                status.duration = started.elapsed();
                status.pass_bytes = status.figures.bytes_fetched - bytes;
                status.unreachable = unreachable;
                status.is_full = plan.is_full();
            });
        };
        let parts = (Arc::clone(map), view.me, sources);
        let mut pass = Pass::new(
            shared,
            &mut self.plan,
            &mut self.handle,
            &mut self.making,
            parts,
            self.ended_at_return,
        );
        let ended = pass.run(report);
        let is_clean = match ended {
            Ok(None) => return,
            Ok(Some(is_clean)) => is_clean,
            Err(error) => {
                tracing::error!(%error, "a repair cannot read this server's devices");
                false
            }
        };
        self.end(is_clean, map.epoch());
    }

    /// A pass by the map of this epoch has ended.
    fn end(&mut self, is_clean: bool, epoch: Epoch) {
        let now = Instant::now();
        self.tries = if is_clean { 0 } else { self.tries + 1 };
        let is_alone = !self.away.is_empty() && !self.has_waited_in_vain(now);
        let catches_up = self.shared.store.is_catching_up();
        let counts_from = self.began + WRITES_LAST;
        if catches_up && self.pass_began < counts_from {
            self.due = self.due.min(counts_from);
        } else if catches_up
            && !is_alone
            && (is_clean || self.tries >= TRIES_MAX)
            && !self.earlier().end(self.round, epoch)
        {
            // Another map has come, or is about to.
            self.due = self.due.min(now + RETRY_PAUSE);
        }
        if !is_clean {
            let pause = RETRY_PAUSE * (1 << self.tries.min(10).saturating_sub(1));
            self.due = self.due.min(now + pause);
        }
        let is_complete = is_clean && self.away.is_empty();
        self.repairs().change(|status| {
            status.progress = None;
            status.passes += 1;
            status.last_finished = Some(SystemTime::now());
            status.is_complete = is_complete;
        });
        self.tell(is_complete, &self.repairs().status());
    }

    fn tell(&self, is_complete: bool, status: &Status) {
        let figures = status.figures;
        tracing::info!(
            target: EVENTS,
            is_complete,
            keys_examined = figures.keys_examined,
            parts_rebuilt = figures.parts_rebuilt,
            bytes_fetched = figures.bytes_fetched,
            errors = figures.errors,
            catching_up = self.shared.store.is_catching_up(),
            "a repair pass has ended"
        );
    }
}
