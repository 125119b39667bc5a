//! What a full server takes of the machine's memory beside its limit.

mod support;

use std::io::Write;
use std::net::TcpStream;
use support::{Client, Server};

/// Memory of the process's own (heap, stacks, mappings) beside `-m`: buffers, threads, what the
/// limit lets be evicted late.
const BESIDE_KB_MAX: usize = 4 << 10;

const LIMIT_MIB: usize = 64;

/// Stores more than the server has room for.
fn fill(client: &mut Client<TcpStream>, value_bytes: usize) {
    let value = "x".repeat(value_bytes);
    let items = (LIMIT_MIB << 20) * 3 / 2 / (value_bytes + 20);
    let mut requests = Vec::new();
    for number in 0..items {
        write!(
            requests,
            "set {number:012} 0 0 {value_bytes} noreply\r\n{value}\r\n"
        )
        .expect("memory is written to");
        if requests.len() > 100_000 {
            client.send(&requests);
            requests.clear();
        }
    }
    client.send(&requests);
    assert!(client.ask("version").is_some());
    assert!(client.stat("evictions") > 0, "memory is full");
}

#[track_caller]
fn assert_within_limit(arguments: &[&str], value_bytes: usize) {
    let server = Server::start(&[&["-m", "64", "-t", "2"], arguments].concat());
    fill(&mut server.connect(), value_bytes);
    let own_kb = server.own_kb();
    assert!(
        own_kb < (LIMIT_MIB << 10) + BESIDE_KB_MAX,
        "{own_kb} kB with values of {value_bytes} bytes"
    );
}

#[test]
fn a_full_server_takes_its_limit_and_little_more() {
    assert_within_limit(&["--fabric", "off"], 4000);
    assert_within_limit(&[], 4000);
}

#[test]
fn the_limit_covers_the_index_and_the_ghosts_of_small_items() {
    assert_within_limit(&["--fabric", "off"], 40);
}

#[test]
fn of_the_program_and_its_libraries_little_stays_in_memory() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.set("key", b"value");
    let program = server.mapped_kb(|line| line.ends_with("/farcached"));
    let libraries = server.mapped_kb(|line| line.contains(".so"));
    for (resident_kb, all_kb) in [program, libraries] {
        assert!(
            resident_kb < all_kb / 2,
            "{resident_kb} of {all_kb} kB after one request"
        );
    }
}
