//! The server: joins store and protocols. Composition only; it holds no data structure of its own.
#![forbid(unsafe_code)]

pub mod acceptor;
pub mod admission;
pub mod check;
pub mod connections;
pub mod counters;
pub mod descriptors;
pub mod fabric;
pub mod logging;
pub mod metrics;
pub mod net;
pub mod options;
pub mod panics;
pub mod process;
pub mod refusals;
pub mod server;
pub mod session;
pub mod settings;
pub mod shared;
pub mod signals;
pub mod start;
pub mod test_clock;
pub mod tier;
pub mod watch;
pub mod worker;

/// The version told to clients: the memcached release whose protocol this server speaks, since
/// clients choose features by it, then the server's own.
pub const VERSION: &str = concat!("1.6.45-farcache-", env!("CARGO_PKG_VERSION"));
