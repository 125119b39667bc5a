//! A client and a server without a network between them.

use farcache_base::time::Clock;
use farcache_proto::binary::{Header, MAGIC_REQUEST, Opcode, Packet, SetExtras};
use farcache_server::host::ServerHost;
use farcache_server::settings::Settings;
use farcache_server::shared::Shared;
use farcache_session::Protocol;
use farcache_session::counters::Totals;
use farcache_session::{Context, Forward, Replies, SLICES_MAX, Session, Status};
use farcache_store::{Store, StoreConfig, StoreHandle};
use std::io::IoSlice;

/// A server with its store.
pub struct Server {
    pub shared: Shared,
    /// Who owns keys, if that is not this server alone.
    pub owners: Option<Box<dyn Forward>>,
    handle: StoreHandle,
    clock: Clock,
}

impl Server {
    pub fn new(settings: Settings) -> Server {
        let config = StoreConfig {
            cas: settings.cas,
            ..StoreConfig::default()
        };
        let store = Store::new(config).expect("a small store can be made");
        let handle = store.handle();
        let clock = Clock {
            now: 100,
            epoch_unix: 1_700_000_000,
        };
        Server {
            shared: Shared::new(store, settings),
            owners: None,
            handle,
            clock,
        }
    }

    pub fn sleep(&mut self, seconds: u32) {
        self.clock.now += seconds;
    }

    pub fn totals(&self) -> Totals {
        self.shared.totals()
    }
}

/// A response, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub header: Header,
    pub extras: Vec<u8>,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

impl Response {
    pub fn status(&self) -> u16 {
        self.header.status
    }

    /// The value as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.value).into_owned()
    }
}

/// A connection to a server.
pub struct Client {
    session: Session,
    pub is_open: bool,
    input: Vec<u8>,
}

impl Client {
    pub fn new() -> Client {
        Client {
            session: Session::new(Protocol::Auto),
            is_open: true,
            input: Vec::new(),
        }
    }

    /// Sends `bytes` and returns the responses.
    pub fn send(&mut self, server: &mut Server, bytes: &[u8]) -> Vec<Response> {
        responses(&self.send_raw(server, bytes))
    }

    /// Sends `bytes` and returns the bytes that come back.
    pub fn send_raw(&mut self, server: &mut Server, bytes: &[u8]) -> Vec<u8> {
        let room = self.session.value_buffer();
        let direct = room.len().min(bytes.len());
        room[..direct].copy_from_slice(&bytes[..direct]);
        self.session.value_received(direct);
        self.input.extend_from_slice(&bytes[direct..]);
        let mut sent = Vec::new();
        while self.is_open && self.advance(server, &mut sent) {}
        sent
    }

    fn advance(&mut self, server: &mut Server, sent: &mut Vec<u8>) -> bool {
        server.handle.set_now(server.clock.now);
        let mut replies = Replies::default();
        let context = Context {
            store: &server.handle,
            service: &server.shared.service,
            host: &ServerHost {
                shared: &server.shared,
                caller: None,
            },
            forward: server.owners.as_deref(),
            turn: None,
            counters: &server.shared.workers[0],
            clock: server.clock,
        };
        let (used, status) = self.session.advance(&self.input, &context, &mut replies);
        self.input.drain(..used);
        drain(&mut replies, sent);
        server.handle.quiescent();
        self.is_open = status != Status::Close;
        status == Status::Yield
    }
}

fn drain(replies: &mut Replies, sent: &mut Vec<u8>) {
    while !replies.is_empty() {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = replies.gather(&mut slices);
        let before = sent.len();
        slices[..count]
            .iter()
            .for_each(|slice| sent.extend_from_slice(slice));
        replies.advance(sent.len() - before);
    }
}

/// Takes a stream of responses apart.
pub fn responses(mut bytes: &[u8]) -> Vec<Response> {
    let mut found = Vec::new();
    while let Some((packet, used)) = Packet::decode(bytes).expect("the server's packets make sense")
    {
        let Packet {
            header,
            extras,
            key,
            value,
        } = packet;
        let (extras, key, value) = (extras.to_vec(), key.to_vec(), value.to_vec());
        found.push(Response {
            header,
            extras,
            key,
            value,
        });
        bytes = &bytes[used..];
    }
    assert!(bytes.is_empty(), "a response is cut off");
    found
}

/// A request.
pub fn packet(opcode: Opcode, extras: &[u8], key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    let opaque = 0x0102_0304;
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        opaque,
        cas,
        ..Header::default()
    };
    let mut bytes = Vec::new();
    Packet {
        header,
        extras,
        key,
        value,
    }
    .encode(&mut bytes);
    bytes
}

/// A set, add or replace with flags 7 and no expiry.
pub fn set(opcode: Opcode, key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    packet(
        opcode,
        &SetExtras {
            flags: 7,
            expiration: 0,
        }
        .encode(),
        key,
        value,
        cas,
    )
}

/// A request that is a command and a key.
pub fn keyed(opcode: Opcode, key: &[u8]) -> Vec<u8> {
    packet(opcode, &[], key, &[], 0)
}

/// A request that is a command and nothing else.
pub fn bare(opcode: Opcode) -> Vec<u8> {
    packet(opcode, &[], &[], &[], 0)
}
