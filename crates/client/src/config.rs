//! A client's settings.

use crate::Error;
use crate::distribution::{PlacementSettings, Server};
use farcache_redundancy::{Policy, Redundancy};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The variable that overrides [`ClientConfig::transport`]: `auto`, `fabric` or `tcp`.
pub const TRANSPORT_VARIABLE: &str = "FARCACHE_TRANSPORT";

/// The variable that overrides [`ClientConfig::progress_thread`]: `thread` or `caller`.
pub const PROGRESS_VARIABLE: &str = "FARCACHE_PROGRESS";

/// The variable that overrides [`ClientConfig::redundancy`]: a policy, as in `ec:3,2`, or `none`.
pub const REDUNDANCY_VARIABLE: &str = "FARCACHE_REDUNDANCY";

/// The variable that overrides [`ClientConfig::follows_map`]: `map` or `list`.
pub const CLUSTER_VARIABLE: &str = "FARCACHE_CLUSTER";

/// What carries the operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The fabric where the server offers it and it works, sockets elsewhere.
    #[default]
    Auto,
    /// The fabric; a server that cannot be reached by it fails.
    Fabric,
    /// Sockets only.
    Tcp,
}

impl FromStr for Transport {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Transport::Auto),
            "fabric" => Ok(Transport::Fabric),
            "tcp" => Ok(Transport::Tcp),
            _ => Err(Error::Configuration(
                format!("the transport is auto, fabric or tcp, not {text:?}").into(),
            )),
        }
    }
}

/// Name and password for SASL PLAIN.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Credentials of {:?}", self.user)
    }
}

/// Encryption of the TCP connections. What goes over the fabric is not encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// A PEM file with the certificates that sign the servers'.
    pub ca_file: PathBuf,
    /// PEM files with the client's own certificate chain and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that the servers' certificates carry; `None` for the host of each server's address.
    pub server_name: Option<String>,
}

/// A client's settings. [`ClientConfig::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The servers; see [`parse_servers`] for how they are written.
    pub servers: Vec<Server>,
    /// How keys are given to servers. The default is libmemcached's.
    pub placement: PlacementSettings,
    /// What carries the operations. [`TRANSPORT_VARIABLE`] in the environment goes first.
    pub transport: Transport,
    /// Encryption; none by default.
    pub tls: Option<TlsSettings>,
    /// Authentication; none by default.
    pub credentials: Option<Credentials>,
    /// How long connecting to a server may take, with all that belongs to it: 4 s, as in
    /// libmemcached. A machine that is busy takes more than one to open the fabric.
    pub connect_timeout: Duration,
    /// How long a server that has taken the connection may say nothing before it can be used: no
    /// limit of its own. Opening the fabric here does not count.
    pub connect_answer_timeout: Option<Duration>,
    /// How long an operation may take, connecting included: 5 s. Operations end up to 10 ms later.
    pub timeout: Duration,
    /// After a failure, wait so long before connecting to that server again, doubled with every
    /// further failure: 50 ms. Meanwhile its operations end with [`Error::ServerDead`].
    pub reconnect_delay_min: Duration,
    /// Longest such wait: 2 s.
    pub reconnect_delay_max: Duration,
    /// Give the keys of a server that has failed so often in a row to the others
    /// (`MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS`): never. Has no effect with
    /// [`Distribution::Modula`](crate::distribution::Distribution::Modula), as in libmemcached.
    pub remove_after_failures: Option<u32>,
    /// Try a removed server again after so long (`MEMCACHED_BEHAVIOR_DEAD_TIMEOUT`): 30 s.
    pub removed_for: Duration,
    /// Values of up to so many bytes are copied into the message; larger ones are taken from where
    /// they lie: 8 KiB, at most 15 KiB.
    pub eager_bytes_max: usize,
    /// How long a waiting thread polls before it sleeps: 50 us.
    pub spin: Duration,
    /// Whether a thread of its own moves the operations while nobody waits for them: no.
    /// [`PROGRESS_VARIABLE`] in the environment goes first.
    pub progress_thread: bool,
    /// Servers that are used over sockets are spoken to in meta commands where they know them,
    /// rather than in the binary protocol. Not where there are credentials and the server takes
    /// them by SASL, which the binary protocol alone has. Off by default.
    pub prefers_meta: bool,
    /// Which values lie on several servers, as copies or as shards, so that they survive the loss
    /// of some: none by default. [`REDUNDANCY_VARIABLE`] in the environment goes first. All
    /// operations on a key follow it; those by the key of a group, and those for one server, end
    /// with [`Error::InvalidArguments`] for such keys. Needs Farcache's servers, at least as many
    /// as the policy has places for a value; does not go with
    /// [`ClientConfig::remove_after_failures`].
    pub redundancy: Option<Policy>,
    /// Where the servers are of a cluster, keys live where its map says, and the servers are those
    /// that it names, whichever the list has; newer maps are learned from the servers: yes.
    /// [`CLUSTER_VARIABLE`] in the environment goes first. Without it the client goes by its list
    /// and its placement, and servers pass on what they do not own. Not with
    /// [`ClientConfig::remove_after_failures`].
    pub follows_map: bool,
}

impl Default for ClientConfig {
    fn default() -> Self {
        ClientConfig {
            servers: Vec::new(),
            placement: PlacementSettings::default(),
            transport: Transport::Auto,
            tls: None,
            credentials: None,
            connect_timeout: Duration::from_secs(4),
            connect_answer_timeout: None,
            timeout: Duration::from_secs(5),
            reconnect_delay_min: Duration::from_millis(50),
            reconnect_delay_max: Duration::from_secs(2),
            remove_after_failures: None,
            removed_for: Duration::from_secs(30),
            eager_bytes_max: 8 << 10,
            spin: Duration::from_micros(50),
            progress_thread: false,
            prefers_meta: false,
            redundancy: None,
            follows_map: true,
        }
    }
}

impl ClientConfig {
    /// The defaults, for these servers.
    ///
    /// # Errors
    /// As [`parse_servers`].
    pub fn new(servers: &str) -> Result<Self, Error> {
        Ok(ClientConfig {
            servers: parse_servers(servers)?,
            ..ClientConfig::default()
        })
    }

    /// Whether the map of the servers' cluster is followed, after a look at the environment and at
    /// the settings that it does not go with.
    ///
    /// # Errors
    /// The variable holds something else than by what the client goes.
    pub fn follows_map_chosen(&self) -> Result<bool, Error> {
        let follows = chosen(CLUSTER_VARIABLE, ["map", "list"], self.follows_map)?;
        Ok(follows && self.remove_after_failures.is_none())
    }

    /// Whether there is a progress thread, after a look at the environment.
    ///
    /// # Errors
    /// The variable holds something else than who moves operations.
    pub fn progress_thread_chosen(&self) -> Result<bool, Error> {
        chosen(
            PROGRESS_VARIABLE,
            ["thread", "caller"],
            self.progress_thread,
        )
    }

    /// The policy, after a look at the environment; none where it has one place for every key.
    ///
    /// # Errors
    /// The variable holds something else than a policy.
    pub fn redundancy_chosen(&self) -> Result<Option<Policy>, Error> {
        let policy = match std::env::var(REDUNDANCY_VARIABLE) {
            Ok(text) => Some(parse_redundancy(&text)?),
            Err(_) => self.redundancy.clone(),
        };
        let is_single = |policy: &Policy| policy.redundancies().all(|one| one == Redundancy::None);
        Ok(policy.filter(|policy| !is_single(policy)))
    }

    /// The transport, after a look at the environment.
    ///
    /// # Errors
    /// The variable holds something else than a transport.
    pub fn transport_chosen(&self) -> Result<Transport, Error> {
        match std::env::var(TRANSPORT_VARIABLE) {
            Ok(text) => text.parse(),
            Err(_) => Ok(self.transport),
        }
    }
}

/// Whether a variable of the environment holds the first of two words and not the second; without
/// the variable, as is `usual`.
fn chosen(variable: &str, [yes, no]: [&str; 2], usual: bool) -> Result<bool, Error> {
    match std::env::var(variable) {
        Ok(word) if word == yes => Ok(true),
        Ok(word) if word == no => Ok(false),
        Ok(other) => Err(Error::Configuration(
            format!("{variable} is {yes} or {no}, not {other:?}").into(),
        )),
        Err(_) => Ok(usual),
    }
}

/// Reads a policy for [`ClientConfig::redundancy`]: `ec:3,2`, `replicate:3`, `replicate:3,sync`, or
/// rules by prefix, `session/=replicate:3;none`.
///
/// # Errors
/// [`Error::Configuration`] says what cannot be read.
pub fn parse_redundancy(text: &str) -> Result<Policy, Error> {
    text.parse::<Policy>()
        .map_err(|why| Error::Configuration(format!("redundancy {text:?}: {why}").into()))
}

/// Reads a list of servers, separated by commas or spaces: `host`, `host:port`, `[IPv6]:port`, or
/// the path of a unix socket, which begins with `/`. A weight may follow as libmemcached writes it:
/// `host:port/?3`.
///
/// # Errors
/// [`Error::Configuration`] names the entry that cannot be read.
pub fn parse_servers(text: &str) -> Result<Vec<Server>, Error> {
    text.split([',', ' '])
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            entry.parse().map_err(|_| {
                Error::Configuration(format!("{entry:?} is not the address of a server").into())
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read() {
        let servers = parse_servers("a,b:1/?3, [::1]:2 [fe80::1] /run/socket/?2").unwrap();
        let expected = [
            Server::new("a", 11211),
            Server::new("b", 1).with_weight(3),
            Server::new("::1", 2),
            Server::new("fe80::1", 11211),
            Server::unix_socket("/run/socket").with_weight(2),
        ];
        assert_eq!(servers, expected);
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for text in ["a:b", "a:70000", ":1", "[::1", "[::1]x", "a/?b", "a:1:2"] {
            let refused = parse_servers(text);
            assert!(matches!(refused, Err(Error::Configuration(_))), "{text}");
        }
        assert_eq!(parse_servers(""), Ok(Vec::new()));
    }

    #[test]
    fn transports_are_read() {
        assert_eq!("auto".parse(), Ok(Transport::Auto));
        assert_eq!("fabric".parse(), Ok(Transport::Fabric));
        assert_eq!("tcp".parse(), Ok(Transport::Tcp));
        assert!("rdma".parse::<Transport>().is_err());
    }
}
