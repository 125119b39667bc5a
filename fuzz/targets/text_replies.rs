//! What servers that speak text only send to a client: whatever it is, the client's own protocol is
//! kept to, and every operation ends once.
#![no_main]

use farcache_client::text::{Dialect, TextTranslator};
use farcache_client::{Direction, Initial, Operation, ReceiveBytes, Store};
use farcache_fabric::Whole;
use farcache_fabric::tcp::Translator;
use farcache_fuzz::client::Client;
use farcache_proto::binary::Packet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&first, replies)) = input.split_first() else {
        return;
    };
    let (piece_bytes, dialect) = match first {
        0..128 => (usize::from(first) + 1, Dialect::Classic),
        _ => (usize::from(first) - 127, Dialect::Meta),
    };
    let mut client = Client::with(operations());
    let (engine, frame) = (&mut client.engine, client.frame);
    let mut translator = TextTranslator::new(dialect);
    let (mut sent, mut packets) = (Vec::new(), Vec::new());
    engine.transmit(|message| {
        if let Some(packets) = message.payload.packets() {
            let translated = translator.requests(packets, &mut sent);
            translated.expect("the engine sends requests");
        }
    });
    for piece in replies.chunks(piece_bytes) {
        if translator.replies(piece, &mut packets, &mut sent).is_err() {
            break;
        }
        let whole = whole_packets(&packets);
        engine.message(Whole::new(&frame, &packets[..whole]), 0);
        packets.drain(..whole);
        assert!(
            engine.link(0).is_some(),
            "the engine did not like an answer"
        );
    }
    client.end();
});

/// Bytes of the packets that are there whole.
fn whole_packets(packets: &[u8]) -> usize {
    let mut end = 0;
    while let Some((_, bytes)) = Packet::decode(&packets[end..]).expect("a packet") {
        end += bytes;
    }
    end
}

/// One operation of each kind.
fn operations() -> [Operation<'static>; 11] {
    let into = ReceiveBytes::default;
    let key = &b"key"[..];
    [
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
    ]
}
