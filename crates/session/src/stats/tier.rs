//! The SSD tier's figures: under the names of memcached's extstore among the general statistics,
//! and all of them as `stats tier`. Nothing where there is no tier.

use super::Context;
use crate::counters::Totals;
use crate::report::Report;
use farcache_store::TierStats;

/// What memcached counts for its commands; follows `get_flushed`.
pub(super) fn commands(totals: &Totals, context: &Context<'_>, report: &mut Report<'_>) {
    let Some(stats) = context.store.store().tier_stats() else {
        return;
    };
    report.stats(&[
        ("get_extstore", stats.reads),
        ("get_aborted_extstore", totals.get_aborted_extstore),
        ("get_oom_extstore", 0),
        ("get_stalled_kicks", totals.get_stalled_kicks),
        ("recache_from_extstore", stats.promoted),
        ("miss_from_extstore", stats.items_lost),
        ("badcrc_from_extstore", stats.checksum_errors),
    ]);
}

/// What memcached counts for its storage; a page is a segment, a compaction is cleaning one.
pub(super) fn storage(context: &Context<'_>, report: &mut Report<'_>) {
    let Some(stats) = context.store.store().tier_stats() else {
        return;
    };
    let used = stats.segments - stats.segments_free;
    let used_bytes = used * stats.segment_bytes;
    report.stats(&[
        ("extstore_compact_lost", 0),
        ("extstore_compact_rescues", stats.items_moved),
        ("extstore_compact_skipped", 0),
        ("extstore_page_allocs", stats.segments_written),
        ("extstore_page_evictions", stats.segments_evicted),
        ("extstore_page_reclaims", stats.segments_cleaned),
        ("extstore_pages_free", stats.segments_free),
        ("extstore_pages_used", used),
        ("extstore_objects_evicted", stats.evictions),
        ("extstore_objects_read", stats.reads),
        ("extstore_objects_written", stats.items_written),
        ("extstore_objects_used", stats.items),
        (
            "extstore_bytes_evicted",
            stats.segments_evicted * stats.segment_bytes,
        ),
        ("extstore_bytes_written", stats.bytes_written),
        ("extstore_bytes_read", stats.bytes_read),
        ("extstore_bytes_used", stats.bytes_live),
        (
            "extstore_bytes_fragmented",
            used_bytes.saturating_sub(stats.bytes_live),
        ),
        ("extstore_limit_maxbytes", stats.device_bytes),
        ("extstore_io_queue", stats.write_queue),
    ]);
}

/// `stats tier`: every figure under a name of our own.
pub(super) fn collect(context: &Context<'_>, report: &mut Report<'_>) {
    let Some(stats) = context.store.store().tier_stats() else {
        return;
    };
    report.stats(&named(&stats));
    report.stat(
        "write_amplification",
        format_args!("{:.3}", write_amplification(&stats)),
    );
}

/// Bytes written to the devices for each byte of the records that came from memory; 0 before the
/// first.
pub fn write_amplification(stats: &TierStats) -> f64 {
    match stats.bytes_from_memory {
        0 => 0.0,
        bytes => stats.bytes_written as f64 / bytes as f64,
    }
}

/// Every figure with its name; what counts events is counted since the start.
pub fn named(stats: &TierStats) -> [(&'static str, u64); 36] {
    [
        ("device_bytes", stats.device_bytes),
        ("devices_failed", stats.devices_failed),
        ("segment_bytes", stats.segment_bytes),
        ("segments", stats.segments),
        ("segments_free", stats.segments_free),
        ("segments_waiting", stats.segments_waiting),
        ("segments_written", stats.segments_written),
        ("segments_cleaned", stats.segments_cleaned),
        ("segments_evicted", stats.segments_evicted),
        ("segments_recovered", stats.segments_recovered),
        ("segments_dropped", stats.segments_dropped),
        ("items", stats.items),
        ("items_written", stats.items_written),
        ("items_moved", stats.items_moved),
        ("items_lost", stats.items_lost),
        ("items_recovered", stats.items_recovered),
        ("evictions", stats.evictions),
        ("evictions_device_slow", stats.evictions_device_slow),
        ("evictions_unread", stats.evictions_unread),
        ("promoted", stats.promoted),
        ("buffer_hits", stats.buffer_hits),
        ("bytes_live", stats.bytes_live),
        ("bytes_from_memory", stats.bytes_from_memory),
        ("bytes_written", stats.bytes_written),
        ("bytes_moved", stats.bytes_moved),
        ("bytes_read", stats.bytes_read),
        ("reads", stats.reads),
        ("read_errors", stats.read_errors),
        ("checksum_errors", stats.checksum_errors),
        ("write_errors", stats.write_errors),
        ("write_queue", stats.write_queue),
        ("waits", stats.waits),
        ("table_bytes", stats.table_bytes),
        ("buffer_bytes", stats.buffer_bytes),
        ("read_bytes_held", stats.read_bytes_held),
        ("recovery_us", stats.recovery_us),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free_of_doubles() {
        let mut names = named(&TierStats::default()).map(|(name, _)| name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn write_amplification_is_a_ratio() {
        let stats = TierStats {
            bytes_written: 130,
            bytes_from_memory: 100,
            ..TierStats::default()
        };
        assert_eq!(write_amplification(&stats), 1.3);
        assert_eq!(write_amplification(&TierStats::default()), 0.0);
    }
}
