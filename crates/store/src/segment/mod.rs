//! Segments: the arena's equal parts, and what is known of each.

mod arena;
mod backing;
mod meta;
mod pins;
mod placed;
mod pool;
mod queues;
mod remnants;
mod space;
mod walk;
mod writer;

pub(crate) use arena::{Arena, Emptying};
pub(crate) use farcache_memory::FreeMap;
pub(crate) use meta::{Queue, SegmentState};
pub(crate) use placed::{Placed, Written};
pub(crate) use pool::{RECLAIMER_SEGMENTS, SEGMENTS_MIN};
pub(crate) use queues::{Queued, Queues};
pub(crate) use walk::Walk;
pub(crate) use writer::{Open, Writer, least_run};
