//! Blobs on a real server.

#[path = "../../../client/tests/support/mod.rs"]
mod support;

mod copies;
mod expiring;
mod faults;
mod full;
mod overwriting;
mod parts;
mod publishing;
mod reading;
mod sizes;
mod windows;

use farcache_blobs::{Blobs, Manifest, Settings};
use farcache_client::{Client, ClientConfig, Transport};
use std::time::Duration;
use support::{PATIENCE, Product, Server};

/// Small chunks, which travel within messages.
const CHUNK_BYTES: u32 = 1000;

fn settings(chunk_bytes: u32) -> Settings {
    Settings {
        chunk_bytes,
        ..Settings::default()
    }
}

fn server(arguments: &[&str]) -> Server {
    Server::start(Product::Farcached, arguments)
}

fn client(server: &Server, transport: Transport) -> Client {
    client_at(&server.address(), transport)
}

/// A client with time for a busy machine.
fn client_at(address: &str, transport: Transport) -> Client {
    let config = ClientConfig {
        transport,
        timeout: PATIENCE,
        connect_timeout: PATIENCE,
        reconnect_delay_max: Duration::from_millis(50),
        ..ClientConfig::new(address).expect("an address")
    };
    Client::new(&config).expect("a client")
}

fn blobs(server: &Server, settings: Settings) -> Blobs {
    Blobs::new(client(server, Transport::Tcp), settings).expect("settings")
}

/// Bytes that differ from place to place and from seed to seed, over long distances.
fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn write(blobs: &Blobs, name: &str, bytes: &[u8]) -> Manifest {
    let mut writer = blobs.create(name).expect("a writer");
    writer.write(bytes).expect("written");
    writer.close().expect("closed")
}

/// All of a blob.
fn read(blobs: &Blobs, name: &str) -> Result<Vec<u8>, farcache_blobs::Error> {
    let mut reader = blobs.open(name)?;
    let mut bytes = vec![0; reader.length() as usize];
    assert_eq!(reader.read_at(0, &mut bytes)?, bytes.len());
    Ok(bytes)
}

/// How many items a server has.
fn items(client: &Client) -> u64 {
    statistic(client, "curr_items")
}

/// A number among the general statistics of a client's first server.
fn statistic(client: &Client, name: &str) -> u64 {
    let statistics = client.statistics(0, "").expect("statistics");
    let mut statistics = statistics.into_iter();
    let (_, number) = statistics
        .find(|(told, _)| told == name)
        .expect("there is such a number");
    number.parse().expect("a number")
}
