//! The server: joins store and protocols. Composition only; it holds no data structure of its own.
#![forbid(unsafe_code)]

pub mod acceptor;
pub mod admission;
pub mod check;
pub mod cluster;
pub mod coding;
pub mod connections;
pub mod descriptors;
pub mod fabric;
pub mod host;
pub mod logging;
pub mod metrics;
pub mod moves;
pub mod net;
pub mod options;
pub mod panics;
pub mod peers;
pub mod process;
pub mod refusals;
pub mod repair;
pub mod server;
pub mod settings;
pub mod shared;
pub mod signals;
pub mod start;
pub mod test_clock;
pub mod tier;
pub mod users;
pub mod watch;
pub mod worker;
