//! Figures of the whole store.

use crate::events::{Event, Events};
use crate::segment::SegmentState;
use crate::store::Store;

/// Figures of the whole store at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Items reachable now (expired ones not yet reclaimed included).
    pub items: u64,
    /// Items stored since start.
    pub items_total: u64,
    /// Bytes of live items, headers included.
    pub bytes_live: u64,
    /// Live items thrown out to make room.
    pub evictions: u64,
    /// Evicted items that nobody had read.
    pub evicted_unread: u64,
    /// Items whose expiry had come when their space was taken back.
    pub expired: u64,
    /// Expired items that nobody had read.
    pub expired_unread: u64,
    /// Reads that found their key expired.
    pub reads_expired: u64,
    /// Reads that found their key flushed.
    pub reads_flushed: u64,
    /// The memory limit, in bytes.
    pub memory_bytes: u64,
    /// Size of a segment, in bytes.
    pub segment_bytes: u64,
    /// Segments that the limit allows now.
    pub segments: u64,
    /// Segments that hold nothing.
    pub segments_free: u64,
    /// Segments being written.
    pub segments_open: u64,
    /// Segments evicted since start.
    pub segments_evicted: u64,
    /// Segments taken back because all in them had expired.
    pub segments_expired: u64,
    /// Segments cleaned (live items moved together) since start.
    pub segments_cleaned: u64,
    /// Items moved to another segment since start.
    pub items_moved: u64,
    /// Bytes of the index and of the ghosts.
    pub index_bytes: u64,
    /// Buckets of the index in use.
    pub index_buckets: u64,
    /// Overflow buckets of the index in use.
    pub index_overflow_buckets: u64,
    /// Stores refused for want of memory.
    pub out_of_memory: u64,
    /// Values that a reply in flight keeps in place.
    pub values_pinned: u64,
    /// What something newer has taken the place of, kept until that is known to be complete.
    pub values_put_aside: u64,
    /// Bytes of these.
    pub put_aside_bytes: u64,
    /// Values copied so that clients which do not read keep no segment, in bytes.
    pub stalled_bytes: u64,
    /// Clients that lost what they had not read, because memory was short.
    pub stalled_given_up: u64,
}

impl Store {
    /// Figures now. Walks the table of segments: meant for `stats`, not for every request.
    pub fn stats(&self) -> StoreStats {
        let core = &self.core;
        let sum = |field: fn(&Events) -> &Event| {
            core.events
                .iter()
                .map(|events| field(events).get())
                .fold(0, u64::wrapping_add)
        };
        let counts = core.arena.counts();
        let (index_buckets, index_overflow_buckets) = core.index.buckets();
        let (values_put_aside, put_aside_bytes) = core.predecessors.size();
        let mut stats = StoreStats {
            items: sum(|events| &events.added).wrapping_sub(sum(|events| &events.removed)),
            items_total: sum(|events| &events.stored),
            evictions: sum(|events| &events.evicted),
            evicted_unread: sum(|events| &events.evicted_unread),
            expired: sum(|events| &events.expired),
            expired_unread: sum(|events| &events.expired_unread),
            reads_expired: sum(|events| &events.reads_expired),
            reads_flushed: sum(|events| &events.reads_flushed),
            memory_bytes: core.memory_limit(),
            segment_bytes: core.arena.segment_bytes() as u64,
            segments: u64::from(counts.allowed),
            segments_free: u64::from(counts.free),
            segments_evicted: sum(|events| &events.segments_evicted),
            segments_expired: sum(|events| &events.segments_expired),
            segments_cleaned: sum(|events| &events.segments_cleaned),
            items_moved: sum(|events| &events.moved),
            index_bytes: core.index.bytes() + core.ghosts.bytes(),
            index_buckets,
            index_overflow_buckets,
            out_of_memory: sum(|events| &events.out_of_memory),
            values_put_aside,
            put_aside_bytes,
            stalled_bytes: core.stalled.copied_bytes(),
            stalled_given_up: core.stalled.given_up(),
            ..StoreStats::default()
        };
        self.add_segment_stats(&mut stats);
        stats
    }

    fn add_segment_stats(&self, stats: &mut StoreStats) {
        let arena = &self.core.arena;
        for meta in (0..arena.segment_count()).map(|segment| arena.meta(segment)) {
            let state = meta.state();
            stats.segments_open += u64::from(state == SegmentState::Open);
            if matches!(
                state,
                SegmentState::Open | SegmentState::Sealed | SegmentState::Emptying
            ) {
                stats.bytes_live += u64::from(meta.live_bytes());
            }
            stats.values_pinned += u64::from(meta.pins());
        }
    }
}
