//! The cluster's metrics, as this server sees it, and those of moves.

use super::page::Page;
use crate::cluster::Figures;
use crate::moves::report::MoveFigures;
use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

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

/// Writes them all.
pub(super) fn write(page: &mut Page<'_>, figures: &Figures) -> fmt::Result {
    let epoch = figures.map.epoch().0;
    page.gauge(
        "cluster_epoch",
        "Epoch of the cluster's map in force",
        epoch,
    )?;
    for (state, count) in figures.servers() {
        let help = format!("Servers of the cluster's map that are {state}");
        page.gauge(&format!("cluster_servers_{state}"), &help, count)?;
    }
    if let Some(is_listed) = figures.is_listed {
        let help = "Whether the cluster's map lists this server";
        page.gauge("cluster_listed", help, u64::from(is_listed))?;
    }
    write_moves(page, &figures.moves)?;
    let Some(joined) = &figures.joined else {
        return Ok(());
    };
    let suspects = joined.suspects.len() as u64;
    let is_connected = u64::from(joined.endpoint.is_some());
    page.gauge(
        "cluster_suspects",
        "Servers whose leases have ended",
        suspects,
    )?;
    page.gauge(
        "cluster_etcd_connected",
        "Whether etcd serves",
        is_connected,
    )?;
    let help = "Whether this server publishes the cluster's maps";
    page.gauge("cluster_publisher", help, u64::from(joined.is_publisher))?;
    let help = "Whether this server answers for no key, as others may own them";
    page.gauge("cluster_cut_off", help, u64::from(joined.is_cut_off))?;
    let counts = joined.counts.iter();
    counts
        .copied()
        .try_for_each(|(name, help, count)| page.counter(&format!("cluster_{name}"), help, count))
}

/// The figures of each move, by its ends and its phase.
fn write_moves(page: &mut Page<'_>, moves: &[MoveFigures]) -> fmt::Result {
    for (name, help, value) in MOVES {
        if moves.is_empty() {
            return Ok(());
        }
        let name = format!("cluster_move_{name}");
        let mut metric = page.gauges(&name, help)?;
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
