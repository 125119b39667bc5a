//! What Prometheus sees: counters under memcached's names, and the store's own figures.

use super::latency::{Command, Latencies};
use crate::fabric::figures::{Figures, Nature};
use crate::fabric::registry::Registry;
use crate::session::stats::tier;
use crate::shared::Shared;
use farcache_store::{StoreStats, TierStats};
use histogram::Histogram;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Smallest and largest bound of a latency bucket: powers of two, in nanoseconds (1 us to 8.6 s).
const BOUND_POWERS: std::ops::RangeInclusive<u32> = 10..=33;

/// Figures of the tier that tell how things are now; the others count events.
const TIER_GAUGES: [&str; 14] = [
    "tier_device_bytes",
    "tier_devices_failed",
    "tier_segment_bytes",
    "tier_segments",
    "tier_segments_free",
    "tier_segments_waiting",
    "tier_items",
    "tier_items_recovered",
    "tier_bytes_live",
    "tier_write_queue",
    "tier_table_bytes",
    "tier_buffer_bytes",
    "tier_read_bytes_held",
    "tier_recovery_us",
];

/// Reads the server's figures whenever they are asked for.
pub(super) struct ServerCollector(pub Arc<Shared>);

impl fmt::Debug for ServerCollector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ServerCollector")
    }
}

impl Collector for ServerCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let shared = &self.0;
        let mut page = Page(encoder);
        let mut totals = crate::counters::Totals::default();
        shared
            .workers
            .iter()
            .for_each(|counters| totals.add(counters));
        for (name, value) in totals.named() {
            page.counter(name, &format!("memcached's {name}"), value)?;
        }
        let uptime = shared.started.elapsed().as_secs();
        page.gauge("uptime_seconds", "Time since the start", uptime)?;
        page.gauge(
            "connections",
            "Clients connected",
            shared.connections.clients() as u64,
        )?;
        page.gauge("threads", "Worker threads", shared.settings.threads as u64)?;
        page.store(&shared.store.stats())?;
        shared
            .fabric
            .get()
            .map_or(Ok(()), |fabric| page.fabric(fabric))?;
        if let Some(stats) = shared.store.tier_stats() {
            page.tier(&stats)?;
        }
        Command::ALL
            .into_iter()
            .try_for_each(|command| page.latency(shared, command))
    }
}

struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(metric)
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value.cast_signed()).encode(metric)
    }

    fn store(&mut self, stats: &StoreStats) -> fmt::Result {
        self.gauge("items", "Items in the store", stats.items)?;
        self.gauge("items_bytes", "Bytes of live items", stats.bytes_live)?;
        self.gauge("memory_limit_bytes", "Memory for items", stats.memory_bytes)?;
        self.gauge(
            "segment_size_bytes",
            "Size of a segment",
            stats.segment_bytes,
        )?;
        self.gauge("segments", "Segments in all", stats.segments)?;
        self.gauge(
            "segments_free",
            "Segments that hold nothing",
            stats.segments_free,
        )?;
        self.gauge(
            "segments_open",
            "Segments being written",
            stats.segments_open,
        )?;
        self.gauge("index_bytes", "Memory of the index", stats.index_bytes)?;
        self.gauge("index_buckets", "Buckets of the index", stats.index_buckets)?;
        let overflow = stats.index_overflow_buckets;
        self.gauge(
            "index_overflow_buckets",
            "Overflow buckets of the index",
            overflow,
        )?;
        self.gauge(
            "values_pinned",
            "Values that replies keep in place",
            stats.values_pinned,
        )?;
        self.gauge(
            "stalled_bytes",
            "Memory of values copied for clients that do not read",
            stats.stalled_bytes,
        )?;
        self.counter("items_stored", "Items stored", stats.items_total)?;
        self.counter("evictions", "Live items thrown out", stats.evictions)?;
        self.counter(
            "evictions_unread",
            "Evicted items never read",
            stats.evicted_unread,
        )?;
        self.counter("expired", "Expired items taken back", stats.expired)?;
        self.counter(
            "expired_unread",
            "Expired items never read",
            stats.expired_unread,
        )?;
        self.counter(
            "items_moved",
            "Items moved between segments",
            stats.items_moved,
        )?;
        self.counter(
            "segments_evicted",
            "Segments evicted",
            stats.segments_evicted,
        )?;
        self.counter(
            "segments_expired",
            "Segments expired whole",
            stats.segments_expired,
        )?;
        self.counter(
            "segments_cleaned",
            "Segments cleaned",
            stats.segments_cleaned,
        )?;
        self.counter("out_of_memory", "Stores refused", stats.out_of_memory)
    }

    fn fabric(&mut self, fabric: &Registry) -> fmt::Result {
        let (granted, refused) = (
            fabric.grants.load(Relaxed),
            fabric.grants_refused.load(Relaxed),
        );
        self.counter("fabric_grants", "Sessions granted", granted)?;
        self.counter(
            "fabric_grants_refused",
            "Requests for a session that were refused",
            refused,
        )?;
        let figures = Figures::sum(fabric.places.iter().map(|place| &*place.figures));
        figures.into_iter().try_for_each(|figure| {
            let name = format!("fabric_{}", figure.name.trim_end_matches("_total"));
            match figure.nature {
                // Two levels have a total beside them, which is named apart.
                Nature::Level => self.gauge(&format!("{name}_now"), figure.meaning, figure.value),
                Nature::Count => self.counter(&name, figure.meaning, figure.value),
            }
        })
    }

    fn tier(&mut self, stats: &TierStats) -> fmt::Result {
        for (name, value) in tier::named(stats) {
            let help = format!("{name} of `stats tier`");
            let name = format!("tier_{name}");
            match TIER_GAUGES.contains(&name.as_str()) {
                true => self.gauge(&name, &help, value)?,
                false => self.counter(&name, &help, value)?,
            }
        }
        Ok(())
    }

    fn latency(&mut self, shared: &Shared, command: Command) -> fmt::Result {
        let workers = shared.latencies.iter().map(Arc::as_ref);
        let (times, sum_seconds) = Latencies::merged(workers, command);
        let name = format!("{}_latency", command.name());
        let help = format!(
            "Time from input to reply of {} commands, for each key",
            command.name()
        );
        let mut metric =
            self.0
                .encode_descriptor(&name, &help, Some(&Unit::Seconds), MetricType::Histogram)?;
        let buckets = buckets(&times);
        let count = buckets.iter().map(|(_, count)| count).sum();
        metric.encode_histogram::<NoLabelSet>(sum_seconds, count, &buckets, None)
    }
}

/// Counts of times up to each bound, in seconds; the last bound is infinity.
fn buckets(times: &Histogram) -> Vec<(f64, u64)> {
    let bounds_ns = BOUND_POWERS.map(|power| 1_u64 << power);
    let mut buckets: Vec<(f64, u64)> = bounds_ns.map(|bound| (bound as f64 / 1e9, 0)).collect();
    buckets.push((f64::INFINITY, 0));
    for bucket in times.iter().filter(|bucket| bucket.count() > 0) {
        let power = 64 - bucket.end().leading_zeros();
        let index = power.saturating_sub(*BOUND_POWERS.start()) as usize;
        let last = buckets.len() - 1;
        buckets[index.min(last)].1 += bucket.count();
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_falls_into_the_smallest_bucket_that_holds_it() {
        let mut times = Histogram::new(3, 40).expect("valid powers");
        for time_ns in [5, 1000, 1025, 3_000_000_000, 20_000_000_000] {
            times.increment(time_ns).expect("in range");
        }
        let filled: Vec<(f64, u64)> = buckets(&times)
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        let expected = [
            (1.024e-6, 2),
            (2.048e-6, 1),
            (4.294967296, 1),
            (f64::INFINITY, 1),
        ];
        assert_eq!(filled, expected);
    }
}
