//! Eviction policies, simulated exactly: every object counts by its bytes, and the bytes held never
//! exceed the capacity.
//!
//! They are what the servers are judged by. None pays for its own book-keeping.

mod belady;
mod lhd;
mod list;
mod lru;
mod s3_fifo;
mod segments;
mod sieve;
mod w_tiny_lfu;

pub use segments::SegmentRules;

use crate::traces::ObjectId;
use clap::ValueEnum;

/// One request as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What is asked for.
    pub object: ObjectId,
    /// What keeping it costs, in bytes.
    pub bytes: u64,
    /// Number of the next request for it, [`NEVER`] if there is none; only Belady's policy may
    /// look.
    pub next: u64,
}

/// No further request.
pub const NEVER: u64 = u64::MAX;

/// A cache of limited size.
pub trait Policy {
    /// Asks for an object. True if it was there; if not, it is there now if the policy admits it.
    fn access(&mut self, access: Access) -> bool;

    /// Bytes held now.
    fn bytes(&self) -> u64;
}

/// The policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Least recently used goes first.
    Lru,
    /// S3-FIFO (SOSP 2023).
    S3Fifo,
    /// SIEVE (NSDI 2024).
    Sieve,
    /// W-TinyLFU (ACM Transactions on Storage, 2017) with exact frequencies.
    WTinyLfu,
    /// LHD (NSDI 2018).
    Lhd,
    /// The one used again last goes first; what is not used again is not kept.
    Belady,
    /// The store's own rules, in segments.
    Segments,
}

impl PolicyName {
    /// A name for tables.
    pub fn title(self) -> &'static str {
        match self {
            PolicyName::Lru => "LRU",
            PolicyName::S3Fifo => "S3-FIFO",
            PolicyName::Sieve => "SIEVE",
            PolicyName::WTinyLfu => "W-TinyLFU",
            PolicyName::Lhd => "LHD",
            PolicyName::Belady => "Belady",
            PolicyName::Segments => "segments",
        }
    }

    /// A cache of this policy for objects numbered below `objects`.
    pub fn cache(self, capacity_bytes: u64, objects: u32, rules: SegmentRules) -> Box<dyn Policy> {
        match self {
            PolicyName::Lru => Box::new(lru::Lru::new(capacity_bytes, objects)),
            PolicyName::S3Fifo => Box::new(s3_fifo::S3Fifo::new(capacity_bytes, objects)),
            PolicyName::Sieve => Box::new(sieve::Sieve::new(capacity_bytes, objects)),
            PolicyName::WTinyLfu => Box::new(w_tiny_lfu::WTinyLfu::new(capacity_bytes, objects)),
            PolicyName::Lhd => Box::new(lhd::Lhd::new(capacity_bytes, objects)),
            PolicyName::Belady => Box::new(belady::Belady::new(capacity_bytes, objects)),
            PolicyName::Segments => {
                Box::new(segments::Segments::new(capacity_bytes, objects, rules))
            }
        }
    }
}

#[cfg(test)]
mod tests;
