//! Clients and servers that code for one another: whoever stores or reads the parts of a value, in
//! the end it is the same value.

#[path = "../repair/fleet.rs"]
mod fleet;
#[path = "../support/parts.rs"]
mod parts;
#[path = "../support/mod.rs"]
mod support;

mod beside;
mod healthy;
mod in_use;
mod losses;
mod refusals;
mod stalls;
mod unfinished;

use farcache_client::{Client, Transport};
use fleet::Fleet;

const SIDES: [&str; 2] = ["client", "server"];

/// A client of each placement, with its name, in this order: CE-CD, CE-SD, SE-CD, SE-SD.
fn clients(fleet: &Fleet, policy: &str) -> Vec<(String, Client)> {
    clients_over(Transport::Tcp, fleet, policy)
}

fn clients_over(transport: Transport, fleet: &Fleet, policy: &str) -> Vec<(String, Client)> {
    let placements = SIDES.iter().flat_map(|encode| {
        let named = move |decode| format!("encode={encode};decode={decode}");
        SIDES.iter().map(named)
    });
    let client = |placement: String| {
        let client = fleet.client_over(transport, &format!("{policy};{placement}"));
        (placement, client)
    };
    placements.map(client).collect()
}

/// A value whose every byte depends on its length and this number.
fn value(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 + seed * 7) as u8).collect()
}

/// The sum of a figure of `stats redundancy` of these servers.
fn told(fleet: &Fleet, servers: impl IntoIterator<Item = usize>, name: &str) -> u64 {
    let servers = servers.into_iter();
    servers.map(|number| fleet.stats(number)[name]).sum()
}
