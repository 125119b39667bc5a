//! A server that takes part in its cluster by etcd: what it does beside holding the map.

use super::lease::Lease;
use super::tenant::Tenant;
use super::witness::Witness;
use super::{Cluster, Figures, JoinedFigures, Part, Place, tell_of};
use crate::logging::EVENTS;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Incarnation;
use farcache_membership::etcd::{EtcdDirectory, EtcdNews, EtcdSettings, Hooks, Status};
use farcache_membership::members::Done;
use farcache_peers::greeting::Secret;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Reads the map that was kept.
pub(super) fn open(settings: EtcdSettings) -> io::Result<EtcdDirectory> {
    let saved = settings.saved.clone().unwrap_or_default();
    EtcdDirectory::open(settings).map_err(|error| {
        let path = saved.display();
        io::Error::other(format!(
            "cannot use the cluster's map kept in {path}: {error}"
        ))
    })
}

/// Joins the cluster.
pub(super) fn start(
    etcd: EtcdDirectory,
    tenant: Arc<Tenant>,
    (place, secret): (Place, Option<Secret>),
) -> io::Result<Cluster> {
    if let Some(map) = etcd.map() {
        tell_of(map, "the cluster's last map was read");
        tenant.prepare(map, None);
    }
    let known = etcd.map().map_or(0, |map| map.epoch().0);
    let epoch = Arc::new(AtomicU64::new(known));
    let lease = Arc::new(Lease::default());
    let witness = Witness::new(&etcd, &lease, place, secret);
    let server = Server {
        lease: Arc::clone(&lease),
        tenant: Arc::clone(&tenant),
        epoch: Arc::clone(&epoch),
    };
    let joined = Arc::new(etcd.start(server)?);
    let witness = witness.start(&joined)?;
    let part = Part::Joined(Arc::clone(&joined));
    Ok(Cluster {
        tenant: Some(tenant),
        lease: Some(lease),
        _witness: Some(witness),
        ..Cluster::new(joined, part, epoch)
    })
}

/// What the member's thread does to the server.
struct Server {
    tenant: Arc<Tenant>,
    lease: Arc<Lease>,
    epoch: Arc<AtomicU64>,
}

impl Hooks for Server {
    fn tell(&self, news: EtcdNews) {
        if let EtcdNews::InForce(map) = &news {
            self.epoch.store(map.epoch().0, Relaxed);
            self.tenant.moves().wake();
        }
        tell(news);
    }

    fn prepare(&self, map: &ClusterMap, life: Option<Incarnation>) {
        self.tenant.prepare(map, life.map(|life| life.0));
    }

    fn forget_items(&self) {
        self.tenant.forget_items();
    }

    fn done(&self) -> Option<Done> {
        self.tenant.done()
    }

    fn may_answer_until(&self, until: Duration) {
        // Without a map nobody knows whose keys they are.
        if self.epoch.load(Relaxed) > 0 {
            self.lease.set(until);
        }
    }
}

fn tell(news: EtcdNews) {
    match news {
        EtcdNews::InForce(map) => tell_of(&map, "the cluster's map has changed"),
        EtcdNews::Connected(address) => {
            tracing::info!(target: EVENTS, address, "etcd serves");
        }
        EtcdNews::Disconnected(address, reason) => {
            tracing::warn!(target: EVENTS, address, reason, "etcd does not serve; the map stays");
        }
        EtcdNews::LeaseLost => {
            tracing::warn!(target: EVENTS, "the lease has ended: this server may be taken for dead");
        }
        EtcdNews::Publishes(true) => {
            tracing::info!(target: EVENTS, "this server publishes the cluster's maps");
        }
        EtcdNews::Publishes(false) => {
            tracing::info!(target: EVENTS, "this server does not publish any more");
        }
        EtcdNews::Replaced => {
            tracing::error!(target: EVENTS, "another process joined with this server's address; \
                this one takes part no more");
        }
        EtcdNews::Forgot => {
            tracing::warn!(target: EVENTS, "all items were dropped: others owned their keys");
        }
        EtcdNews::Stuck(reason) => {
            tracing::error!(target: EVENTS, reason, "the cluster's map cannot be changed");
        }
        EtcdNews::NotSaved(reason) => {
            tracing::warn!(target: EVENTS, reason, "the map cannot be kept (--cluster-state)");
        }
    }
}

pub(super) fn figures(status: &Status, map: Arc<ClusterMap>, lease: &Lease) -> Figures {
    let left = status
        .lease_until
        .map(|until| until.saturating_duration_since(Instant::now()));
    Figures {
        source: "etcd",
        map,
        is_listed: Some(status.is_listed),
        dropped: (0, 0),
        moves: Vec::new(),
        joined: Some(JoinedFigures {
            endpoint: status.endpoint.clone(),
            is_publisher: status.is_publisher,
            is_replaced: status.is_replaced,
            suspects: status.suspects.clone(),
            answers_milliseconds_left: lease.left().as_millis() as u64,
            is_cut_off: lease.is_over(),
            unreachable_milliseconds: status
                .unreachable_since
                .map_or(0, |since| since.elapsed().as_millis() as u64),
            lease_milliseconds_left: left.unwrap_or_default().as_millis() as u64,
            counts: [
                (
                    "maps_published",
                    "Maps that this server has published",
                    status.maps_published,
                ),
                (
                    "leases_lost",
                    "Leases that etcd has ended while the server ran",
                    status.leases_lost,
                ),
                (
                    "endpoints_failed",
                    "How often an address of etcd was left because it did not serve",
                    status.endpoints_failed,
                ),
                (
                    "items_dropped",
                    "How often all items were dropped because others had owned their keys",
                    status.times_forgotten,
                ),
                (
                    "times_cut_off",
                    "How often this server has begun to answer for no key, as others might own them",
                    lease.times_over(),
                ),
                (
                    "cut_off_refused",
                    "Requests that were refused because others might own their keys",
                    lease.refused(),
                ),
            ],
        }),
    }
}
