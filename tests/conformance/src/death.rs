//! Clients and servers that are killed (SIGKILL).
//!
//! A client to be killed is this same program, started anew: a process of its own, so that its end
//! is the real one, with values cut off on their way.

use super::caller::Caller;
use super::expect::{equal, eventually, holds};
use super::fixture::{Fixture, client_of, statistics};
use super::sample::sample;
use super::{Check, Outcome};
use farcache_client::{Error, Operation, Request, Store, Transport};
use farcache_harness::server_process::Product;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const CHECKS: &[Check] = &[
    Check::of_own_servers("killed_clients_leave_nothing_behind", killed_clients),
    Check::of_own_servers("a_killed_server_ends_every_request", killed_server),
    Check::of_own_servers("a_server_that_returns_is_found_again", returning_server),
];

/// Argument that makes a program call [`be_victim`].
pub const VICTIM_ARGUMENT: &str = "conformance-victim";

/// Size of a victim's values, in bytes: large enough for rendezvous.
const VICTIM_BYTES: usize = 2 << 20;

/// Victims that are killed.
const VICTIMS: u64 = 8;

/// What a server may take to let go of a dead client's belongings, and what a client may take to
/// find a server again.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

/// What requests may take to end after their server was killed on the same host, however busy that
/// is; without notice of the death they would wait longer.
const ENDED_WITHIN: Duration = Duration::from_secs(20);

/// Levels of `stats fabric`, which return when nobody is there any more.
const LEVELS: &[&str] = &[
    "sessions",
    "tokens",
    "rendezvous_in",
    "rendezvous_out",
    "endpoints",
];

fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Auto => "auto",
        Transport::Fabric => "fabric",
        Transport::Tcp => "tcp",
    }
}

/// A client that stores and fetches until it is killed.
struct Victim(Child);

impl Victim {
    /// Starts it, and waits until it is at work.
    fn start(servers: &str, transport: Transport) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([VICTIM_ARGUMENT, servers, transport_name(transport)])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().expect("piped");
        let victim = Victim(child);
        match BufReader::new(output).read_line(&mut String::new())? {
            0 => Err(io::Error::other("the client to be killed ended by itself")),
            _ => Ok(victim),
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // An error means that it has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Keeps storing and fetching large values, several at once, until killed. Prints a line once that
/// works.
///
/// # Errors
/// Whatever stops it.
pub fn be_victim(servers: &str, transport: Transport) -> Outcome {
    let client = client_of(servers, transport)?;
    let keys: Vec<Vec<u8>> = (0..4).map(|n| format!("victim {n}").into_bytes()).collect();
    let value = sample(1, VICTIM_BYTES);
    for key in &keys {
        client.set(key, &value)?;
    }
    println!("at work");
    loop {
        work_once(&client, &keys, &value)?;
    }
}

fn work_once(client: &Caller, keys: &[Vec<u8>], value: &[u8]) -> Result<(), Error> {
    let client = &client.client;
    let gets = keys.iter().map(|key| {
        let into = Default::default();
        client.submit(Operation::Get { key, into })
    });
    let sets = keys
        .iter()
        .map(|key| client.submit(Operation::Store(Store::set(key, value.to_vec()))));
    let requests: Vec<Request> = gets.chain(sets).collect();
    for request in requests {
        client.wait(request)?;
    }
    Ok(())
}

/// The levels of `stats fabric`.
fn levels(servers: &str) -> io::Result<BTreeMap<String, String>> {
    let mut figures = statistics(servers, "fabric")?;
    figures.retain(|name, _| LEVELS.contains(&name.as_str()));
    Ok(figures)
}

/// What values are pinned.
fn pinned(servers: &str) -> io::Result<Option<String>> {
    Ok(statistics(servers, "")?.remove("values_pinned"))
}

fn killed_clients(fixture: &Fixture) -> Outcome {
    let mut server = fixture.start(Product::Farcached, &[])?;
    let servers = server.address().to_string();
    let outcome = outlives_killed_clients(fixture, &servers);
    outcome.map_err(|fault| format!("{fault}; {}", server.state()).into())
}

fn outlives_killed_clients(fixture: &Fixture, servers: &str) -> Outcome {
    let witness = client_of(servers, fixture.transport())?;
    witness.set(b"witness", b"here")?;
    let before = (levels(servers)?, pinned(servers)?);
    for number in 0..VICTIMS {
        let victim = Victim::start(servers, fixture.transport())?;
        // A different moment of its work each time.
        thread::sleep(Duration::from_millis(number * 37 % 100));
        drop(victim);
        equal(
            "the other client's value",
            witness.get(b"witness")?,
            b"here",
        )?;
    }
    eventually(SETTLED_WITHIN, || {
        let now = (levels(servers)?, pinned(servers)?);
        equal("what is held", &now, &before)
    })?;
    let newcomer = client_of(servers, fixture.transport())?;
    let value = newcomer.get(b"victim 0")?;
    super::sample::check_whole("what a victim stored", &value, VICTIM_BYTES)
}

fn killed_server(fixture: &Fixture) -> Outcome {
    let server = fixture.start(Product::Farcached, &[])?;
    let client = client_of(&server.address().to_string(), fixture.transport())?;
    let keys: Vec<Vec<u8>> = (0..8).map(|n| format!("key {n}").into_bytes()).collect();
    for key in &keys {
        client.set(key, &sample(1, VICTIM_BYTES))?;
    }
    let submit = |key: &Vec<u8>| {
        let into = Default::default();
        client.client.submit(Operation::Get { key, into })
    };
    let requests: Vec<Request> = keys.iter().map(submit).collect();
    client.client.flush();
    // Dropping kills it.
    drop(server);
    let killed = Instant::now();
    let mut lost = 0;
    for request in requests {
        lost += usize::from(client.client.wait(request).is_err());
    }
    let seconds = killed.elapsed().as_secs_f64();
    holds(
        &format!("requests took {seconds:.1} s to end"),
        killed.elapsed() <= ENDED_WITHIN,
    )?;
    holds("none of the requests met the server's death", lost > 0)
}

fn returning_server(fixture: &Fixture) -> Outcome {
    let server = fixture.start(Product::Farcached, &[])?;
    let address = server.address();
    let client = client_of(&address.to_string(), fixture.transport())?;
    client.set(b"key", b"before")?;
    drop(server);
    let _server = fixture.start_at(Some(address.port()), Product::Farcached, &[])?;
    eventually(SETTLED_WITHIN, || {
        client.set(b"key", b"after")?;
        equal("value", client.get(b"key")?, b"after")
    })
}
