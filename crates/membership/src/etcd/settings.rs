//! Which etcd, and as whom.

#[cfg(feature = "etcd")]
use crate::members::{Identity, Timing};
use farcache_cluster::Address;
use farcache_cluster::map::Name;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// etcd's default port for clients.
const DEFAULT_PORT: u16 = 2379;

/// Lives of a lease that make sense, in seconds: etcd gives no shorter ones than about 2.
pub const TTL_SECONDS: RangeInclusive<u64> = 2..=600;

/// Least and most time that a call may take before another endpoint is tried.
#[cfg(feature = "etcd")]
const CALL_LIMITS: RangeInclusive<Duration> = Duration::from_millis(500)..=Duration::from_secs(2);

/// An address of etcd: `HOST:PORT`, with `http://` before it if one likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Address);

/// What was read is no address of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEndpoint(String);

impl fmt::Display for InvalidEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidEndpoint {}

impl FromStr for Endpoint {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        let invalid = |reason: &str| InvalidEndpoint(format!("{text:?}: {reason}"));
        if text.starts_with("https://") {
            return Err(invalid("TLS to etcd is not supported"));
        }
        let address = text.strip_prefix("http://").unwrap_or(text);
        let address = address.strip_suffix('/').unwrap_or(address);
        let has_port = match address.rsplit_once(']') {
            Some((_, rest)) => !rest.is_empty(),
            None => address.contains(':'),
        };
        let parsed = address.parse::<Address>();
        let is_plain = |host: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
            host.bytes().all(is_inner)
        };
        match parsed {
            Ok(mut address) if is_plain(&address.host) => {
                address.port = if has_port { address.port } else { DEFAULT_PORT };
                Ok(Self(address))
            }
            _ => Err(invalid("an address of etcd is HOST:PORT")),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a server needs to know to take part in a cluster that meets in etcd.
#[derive(Clone, Debug)]
pub struct EtcdSettings {
    /// Where etcd is reached, at least one address.
    pub endpoints: Vec<Endpoint>,
    /// The cluster's name: the keys of several clusters may stand in one etcd.
    pub cluster: Name,
    /// Where clients and other servers reach this server.
    pub address: Address,
    /// The share of the keys that this server wants, at least 1.
    pub weight: u32,
    /// What this server may fail together with.
    pub zone: Option<Name>,
    /// How long etcd waits for a sign of life, in seconds ([`TTL_SECONDS`]).
    pub ttl_seconds: u64,
    /// How long a server may be without a lease before others own its keys.
    pub grace: Duration,
    /// Whether items move to the new owners of their keys, in the maps that this server makes.
    pub moves_items: bool,
    /// Where the last map is kept; none: it is not, and a server that starts while etcd cannot be
    /// reached knows no map.
    pub saved: Option<PathBuf>,
}

#[cfg(feature = "etcd")]
impl EtcdSettings {
    pub(super) fn identity(&self, session: String) -> Identity {
        Identity {
            cluster: self.cluster.clone(),
            address: self.address.clone(),
            weight: self.weight,
            zone: self.zone.clone(),
            session,
            moves_items: self.moves_items,
        }
    }

    pub(super) fn timing(&self) -> Timing {
        Timing {
            grace: self.grace,
            patience: Duration::from_secs(1),
            spacing: Duration::from_millis(100),
        }
    }

    pub(super) fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_seconds)
    }

    /// For how long after a server has last asked to prolong its lease nobody else can be given its
    /// keys, unless it says that it leaves. A fiftieth is left for clocks that run at other rates.
    #[must_use]
    pub fn certain_for(&self) -> Duration {
        let all = self.ttl() + self.grace;
        all - all / 50
    }

    /// How long after a map others may answer by the one before, by any clock of theirs: until then
    /// they have either heard of it or are [cut off](Self::certain_for).
    #[must_use]
    pub fn fence(&self) -> Duration {
        self.ttl() + self.grace
    }

    /// How long a call may take. Several fit into the life of a lease.
    pub(super) fn call_max(&self) -> Duration {
        (self.ttl() / 5).clamp(*CALL_LIMITS.start(), *CALL_LIMITS.end())
    }

    /// The prefix of the cluster's keys.
    pub(super) fn prefix(&self) -> String {
        prefix(&self.cluster)
    }
}

/// The prefix of this cluster's keys.
#[cfg(feature = "etcd")]
pub(super) fn prefix(cluster: &Name) -> String {
    format!("/farcache/{cluster}/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_and_a_port() {
        for (text, read) in [
            ("a:1", "a:1"),
            ("http://a:1", "a:1"),
            ("http://a:1/", "a:1"),
            ("a", "a:2379"),
            ("[::1]", "[::1]:2379"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), read);
        }
        for text in [
            "",
            "https://a:1",
            "/socket",
            "a:b",
            "a/b:1",
            "ftp://a:1",
            "a b",
        ] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
