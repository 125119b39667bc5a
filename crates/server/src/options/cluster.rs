//! Options of a server that takes part in a cluster.

use super::refusal::Refusal;
use crate::net::listen::Place;
use clap::{Args, ValueEnum};
use farcache_cluster::Address;
use farcache_cluster::map::Name;
use farcache_membership::etcd::{Endpoint, EtcdSettings, TTL_SECONDS};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether items move where their keys get other owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MovesMode {
    /// Items move to the new owners.
    On,
    /// New owners begin empty.
    Off,
}

/// How a server takes part in a cluster that meets in etcd.
#[derive(Clone, Debug, Args)]
pub struct ClusterOptions {
    /// Take part in the cluster that meets in etcd, at these addresses
    ///
    /// The server joins when it starts and leaves when it is stopped in order; servers that die are
    /// found out. Several addresses are tried one after the other.
    #[arg(
        long = "cluster-etcd",
        value_name = "host:port,...",
        value_delimiter = ',',
        conflicts_with = "cluster_file"
    )]
    pub etcd: Vec<Endpoint>,

    /// With --cluster-etcd: name of the cluster
    #[arg(
        long = "cluster-name",
        value_name = "name",
        default_value = "farcache",
        requires = "etcd"
    )]
    pub name: Name,

    /// Where clients and other servers reach this one [default: the address of -l, if there is only
    /// one, and the TCP port]
    #[arg(long = "cluster-address", value_name = "host[:port]", value_parser = address)]
    pub address: Option<Address>,

    /// With --cluster-etcd: what this server may fail together with
    #[arg(long = "cluster-zone", value_name = "name", requires = "etcd")]
    pub zone: Option<Name>,

    /// With --cluster-etcd: share of the keys in proportion to the other servers
    #[arg(
        long = "cluster-weight",
        value_name = "num",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
        requires = "etcd"
    )]
    pub weight: u32,

    /// With --cluster-etcd: seconds without a sign of life after which this server is suspect
    #[arg(
        long = "cluster-ttl",
        value_name = "seconds",
        default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(TTL_SECONDS),
        requires = "etcd"
    )]
    pub ttl_seconds: u64,

    /// With --cluster-etcd: seconds for which a server may be suspect before others own its keys
    /// [default: twice the seconds of --cluster-ttl]
    #[arg(
        long = "cluster-grace",
        value_name = "seconds",
        value_parser = clap::value_parser!(u64).range(0..=86_400),
        requires = "etcd"
    )]
    pub grace_seconds: Option<u64>,

    /// With --cluster-etcd: whether items move to the new owners of their keys when servers join or
    /// drain [default: on with --cluster-secret-file, which they need]
    ///
    /// Whichever server makes the map decides, so say the same to all. Where it is off, new owners
    /// begin empty.
    #[arg(
        long = "cluster-moves",
        value_name = "mode",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        requires = "etcd"
    )]
    pub moves: Option<MovesMode>,

    /// With --cluster-etcd: file that keeps the last map, for a start without etcd
    #[arg(long = "cluster-state", value_name = "file", requires = "etcd")]
    pub state: Option<PathBuf>,
}

impl ClusterOptions {
    /// What membership needs; none without `--cluster-etcd`.
    ///
    /// # Errors
    /// Others would not know where to reach the server, or would not give it items.
    pub(super) fn etcd_settings(
        &self,
        serves_tcp: bool,
        places: &[Place],
        secret_file: Option<&Path>,
    ) -> Result<Option<EtcdSettings>, Refusal> {
        if self.etcd.is_empty() {
            return Ok(None);
        }
        if !cfg!(feature = "etcd") {
            let message = "--cluster-etcd: this farcached was built without etcd";
            return Err(Refusal::bad_value(message));
        }
        if !serves_tcp {
            let message = "--cluster-etcd needs a TCP port, by which clients reach the server";
            return Err(Refusal::bad_value(message));
        }
        let address = self.address.clone().or_else(|| listening_address(places));
        let address = address.ok_or_else(|| {
            Refusal::bad_value(
                "--cluster-etcd needs --cluster-address, or one address with -l: where clients \
                 and other servers reach this one",
            )
        })?;
        let grace = self.grace_seconds.unwrap_or(2 * self.ttl_seconds);
        Ok(Some(EtcdSettings {
            endpoints: self.etcd.clone(),
            cluster: self.name.clone(),
            address,
            weight: self.weight,
            zone: self.zone.clone(),
            ttl_seconds: self.ttl_seconds,
            grace: Duration::from_secs(grace),
            moves_items: self.moves_items(secret_file)?,
            saved: self.state.clone(),
        }))
    }

    /// Items go from server to server, and only servers that know each other give any.
    fn moves_items(&self, secret_file: Option<&Path>) -> Result<bool, Refusal> {
        match (self.moves, secret_file) {
            (Some(MovesMode::On), None) => Err(Refusal::bad_value(
                "--cluster-moves needs --cluster-secret-file, by which servers know each other",
            )),
            (Some(mode), _) => Ok(mode == MovesMode::On),
            (None, secret_file) => Ok(secret_file.is_some()),
        }
    }
}

/// An address by which others reach a server: with port 0 where it is left out.
fn address(text: &str) -> Result<Address, String> {
    let mut address: Address = text.parse().map_err(|error| format!("{error}"))?;
    let has_port = match text.strip_prefix('[') {
        Some(_) => !text.ends_with(']'),
        None => text.contains(':'),
    };
    let is_word = |host: &str| {
        host.bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b',')
    };
    match () {
        () if text.starts_with('/') => Err("clients reach a server over TCP only".to_owned()),
        () if !is_word(&address.host) => Err("an address is host:port or [IPv6]:port".to_owned()),
        () if has_port && address.port == 0 => Err("the port must not be 0".to_owned()),
        () => {
            address.port = if has_port { address.port } else { 0 };
            Ok(address)
        }
    }
}

/// The one address that the server listens at, if others can use it.
fn listening_address(places: &[Place]) -> Option<Address> {
    let [place] = places else { return None };
    let host = place.host.clone()?;
    let is_every = host
        .parse()
        .is_ok_and(|ip: std::net::IpAddr| ip.is_unspecified());
    let port = place.port.unwrap_or(0);
    (!is_every).then_some(Address { host, port })
}
