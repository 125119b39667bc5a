//! What every layer shares: limits of the memcached protocol, the server's notion of time, versions
//! of what is written on several servers, numbers in values, checksums, and when a thread may poll.
//!
//! Knows nothing of threads, files or networks.
#![forbid(unsafe_code)]

pub mod crc32c;
pub mod decimal;
pub mod limits;
pub mod polling;
pub mod time;
pub mod version;
