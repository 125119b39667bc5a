//! Whole sessions against a small store, in the protocol that the input happens to speak, cut into
//! arbitrary pieces. Two connections take turns, so that one works on what the other left behind.
#![no_main]

use farcache_base::time::Clock;
use farcache_server::host::ServerHost;
use farcache_server::settings::Settings;
use farcache_server::shared::Shared;
use farcache_session::{Context, Protocol, Replies, SLICES_MAX, Session, Status};
use farcache_store::{Store, StoreConfig, StoreHandle};
use libfuzzer_sys::fuzz_target;
use std::io::IoSlice;

thread_local! {
    static SERVER: (Shared, StoreHandle) = server();
}

fn server() -> (Shared, StoreHandle) {
    let config = StoreConfig {
        memory_bytes: 8 << 20,
        segment_bytes: 64 << 10,
        ..StoreConfig::default()
    };
    let store = Store::new(config).expect("a small store can be made");
    let handle = store.handle();
    (
        Shared::new(
            store,
            Settings {
                threads: 1,
                ..Settings::default()
            },
        ),
        handle,
    )
}

fuzz_target!(|input: &[u8]| {
    let Some((&[seed, seconds], stream)) = input.split_first_chunk() else {
        return;
    };
    SERVER.with(|(shared, store)| {
        store.flush_all(None);
        let clock = Clock {
            now: 2 + u32::from(seconds),
            epoch_unix: 1_700_000_000,
        };
        store.set_now(clock.now);
        let context = Context {
            store,
            service: &shared.service,
            host: &ServerHost {
                shared,
                caller: None,
            },
            forward: None,
            turn: None,
            counters: &shared.workers[0],
            clock,
        };
        let mut connections = [Connection::new(), Connection::new()];
        for (number, piece) in pieces(stream, seed).enumerate() {
            // Most pieces go to the first connection, so that requests stay whole.
            let which = usize::from(seed > 127 && number % 4 == 3);
            connections[which].receive(piece, &context);
        }
    });
});

/// Cuts `stream` into pieces whose sizes follow from `seed`.
fn pieces(mut stream: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let mut state = u32::from(seed) | 1;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = 1 + (state >> 16) as usize % if seed.is_multiple_of(2) { 4096 } else { 32 };
        let piece;
        (piece, stream) = stream.split_at(size.min(stream.len()));
        (!piece.is_empty()).then_some(piece)
    })
}

/// What a driver keeps of a connection.
struct Connection {
    session: Session,
    replies: Replies,
    input: Vec<u8>,
    is_open: bool,
}

impl Connection {
    fn new() -> Self {
        let session = Session::new(Protocol::Auto);
        Connection {
            session,
            replies: Replies::default(),
            input: Vec::new(),
            is_open: true,
        }
    }

    fn receive(&mut self, piece: &[u8], context: &Context<'_>) {
        let taken = self.fill_value(piece);
        self.input.extend_from_slice(&piece[taken..]);
        while self.is_open && self.advance(context) {}
    }

    /// Writes what belongs to an arriving value straight into its place.
    fn fill_value(&mut self, piece: &[u8]) -> usize {
        let room = self.session.value_buffer();
        let bytes = room.len().min(piece.len());
        room[..bytes].copy_from_slice(&piece[..bytes]);
        self.session.value_received(bytes);
        bytes
    }

    /// Lets the session work; whether it wants to be called again with what it has.
    fn advance(&mut self, context: &Context<'_>) -> bool {
        let (used, status) = self
            .session
            .advance(&self.input, context, &mut self.replies);
        assert!(used <= self.input.len());
        self.input.drain(..used);
        self.send();
        self.is_open = status != Status::Close;
        if status == Status::ValueWanted {
            assert!(
                !self.session.value_buffer().is_empty(),
                "a value is wanted but has no room"
            );
            assert!(self.input.is_empty(), "bytes of the value were left");
        }
        status == Status::Yield
    }

    /// Sends all replies, some bytes at a time.
    fn send(&mut self) {
        while !self.replies.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = self.replies.gather(&mut slices);
            let bytes: usize = slices[..count].iter().map(|slice| slice.len()).sum();
            assert!(bytes > 0, "replies wait but there is nothing to send");
            self.replies.advance(bytes.min(1500));
        }
    }
}
