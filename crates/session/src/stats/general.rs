//! `stats` without an argument.

use super::Context;
use super::since_reset::store_stats;
use super::tier;
use crate::counters::Totals;
use crate::host::Overview;
use crate::report::Report;
use farcache_base::time::START;
use farcache_store::StoreStats;
use std::time::Duration;

/// Everything of general interest.
pub(super) fn collect(context: &Context<'_>, report: &mut Report<'_>) {
    let totals = context.host.totals();
    let stats = store_stats(context);
    let overview = context.host.overview();
    process(&overview, context, report);
    connections(&totals, &overview, report);
    commands(&totals, &stats, context, report);
    if context.forward.is_some() {
        forwarding(&totals, report);
    }
    limits(&totals, &stats, &overview, report);
    index(&stats, report);
    background(&stats, &overview, report);
    tier::storage(context, report);
    threads(report);
    items(&stats, report);
    segments(&stats, &totals, report);
}

fn process(overview: &Overview, context: &Context<'_>, report: &mut Report<'_>) {
    report.stat("pid", overview.process_id);
    report.stat("uptime", context.clock.now.saturating_sub(START));
    report.stat("time", context.clock.unix(context.clock.now));
    report.stat("version", context.version());
    report.stat("pointer_size", usize::BITS);
    if let Some(time) = &overview.processor_time {
        report.stat("rusage_user", Seconds(time.user));
        report.stat("rusage_system", Seconds(time.system));
    }
}

/// A duration as memcached writes it: seconds, a point, six digits of microseconds.
struct Seconds(Duration);

impl std::fmt::Display for Seconds {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{:06}", self.0.as_secs(), self.0.subsec_micros())
    }
}

fn connections(totals: &Totals, overview: &Overview, report: &mut Report<'_>) {
    let structures = overview.clients + overview.listeners;
    report.stats(&[
        ("max_connections", overview.clients_max),
        ("curr_connections", overview.clients),
        ("total_connections", totals.total_connections),
        ("rejected_connections", totals.rejected_connections),
        ("connection_structures", structures),
        ("response_obj_oom", 0),
        ("response_obj_count", 0),
        ("response_obj_bytes", 0),
        ("read_buf_count", 0),
        ("read_buf_bytes", 0),
        ("read_buf_bytes_free", 0),
        ("read_buf_oom", 0),
    ]);
}

fn commands(totals: &Totals, stats: &StoreStats, context: &Context<'_>, report: &mut Report<'_>) {
    report.stats(&[
        ("cmd_get", totals.cmd_get),
        ("cmd_set", totals.cmd_set),
        ("cmd_flush", totals.cmd_flush),
        ("cmd_touch", totals.cmd_touch),
        ("cmd_meta", totals.cmd_meta),
        ("get_hits", totals.get_hits),
        ("get_misses", totals.get_misses),
        ("get_expired", stats.reads_expired),
        ("get_flushed", stats.reads_flushed),
    ]);
    tier::commands(totals, context, report);
    report.stats(&[
        ("delete_misses", totals.delete_misses),
        ("delete_hits", totals.delete_hits),
        ("incr_misses", totals.incr_misses),
        ("incr_hits", totals.incr_hits),
        ("decr_misses", totals.decr_misses),
        ("decr_hits", totals.decr_hits),
        ("cas_misses", totals.cas_misses),
        ("cas_hits", totals.cas_hits),
        ("cas_badval", totals.cas_badval),
        ("touch_hits", totals.touch_hits),
        ("touch_misses", totals.touch_misses),
        ("store_too_large", totals.store_too_large),
        ("store_no_memory", totals.store_no_memory),
        ("auth_cmds", totals.auth_cmds),
        ("auth_errors", totals.auth_errors),
        ("idle_kicks", totals.idle_kicks),
        ("bytes_read", totals.bytes_read),
        ("bytes_written", totals.bytes_written),
    ]);
}

fn forwarding(totals: &Totals, report: &mut Report<'_>) {
    report.stats(&[
        ("forwarded", totals.forwarded),
        ("forward_errors", totals.forward_errors),
        ("forwarded_over_fabric", totals.forwarded_over_fabric),
        ("forwarded_here", totals.forwarded_here),
        ("forwards_refused", totals.forwards_refused),
    ]);
}

fn limits(totals: &Totals, stats: &StoreStats, overview: &Overview, report: &mut Report<'_>) {
    report.stats(&[
        ("limit_maxbytes", stats.memory_bytes),
        ("accepting_conns", u64::from(overview.accepts_connections)),
        ("listen_disabled_num", totals.listen_disabled_num),
        ("time_in_listen_disabled_us", 0),
        ("threads", overview.threads),
        ("conn_yields", totals.conn_yields),
        ("reads_batched", totals.reads_batched),
    ]);
    if let Some(age_seconds) = overview.certificate_age_s {
        report.stat("time_since_server_cert_refresh", age_seconds);
    }
}

fn index(stats: &StoreStats, report: &mut Report<'_>) {
    report.stats(&[
        (
            "hash_power_level",
            u64::from(stats.index_buckets.checked_ilog2().unwrap_or(0)),
        ),
        ("hash_bytes", stats.index_bytes),
        ("hash_is_expanding", 0),
    ]);
}

/// What memcached's slab mover, crawler and log threads count.
fn background(stats: &StoreStats, overview: &Overview, report: &mut Report<'_>) {
    report.stats(&[
        ("slab_reassign_rescues", stats.items_moved),
        ("slab_reassign_chunk_rescues", 0),
        ("slab_reassign_evictions_nomem", 0),
        ("slab_reassign_inline_reclaim", 0),
        ("slab_reassign_busy_items", 0),
        ("slab_reassign_busy_deletes", 0),
        ("slab_reassign_running", 0),
        ("slabs_moved", stats.segments_cleaned),
        ("lru_crawler_running", 0),
        ("lru_crawler_starts", 0),
        ("lru_maintainer_juggles", 0),
        ("malloc_fails", 0),
        ("log_worker_dropped", 0),
        ("log_worker_written", 0),
        ("log_watcher_skipped", overview.watch_lines_skipped),
        ("log_watcher_sent", overview.watch_lines_sent),
        ("log_watchers", overview.watchers),
    ]);
}

/// How memcached hands connections to threads.
fn threads(report: &mut Report<'_>) {
    report.stats(&[("unexpected_napi_ids", 0), ("round_robin_fallback", 0)]);
}

fn items(stats: &StoreStats, report: &mut Report<'_>) {
    report.stats(&[
        ("bytes", stats.bytes_live),
        ("curr_items", stats.items),
        ("total_items", stats.items_total),
        ("slab_global_page_pool", stats.segments_free),
        ("expired_unfetched", stats.expired_unread),
        ("evicted_unfetched", stats.evicted_unread),
        ("evicted_active", 0),
        ("evictions", stats.evictions),
        ("reclaimed", stats.expired),
        ("crawler_reclaimed", 0),
        ("crawler_items_checked", 0),
        ("lrutail_reflocked", 0),
        ("moves_to_cold", 0),
        ("moves_to_warm", 0),
        ("moves_within_lru", 0),
        ("direct_reclaims", 0),
        ("lru_bumps_dropped", 0),
    ]);
}

/// What only a segment store has to tell.
fn segments(stats: &StoreStats, totals: &Totals, report: &mut Report<'_>) {
    report.stats(&[
        ("segment_bytes", stats.segment_bytes),
        ("segments_total", stats.segments),
        ("segments_free", stats.segments_free),
        ("segments_open", stats.segments_open),
        ("segments_evicted", stats.segments_evicted),
        ("segments_expired", stats.segments_expired),
        ("segments_cleaned", stats.segments_cleaned),
        ("segments_items_moved", stats.items_moved),
        ("index_buckets", stats.index_buckets),
        ("index_overflow_buckets", stats.index_overflow_buckets),
        ("values_pinned", stats.values_pinned),
        ("values_put_aside", stats.values_put_aside),
        ("put_aside_bytes", stats.put_aside_bytes),
        ("stalled_bytes", stats.stalled_bytes),
        ("stalled_kicks", totals.stalled_kicks),
        ("worker_wakeups", totals.wakeups),
        ("udp_requests", totals.udp_requests),
        ("protocol_errors", totals.protocol_errors),
    ]);
}
