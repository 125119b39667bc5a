//! What a session may ask of its server, and what it tells it. Nothing else of the server is within
//! a session's reach.

use crate::counters::Totals;
use crate::discovery::Configuration;
use crate::others::Peer;
use crate::report::Report;
use crate::watch::EventKind;
use farcache_base::time::Clock;
use farcache_peers::greeting::{Nonce, Secret};
use farcache_peers::moves::Acknowledged;
use farcache_proto::text::{TimeChange, Tokens};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The server around a session, as seen from one connection.
///
/// None of this is on the path of a request for an item: what such a request needs to know of its
/// server is in [`crate::Service`].
pub trait Host {
    /// Whether this is a user's password, where users have to authenticate. Takes as long for a
    /// wrong password as for the right one.
    fn is_user(&self, name: &[u8], password: &[u8]) -> bool;

    /// The client has shown a wrong user or password.
    fn note_failed_login(&self);

    /// Shows an event, whose text begins with `type=`, to the clients that watch its kind.
    fn publish(&self, kind: EventKind, event: fmt::Arguments<'_>);

    /// The counters of all workers since [`Host::reset_totals`] was last called.
    fn totals(&self) -> Totals;

    /// Has the counters begin anew (`stats reset`).
    fn reset_totals(&self);

    /// Figures of the server that stand among the general statistics.
    fn overview(&self) -> Overview;

    /// Reports what only the server knows; `clock` has the time of the request.
    fn report(&self, topic: HostTopic, clock: Clock, report: &mut Report<'_>);

    /// Grants the client of this connection a session on the fabric: the grant as it is sent.
    ///
    /// # Errors
    /// [`UpgradeRefusal`].
    fn upgrade(&self, request: UpgradeRequest<'_>) -> Result<Vec<u8>, UpgradeRefusal>;

    /// Which servers the cluster has, in the map in force; none where the server is in no cluster,
    /// and is an ordinary memcached to its clients.
    fn configuration(&self) -> Option<Arc<Configuration>>;

    /// What the server tells peers that greet it; none where it takes no part in forwarding.
    fn peering(&self) -> Option<Peering<'_>> {
        None
    }

    /// By which map all of the server's workers go; none where it takes no part in forwarding.
    fn acknowledged(&self) -> Option<Acknowledged> {
        None
    }

    /// A flush voids what has not come yet of keys that move to this server; comes before the
    /// flush.
    fn void_moves(&self) {}

    /// Reads the certificates anew.
    fn reload_certificates(&self) -> Reload;

    /// Begins to look for copies and shards that this server lacks; false where it has no repair.
    fn repair(&self) -> bool {
        false
    }

    /// Logs as much as the client asks for (`verbosity`).
    fn set_verbosity(&self, level: u32);

    /// Moves the server's time (`debugtime`); false where this server does not allow that.
    fn change_time(&self, change: TimeChange) -> bool;

    /// Ends the server, because a client wants it to (`shutdown`).
    fn stop(&self);
}

/// The server as its peers see it.
pub struct Peering<'a> {
    /// Name of the cluster.
    pub cluster: String,
    /// The server's name in the map.
    pub server: u32,
    /// Epoch of its map.
    pub epoch: u64,
    /// What the cluster's servers share; none where the operator has given nothing.
    pub secret: Option<&'a Secret>,
    /// Whether the other end of this connection is on the same machine.
    pub is_near: bool,
    /// A new random number.
    pub nonce: Nonce,
}

/// Statistics that the server itself reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTopic {
    /// Every connection and listener (`stats conns`).
    Connections,
    /// The cluster and this server's part in it (`stats cluster`).
    Cluster,
    /// The fabric and its sessions (`stats fabric`).
    Fabric,
    /// What the server does to have its copies and shards (`stats redundancy`).
    Redundancy,
    /// What the operator chose (`stats settings`).
    Settings,
}

/// Figures of a server and its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// The process's number.
    pub process_id: u32,
    /// Processor time that the process has used; none where the system does not tell.
    pub processor_time: Option<ProcessorTime>,
    /// Most clients that may be connected.
    pub clients_max: u64,
    /// Clients connected.
    pub clients: u64,
    /// Sockets that accept connections.
    pub listeners: u64,
    /// Clients that watch events.
    pub watchers: u64,
    /// Lines that watchers were sent.
    pub watch_lines_sent: u64,
    /// Lines that watchers were too slow for.
    pub watch_lines_skipped: u64,
    /// Whether new connections are accepted, if only to be told that there are too many.
    pub accepts_connections: bool,
    /// Workers.
    pub threads: u64,
    /// Seconds since the certificates were read; none without TLS.
    pub certificate_age_s: Option<u64>,
}

/// Processor time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// In the process's own code.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// What came of reading certificates anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The new certificates are in use.
    Done,
    /// The new certificates could not be read, and the old ones stay in use.
    Failed,
    /// There is no TLS.
    NoTls,
}

/// A client's wish to go on over the fabric.
pub struct UpgradeRequest<'a> {
    /// Version of the fabric's protocol that the client speaks.
    pub version: u32,
    /// The networks that it has.
    pub networks: Networks<'a>,
    /// The server of the cluster that asks, where it is no client.
    pub asker: Option<Peer>,
}

/// Networks, as the two protocols name them.
pub enum Networks<'a> {
    /// A byte for each.
    Bytes(&'a [u8]),
    /// A word for each.
    Names(Tokens<'a>),
}

/// Why a client gets no session on the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeRefusal {
    /// There is no fabric for it: it is answered as any memcached would.
    Off,
    /// Its connection has a session already.
    Bound,
}

impl UpgradeRefusal {
    /// What a client is told whose connection has a session already.
    pub const BOUND_TEXT: &'static str = "this connection has a session on the fabric already";
}
