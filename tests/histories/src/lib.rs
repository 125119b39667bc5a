//! Random operations on few keys among servers and clients that are killed, stopped and cut off
//! from one another, each chosen by a seed. What every caller saw is recorded, and must have an
//! order in which each key behaves as promised.
//!
//! | file | what it does |
//! |---|---|
//! | `scenario` | what a seed stands for: policy, servers, clients, which faults |
//! | `hosts` | where processes run: on this host, or in network namespaces that can be cut apart |
//! | `servers` | the servers: killed, stopped, and started again with what they kept |
//! | `etcd` | what keeps the map, where servers make it themselves |
//! | `clients` | client processes, and what they tell |
//! | `workload` | what a client process does |
//! | `deeds` | which operation comes next, and how the client library carries it out |
//! | `bytes` | values whose bytes tell who wrote them |
//! | `faults` | which fault comes next |
//! | `recording` | the histories of all keys |
//! | `run` | one seed from its start to its verdict |
//! | `summary` | the figures of all runs |
#![forbid(unsafe_code)]

pub mod bytes;
pub mod clients;
pub mod deeds;
pub mod etcd;
pub mod faults;
pub mod hosts;
pub mod recording;
pub mod run;
pub mod scenario;
pub mod servers;
pub mod summary;
pub mod ways;
pub mod workload;

/// What may go wrong with a run itself.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Nanoseconds on the clock that all processes of this machine share.
#[must_use]
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
