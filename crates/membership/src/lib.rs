//! Where the map of a cluster comes from.
//!
//! A program knows its cluster through one trait, [`Directory`]: the map in force, and when there
//! is a newer one. The sources behind it:
//!
//! | part | source |
//! |---|---|
//! | [`StaticDirectory`] | a list that does not change |
//! | [`WatchedFile`] | a file with a map's text, followed as it changes |
//! | `EtcdDirectory` | etcd, where servers that run make the map (feature `etcd`) |
//!
//! What a map may say and how it is read is [`farcache_cluster`]'s; this crate adds files, threads
//! and the one rule of succession: the map in force is replaced by a map of the same cluster with a
//! higher epoch and by nothing else ([`Refused`]).
#![forbid(unsafe_code)]

mod boot_clock;
mod directory;
pub mod etcd;
mod file;
mod fixed;
mod in_force;
pub mod members;
mod saved;
mod watch;

pub use boot_clock::since_boot;
pub use directory::Directory;
pub use file::read_text as read_map_text;
pub use file::{FollowedFile, MAP_BYTES_MAX, News, OpenError, Unusable, WatchedFile};
pub use fixed::StaticDirectory;
pub use in_force::Refused;
pub use saved::SavedMap;
