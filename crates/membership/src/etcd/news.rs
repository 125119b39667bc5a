//! What the program around a member hears of it, and what it is asked.

use crate::members::Done;
#[cfg(doc)]
use crate::since_boot;
use farcache_cluster::map::Incarnation;
use farcache_cluster::{ClusterMap, ServerId};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What happens to a server's membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtcdNews {
    /// This map is in force now.
    InForce(Arc<ClusterMap>),
    /// etcd serves at this address.
    Connected(String),
    /// etcd does not serve at this address, for this reason. Told once until it serves again; the
    /// map stays as it is.
    Disconnected(String, String),
    /// etcd has ended the lease: others may take this server for dead.
    LeaseLost,
    /// This server publishes the maps from now on, or does so no more.
    Publishes(bool),
    /// Another process has taken this server's address: this one takes part no more.
    Replaced,
    /// Others owned this server's keys meanwhile: all of its items were dropped.
    Forgot,
    /// The next map cannot be made, or what etcd has is not a map, for this reason.
    Stuck(String),
    /// The map in force could not be kept on disk, for this reason.
    NotSaved(String),
}

/// The program around a member. Called on the member's thread.
pub trait Hooks: Send + 'static {
    /// This has happened.
    fn tell(&self, news: EtcdNews);

    /// This map is about to come into force: it does when this returns. `life` is the server's
    /// present life, where that is settled.
    fn prepare(&self, map: &ClusterMap, life: Option<Incarnation>);

    /// Drops all items: others owned this server's keys meanwhile.
    fn forget_items(&self);

    /// What the server has done about the moves of the map in force; none before it goes by that
    /// map as a whole.
    fn done(&self) -> Option<Done>;

    /// Until this time ([`since_boot`]) nobody else is given the keys that the map in force gives
    /// to this server. A time that is over already: somebody may have them now.
    fn may_answer_until(&self, until: Duration);
}

/// How membership fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The address at which etcd serves now.
    pub endpoint: Option<String>,
    /// Since when etcd has not served; none while it does.
    pub unreachable_since: Option<Instant>,
    /// Whether the map in force lists this server in its present life.
    pub is_listed: bool,
    /// Whether this server publishes the maps.
    pub is_publisher: bool,
    /// Whether another process has taken this server's address.
    pub is_replaced: bool,
    /// Servers of the map whose leases have ended. What was seen last, while etcd is out of reach.
    pub suspects: Vec<ServerId>,
    /// Until when the lease lives for certain; none before there was one.
    pub lease_until: Option<Instant>,
    /// Maps that this server has published.
    pub maps_published: u64,
    /// Leases that etcd has ended while the server ran.
    pub leases_lost: u64,
    /// How often etcd was left because it did not serve.
    pub endpoints_failed: u64,
    /// How often all items were dropped.
    pub times_forgotten: u64,
}
