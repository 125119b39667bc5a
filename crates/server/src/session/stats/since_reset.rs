//! The store's figures as `stats` shows them: what counts events starts anew with `stats reset`.

use crate::shared::Shared;
use farcache_store::StoreStats;

/// The store's figures, events counted since the last `stats reset`.
pub(super) fn store_stats(shared: &Shared) -> StoreStats {
    let mut stats = shared.store.stats();
    let base = shared.store_stats_base.lock().expect("no panic while held");
    for (count, base) in event_counts(&mut stats)
        .into_iter()
        .zip(event_counts(&mut base.clone()))
    {
        *count = count.saturating_sub(*base);
    }
    stats
}

/// Starts the counts anew.
pub(super) fn reset(shared: &Shared) {
    *shared.store_stats_base.lock().expect("no panic while held") = shared.store.stats();
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
