//! Connections whose requests wait for the SSD: many at once, some of which leave meanwhile.

mod support;

use rustix::process::Signal;
use std::io::Read;
use std::net::TcpStream;
use support::{Client, Server};
use tempfile::TempDir;

/// Twice the server's memory in all.
const ITEMS: usize = 12_800;
const VALUE_BYTES: usize = 10_000;
/// Several times as many as go on in one turn of the worker.
const CONNECTIONS: usize = 40;
/// Keys that are asked for; they were stored first, so they are no longer in memory.
const READ: usize = 2_000;

/// A server with one worker that has twice as much data as memory, and the directory of its device.
fn tiered() -> (Server, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let device = format!("{}:256m", directory.path().join("device").display());
    let place = ["-l", "127.0.0.1", "-p", "0", "-t", "1"];
    let server = Server::start_at(&place, &["-m", "64", "--ssd", &device]);
    let mut client = server.connect();
    let all: Vec<usize> = (0..ITEMS).collect();
    for some in all.chunks(64) {
        some.iter().for_each(|&number| client.send(&set(number)));
        for _ in some {
            assert_eq!(client.line().as_deref(), Some("STORED"));
        }
    }
    (server, directory)
}

fn value(number: usize) -> Vec<u8> {
    (0..VALUE_BYTES)
        .map(|place| b'a' + ((place + number) % 26) as u8)
        .collect()
}

fn set(number: usize) -> Vec<u8> {
    let mut request = format!("set key{number} 0 0 {VALUE_BYTES}\r\n").into_bytes();
    request.extend(value(number));
    request.extend(b"\r\n");
    request
}

fn get(number: usize) -> String {
    format!("get key{number}\r\n")
}

fn expect_value(client: &mut Client<TcpStream>, number: usize) {
    let head = client.line().expect("an answer");
    assert_eq!(head, format!("VALUE key{number} 0 {VALUE_BYTES}"));
    let mut got = vec![0; VALUE_BYTES];
    client.stream.read_exact(&mut got).expect("a value");
    assert!(got == value(number), "the value of key{number}");
    for line in ["", "END"] {
        assert_eq!(client.line().as_deref(), Some(line));
    }
}

#[test]
fn all_that_wait_are_answered_and_those_that_leave_harm_nobody() {
    let (server, _directory) = tiered();
    let mut control = server.connect();
    for round in 0..READ / CONNECTIONS {
        let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| server.connect()).collect();
        for client in &mut clients {
            assert_eq!(client.ask("mn").as_deref(), Some("MN"));
        }
        server.stop();
        for (index, client) in clients.iter_mut().enumerate() {
            client.send(get(round * CONNECTIONS + index).as_bytes());
        }
        server.signal(Signal::CONT);
        let (mut stay, mut leave) = (Vec::new(), Vec::new());
        for (index, client) in clients.into_iter().enumerate() {
            match index % 5 {
                0 => leave.push(client),
                _ => stay.push((round * CONNECTIONS + index, client)),
            }
        }
        drop(leave);
        for (number, client) in &mut stay {
            expect_value(client, *number);
        }
    }
    let waits = control.stat("get_extstore");
    assert!(waits > READ as u64 / 2, "only {waits} came from the SSD");
}

#[test]
fn a_pipeline_that_waits_is_answered_in_order() {
    let (server, _directory) = tiered();
    let mut client = server.connect();
    let numbers: Vec<usize> = (0..READ).collect();
    for some in numbers.chunks(200) {
        let requests: String = some.iter().map(|&number| get(number)).collect();
        client.send(requests.as_bytes());
        some.iter()
            .for_each(|&number| expect_value(&mut client, number));
    }
    let waits = client.stat("get_extstore");
    assert!(waits > READ as u64 / 2, "only {waits} came from the SSD");
}
