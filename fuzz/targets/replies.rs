//! What servers send to a client: whatever it is, every operation ends once, and nothing is left
//! over.
#![no_main]

use farcache_client::engine::Reception;
use farcache_client::{
    Keeping, Operation, PartRooms, ReceiveBytes, Store, StoreMode, VersionTerms,
};
use farcache_fabric::Whole;
use farcache_fuzz::client::Client;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

/// Offered values are no longer than this, whatever their packets say.
const OFFER_BYTES_MAX: usize = 1 << 16;

fuzz_target!(|input: &[u8]| {
    let mut client = Client::with(operations());
    let (engine, frame) = (&mut client.engine, client.frame);
    engine.transmit(|_| {});
    let mut receiving = Vec::new();
    let mut rest = input;
    while let Some((&[kind, low, high], more)) = rest.split_first_chunk::<3>() {
        let (message, more) =
            more.split_at(more.len().min(usize::from(u16::from_le_bytes([low, high]))));
        rest = more;
        let value_bytes = value_bytes(message);
        match kind {
            0 => match engine.offered(&frame, message, value_bytes.min(OFFER_BYTES_MAX), 0) {
                Reception::Receive { into, tag } => receiving.push((into, tag)),
                Reception::Refuse => {}
            },
            1 => {
                let (head, body) = message.split_at(message.len().saturating_sub(value_bytes));
                let frame = &frame;
                engine.message(Whole { frame, head, body }, 0);
            }
            _ => engine.message(Whole::new(&frame, message), 0),
        }
    }
    for (into, tag) in receiving {
        engine.received(tag, into, Ok(()));
    }
    client.end();
});

/// Length of the value of the packet at the start.
fn value_bytes(message: &[u8]) -> usize {
    let head = farcache_proto::binary::Head::decode(message);
    head.ok().flatten().map_or(0, |head| head.value_len)
}

/// Some version.
const VERSION: u64 = 0x2_8000_0003;

/// One operation of each kind.
fn operations() -> [Operation<'static>; 12] {
    let into = ReceiveBytes::default;
    let redundancy = "ec:3,2".parse().expect("one");
    [
        Operation::Get {
            key: b"key",
            into: into(),
        },
        Operation::GetAndTouch {
            key: b"key",
            expiry_s: 0,
            into: into(),
        },
        Operation::Store(Store::set(b"key", "value")),
        Operation::Delete {
            key: b"key",
            cas: 0,
        },
        Operation::Arithmetic {
            direction: farcache_client::Direction::Increment,
            key: b"key",
            delta: 1,
            initial: None,
        },
        Operation::Version,
        Operation::Statistics { group: b"" },
        Operation::Get {
            key: b"other",
            into: into(),
        },
        Operation::Store(Store {
            mode: StoreMode::IfNewer(Keeping::Nothing),
            cas: VERSION,
            ..Store::set(b"key", "value")
        }),
        Operation::DeleteIfNewer {
            key: b"key",
            version: VERSION,
            keep_s: 0,
            is_promised: false,
            keeping: Keeping::Nothing,
        },
        Operation::GetVersioned {
            terms: VersionTerms::Newest,
            key: b"key",
            bytes_max: 32,
            into: into(),
        },
        Operation::GetPart {
            terms: VersionTerms::Newest,
            key: b"key",
            into: PartRooms::new(redundancy, &Arc::default(), Vec::new()),
        },
    ]
}
