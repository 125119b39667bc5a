//! What servers send to a client: whatever it is, every operation ends once, and nothing is left over.
#![no_main]

use farcache_client::distribution::{Placement, PlacementSettings, Server};
use farcache_client::engine::{Action, Engine, Reception, Settings, Ticket};
use farcache_client::{ClientConfig, Delivery, Operation, ReceiveBytes, Route, Store, Values};
use farcache_fabric::{Error, Frame, Kind, Peer};
use libfuzzer_sys::fuzz_target;

/// Offered values are no longer than this, whatever their packets say.
const OFFER_BYTES_MAX: usize = 1 << 16;

fuzz_target!(|input: &[u8]| {
    let config = ClientConfig::default();
    let placement = Placement::new(PlacementSettings::default(), vec![Server::new("cache", 1)]);
    let mut engine = Engine::new(Settings::new(&config, false), placement);
    let (singles, batch) = submit(&mut engine);
    let Some(Action::Connect { server, attempt }) = engine.next_action() else {
        panic!("the first operation connects");
    };
    engine.connected(server, attempt, Peer(1), Err("no fabric".into()), 0);
    engine.transmit(|_| {});
    let identity = Engine::identity_of_line(server, attempt);
    let frame = Frame {
        kind: Kind::Packets,
        session: identity.session,
        key: identity.key,
        credits: 0,
        head_bytes: 0,
        body_bytes: 0,
    };
    let mut receiving = Vec::new();
    let mut rest = input;
    while let Some((&[kind, low, high], more)) = rest.split_first_chunk::<3>() {
        let (message, more) =
            more.split_at(more.len().min(usize::from(u16::from_le_bytes([low, high]))));
        rest = more;
        if kind == 0 {
            let bytes = value_bytes(message).min(OFFER_BYTES_MAX);
            match engine.offered(&frame, message, bytes, 0) {
                Reception::Receive { into, tag } => receiving.push((into, tag)),
                Reception::Refuse => {}
            }
        } else {
            engine.message(&frame, message, 0);
        }
    }
    for (into, tag) in receiving {
        engine.received(tag, into, Ok(()));
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

/// Length of the value of the packet at the start.
fn value_bytes(message: &[u8]) -> usize {
    let head = farcache_proto::binary::Head::decode(message);
    head.ok().flatten().map_or(0, |head| head.value_len)
}

/// One operation of each kind, and a multi-get.
fn submit(engine: &mut Engine) -> (Vec<Ticket>, Ticket) {
    let into = ReceiveBytes::default;
    let operations = [
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
