//! A real server and clients over UCX: within the host by shared memory, and by TCP.
//! A machine without UCX skips these tests, and says so.

#[path = "../support/mod.rs"]
mod support;

mod client;
mod ends;
mod requests;
mod settings;
mod stalls;

use client::Client;
use farcache_fabric::ucx::{Network, Settings};
use std::io::Write;
use std::sync::Arc;
use support::Server;

/// What carries the messages: UCX's name for it, and how the lanes in use are called.
struct Transport {
    tls: &'static str,
    lane: &'static str,
}

const TRANSPORTS: [Transport; 2] = [
    Transport {
        tls: "self,posix",
        lane: "posix",
    },
    Transport {
        tls: "self,tcp",
        lane: "tcp",
    },
];

/// A server and the network of its clients; none, which is said, where there is no UCX.
fn start(transport: &Transport, arguments: &[&str]) -> Option<(Server, Arc<Network>)> {
    // Where the user has chosen, that choice holds for both.
    let tls = std::env::var("UCX_TLS").unwrap_or_else(|_| transport.tls.to_owned());
    let network = match Network::open(Settings::new(&[("TLS", &tls)])) {
        Ok(network) => network,
        Err(error) => {
            // Past the test runner, which hides what passing tests print.
            writeln!(std::io::stderr(), "\nSKIPPED: {error}").expect("standard error is open");
            return None;
        }
    };
    let place = [
        "-l",
        "127.0.0.1",
        "-p",
        "-1",
        "-t",
        "2",
        "--fabric",
        "require",
    ];
    let environment = [("UCX_TLS", tls.as_str())];
    let server = Server::start_in(&place, arguments, &environment);
    Some((server, network))
}

/// Runs a test over each transport.
fn over_each(arguments: &[&str], test: impl Fn(&mut Server, &Arc<Network>, &Transport)) {
    for transport in &TRANSPORTS {
        if let Some((mut server, network)) = start(transport, arguments) {
            test(&mut server, &network, transport);
        }
    }
}

/// A figure of `stats fabric`.
fn figure(server: &Server, name: &str) -> String {
    let mut control = server.connect();
    control.send(b"stats fabric\r\n");
    let mut found = None;
    while let Some(line) = control.line().filter(|line| line != "END") {
        let value = line.strip_prefix(&format!("STAT {name} "));
        found = found.or(value.map(str::to_owned));
    }
    found.unwrap_or_else(|| panic!("no figure {name}"))
}

/// Waits until nothing of any client is held.
fn wait_until_clean(server: &Server) {
    for name in [
        "sessions",
        "tokens",
        "rendezvous_in",
        "rendezvous_out",
        "endpoints",
        "pins",
    ] {
        support::wait_for(name, || (figure(server, name) == "0").then_some(()));
    }
}
