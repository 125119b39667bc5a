//! The cluster that the server belongs to: its map, and what clients are told of it.

use crate::logging::EVENTS;
use farcache_cluster::map::Member;
use farcache_cluster::{Address, ClusterMap, ServerId};
use farcache_membership::{Directory, News, WatchedFile};
use farcache_peers::greeting::{Hello, Nonce, Secret};
use farcache_session::Configuration;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The server's own place in its cluster.
#[derive(Debug)]
pub struct Membership {
    /// Its name in the map.
    pub id: ServerId,
    /// What the cluster's servers share, where the operator has given it.
    pub secret: Option<Secret>,
}

/// What the server knows of its cluster.
pub struct Cluster {
    directory: Box<dyn Directory>,
    member: Option<Membership>,
    /// Epoch of the directory's map.
    epoch: Arc<AtomicU64>,
    /// Of the map that was asked for last.
    told: Mutex<Told>,
}

struct Told {
    map: Arc<ClusterMap>,
    configuration: Arc<Configuration>,
}

impl Told {
    fn new(map: Arc<ClusterMap>) -> Told {
        Told {
            configuration: Arc::new(configuration(&map)),
            map,
        }
    }
}

impl Cluster {
    /// The cluster that a directory knows, whose epoch somebody keeps in `epoch`.
    fn new(
        directory: Box<dyn Directory>,
        member: Option<Membership>,
        epoch: Arc<AtomicU64>,
    ) -> Cluster {
        Cluster {
            told: Mutex::new(Told::new(directory.map())),
            directory,
            member,
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

    /// The map in force.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.directory.map()
    }

    /// Its epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// What this server says to a peer first.
    ///
    /// # Panics
    /// Where it takes no part in forwarding.
    pub fn hello_to(&self, peer: ServerId, map: &ClusterMap) -> Hello {
        let member = self.member().expect("it takes part in forwarding");
        Hello {
            from: member.id.0,
            to: peer.0,
            epoch: map.epoch().0,
            nonce: nonce(),
            cluster: map.content().cluster.to_string(),
        }
    }

    /// What clients are told of the map in force.
    pub fn configuration(&self) -> Arc<Configuration> {
        let map = self.directory.map();
        let mut told = self.told.lock().expect("no panic while held");
        // Another thread may have seen a newer map meanwhile: what is told never goes back.
        if map.epoch() > told.map.epoch() {
            *told = Told::new(map);
        }
        Arc::clone(&told.configuration)
    }
}

/// The servers that own keys, in the map's order: a client that makes its ring of them agrees with
/// the map's placement.
fn configuration(map: &ClusterMap) -> Configuration {
    let owners = map.content().servers.iter();
    let owners = owners.filter(|server| server.state.owns_keys());
    Configuration::new(map.epoch().0, owners.filter_map(endpoint))
}

/// Where clients reach a server over TCP; none where it has unix sockets only.
fn endpoint(server: &Member) -> Option<(&str, u16)> {
    let by_tcp = |address: &&Address| address.port != 0;
    let address = server.addresses.iter().find(by_tcp)?;
    Some((&address.host, address.port))
}

/// Reads the map of `--cluster-file`.
///
/// # Errors
/// Why it cannot be used, with the line where its text is wrong.
pub fn open(path: &Path) -> io::Result<WatchedFile> {
    WatchedFile::open(path).map_err(|error| {
        let path = path.display();
        io::Error::other(format!("cannot use the cluster's map in {path}: {error}"))
    })
}

/// A new random number.
///
/// # Panics
/// Where the system has none.
pub fn nonce() -> Nonce {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).expect("the system has random numbers");
    nonce
}

/// The place of server `id` in the map, with the secret in this file.
///
/// # Errors
/// Where the map has no such server, and why the secret cannot be used.
pub fn join(map: &ClusterMap, id: ServerId, secret: Option<&Path>) -> io::Result<Membership> {
    if map.server(id).is_none() {
        let message = format!("--cluster-self: the cluster's map has no server {id}");
        return Err(io::Error::other(message));
    }
    let secret = secret.map(read_secret).transpose()?;
    Ok(Membership { id, secret })
}

fn read_secret(path: &Path) -> io::Result<Secret> {
    let unusable = |reason: &dyn std::fmt::Display| {
        let path = path.display();
        io::Error::other(format!("cannot use the secret in {path}: {reason}"))
    };
    let bytes = std::fs::read(path).map_err(|error| unusable(&error))?;
    let bytes = bytes.trim_ascii_end();
    match bytes.len() {
        ..Secret::BYTES_MIN => Err(unusable(&"it has less than 16 bytes")),
        _ => Ok(Secret::new(bytes)),
    }
}

/// Follows the file from now on, and tells in the log what comes of it.
///
/// # Errors
/// When threads are exhausted.
pub fn follow(file: WatchedFile, member: Option<Membership>) -> io::Result<Cluster> {
    tell_of(file.map(), "the cluster's map was read");
    let epoch = Arc::new(AtomicU64::new(file.map().epoch().0));
    let told = Arc::clone(&epoch);
    let followed = file.follow(move |news| {
        if let News::InForce(map) = &news {
            told.store(map.epoch().0, Relaxed);
        }
        tell(news);
    })?;
    Ok(Cluster::new(Box::new(followed), member, epoch))
}

fn tell(news: News) {
    match news {
        News::InForce(map) => tell_of(&map, "the cluster's map has changed"),
        News::Unusable(reason) => {
            tracing::warn!(target: EVENTS, %reason, "the cluster's map stays as it was");
        }
        News::Lost(reason) => {
            tracing::error!(target: EVENTS, reason, "the cluster's map is followed no further");
        }
    }
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
    fn clients_are_told_of_servers_that_own_keys_and_are_reached_over_tcp() {
        let map = map("\
            server 1 incarnation=1 weight=1 zone=- state=serving addresses=/socket,b:11211\n\
            server 2 incarnation=1 weight=1 zone=- state=joining addresses=[fd00::2]:1,a:2\n\
            server 3 incarnation=1 weight=1 zone=- state=draining addresses=c:1\n\
            server 4 incarnation=1 weight=1 zone=- state=gone addresses=d:1\n\
            server 5 incarnation=1 weight=1 zone=- state=serving addresses=/other\n");
        let cluster = Cluster::new(Box::new(StaticDirectory::new(map)), None, Arc::default());
        let expected = Configuration::new(1, [("b", 11211), ("fd00::2", 1)]);
        assert_eq!(*cluster.configuration(), expected);
    }
}
