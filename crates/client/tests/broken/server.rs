//! A server for the network inside this process: grants by a socket, answers by its port.

use farcache_fabric::grant::{self, Grant};
use farcache_fabric::memory::{MemoryPort, Network};
use farcache_fabric::{Event, Frame, Inbox, Kind, Payload, Peer, Port};
use farcache_proto::binary::{
    HEADER_BYTES, Header, MAGIC_RESPONSE, Opcode, Packet, Status, encode_head, encode_u32,
};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

const TOKEN: u64 = 0x1122_3344_5566_7788;

type Body = Vec<u8>;

/// Ends with the test.
pub struct FakeServer {
    pub address: String,
    /// The address of its port.
    pub port: Vec<u8>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl FakeServer {
    pub fn start(network: &Network) -> FakeServer {
        let port: MemoryPort<Body, Body> = network.port();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let port_address = port.address().to_vec();
        let stop = Arc::new(AtomicBool::new(false));
        let (granting, serving) = (Arc::clone(&stop), Arc::clone(&stop));
        let granted = port_address.clone();
        let threads = vec![
            std::thread::spawn(move || grant_all(&listener, &granted, &granting)),
            std::thread::spawn(move || serve(port, &serving)),
        ];
        FakeServer {
            address,
            port: port_address,
            stop,
            threads,
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // The listener waits for somebody.
        let _ = TcpStream::connect(&self.address);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server panicked"
            );
        }
    }
}

/// Grants a session to everybody who waits for it, and keeps the connections open.
fn grant_all(listener: &TcpListener, port: &[u8], stop: &AtomicBool) {
    static SESSIONS: AtomicU32 = AtomicU32::new(1);
    let mut life_lines = Vec::new();
    for stream in listener.incoming() {
        if stop.load(Ordering::Acquire) {
            return;
        }
        let mut stream = stream.expect("a client");
        let mut question = [0; HEADER_BYTES + 2];
        if stream.read_exact(&mut question).is_err() {
            continue;
        }
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let grant = Grant {
            network: grant::Network::Memory,
            credits: 4,
            session,
            token: TOKEN,
            key: u64::from(session) << 32,
            message_bytes_max: 64 << 10,
            address: port.to_vec(),
        };
        let mut answer = Vec::new();
        let header = Header {
            magic: MAGIC_RESPONSE,
            opcode: question[1],
            ..Header::default()
        };
        Packet {
            header,
            extras: &[],
            key: &[],
            value: &grant.encode(),
        }
        .encode(&mut answer);
        if stream.write_all(&answer).is_ok() && has_no_cluster(&mut stream).is_ok() {
            life_lines.push(stream);
        }
    }
}

/// Answers the question for the cluster's map, which comes next.
fn has_no_cluster(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut question = [0; HEADER_BYTES];
    stream.read_exact(&mut question)?;
    assert_eq!(question[1], Opcode::ClusterMap as u8);
    let header = Header {
        magic: MAGIC_RESPONSE,
        opcode: question[1],
        status: Status::UnknownCommand as u16,
        ..Header::default()
    };
    stream.write_all(&header.encode())
}

#[derive(Default)]
struct Store {
    items: HashMap<Vec<u8>, Body>,
    /// Clients by session.
    clients: HashMap<u32, Peer>,
    /// Packets whose value is being received, by tag.
    heads: HashMap<u64, (Frame, Vec<u8>)>,
}

fn serve(mut port: MemoryPort<Body, Body>, stop: &AtomicBool) {
    let mut inbox = Inbox::default();
    let mut store = Store::default();
    while !stop.load(Ordering::Acquire) {
        if !port.progress(&mut inbox) {
            std::thread::yield_now();
        }
        for event in std::mem::take(&mut inbox.events) {
            match event {
                Event::Message {
                    frame,
                    packets,
                    sender,
                } => {
                    let packets = inbox.bytes[packets].to_vec();
                    match (frame.kind, sender) {
                        (Kind::Hello, Some(peer)) => store.greet(&mut port, &frame, &packets, peer),
                        (_, None) => store.answer(&mut port, &frame, &packets),
                        (_, Some(peer)) => port.close(peer),
                    }
                }
                Event::Offered { frame, head, offer } => {
                    let head = inbox.bytes[head].to_vec();
                    let room = vec![0; offer.bytes];
                    let tag = offer.number;
                    store.heads.insert(tag, (frame, head));
                    port.receive(offer, room, tag);
                }
                Event::Received { tag, into, outcome } => {
                    let (frame, mut head) = store.heads.remove(&tag).expect("offered");
                    if outcome.is_ok() {
                        head.extend_from_slice(&into);
                        store.answer(&mut port, &frame, &head);
                    }
                }
                Event::Lost { peer, .. } => {
                    store.clients.retain(|_, client| *client != peer);
                    port.close(peer);
                }
                Event::Sent { .. } | Event::Renewed | Event::Garbage(_) => {}
            }
        }
        inbox.recycle();
    }
}

impl Store {
    fn greet(
        &mut self,
        port: &mut MemoryPort<Body, Body>,
        frame: &Frame,
        token: &[u8],
        peer: Peer,
    ) {
        assert_eq!(token, TOKEN.to_le_bytes());
        port.bind(peer, frame.session, frame.key);
        self.clients.insert(frame.session, peer);
        port.send(peer, Kind::Welcome, 0, Payload::Packets(&[]));
    }

    fn answer(&mut self, port: &mut MemoryPort<Body, Body>, frame: &Frame, packets: &[u8]) {
        let Some(&peer) = self.clients.get(&frame.session) else {
            return;
        };
        let (mut replies, mut rest) = (Vec::new(), packets);
        while let Ok(Some((packet, bytes))) = Packet::decode(rest) {
            rest = &rest[bytes..];
            if let Some((head, body)) = self.carry_out(&packet, &mut replies) {
                let head = &head;
                let payload = Payload::Large { head, body, tag: 0 };
                port.send(peer, Kind::Packets, 0, payload);
            }
        }
        port.send(peer, Kind::Packets, 1, Payload::Packets(&replies));
    }

    /// Carries a get or a set out; a large value comes back with its packet's head.
    fn carry_out(&mut self, packet: &Packet<'_>, replies: &mut Vec<u8>) -> Option<(Vec<u8>, Body)> {
        let is_get = packet.header.opcode == Opcode::Get as u8;
        let found = self.items.get(packet.key).filter(|_| is_get);
        let mut header = Header {
            magic: MAGIC_RESPONSE,
            ..packet.header
        };
        header.status = Status::Success as u16;
        if let Some(value) = found {
            let mut head = Vec::new();
            encode_head(header, &encode_u32(0), &[], value.len(), &mut head);
            return Some((head, value.clone()));
        }
        if is_get {
            header.status = Status::NotFound as u16;
        } else {
            self.items
                .insert(packet.key.to_vec(), packet.value.to_vec());
        }
        encode_head(header, &[], &[], 0, replies);
        None
    }
}
