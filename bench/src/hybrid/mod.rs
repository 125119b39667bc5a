//! Memory alone against memory with an SSD: `ohb_memhybrid`. The name and what is measured come
//! from the OSU HiBD benchmarks for RDMA-Memcached (Ohio State University), so that figures can be
//! laid side by side.
//!
//! More data is stored than the server has memory for; what is read then is found or not, and a
//! miss costs what fetching the value from somewhere else would.

pub mod device_limit;
pub mod keys;
pub mod report;
pub mod run;

pub use keys::{ScanKeys, ScanMode};
pub use report::{Part, Report};
pub use run::{Scan, run};
