//! What Prometheus sees: counters under memcached's names, and the store's own figures.

use super::tier::{Kind, SHOWN};
use crate::cluster;
use crate::latency::{Command, Latencies};
use crate::moves::report::MoveFigures;
use crate::shared::Shared;
use crate::upgrade::figures::{Figures, Nature};
use crate::upgrade::registry::Registry;
use farcache_session::stats::tier;
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

/// Counters of the server whose names here end in their units, or say the same as the others' do:
/// memcached's name, and ours.
const RENAMED: [(&str, &str); 5] = [
    ("bytes_read", "read_bytes"),
    ("bytes_written", "written_bytes"),
    ("total_connections", "connections_accepted"),
    ("closed_connections", "connections_closed"),
    ("rejected_connections", "connections_rejected"),
];

/// The fabric's figures whose names here end in their units.
const RENAMED_OF_FABRIC: [(&str, &str); 2] =
    [("bytes_in", "received_bytes"), ("bytes_out", "sent_bytes")];

/// A figure of a move: its name, what it says, and how it is read.
type MoveFigure = (&'static str, &'static str, fn(&MoveFigures) -> u64);

/// What is told of each move. Gauges: a move that begins anew counts from 0.
const MOVES: [MoveFigure; 7] = [
    ("done", "Whether nothing more will come", |it| {
        u64::from(it.is_done())
    }),
    (
        "acknowledged_epoch",
        "Up to which epoch the old owner has stopped deciding",
        |it| it.acknowledged_epoch,
    ),
    ("keys", "Items sent or received", |it| it.counts.keys),
    ("bytes", "Bytes of their keys and values", |it| {
        it.counts.bytes
    }),
    ("keys_left", "Items still to come, about", |it| {
        it.counts.keys_left
    }),
    ("bytes_left", "Bytes still to come, about", |it| {
        it.counts.bytes_left
    }),
    ("keys_refused", "Items that came and were not kept", |it| {
        it.counts.refused
    }),
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
        let mut totals = farcache_session::counters::Totals::default();
        shared
            .workers
            .iter()
            .for_each(|counters| totals.add(counters));
        page.build()?;
        for (name, help, value) in totals.named() {
            page.counter(renamed(&RENAMED, name), help.trim(), value)?;
        }
        let uptime = shared.started.elapsed().as_secs();
        page.gauge("uptime_seconds", "Time since the server started", uptime)?;
        page.gauge(
            "connections",
            "Clients connected now",
            shared.connections.clients() as u64,
        )?;
        page.gauge(
            "connections_max",
            "Clients that may be connected at once (-c)",
            shared.settings.connections_max as u64,
        )?;
        page.gauge("threads", "Worker threads", shared.settings.threads as u64)?;
        page.store(&shared.store.stats())?;
        shared
            .fabric
            .get()
            .map_or(Ok(()), |fabric| page.fabric(fabric))?;
        if let Some(cluster) = &shared.cluster {
            page.cluster(&cluster.figures())?;
            for (name, help, count) in shared.coding.told() {
                page.counter(&format!("coding_{name}"), help, count)?;
            }
        }
        if shared.repairs() {
            page.repair(shared)?;
        }
        if let Some(stats) = shared.store.tier_stats() {
            page.tier(&stats)?;
        }
        Command::ALL
            .into_iter()
            .try_for_each(|command| page.latency(shared, command))
    }
}

/// Our name of a figure.
fn renamed<'a>(names: &[(&str, &'a str)], name: &'a str) -> &'a str {
    let found = names.iter().find(|(theirs, _)| *theirs == name);
    found.map_or(name, |(_, ours)| ours)
}

struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    /// Which server this is.
    fn build(&mut self) -> fmt::Result {
        let help = "The server's version, as a label; always 1";
        let mut metric = self
            .0
            .encode_descriptor("build_info", help, None, MetricType::Gauge)?;
        let labels = [("version", env!("CARGO_PKG_VERSION"))];
        ConstGauge::new(1_i64).encode(metric.encode_family(&labels)?)
    }

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
        self.gauge(
            "items",
            "Items in memory and on the SSDs, expired ones not yet reclaimed included",
            stats.items,
        )?;
        self.gauge(
            "items_bytes",
            "Memory of live items, their headers included",
            stats.bytes_live,
        )?;
        self.gauge(
            "memory_limit_bytes",
            "Memory for items in all (-m)",
            stats.memory_bytes,
        )?;
        self.gauge(
            "segment_size_bytes",
            "Size of a segment, the unit in which memory is given out and reclaimed",
            stats.segment_bytes,
        )?;
        self.gauge("segments", "Segments of memory in all", stats.segments)?;
        self.gauge(
            "segments_free",
            "Segments of memory that hold nothing",
            stats.segments_free,
        )?;
        self.gauge(
            "segments_open",
            "Segments of memory that items are being appended to",
            stats.segments_open,
        )?;
        self.gauge(
            "index_bytes",
            "Memory of the index and of the ghosts, which is not part of -m",
            stats.index_bytes,
        )?;
        self.gauge(
            "index_buckets",
            "Buckets of the index in use, of 64 bytes each",
            stats.index_buckets,
        )?;
        let overflow = stats.index_overflow_buckets;
        self.gauge(
            "index_overflow_buckets",
            "Buckets of the index that hold what others have no room for",
            overflow,
        )?;
        self.gauge(
            "values_pinned",
            "Values that replies under way keep where they lie",
            stats.values_pinned,
        )?;
        self.gauge(
            "stalled_bytes",
            "Memory of values copied for clients that do not read",
            stats.stalled_bytes,
        )?;
        self.counter(
            "items_stored",
            "Items stored since the start",
            stats.items_total,
        )?;
        self.counter(
            "evictions",
            "Live items dropped to make room; with an SSD tier, only those that it had no room for",
            stats.evictions,
        )?;
        self.counter(
            "evictions_unread",
            "Evicted items that nobody had read",
            stats.evicted_unread,
        )?;
        self.counter(
            "expired",
            "Expired items whose memory has been reclaimed",
            stats.expired,
        )?;
        self.counter(
            "expired_unread",
            "Expired items that nobody had read",
            stats.expired_unread,
        )?;
        self.counter(
            "items_moved",
            "Items moved to another segment, so that theirs could be reclaimed",
            stats.items_moved,
        )?;
        self.counter(
            "segments_evicted",
            "Segments of memory whose items were dropped to make room",
            stats.segments_evicted,
        )?;
        self.counter(
            "segments_expired",
            "Segments of memory reclaimed because all of their items had expired",
            stats.segments_expired,
        )?;
        self.counter(
            "segments_cleaned",
            "Segments of memory reclaimed by moving their live items together",
            stats.segments_cleaned,
        )?;
        self.counter(
            "out_of_memory",
            "Stores refused because there was no memory (SERVER_ERROR out of memory)",
            stats.out_of_memory,
        )
    }

    fn fabric(&mut self, fabric: &Registry) -> fmt::Result {
        let (granted, refused) = (
            fabric.grants.load(Relaxed),
            fabric.grants_refused.load(Relaxed),
        );
        self.counter(
            "fabric_grants",
            "Sessions on the fabric granted to clients",
            granted,
        )?;
        self.counter(
            "fabric_grants_refused",
            "Requests for a session on the fabric that were refused: nothing in common, no trust, no room",
            refused,
        )?;
        let figures = Figures::sum(fabric.places.iter().map(|place| &*place.figures));
        figures.into_iter().try_for_each(|figure| {
            let name = renamed(&RENAMED_OF_FABRIC, figure.name.trim_end_matches("_total"));
            let name = format!("fabric_{name}");
            let help = format!("{}, on the fabric", figure.meaning);
            match figure.nature {
                // Two levels have a total beside them, which is named apart.
                Nature::Level => self.gauge(&format!("{name}_now"), &help, figure.value),
                Nature::Count => self.counter(&name, &help, figure.value),
            }
        })
    }

    fn cluster(&mut self, figures: &cluster::Figures) -> fmt::Result {
        let epoch = figures.map.epoch().0;
        self.gauge(
            "cluster_epoch",
            "Epoch of the cluster's map in force",
            epoch,
        )?;
        for (state, count) in figures.servers() {
            let help = format!("Servers of the cluster's map that are {state}");
            self.gauge(&format!("cluster_servers_{state}"), &help, count)?;
        }
        if let Some(is_listed) = figures.is_listed {
            let help = "Whether the cluster's map lists this server";
            self.gauge("cluster_listed", help, u64::from(is_listed))?;
        }
        self.moves(&figures.moves)?;
        let Some(joined) = &figures.joined else {
            return Ok(());
        };
        let suspects = joined.suspects.len() as u64;
        let is_connected = u64::from(joined.endpoint.is_some());
        self.gauge(
            "cluster_suspects",
            "Servers whose leases have ended",
            suspects,
        )?;
        self.gauge(
            "cluster_etcd_connected",
            "Whether etcd serves",
            is_connected,
        )?;
        let help = "Whether this server publishes the cluster's maps";
        self.gauge("cluster_publisher", help, u64::from(joined.is_publisher))?;
        let help = "Whether this server answers for no key, as others may own them";
        self.gauge("cluster_cut_off", help, u64::from(joined.is_cut_off))?;
        let counts = joined.counts.iter();
        counts.copied().try_for_each(|(name, help, count)| {
            self.counter(&format!("cluster_{name}"), help, count)
        })
    }

    fn repair(&mut self, shared: &Shared) -> fmt::Result {
        let status = shared.repairs.status();
        let told = status.told(shared.store.is_catching_up());
        told.into_iter().try_for_each(|told| {
            let name = format!("repair_{}", told.name);
            match told.is_count {
                true => self.counter(&name, told.help, told.value),
                false => self.gauge(&name, told.help, told.value),
            }
        })
    }

    /// The figures of each move, by its ends and its phase.
    fn moves(&mut self, moves: &[MoveFigures]) -> fmt::Result {
        for (name, help, value) in MOVES {
            if moves.is_empty() {
                return Ok(());
            }
            let name = format!("cluster_move_{name}");
            let mut metric = self
                .0
                .encode_descriptor(&name, help, None, MetricType::Gauge)?;
            for moved in moves {
                let (from, to) = (moved.from.to_string(), moved.to.to_string());
                let labels = [
                    ("from", from.as_str()),
                    ("to", to.as_str()),
                    ("phase", moved.phase),
                    ("role", moved.role),
                ];
                let gauge = ConstGauge::new(value(moved).cast_signed());
                gauge.encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn tier(&mut self, stats: &TierStats) -> fmt::Result {
        let figures = tier::named(stats);
        for shown in SHOWN {
            let found = figures.iter().find(|(name, _)| *name == shown.figure);
            let value = found.map_or(0, |(_, value)| *value);
            match shown.kind {
                Kind::Counter => self.counter(shown.name, shown.help, value)?,
                Kind::Gauge => self.gauge(shown.name, shown.help, value)?,
                Kind::Micros => self.seconds(shown.name, shown.help, value as f64 / 1e6)?,
            }
        }
        Ok(())
    }

    fn seconds(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(metric)
    }

    fn latency(&mut self, shared: &Shared, command: Command) -> fmt::Result {
        let workers = shared.latencies.iter().map(Arc::as_ref);
        let (times, sum_seconds) = Latencies::merged(workers, command);
        let name = format!("{}_latency", command.name());
        let help = format!(
            "Time from a request's arrival at the server to its reply, of {} commands, counted once for each key",
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
