//! What every layer shares: limits of the memcached protocol and the server's notion of time.
//!
//! Knows nothing of threads, files or networks.
#![forbid(unsafe_code)]

pub mod limits;
pub mod time;
