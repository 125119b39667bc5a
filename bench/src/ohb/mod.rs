//! The micro-benchmarks `ohb_memlat` and `ohb_memthr`: latency and throughput of the client library
//! by size of the value. They take their names and what they measure from the OSU HiBD benchmarks
//! for RDMA-Memcached (Ohio State University), so that figures can be laid side by side.

pub mod client;
pub mod items;
pub mod latency;
pub mod report;
pub mod session;
pub mod throughput;
pub mod workers;

pub use items::Items;
pub use session::Session;
