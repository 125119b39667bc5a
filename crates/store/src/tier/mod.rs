//! The SSD tier: what leaves memory stays a hit, and is there again after a restart.
//!
//! `docs/design/tier.md` says how it works and what it guarantees.

mod options;

pub use options::{Durability, EngineChoice, TierConfig, TierEvent, TierEventKind, TierStats};
