//! The picture: latency and throughput of GET by size of the value.

use super::speed::{checked, sockets_plan};
use super::{Bench, Network};
use crate::load::runner::{Pace, Plan};
use crate::ohb::report::{LatencyReport, ThroughputReport};
use crate::picture::{Chart, Picture, Series, XAxis, YAxis};
use crate::sizes::Sizes;
use farcache_harness::server_process::Product;
use std::io;

/// Largest value of the picture.
const BYTES_MAX: usize = 512 << 10;
/// Gets under way together in the chart of throughput.
const WINDOW: usize = 32;
/// Most bytes of values under way together: beyond it nothing is won, and memory is lost.
const WINDOW_BYTES_MAX: usize = 4 << 20;
/// Share of the scope's seconds that each point is measured.
const SECONDS_SHARE: f64 = 0.3;

/// A series of both charts.
struct Measured {
    name: &'static str,
    is_limit: bool,
    latency_us: Vec<(f64, f64)>,
    bytes_per_s: Vec<(f64, f64)>,
}

/// Measures every series.
///
/// # Errors
/// If a server or a program cannot be started or breaks off.
pub fn measure(bench: &Bench) -> io::Result<Picture> {
    let step = if bench.scope.short { 8 } else { 2 };
    let sizes: Vec<_> = std::iter::successors(Some(1), |size| Some(size * step))
        .take_while(|size| *size <= BYTES_MAX)
        .collect();
    let sizes = Sizes(sizes);
    eprintln!("picture: {} sizes", sizes.0.len());
    let mut measured = vec![limits(bench, &sizes)?];
    for (network, name) in [
        (Network::Chosen, "Farcache, fabric"),
        (Network::Tcp, "Farcache, fabric over UCX tcp"),
    ] {
        measured.push(fabric(bench, network, name, &sizes)?);
    }
    for (product, name) in [
        (Product::Farcached, "Farcache, sockets"),
        (Product::Memcached, "memcached"),
    ] {
        measured.push(sockets(bench, product, name, &sizes)?);
    }
    Ok(picture(&measured))
}

fn picture(measured: &[Measured]) -> Picture {
    let series = |points: fn(&Measured) -> &Vec<(f64, f64)>| {
        let one = |measured: &Measured| Series {
            name: measured.name.into(),
            is_limit: measured.is_limit,
            points: points(measured).clone(),
        };
        measured.iter().map(one).collect()
    };
    Picture {
        heading: "GET by size of the value: one client, one server core, one host".into(),
        charts: vec![
            Chart {
                title: "latency (median), one at a time, us".into(),
                x: XAxis::SizeBytes,
                y: YAxis::Log,
                series: series(|measured| &measured.latency_us),
            },
            Chart {
                title: format!("throughput, {WINDOW} outstanding, MB of values a second"),
                x: XAxis::SizeBytes,
                y: YAxis::Log,
                series: series(|measured| &measured.bytes_per_s),
            },
        ],
    }
}

/// How many gets are under way together.
fn window(value_bytes: usize) -> usize {
    (WINDOW_BYTES_MAX / value_bytes).clamp(1, WINDOW)
}

/// A list of sizes as the programs' options take it.
fn argument(sizes: &[usize]) -> String {
    let texts: Vec<_> = sizes.iter().map(usize::to_string).collect();
    texts.join(",")
}

fn seconds(bench: &Bench) -> f64 {
    bench.scope.seconds * SECONDS_SHARE
}

fn limits(bench: &Bench, sizes: &Sizes) -> io::Result<Measured> {
    let (sizes, seconds) = (argument(&sizes.0), seconds(bench).to_string());
    let arguments = [
        "--get-sizes",
        &sizes,
        "--set-sizes",
        "64",
        "--no-rates",
        "--no-large",
        "--seconds",
        &seconds,
    ];
    let limits = bench.programs.limits(Network::Chosen, &arguments)?;
    let gets = limits
        .figures
        .iter()
        .filter(|one| one.scenario.operation == crate::limits::Operation::Get);
    Ok(Measured {
        name: "bare UCX",
        is_limit: true,
        latency_us: gets
            .filter_map(|one| Some((one.scenario.value_bytes as f64, one.latency_us?.p50)))
            .collect(),
        bytes_per_s: Vec::new(),
    })
}

fn fabric(
    bench: &Bench,
    network: Network,
    name: &'static str,
    sizes: &Sizes,
) -> io::Result<Measured> {
    let server = bench.fabric_server(network, &["-m", "1024", "-I", "2m"])?;
    let (all, seconds) = (argument(&sizes.0), seconds(bench).to_string());
    let common = ["--benchmarks", "get", "--seconds", &seconds, "--sizes"];
    let arguments = [&common[..], &[&all, "--iterations", "1000000000"]].concat();
    let latencies: LatencyReport = bench
        .programs
        .memlat(network, server.address(), &arguments)?;
    let mut bytes_per_s = Vec::new();
    for together in by_window(&sizes.0) {
        let (sizes, window) = (argument(&together), window(together[0]).to_string());
        let arguments = [&common[..], &[&sizes, "--windows", &window]].concat();
        let report: ThroughputReport =
            bench
                .programs
                .memthr(network, server.address(), &arguments)?;
        bytes_per_s.extend(
            report
                .rows
                .iter()
                .map(|row| (row.value_bytes as f64, row.value_bytes_per_s / 1e6)),
        );
    }
    Ok(Measured {
        name,
        is_limit: false,
        latency_us: latencies
            .rows
            .iter()
            .map(|row| (row.value_bytes as f64, row.latency_us.p50))
            .collect(),
        bytes_per_s,
    })
}

/// The sizes in their order, those with the same window together.
fn by_window(sizes: &[usize]) -> Vec<Vec<usize>> {
    let groups = sizes.chunk_by(|one, next| window(*one) == window(*next));
    groups.map(<[usize]>::to_vec).collect()
}

fn sockets(
    bench: &Bench,
    product: Product,
    name: &'static str,
    sizes: &Sizes,
) -> io::Result<Measured> {
    let server = bench.launcher.start(product, &["-m", "1024", "-I", "2m"])?;
    let (mut latency_us, mut bytes_per_s) = (Vec::new(), Vec::new());
    for &bytes in &sizes.0 {
        let solo = sockets_plan(&server, bytes, seconds(bench));
        solo.preload()?;
        latency_us.push((bytes as f64, checked(&solo)?.latency_us.p50));
        let pipelined = Plan {
            pace: Pace::Closed,
            depth: window(bytes),
            ..solo
        };
        let rate = checked(&pipelined)?.keys_per_s * bytes as f64;
        bytes_per_s.push((bytes as f64, rate / 1e6));
    }
    Ok(Measured {
        name,
        is_limit: false,
        latency_us,
        bytes_per_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_have_a_smaller_window_and_no_size_is_lost() {
        assert_eq!([1, 128 << 10, 512 << 10].map(window), [32, 32, 8]);
        let groups = by_window(&[1, 8, 256 << 10, 512 << 10]);
        assert_eq!(groups, [vec![1, 8], vec![256 << 10], vec![512 << 10]]);
        assert_eq!(argument(&[1, 1024]), "1,1024");
    }

    #[test]
    fn the_picture_has_both_charts_with_every_series() {
        let measured = |name, is_limit| Measured {
            name,
            is_limit,
            latency_us: vec![(1.0, 2.0), (8.0, 3.0)],
            bytes_per_s: vec![(1.0, 2.0), (8.0, 16.0)],
        };
        let picture = picture(&[measured("limit", true), measured("fabric", false)]);
        assert_eq!(picture.charts.len(), 2);
        assert!(picture.charts.iter().all(|chart| chart.series.len() == 2));
        assert_eq!(picture.charts[1].series[1].points[1], (8.0, 16.0));
        assert!(picture.svg().contains("throughput"));
    }
}
