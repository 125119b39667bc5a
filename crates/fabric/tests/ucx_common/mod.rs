//! UCX for tests.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod peers;

use crate::conformance::harness::Body;
use farcache_fabric::ucx::{Network, Settings, UcxPort};
use std::io::{self, Write};
use std::sync::Arc;

/// Transports within a host.
pub const SHARED_MEMORY: &[(&str, &str)] = &[("TLS", "self,posix,cma")];

/// TCP over the loopback device only.
pub const TCP: &[(&str, &str)] = &[("TLS", "self,tcp"), ("NET_DEVICES", "lo")];

/// Says why a test did nothing, past the test runner, which hides what passing tests print.
pub fn skipped(reason: &str) {
    writeln!(io::stderr(), "\nSKIPPED: {reason}").expect("standard error is open");
}

/// A network with these settings, or nothing where there is no UCX.
pub fn network(settings: &[(&str, &str)]) -> Option<Arc<Network>> {
    Network::open(Settings::new(settings))
        .inspect_err(|error| skipped(&error.to_string()))
        .ok()
}

/// Makes ports of one network.
pub fn ports(settings: &[(&str, &str)]) -> Option<impl Fn() -> UcxPort<Body, Body> + use<>> {
    let network = network(settings)?;
    Some(move || network.port().expect("a port"))
}
