//! `farcache-fabric-limits` as a program: its results, their form, and its refusals.
#![forbid(unsafe_code)]

use farcache_bench::limits::{Limits, Operation};
use std::io::{self, Write};
use std::process::{Command, Output};

fn limits(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_farcache-fabric-limits"))
        .args(["--unpinned", "--seconds", "0.01"])
        .args(arguments)
        .output()
        .unwrap()
}

/// Whether there is UCX; says so past the test runner where there is none.
fn ucx_is_there() -> bool {
    let library = farcache_ucx_sys::Library::load();
    if let Err(error) = library {
        writeln!(io::stderr(), "\nSKIPPED: {error}").expect("standard error is open");
    }
    library.is_ok()
}

#[test]
fn every_scenario_gives_figures() {
    if !ucx_is_there() {
        return;
    }
    for networks in ["shm,self", "tcp,self"] {
        let output = limits(&[
            "--json",
            "--networks",
            networks,
            "--get-sizes",
            "64,1M",
            "--windows",
            "8",
            "--keys",
            "48",
            "--large",
            "4M",
        ]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let limits: Limits = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!limits.lanes.is_empty());
        let titles: Vec<_> = limits.figures.iter().map(|row| row.title.clone()).collect();
        let wanted = [
            "GET 64 B",
            "GET 1 MB",
            "SET 1 MB",
            "GET 64 B, 8 outstanding",
            "GET 64 B, 48 keys per message, 8 outstanding",
            "GET 4 MB",
        ];
        assert_eq!(titles, wanted);
        for row in &limits.figures {
            assert!(row.messages_per_s > 0.0, "{row:?}");
            assert_eq!(row.latency_us.is_some(), row.scenario.window == 1);
            let keys = row.messages_per_s * row.scenario.keys_per_message as f64;
            assert!((row.keys_per_s - keys).abs() < keys * 1e-9);
        }
        assert_eq!(limits.figures[2].scenario.operation, Operation::Set);
    }
}

#[test]
fn the_json_has_the_names_that_others_read() {
    if !ucx_is_there() {
        return;
    }
    let output = limits(&["--json", "--no-large", "--windows", "2", "--keys", "2"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["ucx"].is_string() && json["lanes"].is_array());
    let row = &json["figures"][0];
    assert_eq!(row["scenario"]["operation"], "get");
    assert_eq!(row["scenario"]["value_bytes"], 64);
    for name in ["p50", "p99", "p999"] {
        assert!(row["latency_us"][name].is_number(), "{row}");
    }
    for name in ["messages_per_s", "keys_per_s", "value_bytes_per_s"] {
        assert!(row[name].is_number(), "{row}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for wrong in [
        &["--get-sizes", "x"][..],
        &["--windows", "0"],
        &["--keys", "0"],
        &["--get-sizes", "2G"],
    ] {
        let output = limits(wrong);
        assert!(!output.status.success(), "{wrong:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn networks_that_do_not_exist_are_an_error_not_a_wait() {
    if !ucx_is_there() {
        return;
    }
    let output = limits(&["--networks", "no_such_network"]);
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("farcache-fabric-limits: "), "{error}");
}
