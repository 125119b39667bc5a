//! `ohb_memlat`, `ohb_memthr` and `farcache-fabric` as programs, against servers of their own:
//! results, their form, and refusals.
#![forbid(unsafe_code)]

use farcache_bench::ohb::report::{LatencyReport, ThroughputReport};
use farcache_bench::ohb::session::Benchmark;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MEMLAT: &str = env!("CARGO_BIN_EXE_ohb_memlat");
const MEMTHR: &str = env!("CARGO_BIN_EXE_ohb_memthr");
const FABRIC: &str = env!("CARGO_BIN_EXE_farcache-fabric");

/// Says why a test did nothing, past the test runner, which hides what passing tests print.
fn skipped(reason: &str) {
    writeln!(io::stderr(), "\nSKIPPED: {reason}").expect("standard error is open");
}

/// Our server's program: the one named by `FARCACHED`, or the one built beside the programs.
fn farcached() -> PathBuf {
    let named = std::env::var_os("FARCACHED").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(MEMLAT).with_file_name("farcached"))
}

/// A server, or nothing after saying why.
fn start(product: Product, options: &[&str]) -> Option<ServerProcess> {
    let launcher = Launcher {
        farcached: farcached(),
        memcached: "memcached".into(),
        cpu: None,
        user: "root".into(),
    };
    match launcher.start(product, options) {
        Ok(server) => Some(server),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            skipped(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// farcached with its fabric, or nothing after saying why.
fn start_fabric() -> Option<ServerProcess> {
    if let Err(error) = farcache_ucx_sys::Library::load() {
        skipped(&error.to_string());
        return None;
    }
    start(
        Product::Farcached,
        &["--fabric=require", "-m", "256", "-I", "2m"],
    )
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program)
        .env_remove("FARCACHE_TRANSPORT")
        .args(arguments)
        .output()
        .unwrap()
}

/// What the program prints, read as JSON.
fn results<T: DeserializeOwned>(program: &str, arguments: &[&str]) -> T {
    let output = run(program, &[arguments, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check_latencies(server: &ServerProcess, transport: &str, carried_by: &str) {
    let address = server.address().to_string();
    let arguments = [
        "--servers",
        &address,
        "--transport",
        transport,
        "--sizes",
        "1,4K,1M",
    ];
    let limits = ["--iterations", "50", "--warmup", "5", "--keys", "7"];
    let report: LatencyReport = results(MEMLAT, &[&arguments[..], &limits].concat());
    assert!(
        report.carried_by.contains(carried_by),
        "{}",
        report.carried_by
    );
    assert!(report.resident_bytes_peak >= report.resident_bytes_before);
    let measured: Vec<_> = report
        .rows
        .iter()
        .map(|row| (row.benchmark, row.value_bytes))
        .collect();
    let sizes = [1, 4 << 10, 1 << 20];
    let wanted: Vec<_> = Benchmark::ALL
        .into_iter()
        .flat_map(|benchmark| sizes.map(|size| (benchmark, size)))
        .collect();
    assert_eq!(measured, wanted);
    for row in &report.rows {
        assert_eq!((row.operations, row.keys), (50, 7));
        assert!(row.latency_us.p50 > 0.0 && row.latency_us.p50 <= row.latency_us.max);
    }
}

fn check_rates(server: &ServerProcess, transport: &str, carried_by: &str) {
    let address = server.address().to_string();
    let arguments = [
        "--servers",
        &address,
        "--transport",
        transport,
        "--benchmarks",
        "get,set,mix",
    ];
    let load = [
        "--clients",
        "1,2",
        "--windows",
        "3",
        "--batches",
        "1,4",
        "--sizes",
        "64",
    ];
    let time = ["--warmup", "0.01", "--seconds", "0.02"];
    let report: ThroughputReport = results(MEMTHR, &[&arguments[..], &load, &time].concat());
    assert!(
        report.carried_by.contains(carried_by),
        "{}",
        report.carried_by
    );
    assert_eq!(report.rows.len(), 3 * 2 * 2);
    for row in &report.rows {
        assert!(row.operations_per_s > 0.0, "{row:?}");
        assert_eq!((row.window, row.value_bytes), (3, 64));
    }
}

#[test]
fn memcached_is_measured_over_sockets() {
    let Some(server) = start(Product::Memcached, &["-m", "256", "-I", "2m"]) else {
        return;
    };
    check_latencies(&server, "tcp", "sockets");
    check_latencies(&server, "auto", "sockets");
    check_rates(&server, "tcp", "sockets");
}

#[test]
fn farcached_is_measured_over_the_fabric() {
    let Some(server) = start_fabric() else { return };
    check_latencies(&server, "fabric", "fabric");
    check_latencies(&server, "tcp", "sockets");
    check_rates(&server, "fabric", "fabric");
}

#[test]
fn a_fabric_that_is_demanded_and_not_there_is_an_error() {
    let Some(server) = start(Product::Memcached, &[]) else {
        return;
    };
    let address = server.address().to_string();
    for program in [MEMLAT, MEMTHR] {
        let output = run(program, &["--servers", &address, "--transport", "fabric"]);
        assert!(!output.status.success());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("fabric"), "{error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (program, wrong) in [
        (MEMLAT, &["--sizes", "x"][..]),
        (MEMLAT, &["--iterations", "0"]),
        (MEMLAT, &["--key-bytes", "251"]),
        (MEMLAT, &["--stored", "--benchmarks", "set"]),
        (MEMLAT, &["--servers", "a:b:c"]),
        (MEMTHR, &["--windows", "0"]),
        (MEMTHR, &["--transport", "rdma"]),
        (FABRIC, &["--sections", "nothing"]),
    ] {
        let output = run(program, wrong);
        assert!(!output.status.success(), "{wrong:?}");
        assert!(!output.stderr.is_empty());
    }
}

/// Runs sections of `farcache-fabric` with next to no time for each, and returns its rows.
fn shown(sections: &str, more: &[&str]) -> Option<serde_json::Value> {
    // It starts its own; this tells whether it can.
    start_fabric()?;
    start(Product::Memcached, &[])?;
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("fabric.json").display().to_string();
    let svg = folder.path().join("fabric.svg").display().to_string();
    let farcached = farcached().display().to_string();
    let arguments = [
        "--short",
        "--unpinned",
        "--seconds",
        "0.02",
        "--sections",
        sections,
        "--json",
        &json,
        "--svg",
        &svg,
        "--farcached",
        &farcached,
    ];
    let output = run(FABRIC, &[&arguments[..], more].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    if sections.contains("picture") {
        assert!(std::fs::read_to_string(&svg).unwrap().contains("memcached"));
    }
    serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap()
}

/// The row with this title.
fn row<'a>(results: &'a serde_json::Value, title: &str) -> &'a serde_json::Value {
    let rows = results["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["title"] == title);
    found.unwrap_or_else(|| panic!("no row {title:?} in {results}"))
}

#[test]
fn the_fabric_is_shown_beside_limits_sockets_and_memcached() {
    let Some(results) = shown("speed,picture", &[]) else {
        return;
    };
    assert!(results["machine"]["kernel"].is_string());
    assert!(!results["lanes"].as_array().unwrap().is_empty());
    for title in [
        "GET 64 B, p50",
        "GET 4 KB, p50",
        "GET 1 MB, p50",
        "SET 1 MB, p50",
    ] {
        let row = row(&results, title);
        for column in ["limit", "fabric", "sockets", "memcached"] {
            assert!(row[column].as_f64().unwrap() > 0.0, "{row}");
        }
        assert!(row["judgements"][0]["met"].is_string(), "{row}");
    }
    for title in [
        "GET 64 B, 1 client, 32 outstanding",
        "GET 64 B, 48 keys per call, 8 outstanding",
    ] {
        assert_eq!(
            row(&results, title)["judgements"].as_array().unwrap().len(),
            2
        );
    }
    let over_tcp = row(&results, "GET 64 B over UCX tcp, p50");
    assert!(over_tcp["limit"].is_number() && over_tcp["fabric"].is_number());
}

#[test]
fn what_clients_and_servers_leave_behind_is_shown() {
    let few = ["--kills", "4", "--clients", "6"];
    let Some(results) = shown("endpoints,killed-clients,killed-server", &few) else {
        return;
    };
    for network in ["shared memory", "UCX tcp"] {
        let left = format!("6 clients over {network}: figures that did not return");
        assert_eq!(row(&results, &left)["fabric"], 0.0);
        let left = format!("2 clients killed over {network}: figures that did not return");
        assert_eq!(row(&results, &left)["fabric"], 0.0);
        // How soon is for the demonstration to judge: a busy machine takes its time.
        let ended = row(
            &results,
            &format!("server killed, {network}: all requests ended"),
        );
        assert!(
            ended["fabric"]
                .as_f64()
                .is_some_and(|milliseconds| milliseconds >= 0.0)
        );
        assert!(ended["judgements"][0]["met"].is_string(), "{ended}");
    }
}
