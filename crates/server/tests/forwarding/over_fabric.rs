//! Peers and clients that reach a server over the fabric. A machine without UCX skips these tests,
//! and says so.

use crate::Fleet;
use crate::support::{PATIENCE, wait_for};
use farcache_fabric::ucx::{Network, Settings, UcxPort};
use farcache_fabric::{Event, Grant, Inbox, Kind, Payload, Peer, Port};
use farcache_proto::binary::{
    HEADER_BYTES, Header, MAGIC_REQUEST, Opcode, Packet, SetExtras, Status, encode_head,
};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

/// Two servers; none, which is said, where there is no UCX.
fn fleet(options: &[&str]) -> Option<Fleet> {
    let fleet = Fleet::start(2, options);
    if fabric_stat(&fleet, 1, "network") == "ucx" {
        return Some(fleet);
    }
    // Past the test runner, which hides what passing tests print.
    writeln!(std::io::stderr(), "\nSKIPPED: there is no UCX").expect("standard error is open");
    None
}

/// A figure of `stats fabric`.
fn fabric_stat(fleet: &Fleet, id: u32, name: &str) -> String {
    let mut client = fleet.connect(id);
    client.send(b"stats fabric\r\n");
    let lines = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
    let lines: Vec<String> = lines.collect();
    let head = format!("STAT {name} ");
    let found = lines.iter().find_map(|line| line.strip_prefix(&head));
    found.expect("a figure").to_owned()
}

/// Asks server 1 for keys of server 2 until that is done over the fabric.
fn wait_for_fabric(fleet: &Fleet) {
    // Each of its workers has connections of its own.
    for _ in 0..4 {
        let mut client = fleet.connect(1);
        let key = fleet.key_of(2, 0);
        let before = client.stat("forwarded_over_fabric");
        wait_for("the fabric between the servers", || {
            client.ask(&format!("mg {key}")).expect("an answer");
            (client.stat("forwarded_over_fabric") > before).then_some(())
        });
    }
}

#[test]
fn requests_go_over_the_fabric_once_it_is_there() {
    let Some(fleet) = fleet(&["-I", "8m", "-m", "256"]) else {
        return;
    };
    wait_for_fabric(&fleet);
    assert_ne!(fabric_stat(&fleet, 2, "sessions"), "0");
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    let sizes = [0, 1, 2_000, 5_000, 32_000, 33_000, 70_000, 1 << 20, 7 << 20];
    for (number, bytes) in sizes.into_iter().enumerate() {
        let key = fleet.key_of(2, number);
        let value: Vec<u8> = (0..bytes).map(|byte: u32| (byte % 251) as u8).collect();
        first.set(&key, &value);
        assert_eq!(second.get(&key).as_ref(), Some(&value), "{bytes} stored");
        assert_eq!(first.get(&key).as_ref(), Some(&value), "{bytes} read");
    }
    let keys: Vec<String> = (0..200).map(|number| fleet.key_of(2, number)).collect();
    for key in &keys {
        first.set(key, key.as_bytes());
    }
    // A pipeline of reads goes together.
    let reads: String = keys.iter().map(|key| format!("mg {key} v\r\n")).collect();
    first.send(reads.as_bytes());
    for key in &keys {
        assert_eq!(first.line(), Some(format!("VA {}", key.len())));
        assert_eq!(first.line().as_ref(), Some(key));
    }
    assert_eq!(first.stat("forward_errors"), 0);
}

#[test]
fn where_one_end_has_no_fabric_requests_go_over_the_connection() {
    let options = |_: &Fleet, id: u32| match id {
        1 => Vec::new(),
        _ => vec!["--fabric".to_owned(), "off".to_owned()],
    };
    let fleet = Fleet::start_with(2, &[], options);
    for (asked, owner) in [(1, 2), (2, 1)] {
        let mut client = fleet.connect(asked);
        for number in 0..50 {
            let key = fleet.key_of(owner, number);
            client.set(&key, key.as_bytes());
            assert_eq!(client.get(&key).as_deref(), Some(key.as_bytes()));
        }
        assert_eq!(client.stat("forwarded"), 100);
        assert_eq!(client.stat("forwarded_over_fabric"), 0);
        assert_eq!(client.stat("forward_errors"), 0);
    }
}

#[test]
fn an_owner_that_dies_is_told_of_and_found_again_over_the_fabric() {
    let Some(mut fleet) = fleet(&[]) else {
        return;
    };
    wait_for_fabric(&fleet);
    let mut client = fleet.connect(1);
    let foreign = fleet.key_of(2, 0);
    client.set(&foreign, b"1");
    fleet.servers[1].signal(Signal::KILL);
    fleet.servers[1].wait();
    let answer = client.ask(&format!("incr {foreign} 1")).expect("an answer");
    assert!(answer.contains("cannot be reached"), "{answer}");
    let server = fleet.start_one(2);
    fleet.servers[1] = server;
    wait_for("the owner that is back", || {
        let answer = client.ask(&format!("incr {foreign} 1"));
        (answer.as_deref() == Some("NOT_FOUND")).then_some(())
    });
    wait_for_fabric(&fleet);
    client.set(&foreign, b"2");
    assert_eq!(fleet.connect(2).get(&foreign).as_deref(), Some(&b"2"[..]));
}

/// A client on the fabric.
struct FabricClient {
    port: UcxPort<Vec<u8>, Vec<u8>>,
    peer: Peer,
    is_welcome: bool,
    responses: Vec<(u16, Vec<u8>)>,
    _life_line: UnixStream,
}

impl FabricClient {
    fn connect(fleet: &Fleet, id: u32) -> FabricClient {
        let mut stream = UnixStream::connect(fleet.socket(id)).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("settable");
        let question = request(Opcode::FabricUpgrade, &[], b"", &[1, 1]);
        stream.write_all(&question).expect("the server reads");
        let mut header = [0; HEADER_BYTES];
        stream.read_exact(&mut header).expect("an answer");
        let mut grant = vec![0; Header::decode(&header).body_len as usize];
        stream.read_exact(&mut grant).expect("an answer");
        let grant = Grant::decode(&grant).expect("a grant");
        let network: Arc<Network> = Network::open(Settings::new(&[])).expect("UCX");
        let mut port = network.port().expect("a port");
        let peer = port.connect(&grant.address).expect("reachable");
        port.bind(peer, grant.session, grant.key);
        let token = grant.token.to_le_bytes();
        port.send(peer, Kind::Hello, 0, Payload::Packets(&token));
        let mut client = FabricClient {
            port,
            peer,
            is_welcome: false,
            responses: Vec::new(),
            _life_line: stream,
        };
        client.wait(|client| client.is_welcome);
        client
    }

    fn wait(&mut self, is_there: impl Fn(&FabricClient) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut inbox = Inbox::default();
        while !is_there(self) {
            assert!(Instant::now() < deadline, "waited in vain");
            if !self.port.progress(&mut inbox) {
                std::thread::yield_now();
            }
            for event in inbox.events.drain(..) {
                let Event::Message { frame, packets, .. } = event else {
                    panic!("not a message: {event:?}");
                };
                match frame.kind {
                    Kind::Welcome => self.is_welcome = true,
                    Kind::Packets => take(&inbox.bytes[packets], &mut self.responses),
                    other => panic!("a message of kind {other:?}"),
                }
            }
            inbox.recycle();
        }
    }

    /// Sends packets in one message; so many answers, in their order.
    fn ask(&mut self, packets: &[u8], count: usize) -> Vec<(u16, Vec<u8>)> {
        self.port
            .send(self.peer, Kind::Packets, 0, Payload::Packets(packets));
        self.wait(|client| client.responses.len() >= count);
        std::mem::take(&mut self.responses)
    }
}

fn take(mut packets: &[u8], responses: &mut Vec<(u16, Vec<u8>)>) {
    while let Some((packet, used)) = Packet::decode(packets).expect("packets make sense") {
        responses.push((packet.header.status, packet.value.to_vec()));
        packets = &packets[used..];
    }
}

fn request(opcode: Opcode, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        ..Header::default()
    };
    let mut bytes = Vec::new();
    encode_head(header, extras, key, value.len(), &mut bytes);
    [&bytes[..], value].concat()
}

fn get(key: &str) -> Vec<u8> {
    request(Opcode::Get, &[], key.as_bytes(), b"")
}

/// Stores a key as its own value.
fn set(key: &str) -> Vec<u8> {
    let extras = SetExtras {
        flags: 0,
        expiration: 0,
    };
    let key = key.as_bytes();
    request(Opcode::Set, &extras.encode(), key, key)
}

#[test]
fn what_a_client_asks_over_the_fabric_is_passed_on() {
    let Some(fleet) = fleet(&[]) else {
        return;
    };
    let mut client = FabricClient::connect(&fleet, 1);
    let keys: Vec<String> = (0..60)
        .map(|number| fleet.key_of(1 + number % 2, number as usize / 2))
        .collect();
    let found = Status::Success as u16;
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(client.ask(&get(key), 1)[0].0, Status::NotFound as u16);
        assert_eq!(client.ask(&set(key), 1)[0].0, found);
        let value = fleet.connect(1 + number as u32 % 2).get(key);
        assert_eq!(value.as_deref(), Some(key.as_bytes()));
    }
    // Answers to one message come in the order of its packets, whoever owns the keys.
    let together: Vec<u8> = keys.iter().flat_map(|key| get(key)).collect();
    let expected: Vec<_> = keys
        .iter()
        .map(|key| (found, key.clone().into_bytes()))
        .collect();
    assert_eq!(client.ask(&together, keys.len()), expected);
    assert!(fleet.connect(1).stat("forwarded") >= 30);
    assert_eq!(fleet.connect(1).stat("forward_errors"), 0);
}

#[test]
fn keys_of_its_own_are_answered_where_their_messages_lie() {
    let Some(fleet) = fleet(&[]) else {
        return;
    };
    let mut client = FabricClient::connect(&fleet, 1);
    let solo = || {
        let figure = |name| fabric_stat(&fleet, 1, name).parse().expect("a number");
        [figure("gets_solo"), figure("stores_solo")]
    };
    let mut set_and_get = |owner: u32, count: usize| {
        let [gets, stores]: [u64; 2] = solo();
        for key in (0..count).map(|number| fleet.key_of(owner, number)) {
            assert_eq!(client.ask(&set(&key), 1)[0].0, Status::Success as u16);
            let expected = (Status::Success as u16, key.clone().into_bytes());
            assert_eq!(client.ask(&get(&key), 1), [expected]);
        }
        let [gets_after, stores_after] = solo();
        [gets_after - gets, stores_after - stores]
    };
    // The short way is open once a message has come alone.
    let [gets, stores] = set_and_get(1, 20);
    assert!((19..=20).contains(&gets), "{gets} of 20");
    assert!((18..=20).contains(&stores), "{stores} of 20");
    assert_eq!(set_and_get(2, 20), [0, 0]);
}
