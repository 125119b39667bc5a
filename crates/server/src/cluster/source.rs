//! Where the map comes from: a file, or etcd.

use super::tenant::Tenant;
use super::{Cluster, EarlierMaps, Membership, Part, Place, lists, tell_of};
use crate::logging::EVENTS;
use crate::settings::Settings;
use farcache_cluster::{Address, ClusterMap, ServerId};
use farcache_membership::{News, WatchedFile};
use farcache_peers::greeting::Secret;
use farcache_store::Store;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A source that was looked at while somebody still saw the messages.
pub struct Opened {
    own_address: Option<Address>,
    member: Option<Membership>,
    /// Whether the server fetches copies and shards that it lacks.
    repairs: bool,
    kind: Kind,
}

enum Kind {
    File(WatchedFile),
    #[cfg(feature = "etcd")]
    /// With the server's own address.
    Etcd(farcache_membership::etcd::EtcdDirectory, Address),
}

/// Reads what there is at the start: the file of `--cluster-file` or that of `--cluster-state`.
/// None where the server is in no cluster. The ports are bound.
///
/// # Errors
/// Why a file cannot be used, with the line where its text is wrong.
pub fn open(settings: &Settings) -> io::Result<Option<Opened>> {
    let own_address = settings.cluster_address.clone();
    let own_address = own_address.map(|address| with_port(address, settings));
    let secret = settings.cluster_secret_file.as_deref();
    let secret = secret.map(read_secret).transpose()?;
    let place;
    let kind = match (&settings.cluster_file, &settings.cluster_etcd) {
        (Some(path), _) => {
            let file = open_file(path)?;
            let id = settings.cluster_self.map(ServerId);
            place = id.map(|id| named(file.map(), id)).transpose()?;
            Kind::File(file)
        }
        #[cfg(feature = "etcd")]
        (None, Some(etcd)) => {
            let address = with_port(etcd.address.clone(), settings);
            // Servers on other machines let nobody in who has no secret.
            place = secret.is_some().then(|| Place::Reached(address.clone()));
            let etcd = farcache_membership::etcd::EtcdSettings {
                address: address.clone(),
                ..etcd.clone()
            };
            Kind::Etcd(super::joined::open(etcd)?, address)
        }
        _ => return Ok(None),
    };
    Ok(Some(Opened {
        own_address,
        repairs: place.is_some() && settings.repair_rate > 0,
        member: place.map(|place| Membership { place, secret }),
        kind,
    }))
}

/// The address with the port that the server listens at, where it names none.
fn with_port(mut address: Address, settings: &Settings) -> Address {
    if address.port == 0 {
        address.port = settings.tcp_port;
    }
    address
}

fn open_file(path: &Path) -> io::Result<WatchedFile> {
    WatchedFile::open(path).map_err(|error| {
        let path = path.display();
        io::Error::other(format!("cannot use the cluster's map in {path}: {error}"))
    })
}

/// The place of server `id`.
///
/// # Errors
/// Where the map has no such server.
fn named(map: &ClusterMap, id: ServerId) -> io::Result<Place> {
    match map.server(id) {
        Some(_) => Ok(Place::Named(id)),
        None => {
            let message = format!("--cluster-self: the cluster's map has no server {id}");
            Err(io::Error::other(message))
        }
    }
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

/// Follows the source from now on, and tells in the log what comes of it.
///
/// # Errors
/// When threads are exhausted.
pub fn start(opened: Opened, store: &Arc<Store>) -> io::Result<Cluster> {
    let place = opened.member.as_ref().map(|member| member.place.clone());
    let place = place.or_else(|| opened.own_address.clone().map(Place::Reached));
    let earlier = opened.repairs.then(|| EarlierMaps::new(store));
    let cluster = match opened.kind {
        Kind::File(file) => {
            let tenant = place.map(|place| Arc::new(Tenant::new(store, place, None, earlier)));
            follow(file, tenant, opened.own_address.clone())?
        }
        #[cfg(feature = "etcd")]
        Kind::Etcd(etcd, address) => {
            let place = Place::Reached(address);
            let fence = etcd.settings().fence();
            let tenant = Arc::new(Tenant::new(store, place.clone(), Some(fence), earlier));
            let secret = opened.member.as_ref().and_then(|it| it.secret.clone());
            super::joined::start(etcd, tenant, (place, secret))?
        }
    };
    Ok(Cluster {
        member: opened.member,
        own_address: opened.own_address,
        ..cluster
    })
}

fn follow(
    file: WatchedFile,
    tenant: Option<Arc<Tenant>>,
    own_address: Option<Address>,
) -> io::Result<Cluster> {
    tell_of(file.map(), "the cluster's map was read");
    warn_unless_listed(file.map(), own_address.as_ref());
    let epoch = Arc::new(AtomicU64::new(file.map().epoch().0));
    let told = Arc::clone(&epoch);
    let (preparing, following) = (tenant.clone(), tenant.clone());
    let prepare = move |map: &ClusterMap| {
        if let Some(tenant) = &preparing {
            tenant.prepare(map, None);
        }
    };
    prepare(file.map());
    let followed = file.follow(prepare, move |news| {
        if let News::InForce(map) = &news {
            told.store(map.epoch().0, Relaxed);
            if let Some(tenant) = &following {
                tenant.moves().wake();
            }
        }
        tell(news, own_address.as_ref());
    })?;
    Ok(Cluster {
        tenant,
        ..Cluster::new(Arc::new(followed), Part::Told, epoch)
    })
}

fn tell(news: News, own_address: Option<&Address>) {
    match news {
        News::InForce(map) => {
            tell_of(&map, "the cluster's map has changed");
            warn_unless_listed(&map, own_address);
        }
        News::Unusable(reason) => {
            tracing::warn!(target: EVENTS, %reason, "the cluster's map stays as it was");
        }
        News::Lost(reason) => {
            tracing::error!(target: EVENTS, reason, "the cluster's map is followed no further");
        }
    }
}

fn warn_unless_listed(map: &ClusterMap, own_address: Option<&Address>) {
    if let Some(address) = own_address.filter(|address| !lists(map, address)) {
        tracing::warn!(target: EVENTS, %address, "the cluster's map does not list this server");
    }
}
