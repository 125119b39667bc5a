//! What the tests share: UCX where there is one, and waiting.
#![allow(dead_code, reason = "each test file uses a part of it")]

use farcache_bare_ucx::Worker;
use farcache_ucx_sys::{Context, Library};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Longest wait for anything; a test that needs it has failed.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Transports within a host.
pub const SHARED_MEMORY: &[(&str, &str)] = &[("TLS", "self,posix")];

/// TCP over the loopback device only.
pub const TCP: &[(&str, &str)] = &[("TLS", "self,tcp"), ("NET_DEVICES", "lo")];

/// Says why a test did nothing, past the test runner, which hides what passing tests print.
fn skipped(reason: &str) {
    writeln!(io::stderr(), "\nSKIPPED: {reason}").expect("standard error is open");
}

/// UCX, or nothing after saying so.
pub fn library() -> Option<&'static Library> {
    Library::load()
        .inspect_err(|error| skipped(&error.to_string()))
        .ok()
}

/// A context with these settings, or nothing where there is no UCX.
pub fn context(settings: &[(&str, &str)]) -> Option<Context> {
    library().map(|library| Context::new(library, settings).expect("a context"))
}

/// Whether the user has chosen the transports, so that the tests' own choice does not hold.
pub fn transports_are_the_users() -> bool {
    std::env::var_os("UCX_TLS").is_some()
}

/// Checks which transport carried an endpoint: the one that the tests chose, or where the user has
/// chosen, the one that `FARCACHE_TEST_LANE` names, if it is set.
pub fn check_lanes(lanes: &[String], chosen: &str) {
    let wanted = match std::env::var("FARCACHE_TEST_LANE") {
        Ok(named) => named,
        Err(_) if transports_are_the_users() => return,
        Err(_) => chosen.into(),
    };
    assert!(
        lanes.iter().any(|lane| lane.contains(&wanted)),
        "no lane over {wanted}: {lanes:?}"
    );
}

/// Progresses the workers until the condition holds.
pub fn progress_until(workers: &[&Worker], what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + WAIT_MAX;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        for worker in workers {
            worker.progress();
        }
    }
}
