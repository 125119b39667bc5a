//! A client with requests under way to one server over TCP, as both targets of its replies have it.

use farcache_client::distribution::{Placement, PlacementSettings, Server};
use farcache_client::engine::{Action, Engine, Link, Settings, Ticket};
use farcache_client::{ClientConfig, Delivery, Operation, Route, Values};
use farcache_fabric::{Error, Frame, Kind, Peer};

/// The connection to the server.
const PEER: Peer = Peer(1);

/// The client, and what it waits for.
pub struct Client {
    /// Its core, connected, with nothing transmitted yet.
    pub engine: Engine,
    /// The frame in which the server's packets come.
    pub frame: Frame,
    singles: Vec<Ticket>,
    batch: Ticket,
}

impl Client {
    /// One with these operations and a multi-get under way.
    pub fn with<const COUNT: usize>(operations: [Operation<'_>; COUNT]) -> Client {
        let config = ClientConfig::default();
        let placement = Placement::new(PlacementSettings::default(), vec![Server::new("cache", 1)]);
        let mut engine = Engine::new(Settings::new(&config, false), placement);
        let delivery = Delivery {
            route: Route::Server(0),
            timeout: None,
        };
        let singles = operations.map(|operation| engine.submit(operation, delivery, 0));
        let keys = [b"one", b"two", b"six"];
        let batch = engine.submit_get_many(&keys, Values::new(), delivery, 0);
        let Some(Action::Connect { server, attempt }) = engine.next_action() else {
            panic!("the first operation connects");
        };
        engine.connected(server, attempt, PEER, Err("no fabric".into()), 0);
        let identity = Engine::identity_of_line(server, attempt);
        let frame = Frame {
            kind: Kind::Packets,
            session: identity.session,
            key: identity.key,
            credits: 0,
            head_bytes: 0,
            body_bytes: 0,
        };
        Client {
            engine,
            frame,
            singles: singles.into(),
            batch,
        }
    }

    /// Loses the server: every operation must have ended once, and nothing may be left over.
    pub fn end(mut self) {
        let engine = &mut self.engine;
        engine.tick(u64::MAX - 1);
        engine.lost(Link::Tcp(PEER), &Error::Cancelled, 0);
        for single in self.singles {
            assert!(engine.fetch(single).is_some());
        }
        assert!(engine.fetch_values(self.batch).is_some());
        assert_eq!((engine.in_use(), engine.outstanding()), (0, 0));
    }
}
