//! The store's metrics: what memory holds, and what has become of it.

use super::page::{Kind, Page};
use farcache_store::StoreStats;
use std::fmt;

macro_rules! figures {
    ($($figure:ident => $name:ident $kind:ident $help:literal;)*) => {
        /// Writes every figure: that of this name, under our name.
        pub(super) fn write(page: &mut Page<'_>, stats: &StoreStats) -> fmt::Result {
            $(page.figure(Kind::$kind, stringify!($name), $help, stats.$figure)?;)*
            Ok(())
        }
    };
}

figures! {
    items => items Gauge "Items in memory and on the SSDs, expired ones not yet reclaimed included";
    bytes_live => items_bytes Gauge "Memory of live items, their headers included";
    memory_bytes => memory_limit_bytes Gauge "Memory for items in all (-m)";
    segment_bytes => segment_size_bytes Gauge "Size of a segment, the unit in which memory is given out and reclaimed";
    segments => segments Gauge "Segments of memory in all";
    segments_free => segments_free Gauge "Segments of memory that hold nothing";
    segments_open => segments_open Gauge "Segments of memory that items are being appended to";
    index_bytes => index_bytes Gauge "Memory of the index and of the ghosts, which is not part of -m";
    index_buckets => index_buckets Gauge "Buckets of the index in use, of 64 bytes each";
    index_overflow_buckets => index_overflow_buckets Gauge "Buckets of the index that hold what others have no room for";
    values_pinned => values_pinned Gauge "Values that replies under way keep where they lie";
    values_put_aside => values_put_aside Gauge "Values kept until what took their place is complete";
    put_aside_bytes => put_aside_bytes Gauge "Bytes of values that are put aside";
    stalled_bytes => stalled_bytes Gauge "Memory of values copied for clients that do not read";
    items_total => items_stored Counter "Items stored since the start";
    evictions => evictions Counter "Live items dropped to make room; with an SSD tier, only those that it had no room for";
    evicted_unread => evictions_unread Counter "Evicted items that nobody had read";
    expired => expired Counter "Expired items whose memory has been reclaimed";
    expired_unread => expired_unread Counter "Expired items that nobody had read";
    items_moved => items_moved Counter "Items moved to another segment, so that theirs could be reclaimed";
    segments_evicted => segments_evicted Counter "Segments of memory whose items were dropped to make room";
    segments_expired => segments_expired Counter "Segments of memory reclaimed because all of their items had expired";
    segments_cleaned => segments_cleaned Counter "Segments of memory reclaimed by moving their live items together";
    out_of_memory => out_of_memory Counter "Stores refused because there was no memory (SERVER_ERROR out of memory)";
}
