//! What a port over UCX makes of messages that no port would send.

mod conformance;
mod ucx_common;

use conformance::harness::{Body, KEY, Node, SESSION, introduce};
use farcache_bare_ucx::{Address, Endpoint, Worker};
use farcache_fabric::ucx::{UcxPort, shared_memory_defaults};
use farcache_fabric::{Error, Frame, Kind, Port};
use farcache_ucx_sys::{Context, Library};
use std::time::{Duration, Instant};
use ucx_common::{SHARED_MEMORY, TCP, ports};

/// UCX's numbers for messages and greetings, and what precedes UCX's address in a port's.
const MESSAGE: u16 = 1;
const GREETING: u16 = 2;
const SHORT_GET: u16 = 4;
const SHORT_VALUE: u16 = 5;
const FRONT_BYTES: usize = 52;

const WAIT_MAX: Duration = Duration::from_secs(60);

/// A sender that knows no rules.
struct Stranger {
    worker: Worker,
    endpoint: Endpoint,
}

impl Stranger {
    fn new(settings: &[(&str, &str)], address: &[u8]) -> Stranger {
        let library = Library::load().expect("UCX, as the port has it");
        // In shared memory it writes where the port's queues say, so it must have the same sizes.
        let settings = [settings, &shared_memory_defaults()].concat();
        let worker = Worker::new(&Context::new(library, &settings).expect("a context"));
        let worker = worker.expect("a worker");
        let ucx = address[FRONT_BYTES..].to_vec();
        // SAFETY: a port's address, whole and unaltered.
        let address = unsafe { Address::from_bytes(ucx) };
        let endpoint = worker.connect(&address).expect("an endpoint");
        Stranger { worker, endpoint }
    }

    fn send(&self, number: u16, header: &[u8], body: &[u8]) {
        self.endpoint
            .send(number, header.to_vec(), body.to_vec(), drop);
    }
}

fn frame(kind: Kind, head_bytes: u16, body_bytes: u32) -> [u8; 24] {
    let frame = Frame {
        kind,
        session: SESSION,
        key: KEY,
        credits: 0,
        head_bytes,
        body_bytes,
    };
    frame.encode()
}

/// Sends everything that is wrong, and one message that is not.
fn send_garbage(stranger: &Stranger) -> usize {
    let mut wrong_version = frame(Kind::Packets, 0, 3);
    wrong_version[0] = 77;
    let large = vec![1; 1 << 20];
    let short_get = short_get(KEY, &[b'k'; 250]);
    let cases: [(u16, &[u8], &[u8]); 19] = [
        (MESSAGE, b"", b""),
        (MESSAGE, b"too short", b"abc"),
        (MESSAGE, &wrong_version, b"abc"),
        (MESSAGE, &frame(Kind::Packets, 0, 2), b"abc"),
        (MESSAGE, &frame(Kind::Packets, 0, 4), b"abc"),
        (MESSAGE, &frame(Kind::Packets, 1, 3), b"abc"),
        (MESSAGE, &frame(Kind::Hello, 0, 3), b"abc"),
        (MESSAGE, &frame(Kind::Packets, 0, 7), &large),
        (GREETING, &frame(Kind::Hello, 0, 3), b"abc and no address"),
        (GREETING, &frame(Kind::Hello, 0, 3), &large[..40 << 10]),
        (GREETING, &frame(Kind::Hello, 0, u32::MAX), b"abc"),
        (GREETING, b"", b""),
        (SHORT_GET, b"", b""),
        (SHORT_GET, b"", &short_get[..12]),
        (SHORT_GET, b"", &[&short_get[..], b"k"].concat()),
        (SHORT_GET, b"header", &short_get),
        (SHORT_GET, b"", &large),
        (SHORT_VALUE, b"", &[1; 25]),
        (SHORT_VALUE, b"", &large),
    ];
    for (number, header, body) in cases {
        stranger.send(number, header, body);
    }
    stranger.send(MESSAGE, &frame(Kind::Packets, 0, 3), b"yes");
    cases.len()
}

/// A get in its short form.
fn short_get(key: u64, item_key: &[u8]) -> Vec<u8> {
    [&key.to_le_bytes()[..], b"opaq", item_key].concat()
}

/// Short messages say whose they are by the key alone: with another one they are nobody's.
fn short_messages_belong_to_their_key(stranger: &Stranger, server: &mut Node<UcxPort<Body, Body>>) {
    for key in [KEY ^ 1, KEY] {
        stranger.send(SHORT_GET, b"", &short_get(key, b"item"));
    }
    let deadline = Instant::now() + WAIT_MAX;
    while server.messages.len() < 2 {
        assert!(Instant::now() < deadline, "{}", server.messages.len());
        stranger.worker.progress();
        server.turn();
    }
    let expected = [(u32::MAX, KEY ^ 1), (SESSION, KEY)];
    for (got, expected) in server.messages.drain(..).zip(expected) {
        assert_eq!((got.frame.session, got.frame.key), expected);
        assert!(got.bytes.starts_with(&[0x80, 0, 0, 4]) && got.bytes.ends_with(b"item"));
    }
}

fn garbage_is_counted_and_disturbs_nobody(settings: &[(&str, &str)]) {
    let Some(make) = ports(settings) else { return };
    let mut server: Node<UcxPort<Body, Body>> = Node::new(make());
    let mut client = Node::new(make());
    introduce(&mut client, &mut server);
    let stranger = Stranger::new(settings, server.port.address());
    let garbage = send_garbage(&stranger);
    let deadline = Instant::now() + WAIT_MAX;
    while server.garbage < garbage || server.messages.is_empty() {
        assert!(Instant::now() < deadline, "{} of {garbage}", server.garbage);
        stranger.worker.progress();
        server.turn();
    }
    assert_eq!(server.garbage, garbage);
    assert_eq!(server.take_message().bytes, b"yes");
    assert!(server.offers.is_empty());
    short_messages_belong_to_their_key(&stranger, &mut server);
    let mut other = Node::new(make());
    introduce(&mut other, &mut server);
    broken_addresses_are_refused(&mut other, server.port.address());
}

/// UCX itself ends the process over most of these.
fn broken_addresses_are_refused(node: &mut Node<UcxPort<Body, Body>>, address: &[u8]) {
    let without_front = &address[FRONT_BYTES..];
    let older = &address[8..];
    let cut_off = &address[..address.len() - 1];
    let mut altered = address.to_vec();
    altered[FRONT_BYTES] ^= 0xff;
    for broken in [&[][..], without_front, older, cut_off, &altered] {
        let refused = node.port.connect(broken);
        assert!(matches!(refused, Err(Error::Unreachable(_))), "{refused:?}");
    }
}

#[test]
fn garbage_is_counted_over_shared_memory() {
    garbage_is_counted_and_disturbs_nobody(SHARED_MEMORY);
}

#[test]
fn garbage_is_counted_over_tcp() {
    garbage_is_counted_and_disturbs_nobody(TCP);
}
