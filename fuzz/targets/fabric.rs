//! A worker's part of the fabric, fed with whatever a network may hand it: messages right and
//! wrong, of sessions that are there or not, offers, completions and losses in any order. Whatever
//! comes, in the end nothing is held.
#![no_main]

use farcache_fabric::grant::{Grant, Network};
use farcache_fabric::{Arming, Error, Event, Frame, Inbox, Kind, Offer, Payload, Peer, Port};
use farcache_server::connections::{Address, ConnectionInfo, State};
use farcache_server::fabric::engine::Engine;
use farcache_server::mailbox::Mailbox;
use farcache_server::mailbox::life_line::{Caller, LifeLine};
use farcache_server::resources::Resources;
use farcache_server::settings::Settings;
use farcache_server::shared::Shared;
use farcache_server::upgrade::entrance::ServerPort;
use farcache_server::upgrade::registry::{Place, Registry};
use farcache_store::{PinnedValue, Reservation, Store, StoreConfig};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What the network does, in the fuzzer's hands.
#[derive(Default)]
struct Script {
    inbox: Inbox<PinnedValue, Reservation>,
    /// Large values that are on their way out, with their tags.
    sending: Vec<(Peer, u64, PinnedValue)>,
    /// Rooms that wait to be filled.
    receiving: Vec<(u64, Reservation)>,
    /// Offers that have not been answered.
    offers: u64,
    /// What every client has not taken.
    unsent: usize,
}

/// A port that does what the script says.
#[derive(Clone)]
struct Scripted(Arc<Mutex<Script>>);

impl Scripted {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().expect("no panic while held")
    }
}

impl Port<PinnedValue, Reservation> for Scripted {
    fn address(&self) -> &[u8] {
        b"scripted"
    }

    fn connect(&mut self, _address: &[u8]) -> Result<Peer, Error> {
        Err(Error::Unreachable("a server connects to nobody".into()))
    }

    fn bind(&mut self, _peer: Peer, _session: u32, _key: u64) {}

    fn send(&mut self, peer: Peer, _kind: Kind, _credits: u16, payload: Payload<'_, PinnedValue>) {
        if let Payload::Large { head, body, tag } = payload {
            assert!(!head.is_empty() && !body.is_empty());
            self.script().sending.push((peer, tag, body));
        }
    }

    fn unsent(&self, _peer: Peer) -> usize {
        self.script().unsent
    }

    fn receive(&mut self, offer: Offer, into: Reservation, tag: u64) {
        assert!(into.len() >= offer.bytes);
        let mut script = self.script();
        script.offers -= 1;
        script.receiving.push((tag, into));
    }

    fn refuse(&mut self, _offer: Offer) {
        self.script().offers -= 1;
    }

    fn progress(&mut self, inbox: &mut Inbox<PinnedValue, Reservation>) -> bool {
        let mut script = self.script();
        std::mem::swap(inbox, &mut script.inbox);
        !inbox.is_empty()
    }

    fn close(&mut self, peer: Peer) {
        let mut script = self.script();
        let sending = std::mem::take(&mut script.sending);
        for (owner, tag, body) in sending {
            if owner != peer {
                script.sending.push((owner, tag, body));
                continue;
            }
            let outcome = Err(Error::Cancelled);
            script.inbox.events.push(Event::Sent { tag, body, outcome });
        }
    }

    fn arm(&mut self) -> Arming {
        Arming::Armed
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn lanes(&self, _peer: Peer) -> String {
        "scripted".into()
    }
}

/// A client that has been granted a session.
struct Client {
    grant: Grant,
    peer: Peer,
    _life_line: RefCell<Option<Box<LifeLine>>>,
}

struct World {
    script: Arc<Mutex<Script>>,
    engine: Engine,
    resources: Resources,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    clients: Vec<Client>,
    now: Instant,
}

thread_local! {
    static STORE: Arc<Store> = Store::new(StoreConfig {
        memory_bytes: 8 << 20,
        segment_bytes: 64 << 10,
        ..StoreConfig::default()
    })
    .expect("a small store can be made");
}

impl World {
    fn new() -> World {
        let store = STORE.with(Arc::clone);
        let settings = Settings {
            threads: 1,
            ..Settings::default()
        };
        let shared = Arc::new(Shared::new(store, settings));
        let mailbox = Arc::new(Mailbox::new().expect("a descriptor"));
        let script = Arc::new(Mutex::new(Script::default()));
        let port = Scripted(Arc::clone(&script));
        let open_port = move || Ok(Box::new(port.clone()) as Box<ServerPort>);
        let places = vec![Place::new(Arc::clone(&mailbox))];
        let registry = Registry::new(Network::Memory, places, Box::new(open_port), None);
        registry.open_all().expect("a scripted port");
        let port = registry.places[0].take_port().expect("it is open");
        assert!(shared.fabric.set(registry).is_ok());
        World {
            engine: Engine::new(port, Arc::clone(&shared), 0),
            resources: Resources::new(Arc::clone(&shared), 0, Arc::clone(&mailbox)),
            clients: Vec::new(),
            now: Instant::now(),
            script,
            shared,
            mailbox,
        }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no panic while held")
    }

    fn grant(&mut self) {
        let peer = Address::Unix("client".into());
        let listener = Arc::new(peer.clone());
        let info = Arc::new(ConnectionInfo::new(3, peer, listener, State::Reading, 2));
        let life_line = RefCell::default();
        let caller = Caller {
            slot: 0,
            info: &info,
            mailbox: &self.mailbox,
            life_line: &life_line,
            is_encrypted: false,
        };
        let networks = [Network::Memory].into_iter();
        let grant = self.shared.grant_session(1, networks, Some(caller), None);
        let grant = grant.expect("granted");
        self.clients.push(Client {
            grant,
            peer: Peer(self.clients.len() as u32 + 1),
            _life_line: life_line,
        });
    }

    /// A message of client number `who`, with its secrets or with others.
    fn deliver(&mut self, who: u8, kind: Kind, bytes: &[u8], head: usize, offered: Option<usize>) {
        let count = self.clients.len();
        let Some(client) = self.clients.get(usize::from(who & 7) % count.max(1)) else {
            return;
        };
        let frame = Frame {
            kind,
            session: client.grant.session ^ u32::from(who >> 7),
            key: client.grant.key ^ u64::from(who >> 6 & 1),
            credits: 0,
            head_bytes: head as u16,
            body_bytes: (bytes.len() - head) as u32,
        };
        let peer = client.peer;
        let mut script = self.script();
        let script = &mut *script;
        let kept = script.inbox.keep(bytes, &[]);
        let event = match offered {
            Some(bytes) => {
                script.offers += 1;
                let offer = Offer {
                    number: script.offers,
                    bytes,
                };
                Event::Offered {
                    frame,
                    head: kept,
                    offer,
                }
            }
            None => Event::Message {
                frame,
                packets: kept,
                sender: (kind == Kind::Hello).then_some(peer),
            },
        };
        script.inbox.events.push(event);
    }

    fn greet(&mut self, who: u8) {
        let count = self.clients.len().max(1);
        if let Some(client) = self.clients.get(usize::from(who & 7) % count) {
            let token = client.grant.token ^ u64::from(who >> 5 & 1);
            self.deliver(who, Kind::Hello, &token.to_le_bytes(), 0, None);
        }
    }

    fn complete(&mut self, fails: bool) {
        let mut script = self.script();
        let outcome = if fails { Err(Error::Cancelled) } else { Ok(()) };
        if let Some((tag, into)) = script.receiving.pop() {
            let outcome = outcome.clone();
            script
                .inbox
                .events
                .push(Event::Received { tag, into, outcome });
        }
        if let Some((_, tag, body)) = script.sending.pop() {
            script.inbox.events.push(Event::Sent { tag, body, outcome });
        }
    }

    fn lose(&mut self, who: u8) {
        let count = self.clients.len().max(1);
        if let Some(client) = self.clients.get(usize::from(who) % count) {
            let peer = client.peer;
            let error = Error::PeerLost("as the script says".into());
            self.script().inbox.events.push(Event::Lost { peer, error });
        }
    }

    fn turn(&mut self) {
        self.engine.collect(&self.mailbox, self.resources.clock.now);
        // Their worker would close these connections; left here they would keep the mailbox itself.
        drop(self.mailbox.collect_ended());
        self.engine.turn(&mut self.resources);
        self.resources.store.quiescent();
    }

    fn sleep(&mut self, seconds: u8) {
        self.now += Duration::from_secs(seconds.into());
        self.resources.set_time(self.now);
        self.engine.sweep(&mut self.resources);
    }

    /// Takes one step that the input names; what is left of the input.
    fn step<'i>(&mut self, input: &'i [u8]) -> Option<&'i [u8]> {
        let (&[step, who], rest) = input.split_first_chunk()?;
        match step % 12 {
            0 if self.clients.len() < 8 => self.grant(),
            1 => self.greet(who),
            2 => self.turn(),
            3 => self.complete(who & 1 == 1),
            4 => self.lose(who),
            5 => self.sleep(who % 16),
            6 => self.script().unsent = usize::from(who),
            7 => {
                let error = Error::Malformed("as the script says");
                self.script().inbox.events.push(Event::Garbage(error));
            }
            8 => self.clients.truncate(usize::from(who)),
            _ => return self.message(step, who, rest),
        }
        Some(rest)
    }

    fn message<'i>(&mut self, step: u8, who: u8, rest: &'i [u8]) -> Option<&'i [u8]> {
        let (&[low, high], rest) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        let (bytes, rest) = rest.split_at(length.min(rest.len()));
        match step % 12 {
            9 => {
                let offered = value_bytes(bytes) + usize::from(who >> 5 & 1);
                self.deliver(
                    who,
                    Kind::Packets,
                    bytes,
                    bytes.len().min(512),
                    Some(offered),
                );
            }
            10 => self.deliver(who, Kind::Packets, bytes, bytes.len().min(24), None),
            _ => {
                let kinds = [Kind::Packets, Kind::Goodbye, Kind::Retire, Kind::Welcome];
                let kind = kinds[usize::from(who >> 4 & 3)];
                self.deliver(who, kind, bytes, 0, None);
            }
        }
        Some(rest)
    }

    /// Everyone goes.
    fn end(mut self) {
        self.script().unsent = 0;
        self.clients.clear();
        for _ in 0..3 {
            self.turn();
            while !self.script().receiving.is_empty() || !self.script().sending.is_empty() {
                self.complete(false);
            }
            self.sleep(15);
        }
        self.turn();
        assert!(self.engine.is_empty(), "something is held");
        assert_eq!(self.script().offers, 0, "an offer has no answer");
        assert_eq!(self.shared.service.arriving.bytes(), 0);
    }
}

/// The length that the head of a packet names for its value, within reason.
fn value_bytes(head: &[u8]) -> usize {
    let named = head.get(8..12).map_or(0, |bytes| {
        bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    });
    named.saturating_sub(head.len().saturating_sub(24)) & 0xf_ffff
}

fuzz_target!(|input: &[u8]| {
    let mut world = World::new();
    let mut rest = input;
    while let Some(left) = world.step(rest) {
        rest = left;
    }
    world.end();
});
