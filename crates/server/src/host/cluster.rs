//! `stats cluster`: the map in force, and this server's part in it; Farcache's own.

use crate::moves::report::MoveFigures;
use crate::shared::Shared;
use farcache_session::stats::Report;

/// All of it; where the server is in no cluster, only that.
pub(super) fn collect(shared: &Shared, report: &mut Report<'_>) {
    let Some(cluster) = &shared.cluster else {
        return report.stat("source", "none");
    };
    let figures = cluster.figures();
    report.stat("source", figures.source);
    report.stat("cluster", figures.map.content().cluster.as_str());
    report.stat("epoch", figures.map.epoch().0);
    for (state, count) in figures.servers() {
        report.stat(format_args!("servers_{state}"), count);
    }
    report.stat("listed", word(figures.is_listed));
    let (times_some, times_all) = figures.dropped;
    report.stat("gained_keys_dropped", times_some);
    report.stat("all_keys_dropped", times_all);
    figures
        .moves
        .iter()
        .for_each(|moved| tell_of(moved, report));
    let Some(joined) = &figures.joined else {
        return;
    };
    report.stat("etcd", joined.endpoint.as_deref().unwrap_or("unreachable"));
    report.stat("publisher", word(Some(joined.is_publisher)));
    report.stat("replaced", word(Some(joined.is_replaced)));
    let suspects: Vec<String> = joined.suspects.iter().map(ToString::to_string).collect();
    let suspects = suspects.join(",");
    report.stat(
        "suspects",
        if suspects.is_empty() {
            "none"
        } else {
            &suspects
        },
    );
    report.stat("lease_milliseconds_left", joined.lease_milliseconds_left);
    report.stat(
        "answers_milliseconds_left",
        joined.answers_milliseconds_left,
    );
    report.stat(
        "etcd_unreachable_milliseconds",
        joined.unreachable_milliseconds,
    );
    report.stat("cut_off", word(Some(joined.is_cut_off)));
    for (name, _, count) in joined.counts {
        report.stat(name, count);
    }
}

/// The lines of one move, which tools read: docs/design/cluster.md.
fn tell_of(moved: &MoveFigures, report: &mut Report<'_>) {
    let (from, to, phase) = (moved.from, moved.to, moved.phase);
    report.stat(format_args!("move:{from}:{to}:{phase}:role"), moved.role);
    report.stat(format_args!("move:{from}:{to}:{phase}:state"), moved.state);
    let done = word(Some(moved.is_done()));
    report.stat(format_args!("move:{from}:{to}:{phase}:done"), done);
    for (name, value) in numbers(moved) {
        report.stat(format_args!("move:{from}:{to}:{phase}:{name}"), value);
    }
}

fn numbers(moved: &MoveFigures) -> [(&'static str, u64); 10] {
    let counts = moved.counts;
    [
        ("arcs", moved.arcs),
        ("hashes", moved.hashes),
        ("acknowledged_epoch", moved.acknowledged_epoch),
        ("keys", counts.keys),
        ("bytes", counts.bytes),
        ("keys_asked_for", counts.asked_for),
        ("keys_refused", counts.refused),
        ("keys_left", counts.keys_left),
        ("bytes_left", counts.bytes_left),
        ("bytes_per_second", counts.bytes_per_second),
    ]
}

const fn word(is: Option<bool>) -> &'static str {
    match is {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
}
