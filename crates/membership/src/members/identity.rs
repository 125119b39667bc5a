//! Who a server is, and the times of its cluster.

use farcache_cluster::Address;
use farcache_cluster::map::Name;
use std::time::Duration;

/// Which server this is, and how it wants to stand in the map.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The cluster that it belongs to.
    pub cluster: Name,
    /// Where others reach it. The map knows it again by this address.
    pub address: Address,
    /// The share of the keys that it wants, at least 1.
    pub weight: u32,
    /// What it may fail together with.
    pub zone: Option<Name>,
    /// A random word: which process this is.
    pub session: String,
    /// Whether keys that get other owners move there, in the maps that this server makes; otherwise
    /// new owners begin empty.
    pub moves_items: bool,
}

/// The times of a cluster, the same for all of its servers.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// For how long a server may be absent before it is gone.
    pub grace: Duration,
    /// For how long a server waits for others who may know better: before a publisher founds a
    /// cluster, and before a server that does not publish writes a lost map back.
    pub patience: Duration,
    /// The least time between two maps of one publisher, so that servers that come together make
    /// one map.
    pub spacing: Duration,
}
