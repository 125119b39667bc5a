//! Ports with their inboxes, and waiting for what they bring.

use farcache_fabric::{Event, Frame, Handler, Inbox, Kind, Offer, Payload, Peer, Port};
use std::time::{Duration, Instant};

/// Longest wait for anything; a test that needs it has failed.
pub const WAIT_MAX: Duration = Duration::from_secs(60);

/// Session and key of every conversation with the server; each client has its own.
pub const SESSION: u32 = 0x5e55_1017;
pub const KEY: u64 = 0x6b65_795f_6b65_7921;

pub type Body = Vec<u8>;

/// A port that the tests can use.
pub trait TestPort: Port<Body, Body> {}
impl<P: Port<Body, Body>> TestPort for P {}

/// A message as a test looks at it.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    pub frame: Frame,
    pub bytes: Vec<u8>,
    pub sender: Option<Peer>,
}

/// One port and what came of it.
pub struct Node<P> {
    pub port: P,
    inbox: Inbox<Body, Body>,
    pub messages: Vec<Message>,
    pub offers: Vec<(Frame, Vec<u8>, Offer)>,
    /// Tag, room, and whether all went well.
    pub received: Vec<(u64, Body, bool)>,
    pub sent: Vec<(u64, Body, bool)>,
    pub lost: Vec<Peer>,
    pub renewals: usize,
    pub garbage: usize,
}

impl<P: TestPort> Node<P> {
    pub fn new(port: P) -> Self {
        Node {
            port,
            inbox: Inbox::default(),
            messages: Vec::new(),
            offers: Vec::new(),
            received: Vec::new(),
            sent: Vec::new(),
            lost: Vec::new(),
            renewals: 0,
            garbage: 0,
        }
    }

    /// Progresses the port and sorts what happened.
    pub fn turn(&mut self) -> bool {
        let any = self.port.progress(&mut self.inbox);
        self.sort();
        any
    }

    /// Progresses the port with a handler that sees messages first, and sorts what happened.
    pub fn turn_with(&mut self, handler: &mut Handler<'_>) -> bool {
        let any = self.port.progress_with(&mut self.inbox, handler);
        self.sort();
        any
    }

    fn sort(&mut self) {
        let inbox = &mut self.inbox;
        for event in inbox.events.drain(..) {
            match event {
                Event::Message {
                    frame,
                    packets,
                    sender,
                } => {
                    let bytes = inbox.bytes[packets].to_vec();
                    self.messages.push(Message {
                        frame,
                        bytes,
                        sender,
                    });
                }
                Event::Offered { frame, head, offer } => {
                    let head = inbox.bytes[head].to_vec();
                    self.offers.push((frame, head, offer));
                }
                Event::Received { tag, into, outcome } => {
                    self.received.push((tag, into, outcome.is_ok()));
                }
                Event::Sent { tag, body, outcome } => {
                    self.sent.push((tag, body, outcome.is_ok()));
                }
                Event::Lost { peer, .. } => self.lost.push(peer),
                Event::Renewed => self.renewals += 1,
                Event::Garbage(_) => self.garbage += 1,
            }
        }
        inbox.recycle();
    }

    /// Sends packets.
    pub fn send(&mut self, peer: Peer, packets: &[u8]) {
        self.port
            .send(peer, Kind::Packets, 0, Payload::Packets(packets));
    }

    /// Sends a large body behind a head.
    pub fn send_large(&mut self, peer: Peer, head: &[u8], body: Body, tag: u64) {
        let payload = Payload::Large { head, body, tag };
        self.port.send(peer, Kind::Packets, 0, payload);
    }

    /// Takes the only message.
    pub fn take_message(&mut self) -> Message {
        assert_eq!(self.messages.len(), 1, "{:?}", self.messages);
        self.messages.remove(0)
    }
}

/// Progresses the nodes until the condition holds of them.
pub fn turn_until<P: TestPort, const N: usize>(
    mut nodes: [&mut Node<P>; N],
    what: &str,
    condition: impl Fn(&[&mut Node<P>; N]) -> bool,
) {
    let deadline = Instant::now() + WAIT_MAX;
    while !condition(&nodes) {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        for node in &mut nodes {
            node.turn();
        }
    }
}

/// A client that is let in to a server: the client's peer, and the server's.
pub fn introduce<P: TestPort>(client: &mut Node<P>, server: &mut Node<P>) -> (Peer, Peer) {
    let to_server = client
        .port
        .connect(server.port.address())
        .expect("a server's address");
    client.port.bind(to_server, SESSION, KEY);
    client
        .port
        .send(to_server, Kind::Hello, 0, Payload::Packets(b"a token!"));
    turn_until(
        [&mut *client, server],
        "the server is greeted",
        |[_, server]| !server.messages.is_empty(),
    );
    let hello = server.take_message();
    assert_eq!(hello.frame.kind, Kind::Hello);
    assert_eq!((hello.frame.session, hello.frame.key), (SESSION, KEY));
    assert_eq!(hello.bytes, b"a token!");
    let to_client = hello.sender.expect("the way back");
    server.port.bind(to_client, SESSION, KEY);
    server
        .port
        .send(to_client, Kind::Welcome, 0, Payload::Packets(b""));
    turn_until(
        [&mut *client, server],
        "the client is welcome",
        |[client, _]| !client.messages.is_empty(),
    );
    let welcome = client.take_message();
    assert_eq!((welcome.frame.kind, welcome.sender), (Kind::Welcome, None));
    (to_server, to_client)
}

/// Two ports, introduced to each other.
pub struct Pair<P> {
    pub client: Node<P>,
    pub server: Node<P>,
    pub to_server: Peer,
    pub to_client: Peer,
}

impl<P: TestPort> Pair<P> {
    pub fn new(make: impl Fn() -> P) -> Self {
        let (mut client, mut server) = (Node::new(make()), Node::new(make()));
        let (to_server, to_client) = introduce(&mut client, &mut server);
        Pair {
            client,
            server,
            to_server,
            to_client,
        }
    }

    /// Progresses both ends until the condition holds of client and server.
    pub fn until(&mut self, what: &str, condition: impl Fn(&Node<P>, &Node<P>) -> bool) {
        turn_until(
            [&mut self.client, &mut self.server],
            what,
            |[client, server]| condition(client, server),
        );
    }
}

/// Bytes that differ from place to place and from seed to seed.
pub fn pattern(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes)
        .map(|index| ((index + seed) % 251) as u8)
        .collect()
}
