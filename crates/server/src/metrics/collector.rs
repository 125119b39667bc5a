//! What Prometheus sees: counters under memcached's names, and the figures of each part.

use super::page::{Kind, Page, renamed};
use super::{cluster, fabric, latency, store, tier};
use crate::latency::Command;
use crate::shared::Shared;
use farcache_session::counters::Totals;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::sync::Arc;

/// Counters of the server whose names here end in their units, or say the same as the others' do:
/// memcached's name, and ours.
const RENAMED: [(&str, &str); 5] = [
    ("bytes_read", "read_bytes"),
    ("bytes_written", "written_bytes"),
    ("total_connections", "connections_accepted"),
    ("closed_connections", "connections_closed"),
    ("rejected_connections", "connections_rejected"),
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
        let mut totals = Totals::default();
        shared
            .workers
            .iter()
            .for_each(|counters| totals.add(counters));
        write_build(&mut page)?;
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
        store::write(&mut page, &shared.store.stats())?;
        if let Some(registry) = shared.fabric.get() {
            fabric::write(&mut page, registry)?;
        }
        if let Some(joined) = &shared.cluster {
            cluster::write(&mut page, &joined.figures())?;
            for (name, help, count) in shared.coding.told() {
                page.counter(&format!("coding_{name}"), help, count)?;
            }
        }
        if shared.repairs() {
            write_repair(&mut page, shared)?;
        }
        if let Some(stats) = shared.store.tier_stats() {
            tier::write(&mut page, &stats)?;
        }
        Command::ALL
            .into_iter()
            .try_for_each(|command| latency::write(&mut page, shared, command))
    }
}

/// Which server this is.
fn write_build(page: &mut Page<'_>) -> fmt::Result {
    let help = "The server's version, as a label; always 1";
    let mut metric = page.gauges("build_info", help)?;
    let labels = [("version", env!("CARGO_PKG_VERSION"))];
    ConstGauge::new(1_i64).encode(metric.encode_family(&labels)?)
}

fn write_repair(page: &mut Page<'_>, shared: &Shared) -> fmt::Result {
    let status = shared.repairs.status();
    let told = status.told(shared.store.is_catching_up());
    told.into_iter().try_for_each(|told| {
        let name = format!("repair_{}", told.name);
        let kind = if told.is_count {
            Kind::Counter
        } else {
            Kind::Gauge
        };
        page.figure(kind, &name, told.help, told.value)
    })
}
