//! Clients that ask for much and read nothing, beside one that goes on storing and reading.

mod support;

use std::io::Read;
use std::net::TcpStream;
use support::{Client, Server, wait_for};

/// Clients that stall: what waits for them lies in all segments of the memory.
const READERS: usize = 64;

/// Requests of each stalled client: more replies than the two sockets between it and the server
/// ever hold.
const REQUESTS: usize = 24;

/// A number without order in it (the finalizer of MurmurHash3).
fn mixed(number: usize) -> usize {
    let mixed = number as u32;
    let mixed = (mixed ^ mixed >> 16).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 13).wrapping_mul(0xc2b2_ae35);
    (mixed ^ mixed >> 16) as usize
}

fn key(number: usize) -> String {
    format!("key{number:06}")
}

/// The one value that a key ever has.
fn value(number: usize, bytes: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..251).map(|place| (place + number) as u8).collect();
    pattern.iter().copied().cycle().take(bytes).collect()
}

/// A full server, and clients that have asked for values all over its memory and read nothing.
struct Siege {
    _server: Server,
    honest: Client<TcpStream>,
    stalled: Vec<Client<TcpStream>>,
    value_bytes: usize,
    items: usize,
}

impl Siege {
    fn lay(memory: &[&str], readers: usize, value_bytes: usize, items: usize) -> Siege {
        let server = Server::start(memory);
        let mut honest = server.connect();
        for number in 0..items {
            honest.set(&key(number), &value(number, value_bytes));
        }
        let mut siege = Siege {
            stalled: (0..readers).map(|_| server.connect()).collect(),
            _server: server,
            honest,
            value_bytes,
            items,
        };
        siege.ask_for_all();
        siege
    }

    /// Has each stalled client ask for values until the server waits for it.
    fn ask_for_all(&mut self) {
        let per_request = (1 << 20) / self.value_bytes;
        for (number, client) in self.stalled.iter_mut().enumerate() {
            for request in 0..REQUESTS {
                let first = (number * REQUESTS + request) * per_request;
                let keys =
                    (first..first + per_request.max(1)).map(|one| key(mixed(one) % self.items));
                let keys: Vec<String> = keys.collect();
                client.send(format!("get {}\r\n", keys.join(" ")).as_bytes());
            }
        }
        let (honest, readers) = (&mut self.honest, self.stalled.len());
        wait_for("all to be stalled", || {
            (count_stalled(honest) == readers).then_some(())
        });
    }

    /// Stores values anew, and reads each of them.
    fn store_all_anew(&mut self, from: usize, count: usize) {
        for number in from..from + count {
            let value = value(number, self.value_bytes);
            self.honest.set(&key(number), &value);
            assert!(self.honest.get(&key(number)) == Some(value), "{number}");
        }
    }

    /// Whatever a stalled client still gets is right; true if it gets all it has asked for.
    fn read_late(&mut self, client: usize) -> bool {
        let bytes = self.value_bytes;
        let client = &mut self.stalled[client];
        let mut ends = 0;
        while ends < REQUESTS {
            let Some(head) = client.line() else {
                return false;
            };
            if head == "END" {
                ends += 1;
                continue;
            }
            let number: Option<usize> = head
                .strip_prefix("VALUE key")
                .and_then(|rest| rest.split(' ').next()?.parse().ok());
            // A connection that ends may end within a line.
            let Some(number) = number else {
                assert!(client.line().is_none(), "{head}");
                return false;
            };
            let mut got = vec![0; bytes + 2];
            if client.stream.read_exact(&mut got).is_err() {
                return false;
            }
            got.truncate(bytes);
            assert!(got == value(number, bytes), "the value of {number}");
        }
        true
    }
}

/// How many connections wait for their clients.
fn count_stalled(client: &mut Client<TcpStream>) -> usize {
    client.send(b"stats conns\r\n");
    let lines = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
    let lines: Vec<String> = lines.collect();
    let writing = lines
        .iter()
        .filter(|line| line.ends_with(":state conn_mwrite"));
    writing.count()
}

#[test]
fn clients_that_do_not_read_have_no_set_refused() {
    let mut siege = Siege::lay(&["-m", "64"], READERS, 4_200, 16_000);
    siege.store_all_anew(100_000, 17_000);
    assert_eq!(siege.honest.stat("store_no_memory"), 0);
    let served = (0..READERS)
        .filter(|&client| siege.read_late(client))
        .count();
    assert!(
        served > 0,
        "who stalls is not closed while there is room for what it is to get"
    );
    siege.stalled.clear();
    let honest = &mut siege.honest;
    wait_for("all that was kept for them to be given back", || {
        (honest.stat("values_pinned") == 0).then_some(())
    });
}

#[test]
fn large_values_for_clients_that_do_not_read_take_a_bounded_amount_of_memory() {
    let mut siege = Siege::lay(&["-m", "64"], READERS, 600_000, 90);
    siege.store_all_anew(100_000, 300);
    let honest = &mut siege.honest;
    assert_eq!(honest.stat("store_no_memory"), 0);
    assert!(
        honest.stat("stalled_bytes") <= 8 << 20,
        "an eighth of the memory"
    );
    wait_for(
        "those to be closed that have been stalling for the longest",
        || (honest.stat("stalled_kicks") > 0).then_some(()),
    );
    let served = (0..READERS)
        .filter(|&client| siege.read_late(client))
        .count();
    assert!(served < READERS);
    siege.stalled.clear();
    let honest = &mut siege.honest;
    wait_for("all that was kept for them to be given back", || {
        let kept = honest.stat("values_pinned") + honest.stat("stalled_bytes");
        (kept == 0).then_some(())
    });
}
