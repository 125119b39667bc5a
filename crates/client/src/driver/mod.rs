//! Joins the engine with ports, connections and the clock.
//!
//! | file | what it does |
//! |---|---|
//! | `turn` | moves everything that can be moved, once |
//! | `arrivals` | connections that have been made, or not |
//! | `solo` | the short way of a get or store with nothing else under way |
//! | `shared` | how threads share it, and wait together |
//! | `lock` | the lock around it |
//! | `spin` | how long a thread polls |
//! | `notices` | programs' functions that are called when operations end |
//! | `progress` | a thread that moves operations for which nobody waits |
//! | `teller` | a thread that tells servers what no request has told them |
//! | `sleepers` | threads that sleep, and who wakes them |
//! | `bell` | sleeps for the ports, and wakes who does |
//! | `clock` | the time |

mod arrivals;
mod bell;
mod clock;
mod lock;
mod notices;
mod progress;
mod shared;
mod sleepers;
mod solo;
mod spin;
mod teller;
mod turn;

pub(crate) use notices::without_notices;
pub(crate) use progress::ProgressThread;
pub(crate) use shared::Shared;
pub(crate) use solo::SoloEnd;

use crate::connect::{ClientPort, Connector, Target};
use crate::distribution::Placement;
use crate::engine::{Engine, Link, Settings};
use crate::{ClientConfig, Error, connect};
use arrivals::Arrival;
use bell::Bell;
use farcache_base::polling::{Backoff, Moments};
use farcache_fabric::bytes::{LentMemory, ReceiveBytes, SendBytes};
use farcache_fabric::tcp::TcpPort;
use farcache_fabric::{Inbox, Port};
use rustix::event::epoll;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

type ClientInbox = Inbox<SendBytes, ReceiveBytes>;

/// Everything that one thread at a time moves.
pub(crate) struct Driver {
    pub(crate) engine: Engine,
    tcp: TcpPort<SendBytes, ReceiveBytes>,
    tcp_inbox: ClientInbox,
    fabric: Option<ClientPort>,
    /// Memory to be registered with the fabric.
    lent: Vec<Arc<LentMemory>>,
    fabric_inbox: ClientInbox,
    /// The last store that went the short way; kept for its memory.
    solo_packet: Vec<u8>,
    connector: Arc<Connector>,
    /// The engine's servers, as far as they were connected to.
    targets: Vec<Arc<Target>>,
    arrivals: (Sender<Arrival>, Receiver<Arrival>),
    /// Attempts that have not arrived.
    connecting: usize,
    /// Readable when anything has happened.
    events: Arc<OwnedFd>,
    bell: Arc<Bell>,
    /// When the sockets were last looked at.
    sockets_seen_us: u64,
    /// When time limits were last looked at.
    ticked_us: u64,
    /// Counted to look at what has arrived now and then.
    flushes: u32,
    /// A thread sleeps for the ports.
    pub(super) has_sleeper: bool,
    /// Threads that sleep until that thread tells them.
    pub(super) followers: usize,
    /// How long the next sleep may be.
    sleep_limit: Duration,
    /// Whether threads that wait may poll.
    polling: Backoff,
    /// Whether threads that wait may poll for a moment where polling is barred.
    moments: Moments,
}

impl Driver {
    /// Without connections.
    ///
    /// # Errors
    /// The settings cannot work, or the system has no descriptors left.
    fn new(config: &ClientConfig, fabric: Arc<dyn connect::Fabric>) -> Result<Self, Error> {
        let transport = config.transport_chosen()?;
        let placement = Placement::new(config.placement.clone(), config.servers.clone());
        let connector = Connector::new(config, transport, fabric)?;
        let demands_fabric = transport == crate::Transport::Fabric;
        let engine = Engine::new(Settings::new(config, demands_fabric), placement);
        Self::assemble(engine, connector)
            .map_err(|error| Error::Configuration(error.to_string().into()))
    }

    fn assemble(engine: Engine, connector: Connector) -> io::Result<Self> {
        let tcp: TcpPort<SendBytes, ReceiveBytes> = TcpPort::new()?;
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = Bell::new()?;
        watch(&events, &bell)?;
        if let Some(descriptor) = tcp.descriptor() {
            watch(&events, &descriptor)?;
        }
        Ok(Driver {
            engine,
            tcp,
            tcp_inbox: Inbox::default(),
            fabric: None,
            lent: Vec::new(),
            fabric_inbox: Inbox::default(),
            solo_packet: Vec::new(),
            connector: Arc::new(connector),
            targets: Vec::new(),
            arrivals: channel(),
            connecting: 0,
            events: Arc::new(events),
            bell: Arc::new(bell),
            sockets_seen_us: 0,
            ticked_us: 0,
            flushes: 0,
            has_sleeper: false,
            followers: 0,
            sleep_limit: sleepers::SLEEP_MIN,
            polling: Backoff::default(),
            moments: Moments::default(),
        })
    }
}

fn watch(events: &OwnedFd, descriptor: &impl AsFd) -> io::Result<()> {
    let data = epoll::EventData::new_u64(0);
    epoll::add(events, descriptor, data, epoll::EventFlags::IN)?;
    Ok(())
}

impl Driver {
    /// Registers memory with the fabric, now or when it is opened.
    pub(crate) fn register(&mut self, memory: &Arc<LentMemory>) -> Result<(), Error> {
        // Before its pages are pinned.
        memory.prefer_huge_pages();
        if let Some(port) = &mut self.fabric {
            let registered = port.register(memory);
            registered.map_err(|error| Error::Configuration(error.to_string().into()))?;
        }
        self.lent.push(Arc::clone(memory));
        Ok(())
    }

    /// Ends a registration.
    pub(crate) fn unregister(&mut self, memory: &Arc<LentMemory>) {
        self.lent.retain(|lent| !Arc::ptr_eq(lent, memory));
        if let Some(port) = &mut self.fabric {
            port.unregister(memory);
        }
    }

    /// The networks in use towards a server, if the fabric is.
    pub(crate) fn lanes(&self, server: usize) -> Option<String> {
        match (self.engine.link(server), &self.fabric) {
            (Some(Link::Fabric(peer)), Some(port)) if self.engine.is_on_fabric(server) => {
                Some(port.lanes(peer))
            }
            _ => None,
        }
    }
}
