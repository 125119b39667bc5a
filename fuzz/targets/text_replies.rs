//! What servers that speak text only send to a client: whatever it is, the client's own protocol is kept to, and every
//! operation ends once.
#![no_main]

use farcache_client::distribution::{Placement, PlacementSettings, Server};
use farcache_client::engine::{Action, Engine, Settings, Ticket};
use farcache_client::text::TextTranslator;
use farcache_client::{
    ClientConfig, Delivery, Direction, Initial, Operation, ReceiveBytes, Route, Store, Values,
};
use farcache_fabric::tcp::Translator;
use farcache_fabric::{Error, Frame, Kind, Payload, Peer};
use farcache_proto::binary::Packet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&piece_bytes, replies)) = input.split_first() else {
        return;
    };
    let config = ClientConfig::default();
    let placement = Placement::new(PlacementSettings::default(), vec![Server::new("cache", 1)]);
    let mut engine = Engine::new(Settings::new(&config, false), placement);
    let (singles, batch) = submit(&mut engine);
    let Some(Action::Connect { server, attempt }) = engine.next_action() else {
        panic!("the first operation connects");
    };
    engine.connected(server, attempt, Peer(1), Err("no fabric".into()), 0);
    let mut translator = TextTranslator::new();
    let (mut sent, mut packets) = (Vec::new(), Vec::new());
    engine.transmit(|message| {
        if let Payload::Packets(packets) = message.payload {
            let translated = translator.requests(packets, &mut sent);
            translated.expect("the engine sends requests");
        }
    });
    let identity = Engine::identity_of_line(server, attempt);
    let frame = Frame {
        kind: Kind::Packets,
        session: identity.session,
        key: identity.key,
        credits: 0,
        head_bytes: 0,
        body_bytes: 0,
    };
    for piece in replies.chunks(usize::from(piece_bytes) + 1) {
        if translator.replies(piece, &mut packets, &mut sent).is_err() {
            break;
        }
        let whole = whole_packets(&packets);
        engine.message(&frame, &packets[..whole], 0);
        packets.drain(..whole);
        assert!(
            engine.link(server).is_some(),
            "the engine did not like an answer"
        );
    }
    engine.tick(u64::MAX - 1);
    engine.lost(
        farcache_client::engine::Link::Tcp(Peer(1)),
        &Error::Cancelled,
        0,
    );
    for single in singles {
        assert!(engine.fetch(single).is_some());
    }
    assert!(engine.fetch_values(batch).is_some());
    assert_eq!((engine.in_use(), engine.outstanding()), (0, 0));
});

/// Bytes of the packets that are there whole.
fn whole_packets(packets: &[u8]) -> usize {
    let mut end = 0;
    while let Some((_, bytes)) = Packet::decode(&packets[end..]).expect("a packet") {
        end += bytes;
    }
    end
}

/// One operation of each kind, and a multi-get.
fn submit(engine: &mut Engine) -> (Vec<Ticket>, Ticket) {
    let into = ReceiveBytes::default;
    let key = &b"key"[..];
    let operations = [
        Operation::Get { key, into: into() },
        Operation::Store(Store::set(b"key", "value")),
        Operation::Arithmetic {
            direction: Direction::Increment,
            key,
            delta: 1,
            initial: Some(Initial {
                number: 5,
                expiry_s: 0,
            }),
        },
        Operation::GetAndTouch {
            key,
            expiry_s: 0,
            into: into(),
        },
        Operation::Touch { key, expiry_s: 9 },
        Operation::Delete { key, cas: 0 },
        Operation::Delete {
            key: b"a b",
            cas: 0,
        },
        Operation::Version,
        Operation::Noop,
        Operation::Statistics { group: b"" },
        Operation::Flush { delay_s: 0 },
    ];
    let delivery = Delivery {
        route: Route::Server(0),
        timeout: None,
    };
    let singles = operations.map(|operation| engine.submit(operation, delivery, 0));
    let keys = [b"one", b"two", b"six"];
    let batch = engine.submit_get_many(&keys, Values::new(), delivery, 0);
    (singles.into(), batch)
}
