//! Benchmarks of Farcache: a memcached load generator, and what the comparisons with memcached,
//! the engine benchmark, the hit-ratio study and the torture runs share.
//!
//! The generator knows the protocols only as bytes; it links nothing of the server, so that it can
//! drive any memcached.

pub mod busy_loops;
pub mod coding_fleet;
pub mod compare;
pub mod curves;
pub mod engine;
pub mod erasure;
pub mod expiry;
pub mod failures;
pub mod hits;
pub mod host_memory;
pub mod hybrid;
pub mod limits;
pub mod load;
pub mod markdown;
pub mod memory_limit;
pub mod ohb;
pub mod options;
pub mod picture;
pub mod policies;
pub mod quota;
pub mod reopen;
pub mod replay;
pub mod shows;
pub mod sizes;
pub mod statistics;
pub mod trace;
pub mod traces;
pub mod verdict;
pub mod workers;
pub mod workloads;
pub mod ycsb;
