//! The port for ordinary memcached servers, fed with packets cut anywhere.

use farcache_fabric::tcp::{Stream, TcpPort};
use farcache_fabric::{Arming, Error, Event, Inbox, Kind, Offer, Payload, Peer, Port};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

type Body = Vec<u8>;

/// A port with one connection, and the server's end of it.
struct Fixture {
    port: TcpPort<Body, Body>,
    peer: Peer,
    server: UnixStream,
    inbox: Inbox<Body, Body>,
    /// What has arrived, in the order of arrival: packets and values.
    arrived: Vec<u8>,
    lost: Option<Error>,
}

impl Fixture {
    fn new() -> Fixture {
        let (client, server) = UnixStream::pair().expect("a pair");
        let mut port = TcpPort::new().expect("a port");
        let stream = Stream::plain(client).expect("a stream");
        let peer = port.adopt(stream).expect("watched");
        port.bind(peer, 7, 9);
        Fixture {
            port,
            peer,
            server,
            inbox: Inbox::default(),
            arrived: Vec::new(),
            lost: None,
        }
    }

    /// Takes in what is there; values that are offered are received, or refused and left out.
    fn take_in(&mut self, refuses: bool) {
        while self.port.progress(&mut self.inbox) {
            for event in std::mem::take(&mut self.inbox.events) {
                match event {
                    Event::Message { frame, packets, .. } => {
                        assert_eq!(
                            (frame.session, frame.key, frame.kind),
                            (7, 9, Kind::Packets)
                        );
                        assert_eq!(frame.body_bytes as usize, packets.len());
                        self.arrived.extend_from_slice(&self.inbox.bytes[packets]);
                    }
                    Event::Offered { head, offer, .. } => {
                        self.arrived.extend_from_slice(&self.inbox.bytes[head]);
                        self.decide(offer, refuses);
                    }
                    Event::Received { into, outcome, tag } => {
                        assert_eq!((outcome, tag), (Ok(()), 5));
                        self.arrived.extend_from_slice(&into);
                    }
                    Event::Lost { error, .. } => self.lost = Some(error),
                    other => panic!("{other:?}"),
                }
            }
            self.inbox.recycle();
        }
    }

    fn decide(&mut self, offer: Offer, refuses: bool) {
        match refuses {
            true => self.port.refuse(offer),
            false => {
                let room = vec![0; offer.bytes];
                self.port.receive(offer, room, 5);
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.server.write_all(bytes).expect("room in the socket");
    }
}

fn packet(value_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0x81, 0, 0, 0, 4, 0, 0, 0];
    bytes.extend_from_slice(&(value_bytes as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(&[0; 12 + 4]);
    bytes.extend((0..value_bytes).map(|at| (at * 31 + at / 253) as u8));
    bytes
}

#[test]
fn packets_arrive_whole_wherever_they_are_cut() {
    let stream = [0, 10, 0, 40_000, 3, 20_000, 16 << 10, (16 << 10) + 1, 1]
        .map(packet)
        .concat();
    for piece in [1, 7, 23, 24, 25, 1000, 4096, 65_536, stream.len()] {
        let mut fixture = Fixture::new();
        for bytes in stream.chunks(piece) {
            fixture.write(bytes);
            fixture.take_in(false);
        }
        assert!(fixture.arrived == stream, "pieces of {piece} bytes");
        assert_eq!(fixture.port.arm(), Arming::Armed);
    }
}

#[test]
fn refused_values_are_left_out() {
    let (small, large) = (packet(3), packet(40_000));
    let stream = [&small[..], &large, &small].concat();
    for piece in [100, 30_000, stream.len()] {
        let mut fixture = Fixture::new();
        for bytes in stream.chunks(piece) {
            fixture.write(bytes);
            fixture.take_in(true);
        }
        let expected = [&small[..], &large[..28], &small].concat();
        assert!(fixture.arrived == expected, "pieces of {piece} bytes");
    }
}

#[test]
fn what_is_no_binary_packet_loses_the_peer() {
    let mut contradicting = packet(0);
    contradicting[11] = 3;
    let mut long_key = packet(0);
    long_key[2..4].copy_from_slice(&60_000u16.to_be_bytes());
    long_key[8..12].copy_from_slice(&60_004u32.to_be_bytes());
    for bytes in [b"ERROR\r\n".to_vec(), contradicting, long_key] {
        let mut fixture = Fixture::new();
        fixture.write(&[packet(2), bytes].concat());
        fixture.take_in(false);
        let error = fixture.lost.take().expect("lost");
        assert!(matches!(error, Error::Malformed(_)), "{error}");
    }
}

#[test]
fn the_end_gives_everything_back() {
    let mut fixture = Fixture::new();
    let large = packet(1 << 20);
    fixture.write(&large[..100]);
    fixture.take_in(false);
    let payload = Payload::Large {
        head: &[1; 30],
        body: vec![2; 8 << 20],
        tag: 6,
    };
    fixture.port.send(fixture.peer, Kind::Packets, 0, payload);
    fixture.port.progress(&mut fixture.inbox);
    assert!(fixture.port.has_unsent());
    assert_eq!(fixture.port.unsent(fixture.peer), 1);
    fixture
        .server
        .shutdown(std::net::Shutdown::Both)
        .expect("connected");
    while fixture.port.progress(&mut fixture.inbox) {}
    let (mut sent, mut received, mut lost) = (0, 0, 0);
    for event in &fixture.inbox.events {
        match event {
            Event::Sent {
                tag: 6,
                outcome: Err(_),
                ..
            } => sent += 1,
            Event::Received {
                tag: 5,
                outcome: Err(_),
                ..
            } => received += 1,
            Event::Lost { .. } => lost += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((sent, received, lost), (1, 1, 1));
    // Nothing is sent to it any more, and what is lent comes back.
    let payload = Payload::Large {
        head: &[1],
        body: vec![3],
        tag: 8,
    };
    fixture.port.send(fixture.peer, Kind::Packets, 0, payload);
    fixture.inbox.events.clear();
    fixture.port.progress(&mut fixture.inbox);
    assert!(matches!(
        &fixture.inbox.events[..],
        [Event::Sent {
            tag: 8,
            outcome: Err(_),
            ..
        }]
    ));
    fixture.port.close(fixture.peer);
}

#[test]
fn messages_and_values_are_written_in_order() {
    let mut fixture = Fixture::new();
    let body: Vec<u8> = (0..3_000_000usize).map(|at| (at * 7) as u8).collect();
    let send = |port: &mut TcpPort<Body, Body>, payload| {
        port.send(fixture.peer, Kind::Packets, 0, payload)
    };
    send(&mut fixture.port, Payload::Packets(b"first"));
    send(&mut fixture.port, Payload::Packets(b"second"));
    for tag in [1, 2] {
        let body = body.clone();
        let head = b"head";
        send(&mut fixture.port, Payload::Large { head, body, tag });
    }
    send(&mut fixture.port, Payload::Packets(b"last"));
    let expected = [b"firstsecondhead", &body[..], b"head", &body, b"last"].concat();
    let mut server = fixture.server.try_clone().expect("another handle");
    let bytes = expected.len();
    let reader = std::thread::spawn(move || {
        let mut read = vec![0; bytes];
        server.read_exact(&mut read).expect("all of it");
        read
    });
    while fixture.port.has_unsent() {
        fixture.port.progress(&mut fixture.inbox);
        std::thread::yield_now();
    }
    assert!(reader.join().expect("read") == expected);
    let tags: Vec<_> = fixture
        .inbox
        .events
        .iter()
        .map(|event| match event {
            Event::Sent {
                tag,
                outcome: Ok(()),
                body,
            } => (*tag, body.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(tags, [(1, body.len()), (2, body.len())]);
}
