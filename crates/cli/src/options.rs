//! The command line.

use clap::{ArgGroup, Args, Parser, Subcommand};
use farcache_cluster::map::Name;
use farcache_cluster::{Address, ServerId};
use farcache_membership::etcd::Endpoint;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Shows clusters of Farcache's servers, and changes them.
///
/// A cluster is described by its map: a file that its servers watch, or a key in etcd. Changes are
/// confirmed first, written in one step, and followed until every server has done its part.
#[derive(Clone, Debug, Parser)]
#[command(name = "farcache", version)]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Shows a cluster, and has servers join, drain and leave it
    Cluster(Cluster),
}

/// What to do with a cluster.
#[derive(Clone, Debug, Args)]
pub struct Cluster {
    /// Which cluster.
    #[command(flatten)]
    pub target: Target,
    /// What to do with it.
    #[command(subcommand)]
    pub action: Action,
}

/// Which cluster, and how its servers are asked.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("map").required(true).args(["file", "etcd"]))]
pub struct Target {
    /// The file with the cluster's map, which the servers watch (their --cluster-file)
    #[arg(long, value_name = "file")]
    pub file: Option<PathBuf>,

    /// The addresses of etcd, where the servers meet (their --cluster-etcd)
    #[arg(long, value_name = "host:port,...", value_delimiter = ',')]
    pub etcd: Vec<Endpoint>,

    /// With --etcd: name of the cluster
    #[arg(
        long,
        value_name = "name",
        default_value = "farcache",
        conflicts_with = "file"
    )]
    pub name: Name,

    /// How long a server or etcd may take to answer, in milliseconds
    #[arg(
        long = "timeout-ms",
        value_name = "num",
        default_value_t = 2000,
        value_parser = clap::value_parser!(u64).range(1..=600_000)
    )]
    pub timeout_ms: u64,

    /// File whose first line is user:password, where servers want that
    #[arg(long = "user-file", value_name = "file")]
    pub user_file: Option<PathBuf>,

    /// PEM file with the certificates that sign the servers', where they speak TLS
    #[arg(long = "tls-ca", value_name = "file")]
    pub tls_ca: Option<PathBuf>,
}

impl Target {
    /// How long a server or etcd may take to answer.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// What to do with a cluster.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Shows the servers, what they hold, and what is moving
    ///
    /// Ends with 6 where a server does not answer or has another map.
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },

    /// Gives a server its share of the keys
    ///
    /// With --file the server is listed in the map; start it first, or soon after. On etcd servers
    /// join by themselves when they start: this lets one that drains serve again.
    Add {
        /// Which server, and how it takes part.
        #[command(flatten)]
        member: NewMember,
        /// How to go about it.
        #[command(flatten)]
        how: How,
    },

    /// Takes a server's keys away from it, and gives what it holds of them to the others
    ///
    /// Ends when the others have the copies and shards, too, that they should have without it. The
    /// server goes on running and passes requests on; remove it or stop it afterwards. Clients that
    /// ask for the servers are told of it until its keys have moved: before it is stopped, let pass
    /// as long as they take to ask again.
    Drain {
        /// Its number in the map, or one of its addresses
        #[arg(value_name = "server")]
        server: Which,
        /// Seconds to wait once its keys have moved, until clients have asked for the servers again
        #[arg(
            long,
            value_name = "seconds",
            default_value_t = 0,
            value_parser = clap::value_parser!(u64).range(..=86_400)
        )]
        linger: u64,
        /// How to go about it.
        #[command(flatten)]
        how: How,
    },

    /// Notes that a server takes part no more
    ///
    /// What it holds is lost to clients; so drain it first, unless it is dead. It stays listed as
    /// gone, so that it is known again. On etcd a server that is stopped does this by itself.
    Remove {
        /// Its number in the map, or one of its addresses
        #[arg(value_name = "server")]
        server: Which,
        /// Remove it even if it owns keys or still sends items: what it holds is lost
        #[arg(long)]
        force: bool,
        /// How to go about it.
        #[command(flatten)]
        how: How,
    },

    /// Shares the keys out anew, and brings what is moving to its end
    ///
    /// With placement slots each server gets its share by weight to the slot; with ketama shares
    /// follow from the weights alone. A change that was interrupted goes on.
    Rebalance {
        /// Another weight of a server, from now on
        #[arg(long = "weight", value_name = "server=num")]
        weights: Vec<Weight>,
        /// How to go about it.
        #[command(flatten)]
        how: How,
    },

    /// Shows the status again and again, until interrupted
    Watch {
        /// Seconds between two looks
        #[arg(
            long,
            value_name = "seconds",
            default_value_t = 2,
            value_parser = clap::value_parser!(u64).range(1..=3600)
        )]
        interval: u64,
    },
}

/// A server that is to take part.
#[derive(Clone, Debug, Args)]
pub struct NewMember {
    /// Where clients and other servers reach it, the address by which clients know it first
    #[arg(required = true, value_name = "host:port", value_delimiter = ',')]
    pub addresses: Vec<Address>,

    /// Share of the keys in proportion to the other servers
    #[arg(long, value_name = "num", value_parser = clap::value_parser!(u32).range(1..))]
    pub weight: Option<u32>,

    /// What it may fail together with
    #[arg(long, value_name = "name")]
    pub zone: Option<Name>,

    /// Its number in the map [default: the next one]; the server is told it by --cluster-self
    #[arg(long, value_name = "num")]
    pub number: Option<u32>,
}

/// How a change is gone about.
#[derive(Clone, Debug, Args)]
pub struct How {
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// Tell what would change, and how many keys and bytes would move; change nothing
    #[arg(long = "dry-run")]
    pub dry_run: bool,

    /// Move no items: new owners begin empty, and clients miss what moved
    #[arg(long)]
    pub cold: bool,

    /// Give up waiting when nothing has gone on for so many seconds; 0 does not wait at all
    #[arg(
        long = "wait",
        value_name = "seconds",
        default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(0..=86_400)
    )]
    pub wait_seconds: u64,
}

/// A server of the map as an operator names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By its number.
    Named(ServerId),
    /// By one of its addresses.
    Reached(Address),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Which, String> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse();
            return number
                .map(|number| Which::Named(ServerId(number)))
                .map_err(|error| error.to_string());
        }
        let address = text.parse().map_err(|error| format!("{error}"))?;
        Ok(Which::Reached(address))
    }
}

impl std::fmt::Display for Which {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Which::Named(number) => write!(formatter, "server {number}"),
            Which::Reached(address) => write!(formatter, "a server at {address}"),
        }
    }
}

/// Another weight of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The server whose weight it is.
    pub server: Which,
    /// At least 1.
    pub weight: u32,
}

impl FromStr for Weight {
    type Err = String;

    fn from_str(text: &str) -> Result<Weight, String> {
        let (server, weight) = text
            .rsplit_once('=')
            .ok_or("a weight is given as SERVER=NUMBER")?;
        let weight: u32 = weight.parse().map_err(|error| format!("{error}"))?;
        if weight == 0 {
            return Err("a weight is at least 1".to_owned());
        }
        let server = server.parse()?;
        Ok(Weight { server, weight })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split(' '))
    }

    #[test]
    fn servers_are_named_by_numbers_or_addresses() {
        for (text, which) in [
            ("7", Which::Named(ServerId(7))),
            ("a:7", Which::Reached("a:7".parse().unwrap())),
            ("a", Which::Reached("a:11211".parse().unwrap())),
        ] {
            assert_eq!(text.parse(), Ok(which));
        }
        for text in ["", "99999999999", "a:b"] {
            assert!(text.parse::<Which>().is_err(), "{text}");
        }
    }

    #[test]
    fn weights_name_a_server_and_a_number() {
        let weight: Weight = "[::1]:2=3".parse().unwrap();
        assert_eq!(weight.weight, 3);
        for text in ["1", "1=", "1=0", "=1=x", "1=-1"] {
            assert!(text.parse::<Weight>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_map_stands_in_one_place() {
        assert!(parse("farcache cluster --file m status").is_ok());
        assert!(parse("farcache cluster --etcd a:1,b:2 --name orders status --json").is_ok());
        for line in [
            "farcache cluster status",
            "farcache cluster --file m --etcd a:1 status",
            "farcache cluster --file m --name n status",
            "farcache cluster --file m add",
            "farcache cluster --file m",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
