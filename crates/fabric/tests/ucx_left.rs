//! Peers over shared memory that are killed at the worst moment: right after they have begun to
//! connect, and with a place in the port's queue that they never fill.

mod conformance;
mod ucx_common;

use conformance::harness::{Body, KEY, Node, SESSION, WAIT_MAX, introduce, turn_until};
use farcache_fabric::ucx::{Network, UcxPort};
use farcache_fabric::{Kind, Payload, Peer, Port};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use std::time::Instant;
use ucx_common::peers::{self, PeerProcess, bytes_of, hexadecimal};
use ucx_common::{SHARED_MEMORY, network};

/// Above every eager limit.
const BODY_BYTES: usize = 1 << 20;

/// More offers than there are rooms for messages at first, so that some go to memory that the peer
/// has not mapped; each head makes its message too long for the queue itself.
const OFFERS: u64 = 300;
const HEAD: &[u8] = &[7; 250];

/// Turns after which nothing is left of what had come before.
const TURNS: usize = 10_000;

type End = Node<UcxPort<Body, Body>>;

fn end(network: &Network) -> End {
    Node::new(network.port().expect("a port"))
}

/// What a peer does when this program is started for it; nothing in a run of all tests.
#[test]
fn peer() {
    let Some(words) = peers::words() else {
        return;
    };
    let network = network(SHARED_MEMORY).expect("UCX, as the parent has it");
    let mut end = end(&network);
    let server = end.port.connect(&bytes_of(&words[1])).expect("a port");
    end.port.bind(server, SESSION, KEY);
    let greeting = Payload::Packets(b"a token!");
    end.port.send(server, Kind::Hello, 0, greeting);
    if words[0] == "blocks" {
        block(&mut end, server);
    }
    println!("\ndone");
    // Until it is killed; should its parent die first, not for ever.
    let deadline = Instant::now() + WAIT_MAX;
    while Instant::now() < deadline {
        end.turn();
    }
}

/// Takes a place in the server's queue and leaves it empty. UCX takes it before it maps the memory
/// that the message of this place goes to, which fails for want of a descriptor.
fn block(end: &mut End, server: Peer) {
    turn_until([&mut *end], "it is welcome", |[end]| {
        !end.messages.is_empty()
    });
    let limit = getrlimit(Resource::Nofile);
    let current = Some(0);
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).expect("a lower limit is allowed");
    for tag in 0..OFFERS {
        end.send_large(server, HEAD, vec![1; BODY_BYTES], tag);
    }
    turn_until([end], "a place stays empty", |[end]| !end.lost.is_empty());
}

fn start(role: &str, server: &End) -> PeerProcess {
    let address = hexadecimal(server.port.address());
    PeerProcess::start(&format!("{role} {address}"))
}

/// Lets a peer of another process in.
fn admit(server: &mut End) -> Peer {
    turn_until([&mut *server], "it is greeted", |[server]| {
        !server.messages.is_empty()
    });
    let peer = server.take_message().sender.expect("the way back");
    server.port.bind(peer, SESSION, KEY);
    let welcome = Payload::Packets(b"");
    server.port.send(peer, Kind::Welcome, 0, welcome);
    peer
}

/// Sends more than a peer that does not run has room for; so many bodies are among it.
fn send_in_vain(server: &mut End, peer: Peer) -> usize {
    const BODIES: usize = 6;
    for tag in 0..BODIES {
        server.send_large(peer, b"head", vec![2; BODY_BYTES], tag as u64);
    }
    while server.port.unsent(peer) < 2 * BODIES {
        server.send(peer, b"packets");
        server.turn();
    }
    BODIES
}

/// A peer blocks the way, and is killed when there is much on its way to it.
fn meet_a_peer_that_blocks_the_way(server: &mut End) {
    let (renewals, sent) = (server.renewals, server.sent.len());
    let mut process = start("blocks", server);
    let peer = admit(server);
    let done = process.hear("done");
    turn_until([&mut *server], "the way is blocked", |_| done.is_finished());
    assert!(done.join().expect("the reader ends").is_some());
    kill_process(Pid::from_child(&process.child), Signal::STOP).expect("it lives");
    let bodies = send_in_vain(server, peer);
    process.kill();
    server.offers.clear();
    server.port.close(peer);
    turn_until([server], "it starts anew and all is back", |[server]| {
        server.renewals > renewals && server.sent.len() == sent + bodies
    });
}

/// A peer comes and goes, after which the port looks whether others still can.
fn meet_a_peer_in_good_order(server: &mut End, network: &Network) {
    let mut client = end(network);
    let (to_server, to_client) = introduce(&mut client, server);
    client.port.close(to_server);
    server.port.close(to_client);
    for _ in 0..TURNS {
        client.turn();
        server.turn();
    }
}

fn descriptors() -> usize {
    let list = std::fs::read_dir("/proc/self/fd").expect("the system tells");
    list.count()
}

/// Both deaths are in one test, as the descriptors that it counts are the whole process's.
#[test]
fn whoever_dies_at_the_worst_moment_leaves_a_port_that_works_and_nothing_open() {
    let Some(network) = network(SHARED_MEMORY) else {
        return;
    };
    one_that_dies_while_it_connects(&network);
    let mut server = end(&network);
    let mut open = None;
    for _ in 0..3 {
        let address = server.port.address().to_vec();
        meet_a_peer_that_blocks_the_way(&mut server);
        assert_ne!(server.port.address(), address);
        meet_a_peer_in_good_order(&mut server, &network);
        let now = descriptors();
        assert_eq!(now, *open.get_or_insert(now), "descriptors are left open");
    }
}

/// UCX reads the peer's wish to connect when nobody is there any more, in the first turn after
/// which it would look after another endpoint.
fn one_that_dies_while_it_connects(network: &Network) {
    let (mut server, other) = (end(network), end(network));
    let mut process = start("connects", &server);
    let done = process.hear("done").join().expect("the reader ends");
    assert!(done.is_some(), "the peer has greeted");
    process.kill();
    server.port.connect(other.port.address()).expect("a port");
    for _ in 0..TURNS {
        server.turn();
    }
    meet_a_peer_in_good_order(&mut server, network);
}
