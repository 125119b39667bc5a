//! Traces of cache requests, in memory. The crate `farcache-traces` reads them.

mod builder;
pub mod synthetic;

pub use builder::{Builder, Sizes};
pub use farcache_traces::{Columns, Format, Record, read};

/// Number of an object of a trace, counted from 0 in the order of first appearance.
pub type ObjectId = u32;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked for.
    pub object: ObjectId,
    /// Size of its value, in bytes.
    pub value_bytes: u32,
}

/// A trace in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Requests in their order.
    pub requests: Vec<Request>,
    /// Objects asked for.
    pub objects: u32,
    /// Sizes of all their values, each as it was first asked for, in bytes.
    pub value_bytes: u64,
}

#[cfg(test)]
mod tests;
