//! Which server owns a key.
//!
//! Clients and servers of one fleet must agree on that, so the rules stand here once, for both. The
//! crate knows nothing of threads, files, sockets or clocks: lists of servers and keys go in, names
//! of servers come out.
//!
//! | part | what it does |
//! |---|---|
//! | [`hash`] | libmemcached's key hashes, bit for bit |
//! | [`distribution`] | a list of servers and libmemcached's rules that give keys to them |
//! | [`map`] | a whole cluster as data with an epoch: servers, owners, moves |
//! | [`ServerId`], [`Owners`] | what routing answers |
//!
//! ```
//! use farcache_cluster::distribution::{Distribution, Placement, PlacementSettings, Server};
//!
//! let servers = ["cache-1", "cache-2", "cache-3"].map(|host| Server::new(host, 11211));
//! let settings = PlacementSettings {
//!     distribution: Distribution::KetamaWeighted,
//!     ..PlacementSettings::default()
//! };
//! let placement = Placement::new(settings, servers.into());
//! // The owner of the key, then the server that would own it if the first were down.
//! let owners = placement.locate(b"user:42", 2);
//! assert_eq!(owners.len(), 2);
//! assert_ne!(owners[0], owners[1]);
//! assert_eq!(placement.locate(b"user:42", 1)[..], owners[..1]);
//! ```
#![forbid(unsafe_code)]

mod address;
pub mod distribution;
pub mod hash;
pub mod map;
mod owners;

pub use address::{Address, DEFAULT_PORT, InvalidAddress};
pub use map::{ClusterMap, MapContent};
pub use owners::{OWNERS_MAX, Owners, ServerId};
