//! Clients that take nothing of what was read from the SSD for them, beside one that does.

mod support;

use std::io::{BufRead, Read};
use std::net::TcpStream;
use support::{Client, Server, wait_for};
use tempfile::TempDir;

/// Six of them fit the memory for reads, which is 64 MiB.
const VALUE_BYTES: usize = 10_000_000;
const FIT: u64 = 6;
/// The last of them are in memory: those asked for here are not.
const ITEMS: usize = 19;

fn value(number: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..251).map(|place| (place + number % 5) as u8).collect();
    pattern.iter().copied().cycle().take(VALUE_BYTES).collect()
}

fn key(number: usize) -> String {
    format!("key{number}")
}

/// A server whose first values lie on the SSD only, and the directory of its device.
fn tiered(workers: &str) -> (Server, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let device = format!("{}:400m", directory.path().join("device").display());
    let place = ["-l", "127.0.0.1", "-p", "-1", "-t", workers];
    let server = Server::start_at(&place, &["-m", "64", "-I", "12m", "--ssd", &device]);
    let mut client = server.connect();
    (0..ITEMS).for_each(|number| client.set(&key(number), &value(number)));
    (server, directory)
}

/// Clients that ask for these values, each for its own, and take nothing.
fn stalled(server: &Server, requests: &[&[usize]]) -> Vec<Client<TcpStream>> {
    let ask = |numbers: &&[usize]| {
        let mut client = server.connect();
        for &number in *numbers {
            client.send(format!("get {}\r\n", key(number)).as_bytes());
        }
        client
    };
    requests.iter().map(ask).collect()
}

fn await_all_memory_held(control: &mut Client<TcpStream>) {
    wait_for("reads that take all memory", || {
        let held = control.tier_stat("read_bytes_held");
        (held >= FIT * VALUE_BYTES as u64).then_some(())
    });
}

fn expect_value(client: &mut Client<TcpStream>, number: usize) {
    let head = client.line().expect("an answer");
    assert_eq!(head, format!("VALUE {} 0 {VALUE_BYTES}", key(number)));
    let mut got = vec![0; VALUE_BYTES];
    client.stream.read_exact(&mut got).expect("a value");
    assert!(got == value(number), "the value of {}", key(number));
    for line in ["", "END"] {
        assert_eq!(client.line().as_deref(), Some(line));
    }
}

/// Lets more time pass than others would wait for the memory, were there any.
fn await_stall(control: &mut Client<TcpStream>) {
    let begin = control.stat("uptime");
    wait_for("time to pass", || {
        (control.stat("uptime") >= begin + 4).then_some(())
    });
}

#[test]
fn eight_who_take_nothing_do_not_keep_others_from_the_ssd() {
    let (server, _directory) = tiered("3");
    // At different workers.
    let mut others = [server.connect(), server.connect()];
    let mut clients = stalled(&server, &[&[0], &[1], &[2], &[3]]);
    for client in &mut clients {
        let first = client.stream.fill_buf().expect("an answer begins");
        assert!(!first.is_empty());
    }
    await_stall(&mut others[0]);
    let kicks = others[0].stat("get_stalled_kicks");
    assert_eq!(kicks, 0, "there is memory for others");

    clients.extend(stalled(&server, &[&[4], &[5], &[6], &[7]]));
    await_all_memory_held(&mut others[0]);
    for number in 8..11 {
        for other in &mut others {
            let got = other.get(&key(number));
            assert!(got == Some(value(number)), "{}", key(number));
        }
    }
    let kicks = others[0].stat("get_stalled_kicks");
    assert!((1..=8).contains(&kicks), "{kicks} of eight closed");
    assert!(server.log().contains("takes nothing"), "{}", server.log());
    drop(clients);
    wait_for("the memory to be free", || {
        (others[0].tier_stat("read_bytes_held") == 0).then_some(())
    });
}

#[test]
fn what_was_read_ahead_for_who_takes_nothing_is_let_go_of_and_read_again() {
    let (server, _directory) = tiered("1");
    let mut other = server.connect();
    let requests: [&[usize]; 4] = [&[0, 1], &[2, 3], &[4, 5], &[6, 7]];
    let mut clients = stalled(&server, &requests);
    await_all_memory_held(&mut other);
    for number in 8..12 {
        let got = other.get(&key(number));
        assert!(got == Some(value(number)), "{}", key(number));
    }
    assert_eq!(other.stat("get_stalled_kicks"), 0, "none had to be closed");
    for (client, numbers) in clients.iter_mut().zip(requests) {
        numbers
            .iter()
            .for_each(|&number| expect_value(client, number));
    }
}
