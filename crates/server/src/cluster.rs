//! The cluster that the server belongs to: its map, its part in it, and what clients are told of
//! it.

mod earlier;
#[cfg(feature = "etcd")]
mod joined;
// Without etcd nobody else is given a server's keys, and nobody has a lease.
#[cfg_attr(not(feature = "etcd"), allow(dead_code))]
mod lease;
mod source;
mod tenant;
#[cfg(feature = "etcd")]
mod witness;

pub use earlier::{EarlierMaps, Round};
pub use lease::Gate;
pub use source::{Opened, open, start};
pub use tenant::{Follower, hash_of_key};

use crate::logging::EVENTS;
use crate::mailbox::Mailbox;
use crate::moves::ServerMoves;
use crate::moves::report::MoveFigures;
use farcache_cluster::map::{Member, MemberState};
use farcache_cluster::{Address, ClusterMap, ServerId};
use farcache_membership::Directory;
use farcache_peers::greeting::Secret;
use farcache_peers::moves::Acknowledged;
use farcache_session::Configuration;
use lease::Lease;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tenant::Tenant;

/// The server's own place in its cluster.
#[derive(Debug)]
pub struct Membership {
    /// Which of the map's servers it is.
    pub place: Place,
    /// What the cluster's servers share, where the operator has given it.
    pub secret: Option<Secret>,
}

/// How a server finds itself in a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By its name, which it was told.
    Named(ServerId),
    /// By its address: whoever makes the map gives it a name.
    Reached(Address),
}

impl Place {
    /// The server's name in this map; none before the map gives it one.
    pub fn id(&self, map: &ClusterMap) -> Option<ServerId> {
        let address = match self {
            Place::Named(id) => return Some(*id),
            Place::Reached(address) => address,
        };
        let servers = map.content().servers.iter();
        let here = servers.filter(|server| server.addresses.contains(address));
        // An address may have belonged to servers that are gone.
        here.min_by_key(|server| server.state == MemberState::Gone)
            .map(|server| server.id)
    }
}

/// What the server knows of its cluster.
pub struct Cluster {
    directory: Arc<dyn Directory>,
    member: Option<Membership>,
    /// None where the server does not know which of the map's servers it is.
    tenant: Option<Arc<Tenant>>,
    /// Where others reach this server, where that is known.
    own_address: Option<Address>,
    part: Part,
    /// The right to answer for keys; none where nobody else is given them meanwhile.
    lease: Option<Arc<Lease>>,
    /// Asks others while etcd is out of reach.
    #[cfg(feature = "etcd")]
    _witness: Option<witness::Watching>,
    /// Epoch of the directory's map.
    epoch: Arc<AtomicU64>,
    /// Of the map that was asked for last.
    told: Mutex<Told>,
}

/// How the server takes part.
enum Part {
    /// Its map is made by others.
    Told,
    /// It makes the map together with the others.
    #[cfg(feature = "etcd")]
    Joined(Arc<farcache_membership::etcd::JoinedDirectory>),
}

struct Told {
    map: Arc<ClusterMap>,
    /// None before the cluster has a map.
    configuration: Option<Arc<Configuration>>,
}

impl Told {
    fn new(map: Arc<ClusterMap>) -> Told {
        let is_founded = !map.content().servers.is_empty() || map.epoch().0 > 0;
        Told {
            configuration: is_founded.then(|| Arc::new(configuration(&map))),
            map,
        }
    }
}

/// How the server's cluster fares.
pub struct Figures {
    /// Where the map comes from.
    pub source: &'static str,
    /// The map in force.
    pub map: Arc<ClusterMap>,
    /// Whether the map lists this server; none where it does not know its own address.
    pub is_listed: Option<bool>,
    /// How often what the server held of keys that it was given was dropped, and how often all that
    /// it held.
    pub dropped: (u64, u64),
    /// The server's part, where it takes part in making the map.
    pub joined: Option<JoinedFigures>,
    /// The moves of which it is an end.
    pub moves: Vec<MoveFigures>,
}

impl Figures {
    /// How many servers of the map are in each state.
    pub fn servers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        MemberState::ALL.into_iter().map(|(state, name)| {
            let servers = self.map.content().servers.iter();
            (
                name,
                servers.filter(|server| server.state == state).count() as u64,
            )
        })
    }
}

/// How the server's part in making the map fares.
pub struct JoinedFigures {
    /// Where etcd serves now.
    pub endpoint: Option<String>,
    /// Whether this server publishes the maps.
    pub is_publisher: bool,
    /// Whether another process has taken this server's address.
    pub is_replaced: bool,
    /// Servers of the map whose leases have ended.
    pub suspects: Vec<farcache_cluster::ServerId>,
    /// For how long the lease lives for certain.
    pub lease_milliseconds_left: u64,
    /// For how long the server may answer for its keys without hearing of its cluster; 0 where it
    /// answers for none.
    pub answers_milliseconds_left: u64,
    /// Whether it answers for no key.
    pub is_cut_off: bool,
    /// For how long etcd has not served; 0 while it does.
    pub unreachable_milliseconds: u64,
    /// Names, meanings and values of what is counted.
    pub counts: [(&'static str, &'static str, u64); 6],
}

impl Cluster {
    /// The cluster that a directory knows, whose epoch somebody keeps in `epoch`.
    fn new(directory: Arc<dyn Directory>, part: Part, epoch: Arc<AtomicU64>) -> Cluster {
        Cluster {
            told: Mutex::new(Told::new(directory.map())),
            directory,
            member: None,
            tenant: None,
            own_address: None,
            part,
            lease: None,
            #[cfg(feature = "etcd")]
            _witness: None,
            epoch,
        }
    }

    /// The server's own place; none where it takes no part in forwarding.
    pub fn member(&self) -> Option<&Membership> {
        self.member.as_ref()
    }

    /// What the cluster's servers share.
    pub fn secret(&self) -> Option<&Secret> {
        self.member()?.secret.as_ref()
    }

    /// A worker goes by the map of this epoch.
    pub fn join(&self, epoch: u64, mailbox: &Arc<Mailbox>) -> Option<Arc<Follower>> {
        Some(self.tenant.as_ref()?.join(epoch, mailbox))
    }

    /// Wakes the workers that go by the map.
    pub fn wake_workers(&self) {
        if let Some(tenant) = &self.tenant {
            tenant.wake_followers();
        }
    }

    /// The keys that move to or from this server; none where it does not know which of the map's
    /// servers it is.
    pub fn moves(&self) -> Option<&Arc<ServerMoves>> {
        Some(self.tenant.as_ref()?.moves())
    }

    /// The maps before the one in force; none where the server fetches nothing that it lacks.
    pub fn earlier(&self) -> Option<&Arc<EarlierMaps>> {
        self.tenant.as_ref()?.earlier()
    }

    /// Voids what was stored before all workers went by the map of this epoch; false while some
    /// still go by an older one.
    pub fn void_missed(&self, epoch: u64) -> bool {
        let tenant = self.tenant.as_ref();
        tenant.is_some_and(|tenant| tenant.void_missed(epoch))
    }

    /// By which map all of the server's workers go; none where it takes no part in forwarding.
    pub fn acknowledged(&self) -> Option<Acknowledged> {
        self.member.as_ref()?;
        Some(self.tenant.as_ref()?.acknowledged())
    }

    fn moving(&self, map: &ClusterMap) -> Vec<MoveFigures> {
        let me = self.member.as_ref().and_then(|member| member.place.id(map));
        match (me, &self.tenant, self.acknowledged()) {
            (Some(me), Some(tenant), Some(said)) => tenant.moves().figures(map, me, said.epoch),
            _ => Vec::new(),
        }
    }

    /// The map in force.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.directory.map()
    }

    /// Its epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// What clients are told of the map in force; none before there is one.
    pub fn configuration(&self) -> Option<Arc<Configuration>> {
        let map = self.directory.map();
        let mut told = self.told.lock().expect("no panic while held");
        // Another thread may have seen a newer map meanwhile: what is told never goes back.
        if map.epoch() > told.map.epoch() {
            *told = Told::new(map);
        }
        told.configuration.clone()
    }

    /// Begins to leave the cluster, where the server takes part in it. Does not wait.
    pub fn leave(&self) {
        match &self.part {
            Part::Told => {}
            #[cfg(feature = "etcd")]
            Part::Joined(joined) => joined.leave(),
        }
    }

    /// How the cluster fares.
    pub fn figures(&self) -> Figures {
        let map = self.directory.map();
        let dropped = self.tenant.as_ref().map(|tenant| tenant.counts());
        let figures = match &self.part {
            Part::Told => Figures {
                source: "file",
                is_listed: self.own_address.as_ref().map(|own| lists(&map, own)),
                map,
                dropped: (0, 0),
                joined: None,
                moves: Vec::new(),
            },
            #[cfg(feature = "etcd")]
            Part::Joined(joined) => {
                let lease = self.lease.as_deref().expect("who joins has a lease");
                joined::figures(&joined.status(), map, lease)
            }
        };
        Figures {
            dropped: dropped.unwrap_or_default(),
            moves: self.moving(&figures.map),
            ..figures
        }
    }
}

/// Whether the map has a server at this address that takes part.
fn lists(map: &ClusterMap, address: &Address) -> bool {
    let taking_part = |server: &&Member| server.state != MemberState::Gone;
    let mut servers = map.content().servers.iter().filter(taking_part);
    servers.any(|server| server.addresses.contains(address))
}

/// The servers that own keys, and those that still give what they hold to these, in the map's
/// order: a client that makes its ring of the owners agrees with the map's placement.
///
/// Some clients forget what they have sent to a server that leaves their list, and wait for their
/// time-out. A request takes longest while keys move, so a server leaves the list when they have.
fn configuration(map: &ClusterMap) -> Configuration {
    let content = map.content();
    let gives = |server: &Member| content.moves.iter().any(|moved| moved.from == server.id);
    let servers = content.servers.iter();
    let told = servers.filter(|server| server.state.owns_keys() || gives(server));
    let addresses = told.filter_map(Member::client_address);
    // Of one that has unix sockets only these clients would not know what to do.
    let by_tcp = addresses.filter(|address| address.port != 0);
    let endpoints = by_tcp.map(|address| (&*address.host, address.port));
    Configuration::new((map.epoch().0, map.edition()), map.to_string(), endpoints)
}

fn tell_of(map: &ClusterMap, what: &str) {
    let content = map.content();
    let owners = content.servers.iter();
    let owners = owners.filter(|server| server.state.owns_keys()).count();
    tracing::info!(
        target: EVENTS,
        cluster = content.cluster.as_str(),
        epoch = map.epoch().0,
        servers = content.servers.len(),
        owners,
        "{what}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_membership::StaticDirectory;

    fn map(servers: &str) -> ClusterMap {
        let text =
            format!("farcache-cluster-map 1\ncluster c\nepoch 0\nplacement ketama\n{servers}end\n");
        text.parse().expect("a map")
    }

    #[test]
    fn a_server_is_found_by_its_address_in_its_present_life() {
        let map = map("\
            server 1 incarnation=1 weight=1 zone=- state=gone addresses=a:1,b:1\n\
            server 2 incarnation=1 weight=1 zone=- state=serving addresses=b:1\n\
            server 3 incarnation=1 weight=1 zone=- state=serving addresses=c:1\n");
        let id = |host: &str| {
            let address = Address {
                host: host.to_owned(),
                port: 1,
            };
            Place::Reached(address).id(&map)
        };
        let expected = [Some(ServerId(1)), Some(ServerId(2)), None];
        assert_eq!(["a", "b", "d"].map(id), expected);
    }

    #[test]
    fn clients_are_told_of_servers_that_own_keys_and_are_reached_over_tcp() {
        let map = map("\
            server 1 incarnation=1 weight=1 zone=- state=serving addresses=/socket,b:11211\n\
            server 2 incarnation=1 weight=1 zone=- state=joining addresses=[fd00::2]:1,a:2\n\
            server 3 incarnation=1 weight=1 zone=- state=draining addresses=c:1\n\
            server 4 incarnation=1 weight=1 zone=- state=gone addresses=d:1\n\
            server 5 incarnation=1 weight=1 zone=- state=serving addresses=/other\n");
        let directory = Arc::new(StaticDirectory::new(map));
        let cluster = Cluster::new(Arc::clone(&directory) as _, Part::Told, Arc::default());
        let (map, endpoints) = (directory.map(), [("b", 11211), ("fd00::2", 1)]);
        let expected = Configuration::new((0, map.edition()), map.to_string(), endpoints);
        assert_eq!(cluster.configuration().as_deref(), Some(&expected));
    }

    #[test]
    fn clients_are_told_of_a_server_that_drains_until_its_keys_have_moved() {
        let is_told = |moves: &str, endpoints: &[(&str, u16)]| {
            let text = format!(
                "farcache-cluster-map 1\ncluster c\nepoch 7\nplacement slots\n\
                 server 1 incarnation=1 weight=1 zone=- state=serving addresses=a:1\n\
                 server 2 incarnation=1 weight=1 zone=- state=draining addresses=b:1\n\
                 server 3 incarnation=1 weight=1 zone=- state=draining addresses=c:1\n\
                 slots 1 0-16383\n{moves}end\n"
            );
            let map: ClusterMap = text.parse().expect("a map");
            let endpoints = endpoints.iter().copied();
            let expected = Configuration::new((7, map.edition()), map.to_string(), endpoints);
            assert_eq!(configuration(&map), expected);
        };
        for phase in ["handing-over", "streaming"] {
            let moves = format!("move from=2 to=1 phase={phase}\narc 80000000-ffffffff\n");
            is_told(&moves, &[("a", 1), ("b", 1)]);
        }
        is_told("", &[("a", 1)]);
    }
}
