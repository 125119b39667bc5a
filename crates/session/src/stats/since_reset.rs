//! The store's figures as `stats` shows them: what counts events starts anew with `stats reset`.

use super::Context;
use farcache_store::StoreStats;
use std::sync::Mutex;

/// The store's figures at the last `stats reset`.
#[derive(Default)]
pub(crate) struct StoreStatsBase(Mutex<StoreStats>);

/// The store's figures, events counted since the last `stats reset`.
pub(super) fn store_stats(context: &Context<'_>) -> StoreStats {
    let mut stats = context.store.store().stats();
    let StoreStatsBase(base) = &context.service.store_stats_base;
    let base = base.lock().expect("no panic while held");
    for (count, base) in event_counts(&mut stats)
        .into_iter()
        .zip(event_counts(&mut base.clone()))
    {
        *count = count.saturating_sub(*base);
    }
    stats
}

/// Starts the counts anew.
pub(super) fn reset(context: &Context<'_>) {
    let StoreStatsBase(base) = &context.service.store_stats_base;
    *base.lock().expect("no panic while held") = context.store.store().stats();
}

/// The figures that count events; the others tell how things are now.
fn event_counts(stats: &mut StoreStats) -> [&mut u64; 12] {
    [
        &mut stats.items_total,
        &mut stats.evictions,
        &mut stats.evicted_unread,
        &mut stats.expired,
        &mut stats.expired_unread,
        &mut stats.reads_expired,
        &mut stats.reads_flushed,
        &mut stats.segments_evicted,
        &mut stats.segments_expired,
        &mut stats.segments_cleaned,
        &mut stats.items_moved,
        &mut stats.out_of_memory,
    ]
}
