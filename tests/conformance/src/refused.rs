//! Servers that have no fabric.

use super::expect::{equal, holds, same_value};
use super::fixture::{Fixture, client_of, statistics};
use super::sample::sample;
use super::{Check, Outcome};
use farcache_client::{Error, Transport};
use farcache_harness::server_process::{Product, ServerProcess};

pub(super) const CHECKS: &[Check] = &[
    Check::of_own_servers("without_fabric_the_client_stays_on_sockets", fabric_off),
    Check::of_own_servers("with_memcached_the_client_stays_on_sockets", memcached),
    Check::of_own_servers("the_fabric_is_used_where_it_is_there", used),
];

/// The variable that names what must be among the lanes, where it is set.
const LANE_VARIABLE: &str = "FARCACHE_TEST_LANE";

/// The client works over sockets if it may, and fails if it may not.
fn stays_on_sockets(server: &ServerProcess) -> Outcome {
    let servers = server.address().to_string();
    let client = client_of(&servers, Transport::Auto)?;
    for bytes in [10, 100_000, 500_000] {
        let value = sample(1, bytes);
        client.set(b"key", &value)?;
        same_value("value", &client.get(b"key")?, &value)?;
    }
    let strict = client_of(&servers, Transport::Fabric)?;
    let refused = strict.get(b"key");
    let as_wanted = matches!(refused, Err(Error::FabricUnavailable(_)));
    holds(
        &format!("fabric demanded of a server without: {refused:?}"),
        as_wanted,
    )
}

fn fabric_off(fixture: &Fixture) -> Outcome {
    let server = fixture.start(Product::Farcached, &["--fabric", "off"])?;
    stays_on_sockets(&server)
}

fn memcached(fixture: &Fixture) -> Outcome {
    let server = fixture.start(Product::Memcached, &[])?;
    stays_on_sockets(&server)
}

/// Sessions that the server's fabric has had, 0 where it has none.
fn sessions(servers: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let figures = statistics(servers, "fabric")?;
    let total = figures.get("sessions_total");
    Ok(total.map_or(Ok(0), |total| total.parse())?)
}

fn used(fixture: &Fixture) -> Outcome {
    let server = fixture.start(Product::Farcached, &["--fabric", "auto"])?;
    let servers = server.address().to_string();
    let client = client_of(&servers, fixture.transport())?;
    client.set(b"key", b"value")?;
    let wanted = u64::from(fixture.transport() != Transport::Tcp);
    equal("sessions of the fabric", sessions(&servers)?, wanted)?;
    let lanes = client.client.lanes(0);
    equal("whether there are lanes", lanes.is_some(), wanted == 1)?;
    match (lanes, std::env::var(LANE_VARIABLE)) {
        (Some(lanes), Ok(wanted)) => holds(
            &format!("the lanes are {lanes:?}, without {wanted}"),
            lanes.contains(&wanted),
        ),
        _ => Ok(()),
    }
}
