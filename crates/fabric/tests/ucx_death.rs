//! Peers that are killed in the middle of large bodies, over UCX: nothing hangs, everything comes
//! back.
//!
//! The peer is this same program, started again to run the test `peer` alone.

mod conformance;
mod ucx_common;

use farcache_fabric::ucx::UcxPort;
use farcache_fabric::{Event, Inbox, Kind, Payload, Peer, Port};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ucx_common::peers::{self, PeerProcess, bytes_of, hexadecimal};
use ucx_common::{SHARED_MEMORY, TCP, network};

/// Above every eager limit; several of them take longer than a peer lives.
const BODY_BYTES: usize = 3 << 20;

/// Bodies on their way in each direction.
const BODIES: usize = 6;

/// Longest wait for anything, on a machine however busy.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Peers killed for each transport and role.
const KILLS: u32 = 20;

/// One end that sends and receives large bodies without end.
struct End {
    port: UcxPort<Arc<[u8]>, Vec<u8>>,
    inbox: Inbox<Arc<[u8]>, Vec<u8>>,
    body: Arc<[u8]>,
    peer: Option<Peer>,
    is_lost: bool,
    sending: usize,
    receiving: usize,
    /// Bodies that have come whole.
    received: usize,
    /// Whether new bodies are sent and offered ones received.
    is_busy: bool,
}

impl End {
    fn new(transport: &str) -> Option<End> {
        let settings = if transport == "tcp" {
            TCP
        } else {
            SHARED_MEMORY
        };
        Some(End {
            port: network(settings)?.port().expect("a port"),
            inbox: Inbox::default(),
            body: vec![7; BODY_BYTES].into(),
            peer: None,
            is_lost: false,
            sending: 0,
            receiving: 0,
            received: 0,
            is_busy: true,
        })
    }

    fn connect(&mut self, address: &[u8]) {
        let peer = self.port.connect(address).expect("a peer's address");
        self.port.bind(peer, 1, 2);
        self.port
            .send(peer, Kind::Hello, 0, Payload::Packets(b"hello"));
        self.peer = Some(peer);
    }

    /// Keeps as many bodies on their way as there may be.
    fn send(&mut self) {
        let Some(peer) = self.peer.filter(|_| self.is_busy && !self.is_lost) else {
            return;
        };
        while self.sending < BODIES {
            let payload = Payload::Large {
                head: b"head",
                body: self.body.clone(),
                tag: 1,
            };
            self.port.send(peer, Kind::Packets, 0, payload);
            self.sending += 1;
        }
    }

    fn turn(&mut self) {
        self.port.progress(&mut self.inbox);
        for event in self.inbox.events.drain(..) {
            match event {
                Event::Message { frame, sender, .. } => {
                    if let (Kind::Hello, Some(sender)) = (frame.kind, sender) {
                        self.port.bind(sender, 1, 2);
                        self.peer = Some(sender);
                    }
                }
                Event::Offered { offer, .. } if self.is_busy => {
                    let room = vec![0; offer.bytes];
                    self.port.receive(offer, room, 1);
                    self.receiving += 1;
                }
                Event::Offered { offer, .. } => self.port.refuse(offer),
                Event::Received { into, outcome, .. } => {
                    self.receiving -= 1;
                    if outcome.is_ok() {
                        assert!(into == *self.body, "a body that came whole");
                        self.received += 1;
                    }
                }
                Event::Sent { .. } => self.sending -= 1,
                Event::Lost { .. } => self.is_lost = true,
                Event::Renewed => {}
                Event::Garbage(error) => panic!("{error}"),
            }
        }
        self.inbox.recycle();
        self.send();
    }

    fn turn_until(&mut self, what: &str, condition: impl Fn(&End) -> bool) {
        let deadline = Instant::now() + WAIT_MAX;
        while !condition(self) {
            assert!(
                Instant::now() < deadline,
                "waited in vain until {what}: {} to send, {} to receive",
                self.sending,
                self.receiving
            );
            self.turn();
        }
    }

    /// Closes the peer, and waits until the network has let go of everything.
    fn close(&mut self) {
        self.is_busy = false;
        self.port.close(self.peer.take().expect("a peer"));
        self.turn_until("everything is back", |end| end.sending + end.receiving == 0);
        self.is_lost = false;
        assert_eq!(Arc::strong_count(&self.body), 1, "bodies still pinned");
    }
}

/// What the peer does when this program is started for it; nothing in a run of all tests.
#[test]
fn peer() {
    let Some(words) = peers::words() else {
        return;
    };
    let mut end = End::new(&words[0]).expect("UCX, as the parent has it");
    if let Some(address) = words.get(1) {
        end.connect(&bytes_of(address));
    }
    println!("\naddress {}", hexadecimal(end.port.address()));
    // Until it is killed; should its parent die first, not for ever.
    let deadline = Instant::now() + WAIT_MAX;
    while Instant::now() < deadline {
        end.turn();
    }
}

/// Starts a peer; its address.
fn start_peer(transport: &str, connect_to: Option<&[u8]>) -> (PeerProcess, Vec<u8>) {
    let address =
        connect_to.map_or_else(String::new, |address| format!(" {}", hexadecimal(address)));
    let mut peer = PeerProcess::start(&format!("{transport}{address}"));
    let said = peer.hear("address").join().expect("the reader ends");
    (peer, bytes_of(&said.expect("the peer says where it is")))
}

/// A small generator of numbers that look random, the same in every run.
fn next_number(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *state >> 16
}

/// Has bodies go both ways with a new peer; nothing where an earlier peer's death had blocked the
/// way in, and the port started anew meanwhile.
fn meet(end: &mut End, transport: &str, peer_connects: bool, bodies: usize) -> Option<PeerProcess> {
    let own = end.port.address().to_vec();
    let (mut peer, address) = start_peer(transport, peer_connects.then_some(&own));
    end.is_busy = true;
    if !peer_connects {
        end.connect(&address);
    }
    let wanted = end.received + bodies;
    end.turn_until("bodies go both ways", |end| {
        let is_going = end.received >= wanted && end.sending + end.receiving > 0;
        is_going || end.port.address() != own
    });
    if end.port.address() == own {
        return Some(peer);
    }
    peer.kill();
    if end.peer.is_some() {
        end.close();
    }
    None
}

/// Kills one peer after another in the middle of it all.
fn peers_are_killed(transport: &str, peer_connects: bool) {
    let Some(mut end) = End::new(transport) else {
        return;
    };
    let (mut state, mut kills, mut renewals) = (1, 0, 0);
    while kills < KILLS {
        let bodies = next_number(&mut state) as usize % 20;
        let Some(mut peer) = meet(&mut end, transport, peer_connects, bodies) else {
            renewals += 1;
            continue;
        };
        for _ in 0..next_number(&mut state) % 500 {
            end.turn();
        }
        peer.child.kill().expect("a peer that lives");
        // Sometimes the death is known before UCX has had a turn, sometimes long after.
        for _ in 0..(kills % 3) * 200 {
            end.turn();
        }
        peer.child.wait().expect("the peer's end");
        end.close();
        kills += 1;
    }
    assert!(renewals < KILLS, "not every death blocks the way in");
    println!("{renewals} of {KILLS} deaths blocked the way in");
}

#[test]
fn clients_are_killed_over_shared_memory() {
    peers_are_killed("shared_memory", true);
}

#[test]
fn servers_are_killed_over_shared_memory() {
    peers_are_killed("shared_memory", false);
}

#[test]
fn clients_are_killed_over_tcp() {
    peers_are_killed("tcp", true);
}

#[test]
fn servers_are_killed_over_tcp() {
    peers_are_killed("tcp", false);
}
