//! Bytes in, bytes out: what a client sends and what it is answered, with the store behind it.
//! Where a comment gives no derivation, the answer is what memcached 1.6.45 gave to these bytes.

mod admin;
mod classic;
mod errors;
mod meta;
mod splits;
mod values;

use farcache_base::time::Clock;
use farcache_server::host::ServerHost;
use farcache_server::settings::Settings;
use farcache_server::shared::Shared;
use farcache_session::counters::Counters;
use farcache_session::{Context, HIGH_WATER_BYTES, Replies, SLICES_MAX, Session, Status};
use farcache_store::{Store, StoreConfig, StoreHandle};
use std::io::IoSlice;
use std::sync::Arc;

/// A server with one client, and the time in its hands.
struct Server {
    shared: Shared,
    handle: StoreHandle,
    counters: Arc<Counters>,
    clock: Clock,
}

impl Server {
    fn new() -> Server {
        Server::with(Settings::default(), StoreConfig::default())
    }

    fn with(settings: Settings, config: StoreConfig) -> Server {
        let store = Store::new(config).expect("memory for a test");
        let handle = store.handle();
        let shared = Shared::new(store, settings);
        let counters = Arc::clone(&shared.workers[0]);
        Server {
            shared,
            handle,
            counters,
            clock: Clock {
                now: 100,
                epoch_unix: 1_700_000_000,
            },
        }
    }

    /// Lets time pass.
    fn sleep(&mut self, seconds: u32) {
        self.clock.now += seconds;
    }

    /// One call of `advance`; the replies are taken out.
    fn step(&mut self, session: &mut Session, input: &[u8]) -> (usize, Status, Vec<u8>) {
        let mut replies = Replies::default();
        self.handle.set_now(self.clock.now);
        let context = Context {
            store: &self.handle,
            service: &self.shared.service,
            host: &ServerHost {
                shared: &self.shared,
                caller: None,
            },
            forward: None,
            turn: None,
            counters: &self.counters,
            clock: self.clock,
        };
        let (consumed, status) = session.advance(input, &context, &mut replies);
        (consumed, status, drain(&mut replies))
    }

    /// Sends everything at once on a new connection and returns the answer.
    fn ask(&mut self, input: &[u8]) -> String {
        let (answer, status) = self.talk(&mut Session::default(), input);
        assert!(
            matches!(status, Status::NeedInput | Status::ValueWanted),
            "{status:?}"
        );
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Feeds a connection as a driver does, until it needs more input than there is.
    fn talk(&mut self, session: &mut Session, mut input: &[u8]) -> (Vec<u8>, Status) {
        let mut answer = Vec::new();
        loop {
            let (consumed, status, bytes) = self.step(session, input);
            answer.extend_from_slice(&bytes);
            input = &input[consumed..];
            if status != Status::Yield {
                return (answer, status);
            }
        }
    }
}

fn drain(replies: &mut Replies) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !replies.is_empty() {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = replies.gather(&mut slices);
        let gathered: Vec<u8> = slices[..count]
            .iter()
            .flat_map(|slice| slice.to_vec())
            .collect();
        replies.advance(gathered.len());
        bytes.extend_from_slice(&gathered);
    }
    bytes
}

/// Asserts that a fresh server answers `$input` with `$output`.
macro_rules! golden {
    ($($name:ident: $input:expr => $output:expr;)*) => {
        $(
            #[test]
            fn $name() {
                assert_eq!(crate::Server::new().ask($input.as_ref()), $output);
            }
        )*
    };
}
use golden;

#[test]
fn a_session_is_small() {
    assert!(size_of::<Session>() <= 128);
}

#[test]
fn the_quota_of_an_event_is_kept() {
    let settings = Settings {
        requests_per_event: 1,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    let input = b"mn\r\n".repeat(40);
    let (consumed, status, bytes) = server.step(&mut Session::default(), &input);
    // One batch, of 32 requests.
    assert_eq!((consumed, status), (32 * 4, Status::Yield));
    assert_eq!(bytes, b"MN\r\n".repeat(32));
}

#[test]
fn copying_a_large_value_uses_the_quota_up() {
    let settings = Settings {
        requests_per_event: 1,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    let set = [b"set k 0 0 20000\r\n", &[b'v'; 20_000][..], b"\r\n"].concat();
    for command in [
        "append k 0 0 1\r\nx\r\n",
        "ms k 1 MP\r\nx\r\n",
        "touch k 50\r\n",
        "mg k T50\r\n",
        "md k I T50\r\n",
    ] {
        assert_eq!(server.ask(&set), "STORED\r\n");
        let (consumed, status, _) =
            server.step(&mut Session::default(), command.repeat(2).as_bytes());
        assert_eq!(
            (consumed, status),
            (command.len(), Status::Yield),
            "{command}"
        );
    }
}

#[test]
fn full_replies_are_sent_before_more_are_made() {
    let mut server = Server::new();
    let value_bytes = 500_000;
    let set = [
        b"set k 0 0 500000\r\n",
        &vec![b'v'; value_bytes][..],
        b"\r\n",
    ]
    .concat();
    assert_eq!(server.ask(&set), "STORED\r\n");
    // A batch is looked up whole, so that up to a batch of values may pass the mark.
    let input = format!("get{}\r\nmn\r\n", " k".repeat(100));
    let mut session = Session::default();
    let (consumed, status, bytes) = server.step(&mut session, input.as_bytes());
    assert_eq!(status, Status::Yield);
    assert!(bytes.len() >= HIGH_WATER_BYTES && bytes.len() <= 33 * (value_bytes + 100));
    let (rest, status) = server.talk(&mut session, &input.as_bytes()[consumed..]);
    assert_eq!(status, Status::NeedInput);
    let values = (bytes.len() + rest.len() - "END\r\nMN\r\n".len())
        / ("VALUE k 0 500000\r\n\r\n".len() + value_bytes);
    assert_eq!(values, 100);
    assert!(rest.ends_with(b"END\r\nMN\r\n"));
}
