//! A map that servers keep in etcd, and take part in by running.
//!
//! What is decided stands in [`members`](crate::members); here are etcd, the clock and a thread.
//! All but the settings are there with the feature `etcd` only.
//!
//! | file | what it does |
//! |---|---|
//! | `settings` | which etcd, and as whom |
//! | `rotation` | which endpoint is tried next, and when |
//! | `session` | calls to one endpoint, each with a deadline |
//! | `news` | what the program around it hears, and is asked |
//! | `lease` | the lease under which the server stands there |
//! | `member` | the thread: joins session, clock and [`Node`](crate::members::Node) |
//! | `operator` | the map as somebody sees it who is no server |
//! | `directory` | the map in force, for the rest of the program |

#[cfg(feature = "etcd")]
mod directory;
#[cfg(feature = "etcd")]
mod lease;
#[cfg(feature = "etcd")]
mod member;
#[cfg(feature = "etcd")]
mod news;
#[cfg(feature = "etcd")]
mod operator;
#[cfg(feature = "etcd")]
mod rotation;
#[cfg(feature = "etcd")]
mod session;
mod settings;

#[cfg(feature = "etcd")]
pub use directory::{EtcdDirectory, JoinedDirectory};
#[cfg(feature = "etcd")]
pub use news::{EtcdNews, Hooks, Status};
#[cfg(feature = "etcd")]
pub use operator::{FollowedMap, Found, MapInEtcd, OperatorError};
pub use settings::{Endpoint, EtcdSettings, InvalidEndpoint, TTL_SECONDS};
