//! Connections whose requests wait for the SSD: many at once, some of which leave meanwhile.

mod support;

use rustix::process::Signal;
use std::io::{BufRead, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use support::{Client, Server, wait_for};
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
    let place = ["-l", "127.0.0.1", "-p", "-1", "-t", "1"];
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

/// What a server says that does not start with these arguments.
fn refusal(arguments: &[&str]) -> String {
    let place = ["-l", "127.0.0.1", "-p", "0", "-u", "root"];
    let output = support::command(&place)
        .args(arguments)
        .stderr(std::process::Stdio::piped())
        .output()
        .expect("it runs");
    assert!(!output.status.success());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_disk_of_somebody_else_is_overwritten_only_with_permission_and_a_warning() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("disk");
    let file = std::fs::File::create(&path).expect("a file");
    file.set_len(64 << 20).expect("room");
    // A btrfs, by the magic number of its superblock.
    std::os::unix::fs::FileExt::write_all_at(&file, b"_BHRfS_M", 0x10040).expect("written");
    let before = std::fs::read(&path).expect("there");
    let path = path.to_str().expect("text");
    let message = refusal(&["--ssd", path]);
    let option = format!("--ssd-format={path}");
    assert!(
        message.contains("it holds ") && message.contains(&option),
        "{message}"
    );
    assert!(std::fs::read(path).expect("there") == before);
    let server = Server::start(&["-m", "16", "--ssd", path, &option]);
    let log = server.log();
    assert!(
        log.contains("WARN") && log.contains("is formatted"),
        "{log}"
    );
    drop(server);
    // From now on it is the server's own.
    let log = Server::start(&["-m", "16", "--ssd", path, &option]).log();
    assert!(!log.contains("is formatted"), "{log}");
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

/// Reads of each connection, one after the other, while others get what is in memory.
const READS_EACH: usize = 25;

/// Tells others to end, also where an assertion has failed.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn hits_in_memory_go_first_and_reads_from_the_ssd_go_on() {
    let (server, _directory) = tiered();
    let (is_over, hits) = (AtomicBool::new(false), AtomicUsize::new(0));
    let await_hit_after = |before: usize| {
        support::wait_for("a hit in memory", || {
            (hits.load(Relaxed) > before).then_some(())
        });
    };
    std::thread::scope(|scope| {
        let _ends = SetAtEnd(&is_over);
        scope.spawn(|| {
            let mut client = server.connect();
            while !is_over.load(Relaxed) {
                let number = ITEMS - 1 - hits.load(Relaxed) % 16;
                client.send(get(number).as_bytes());
                expect_value(&mut client, number);
                hits.fetch_add(1, Relaxed);
            }
        });
        await_hit_after(0);
        let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| server.connect()).collect();
        for round in 0..READS_EACH {
            for (index, client) in clients.iter_mut().enumerate() {
                client.send(get(round * CONNECTIONS + index).as_bytes());
            }
            // One leaves with its request, whether that waits for its turn, the device or a reply;
            // its slot is used again.
            clients[round] = server.connect();
            await_hit_after(hits.load(Relaxed));
            for (index, client) in clients.iter_mut().enumerate() {
                match index == round {
                    true => assert_eq!(client.ask("mn").as_deref(), Some("MN")),
                    false => expect_value(client, round * CONNECTIONS + index),
                }
            }
        }
    });
    let waits = server.connect().stat("get_extstore");
    assert!(waits > (READS_EACH * CONNECTIONS) as u64 / 2, "{waits}");
}

/// Values that a client asks for together and does not take: far more than the memory for all
/// reads.
const UNTAKEN: usize = 32;
const LARGE_BYTES: usize = 2_200_000;
/// Several times the memory in all.
const LARGE_ITEMS: usize = 90;

fn large(number: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..251).map(|place| (place + number % 5) as u8).collect();
    pattern.iter().copied().cycle().take(LARGE_BYTES).collect()
}

/// A server with one worker and large values, of which the first lie on the SSD only.
fn tiered_large() -> (Server, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let device = format!("{}:512m", directory.path().join("device").display());
    let place = ["-l", "127.0.0.1", "-p", "-1", "-t", "1"];
    let server = Server::start_at(&place, &["-m", "64", "-I", "3m", "--ssd", &device]);
    let mut client = server.connect();
    (0..LARGE_ITEMS).for_each(|number| client.set(&format!("key{number}"), &large(number)));
    (server, directory)
}

/// Others are answered from the SSD while `request` is not read; what it asks for comes whole later
/// on.
fn others_are_answered_beside(request: &[u8]) -> (Client<TcpStream>, Server, TempDir) {
    let (server, directory) = tiered_large();
    let mut slow = server.connect();
    slow.send(request);
    let first = slow.stream.fill_buf().expect("an answer begins");
    assert!(!first.is_empty());
    let mut other = server.connect();
    for number in UNTAKEN..UNTAKEN + 12 {
        let value = other.get(&format!("key{number}"));
        assert!(value.as_deref() == Some(&large(number)), "key{number}");
    }
    let waits = other.stat("get_extstore");
    assert!(waits > 12, "only {waits} came from the SSD");
    (slow, server, directory)
}

#[test]
fn a_client_that_takes_nothing_does_not_keep_others_from_the_ssd() {
    let keys: String = (0..UNTAKEN).map(|number| format!(" key{number}")).collect();
    let request = format!("get{keys}\r\n");
    let (mut slow, _server, _directory) = others_are_answered_beside(request.as_bytes());
    for number in 0..UNTAKEN {
        let head = slow.line().expect("an answer");
        assert_eq!(head, format!("VALUE key{number} 0 {LARGE_BYTES}"));
        let mut value = vec![0; LARGE_BYTES];
        slow.stream.read_exact(&mut value).expect("a value");
        assert!(value == large(number), "key{number}");
        assert_eq!(slow.line().as_deref(), Some(""));
    }
    assert_eq!(slow.line().as_deref(), Some("END"));
}

#[test]
fn nor_does_one_that_speaks_the_binary_protocol() {
    let get = |number: usize| {
        let key = format!("key{number}");
        let mut packet = vec![0x80, 0, 0, key.len() as u8, 0, 0, 0, 0, 0, 0, 0];
        packet.push(key.len() as u8);
        packet.extend([0; 12]);
        packet.extend(key.as_bytes());
        packet
    };
    let request: Vec<u8> = (0..UNTAKEN).flat_map(get).collect();
    let (mut slow, _server, _directory) = others_are_answered_beside(&request);
    for number in 0..UNTAKEN {
        // A header and the flags.
        let mut head = [0; 28];
        slow.stream.read_exact(&mut head).expect("an answer");
        assert_eq!((head[0], &head[6..8]), (0x81, &[0, 0][..]), "key{number}");
        let mut value = vec![0; LARGE_BYTES];
        slow.stream.read_exact(&mut value).expect("a value");
        assert!(value == large(number), "key{number}");
    }
}

/// A round in three hung where a worker slept before it had said that a request waits.
const ROUNDS: usize = 20;

/// So many segments are written where all that was in memory lies on the SSD.
const SEGMENTS: u64 = 12;

/// Appends to a value on the SSD, where memory is full of what has to be written there first.
#[test]
fn a_change_that_waits_for_room_goes_on_without_other_requests() {
    let directory = tempfile::tempdir().expect("a directory");
    let device = format!("{}:96m", directory.path().join("device").display());
    let place = ["-l", "127.0.0.1", "-p", "-1", "-t", "1", "--fabric", "off"];
    let server = Server::start_at(&place, &["-m", "8", "--ssd", &device]);
    let mut client = server.connect();
    let (large, more) = ("x".repeat(300_000), "y".repeat(20_000));
    let filler = "z".repeat(4096);
    for _ in 0..ROUNDS {
        assert_eq!(client.ask("flush_all").as_deref(), Some("OK"));
        for key in ["key", "one", "two", "three"] {
            client.set(key, large.as_bytes());
        }
        let written = client.tier_stat("segments_written") + SEGMENTS;
        for number in 0..6144 {
            client.send(format!("set {number} 0 0 4096 noreply\r\n{filler}\r\n").as_bytes());
        }
        assert!(client.ask("version").is_some());
        wait_for("the device", || {
            (client.tier_stat("segments_written") >= written).then_some(())
        });
        client.send(format!("append key 0 0 20000\r\n{more}\r\n").as_bytes());
        assert_eq!(client.line().as_deref(), Some("STORED"));
    }
}
