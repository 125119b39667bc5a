//! A client that does what it is told, right or wrong.

use super::{Connection, Server};
use farcache_fabric::grant::Grant;
use farcache_fabric::memory::{MemoryPort, Network};
use farcache_fabric::{Event, Inbox, Kind, Payload, Peer, Port};
use farcache_proto::binary::{
    Header, MAGIC_REQUEST, Opcode, Packet, SetExtras, Status, encode_head,
};

/// A response, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub opaque: u32,
    pub status: u16,
    pub cas: u64,
    pub value: Vec<u8>,
}

impl Response {
    pub fn is(&self, status: Status) -> bool {
        self.status == status as u16
    }
}

/// What a client has been sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    Welcome,
    /// The responses of one message.
    Responses(Vec<Response>),
    Goodbye(String),
    /// A value that it sent has been taken, or will not be.
    Taken(bool),
    Lost,
}

pub(super) struct Client {
    pub port: MemoryPort<Vec<u8>, Vec<u8>>,
    pub grant: Grant,
    pub peer: Peer,
    /// Its TCP connection; dropped, it is closed.
    pub connection: Option<Connection>,
    /// Credits that have come back.
    pub credits: u64,
    inbox: Inbox<Vec<u8>, Vec<u8>>,
    /// Heads of values that are being received.
    heads: Vec<Vec<u8>>,
    /// Whether it puts up with what a broken network makes of the server's messages.
    pub is_tolerant: bool,
}

impl Client {
    /// A client that has asked for a session and has not come yet.
    pub fn granted(server: &mut Server) -> Client {
        let connection = Connection::new();
        let grant = server.ask(&connection).expect("granted");
        Client::with(server, grant, Some(connection))
    }

    /// A client with this grant, right or wrong.
    pub fn with(server: &Server, grant: Grant, connection: Option<Connection>) -> Client {
        Client::over(&server.network, server, grant, connection)
    }

    /// A client that has been let in and offers no value, but sends each along with its packet.
    pub fn eager(server: &mut Server) -> Client {
        let network = server.network.clone().with_eager_bytes_max(usize::MAX);
        let connection = Connection::new();
        let grant = server.ask(&connection).expect("granted");
        let mut client = Client::over(&network, server, grant, Some(connection));
        client.greet();
        server.run();
        client.welcomed();
        client
    }

    fn over(
        network: &Network,
        server: &Server,
        grant: Grant,
        connection: Option<Connection>,
    ) -> Client {
        let mut port = network.port();
        let peer = port
            .connect(&server.address())
            .expect("there is such a port");
        port.bind(peer, grant.session, grant.key);
        Client {
            port,
            grant,
            peer,
            connection,
            credits: 0,
            inbox: Inbox::default(),
            heads: Vec::new(),
            is_tolerant: false,
        }
    }

    pub fn greet(&mut self) {
        let token = self.grant.token.to_le_bytes();
        self.port
            .send(self.peer, Kind::Hello, 0, Payload::Packets(&token));
    }

    pub fn welcomed(&mut self) {
        assert_eq!(self.receive(), [Received::Welcome]);
    }

    pub fn send(&mut self, packets: &[u8]) {
        self.port
            .send(self.peer, Kind::Packets, 0, Payload::Packets(packets));
    }

    pub fn send_large(&mut self, head: &[u8], body: Vec<u8>) {
        let payload = Payload::Large { head, body, tag: 0 };
        self.port.send(self.peer, Kind::Packets, 0, payload);
    }

    /// Sends packets and returns all responses to them.
    pub fn ask(&mut self, server: &mut Server, packets: &[u8]) -> Vec<Response> {
        self.send(packets);
        self.answers(server)
    }

    /// Sends a packet and returns the one response to it.
    pub fn ask_one(&mut self, server: &mut Server, packet: &[u8]) -> Response {
        let [response] = &self.ask(server, packet)[..] else {
            panic!("not one response");
        };
        response.clone()
    }

    /// All responses, until nothing comes any more.
    pub fn answers(&mut self, server: &mut Server) -> Vec<Response> {
        let mut answers = Vec::new();
        loop {
            server.run();
            let received = self.receive();
            if received.is_empty() {
                return answers;
            }
            for one in received {
                match one {
                    Received::Responses(responses) => answers.extend(responses),
                    Received::Taken(_) => {}
                    other => panic!("not a response: {other:?}"),
                }
            }
        }
    }

    /// What has come.
    pub fn receive(&mut self) -> Vec<Received> {
        let mut received = Vec::new();
        while self.port.progress(&mut self.inbox) || !self.inbox.is_empty() {
            let mut inbox = std::mem::take(&mut self.inbox);
            for event in inbox.events.drain(..) {
                received.extend(self.handle(event, &inbox.bytes));
            }
            inbox.recycle();
            self.inbox = inbox;
        }
        received
    }

    fn handle(&mut self, event: Event<Vec<u8>, Vec<u8>>, bytes: &[u8]) -> Option<Received> {
        match event {
            Event::Message { frame, packets, .. } => {
                assert_eq!(
                    (frame.session, frame.key),
                    (self.grant.session, self.grant.key)
                );
                self.credits += u64::from(frame.credits);
                let packets = &bytes[packets];
                Some(match frame.kind {
                    Kind::Welcome => Received::Welcome,
                    Kind::Packets => Received::Responses(responses(packets)),
                    Kind::Goodbye => Received::Goodbye(text(packets)),
                    Kind::Hello | Kind::Retire => panic!("a server does not send these"),
                })
            }
            Event::Offered { frame, head, offer } => {
                self.credits += u64::from(frame.credits);
                let room = vec![0; offer.bytes];
                self.heads.push(bytes[head].to_vec());
                self.port.receive(offer, room, self.heads.len() as u64 - 1);
                None
            }
            Event::Received { tag, into, outcome } => {
                if self.is_tolerant && outcome.is_err() {
                    return None;
                }
                outcome.expect("the server does not fail");
                let packet = [&self.heads[tag as usize][..], &into].concat();
                Some(Received::Responses(responses(&packet)))
            }
            Event::Sent { outcome, .. } => Some(Received::Taken(outcome.is_ok())),
            Event::Lost { peer, .. } => {
                assert_eq!(peer, self.peer);
                self.port.close(peer);
                Some(Received::Lost)
            }
            Event::Renewed => None,
            Event::Garbage(_) if self.is_tolerant => None,
            Event::Garbage(error) => panic!("garbage from the server: {error}"),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn responses(mut bytes: &[u8]) -> Vec<Response> {
    let mut found = Vec::new();
    while let Some((packet, used)) = Packet::decode(bytes).expect("the server's packets make sense")
    {
        let Header {
            opaque,
            status,
            cas,
            ..
        } = packet.header;
        let value = packet.value.to_vec();
        found.push(Response {
            opaque,
            status,
            cas,
            value,
        });
        bytes = &bytes[used..];
    }
    assert!(bytes.is_empty(), "a response is cut off");
    found
}

/// The head of a request whose value has so many bytes.
pub(super) fn head(opcode: Opcode, key: &[u8], cas: u64, value_bytes: usize) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        opaque: u32::from_be_bytes([1, 2, 3, opcode as u8]),
        cas,
        ..Header::default()
    };
    let extras = SetExtras {
        flags: 7,
        expiration: 0,
    };
    let has_extras = matches!(opcode.loud(), Opcode::Set | Opcode::Add | Opcode::Replace);
    let extras = if has_extras {
        &extras.encode()[..]
    } else {
        &[]
    };
    let mut bytes = Vec::new();
    encode_head(header, extras, key, value_bytes, &mut bytes);
    bytes
}

/// A request with its value.
pub(super) fn packet(opcode: Opcode, key: &[u8], value: &[u8]) -> Vec<u8> {
    [&head(opcode, key, 0, value.len())[..], value].concat()
}

pub(super) fn get(key: &[u8]) -> Vec<u8> {
    packet(Opcode::Get, key, b"")
}

pub(super) fn set(key: &[u8], value: &[u8]) -> Vec<u8> {
    packet(Opcode::Set, key, value)
}
