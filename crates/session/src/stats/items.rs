//! `stats items` and `stats slabs`. memcached keeps items in slab classes by size; here the whole
//! store is class 1, its pages are segments, and a chunk is a segment too, because items of any
//! size share one.

use super::Context;
use super::since_reset::store_stats;
use crate::report::Report;
use farcache_store::StoreStats;

/// `stats items`; nothing while the store is empty.
pub(super) fn items(context: &Context<'_>, report: &mut Report<'_>) {
    let stats = store_stats(context);
    if stats.items == 0 {
        return;
    }
    for (name, value) in item_stats(&stats) {
        report.stat(format_args!("items:1:{name}"), value);
    }
}

fn item_stats(stats: &StoreStats) -> [(&'static str, u64); 24] {
    [
        ("number", stats.items),
        ("number_hot", 0),
        ("number_warm", 0),
        ("number_cold", stats.items),
        ("age_hot", 0),
        ("age_warm", 0),
        ("age", 0),
        ("mem_requested", stats.bytes_live),
        ("evicted", stats.evictions),
        ("evicted_nonzero", 0),
        ("evicted_time", 0),
        ("outofmemory", stats.out_of_memory),
        ("tailrepairs", 0),
        ("reclaimed", stats.expired),
        ("expired_unfetched", stats.expired_unread),
        ("evicted_unfetched", stats.evicted_unread),
        ("evicted_active", 0),
        ("crawler_reclaimed", 0),
        ("crawler_items_checked", 0),
        ("lrutail_reflocked", 0),
        ("moves_to_cold", 0),
        ("moves_to_warm", 0),
        ("moves_within_lru", stats.items_moved),
        ("direct_reclaims", 0),
    ]
}

/// `stats slabs`.
pub(super) fn slabs(context: &Context<'_>, report: &mut Report<'_>) {
    let stats = store_stats(context);
    let used = stats.segments - stats.segments_free;
    if used > 0 {
        class(&stats, used, context, report);
    }
    report.stat("active_slabs", u64::from(used > 0));
    report.stat("total_malloced", used * stats.segment_bytes);
}

fn class(stats: &StoreStats, segments_used: u64, context: &Context<'_>, report: &mut Report<'_>) {
    let totals = context.host.totals();
    let list = [
        ("chunk_size", stats.segment_bytes),
        ("chunks_per_page", 1),
        ("total_pages", segments_used),
        ("total_chunks", stats.segments),
        ("used_chunks", segments_used),
        ("free_chunks", stats.segments_free),
        ("free_chunks_end", 0),
        ("get_hits", totals.get_hits),
        ("cmd_set", totals.cmd_set),
        ("delete_hits", totals.delete_hits),
        ("incr_hits", totals.incr_hits),
        ("decr_hits", totals.decr_hits),
        ("cas_hits", totals.cas_hits),
        ("cas_badval", totals.cas_badval),
        ("touch_hits", totals.touch_hits),
    ];
    for (name, value) in list {
        report.stat(format_args!("1:{name}"), value);
    }
}
