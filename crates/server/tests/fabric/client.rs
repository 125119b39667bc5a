//! A client that speaks to the server's port itself.

use crate::support::{PATIENCE, Server, tcp};
use farcache_fabric::ucx::{Network, UcxPort};
use farcache_fabric::{Event, Grant, Inbox, Kind, Offer, Payload, Peer, Port};
use farcache_proto::binary::{
    HEADER_BYTES, Header, MAGIC_REQUEST, Opcode, Packet, SetExtras, encode_head,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A response's status and value.
pub type Response = (u16, Vec<u8>);

pub struct Client {
    port: UcxPort<Vec<u8>, Vec<u8>>,
    peer: Peer,
    inbox: Inbox<Vec<u8>, Vec<u8>>,
    heads: Vec<Vec<u8>>,
    /// The life line.
    pub control: TcpStream,
    pub grant: Grant,
    pub responses: Vec<Response>,
    pub goodbye: Option<String>,
    is_welcome: bool,
    is_lost: bool,
    /// Values that it is offered and does not take, where it takes none.
    untaken: Option<Vec<Offer>>,
}

/// Asks for a session on a new connection.
pub fn ask(server: &Server) -> (TcpStream, Grant) {
    let mut control = tcp(server.address());
    let request = request(Opcode::FabricUpgrade, &[], b"", &[1, 1]);
    control.write_all(&request).expect("the server reads");
    let mut header = [0; HEADER_BYTES];
    control.read_exact(&mut header).expect("an answer");
    let header = Header::decode(&header);
    assert_eq!(header.status, 0, "granted");
    let mut value = vec![0; header.body_len as usize];
    control.read_exact(&mut value).expect("an answer");
    (control, Grant::decode(&value).expect("a grant"))
}

impl Client {
    /// A client that has been let in.
    pub fn connect(server: &Server, network: &Network) -> Client {
        let mut client = Client::granted(server, network);
        let token = client.grant.token.to_le_bytes();
        client.greet(&token);
        client.wait("the welcome", |client| client.is_welcome);
        client
    }

    /// A client that has asked and has not come yet.
    pub fn granted(server: &Server, network: &Network) -> Client {
        let (control, grant) = ask(server);
        Client::over(network, control, grant)
    }

    /// A client that shows another one's grant.
    pub fn with(server: &Server, network: &Network, grant: Grant) -> Client {
        Client::over(network, tcp(server.address()), grant)
    }

    fn over(network: &Network, control: TcpStream, grant: Grant) -> Client {
        let mut port = network.port().expect("a port");
        let peer = port.connect(&grant.address).expect("reachable");
        port.bind(peer, grant.session, grant.key);
        Client {
            port,
            peer,
            inbox: Inbox::default(),
            heads: Vec::new(),
            control,
            grant,
            responses: Vec::new(),
            goodbye: None,
            is_welcome: false,
            is_lost: false,
            untaken: None,
        }
    }

    /// From now on it takes no value that it is offered.
    pub fn take_no_values(&mut self) {
        self.untaken = Some(Vec::new());
    }

    pub fn greet(&mut self, token: &[u8]) {
        self.port
            .send(self.peer, Kind::Hello, 0, Payload::Packets(token));
    }

    pub fn send(&mut self, packets: &[u8]) {
        self.port
            .send(self.peer, Kind::Packets, 0, Payload::Packets(packets));
    }

    pub fn send_large(&mut self, head: &[u8], body: Vec<u8>) {
        let payload = Payload::Large { head, body, tag: 0 };
        self.port.send(self.peer, Kind::Packets, 0, payload);
    }

    /// Sends packets and returns so many responses.
    pub fn ask(&mut self, packets: &[u8], count: usize) -> Vec<Response> {
        self.send(packets);
        self.answers(count)
    }

    pub fn answers(&mut self, count: usize) -> Vec<Response> {
        self.wait("responses", |client| client.responses.len() >= count);
        std::mem::take(&mut self.responses)
    }

    /// Moves the port until the condition holds.
    pub fn wait(&mut self, what: &str, condition: impl Fn(&Client) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            assert!(!self.is_lost, "lost while waiting for {what}");
            self.progress();
        }
    }

    pub fn progress(&mut self) {
        if !self.port.progress(&mut self.inbox) {
            std::thread::yield_now();
        }
        let mut inbox = std::mem::take(&mut self.inbox);
        for event in inbox.events.drain(..) {
            self.handle(event, &inbox.bytes);
        }
        inbox.recycle();
        self.inbox = inbox;
    }

    fn handle(&mut self, event: Event<Vec<u8>, Vec<u8>>, bytes: &[u8]) {
        match event {
            Event::Message { frame, packets, .. } => {
                let packets = &bytes[packets];
                assert_eq!(
                    (frame.session, frame.key),
                    (self.grant.session, self.grant.key)
                );
                match frame.kind {
                    Kind::Welcome => self.is_welcome = true,
                    Kind::Goodbye => {
                        self.goodbye = Some(String::from_utf8_lossy(packets).into_owned());
                    }
                    _ => self.take(packets),
                }
            }
            Event::Offered { offer, .. } if self.untaken.is_some() => {
                self.untaken.get_or_insert_default().push(offer);
            }
            Event::Offered { head, offer, .. } => {
                self.heads.push(bytes[head].to_vec());
                let (room, tag) = (vec![0; offer.bytes], self.heads.len() as u64 - 1);
                self.port.receive(offer, room, tag);
            }
            Event::Received { tag, into, outcome } => {
                outcome.expect("received");
                let packet = [&self.heads[tag as usize][..], &into].concat();
                self.take(&packet);
            }
            Event::Sent { .. } => {}
            Event::Lost { .. } => self.is_lost = true,
            Event::Renewed => {}
            Event::Garbage(error) => panic!("garbage from the server: {error}"),
        }
    }

    fn take(&mut self, mut packets: &[u8]) {
        while let Some((packet, used)) = Packet::decode(packets).expect("packets make sense") {
            self.responses
                .push((packet.header.status, packet.value.to_vec()));
            packets = &packets[used..];
        }
        assert!(packets.is_empty(), "a response is cut off");
    }
}

/// The head of a request.
pub fn head(opcode: Opcode, extras: &[u8], key: &[u8], value_bytes: usize) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        ..Header::default()
    };
    let mut bytes = Vec::new();
    encode_head(header, extras, key, value_bytes, &mut bytes);
    bytes
}

pub fn request(opcode: Opcode, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    [&head(opcode, extras, key, value.len())[..], value].concat()
}

pub fn get(key: &[u8]) -> Vec<u8> {
    request(Opcode::Get, &[], key, b"")
}

/// The head of a set.
pub fn set_head(key: &[u8], value_bytes: usize) -> Vec<u8> {
    let extras = SetExtras {
        flags: 0,
        expiration: 0,
    };
    head(Opcode::Set, &extras.encode(), key, value_bytes)
}

pub fn set(key: &[u8], value: &[u8]) -> Vec<u8> {
    [&set_head(key, value.len())[..], value].concat()
}
