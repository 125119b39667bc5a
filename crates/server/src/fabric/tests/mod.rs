//! Whole sessions on a network inside this process: no thread, no socket, no sleep.

mod client;
mod device;
mod ends;
mod faults;
mod greetings;
mod limits;
mod requests;
mod solo;
mod upgrades;
mod values;

use super::ServerPort;
use super::engine::Engine;
use super::figures::Figures;
use super::life_line::{Caller, LifeLine};
use super::registry::{Place, Registry};
use crate::connections::{Address, ConnectionInfo, State};
use crate::mailbox::Mailbox;
use crate::resources::Resources;
use crate::settings::Settings;
use crate::shared::Shared;
use client::Client;
use farcache_fabric::grant::{Grant, Network as NetworkKind};
use farcache_fabric::memory::Network;
use farcache_session::UpgradeRefusal;
use farcache_store::{PinnedValue, Reservation, Store, StoreConfig};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bodies above so many bytes are offered instead of sent along.
const EAGER_BYTES_MAX: usize = 1000;

/// A server of one worker, moved by hand.
struct Server {
    network: Network,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    engine: Engine,
    resources: Resources,
    started: Instant,
}

/// A client's TCP connection, as its worker keeps it.
struct Connection {
    info: Arc<ConnectionInfo>,
    life_line: RefCell<Option<Box<LifeLine>>>,
}

impl Connection {
    fn new() -> Connection {
        let peer = Address::Tcp("127.0.0.1:80".parse().expect("an address"));
        let info = ConnectionInfo::new(7, peer.clone(), Arc::new(peer), State::Reading, 2);
        Connection {
            info: Arc::new(info),
            life_line: RefCell::default(),
        }
    }
}

impl Server {
    fn new() -> Server {
        let settings = Settings {
            requests_per_event: 512,
            ..Settings::default()
        };
        Server::with(settings, StoreConfig::default())
    }

    fn with(settings: Settings, config: StoreConfig) -> Server {
        let store = Store::new(config).expect("memory for a test");
        Server::over(settings, store)
    }

    fn over(settings: Settings, store: Arc<Store>) -> Server {
        let network = Network::new().with_eager_bytes_max(EAGER_BYTES_MAX);
        let shared = Arc::new(Shared::new(
            store,
            Settings {
                threads: 1,
                ..settings
            },
        ));
        let mailbox = Arc::new(Mailbox::new().expect("a descriptor"));
        let open_port = {
            let network = network.clone();
            move || Ok(Box::new(network.port::<PinnedValue, Reservation>()) as Box<ServerPort>)
        };
        let places = vec![Place::new(Arc::clone(&mailbox))];
        let registry = Registry::new(NetworkKind::Memory, places, Box::new(open_port), None);
        registry.open_all().expect("a port in memory");
        let port = registry.places[0].take_port().expect("it is open");
        assert!(shared.fabric.set(registry).is_ok());
        let engine = Engine::new(port, Arc::clone(&shared), 0);
        let resources = Resources::new(Arc::clone(&shared), 0, Arc::clone(&mailbox));
        Server {
            network,
            shared,
            mailbox,
            engine,
            resources,
            started: Instant::now(),
        }
    }

    /// Asks for a session on this connection.
    fn ask(&mut self, connection: &Connection) -> Result<Grant, UpgradeRefusal> {
        let caller = Caller {
            slot: 3,
            info: &connection.info,
            is_encrypted: false,
            mailbox: &self.mailbox,
            life_line: &connection.life_line,
        };
        let networks = [NetworkKind::Memory].into_iter();
        self.shared.grant_session(1, networks, Some(caller), None)
    }

    /// Moves the server until nothing happens any more.
    fn run(&mut self) {
        self.engine.collect(&self.mailbox, self.resources.clock.now);
        while self.engine.turn(&mut self.resources) {
            self.resources.store.quiescent();
        }
        self.resources.store.quiescent();
    }

    /// Lets time pass.
    fn sleep(&mut self, seconds: u64) {
        self.started += Duration::from_secs(seconds);
        self.resources.set_time(self.started);
        self.engine.sweep(&mut self.resources);
    }

    /// Lets a part of a second pass, and looks for clients that take nothing.
    fn await_stalls(&mut self) {
        self.started += Duration::from_millis(300);
        self.resources.set_time(self.started);
        self.engine.end_stalled(&self.resources);
        self.run();
    }

    /// A client that has been let in.
    fn client(&mut self) -> Client {
        let mut client = Client::granted(self);
        client.greet();
        self.run();
        client.welcomed();
        client
    }

    fn address(&self) -> Vec<u8> {
        let fabric = self.shared.fabric.get().expect("there is one");
        fabric.least_loaded().expect("it is open").1
    }

    fn figure(&self, name: &str) -> u64 {
        let places = &self.shared.fabric.get().expect("there is one").places;
        let figures = Figures::sum(places.iter().map(|place| &*place.figures));
        let found = figures.into_iter().find(|figure| figure.name == name);
        found.expect("such a figure").value
    }

    /// Nothing is held any more: no session, token, connection, value, pin or room.
    fn assert_clean(&mut self) {
        self.run();
        for name in [
            "sessions",
            "tokens",
            "rendezvous_in",
            "rendezvous_out",
            "endpoints",
        ] {
            assert_eq!(self.figure(name), 0, "{name}");
        }
        assert!(self.engine.is_empty());
        assert_eq!(self.shared.store.stats().values_pinned, 0);
        assert_eq!(self.shared.service.arriving.bytes(), 0);
        let registry = self.shared.fabric.get().expect("there is one");
        assert_eq!(registry.lanes(), []);
    }

    /// The life lines that the server has ended since the last call.
    fn ended_life_lines(&self) -> usize {
        self.mailbox.collect_ended().len()
    }
}
