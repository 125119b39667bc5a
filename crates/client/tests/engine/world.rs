//! An engine, servers that are a few lines each, and a clock that moves when a test says so.

use farcache_client::distribution::{Distribution, Placement, PlacementSettings, Server};
use farcache_client::engine::{
    Action, Engine, Identity, Link, Offered, Reception, Settings, Ticket,
};
use farcache_client::{
    ClientConfig, Completion, Delivery, Error, Operation, ReceiveBytes, Reply, SendBytes, Store,
};
use farcache_fabric::{Error as FabricError, Frame, Kind, Payload, Peer, Whole};
use farcache_proto::binary::{Header, MAGIC_RESPONSE, Opcode, Packet, Status, encode_u32};
use std::collections::{HashMap, VecDeque};

/// Values of more bytes than this travel beside their packet.
pub const OFFER_BYTES_MIN: usize = 1000;

/// What a simulated server does with a client that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Serves it over its socket.
    Sockets,
    /// Grants it the fabric and welcomes it.
    Fabric,
    /// Grants it the fabric and never welcomes it.
    FabricWithoutWelcome,
    /// Grants it the fabric and welcomes it, over a network that is the kernel's sockets. The
    /// server does what a client that retires wants.
    FabricOnSockets,
    /// Grants it the fabric over the kernel's sockets; the server does not know that clients may
    /// retire.
    FabricOnSocketsOfOld,
    /// Refuses it.
    Closed,
    /// Says nothing.
    Silent,
}

/// A message on its way to a server.
pub enum Sent {
    Packets(Vec<u8>),
    Large(Vec<u8>, SendBytes, u64),
}

/// A simulated server.
pub struct Fake {
    pub door: Door,
    pub items: HashMap<Vec<u8>, Vec<u8>>,
    /// What has arrived and has not been answered.
    pub inbox: VecDeque<Sent>,
    /// Answers nothing.
    pub is_mute: bool,
    /// Bytes of packets of each message, in order.
    pub messages: Vec<usize>,
    /// Its open connections, and what their messages carry.
    links: Vec<(Link, Identity)>,
    /// The one that was used last.
    used: Option<Identity>,
}

impl Door {
    fn runs_on_sockets(self) -> bool {
        matches!(self, Door::FabricOnSockets | Door::FabricOnSocketsOfOld)
    }
}

impl Fake {
    /// Its open connections.
    pub fn open(&self) -> Vec<Link> {
        self.links.iter().map(|(link, _)| *link).collect()
    }

    fn identity_of(&self, link: Link) -> Option<Identity> {
        let found = self.links.iter().find(|(open, _)| *open == link);
        found.map(|(_, identity)| *identity)
    }
}

/// A value that the engine wants and that has not been received.
struct Receiving {
    server: usize,
    into: ReceiveBytes,
    tag: u64,
    value: Vec<u8>,
}

/// All of it.
pub struct World {
    pub engine: Engine,
    pub now_us: u64,
    pub servers: Vec<Fake>,
    pub credits: u16,
    pub message_bytes_max: u32,
    receiving: Vec<Receiving>,
    /// Values that a killed connection held, to be given back.
    orphans: Vec<(u64, SendBytes)>,
    pub closed: Vec<Link>,
    pub attempts: usize,
    /// Servers that were told that the session is over, and the connection to stay.
    pub retirements: Vec<usize>,
    next_peer: u32,
}

impl World {
    pub fn new(doors: &[Door], change: impl FnOnce(&mut ClientConfig)) -> World {
        World::with_fabric_demanded(doors, false, change)
    }

    pub fn with_fabric_demanded(
        doors: &[Door],
        demands_fabric: bool,
        change: impl FnOnce(&mut ClientConfig),
    ) -> World {
        let mut config = ClientConfig::default();
        change(&mut config);
        let servers = (0..doors.len()).map(|port| Server::new("cache", port as u16 + 1));
        let placement = PlacementSettings {
            distribution: Distribution::Ketama,
            ..PlacementSettings::default()
        };
        let placement = Placement::new(placement, servers.collect());
        let fake = |&door: &Door| Fake {
            door,
            items: HashMap::new(),
            inbox: VecDeque::new(),
            is_mute: false,
            messages: Vec::new(),
            links: Vec::new(),
            used: None,
        };
        World {
            engine: Engine::new(Settings::new(&config, demands_fabric), placement),
            now_us: 1_000_000,
            servers: doors.iter().map(fake).collect(),
            credits: 4,
            message_bytes_max: 16 << 10,
            receiving: Vec::new(),
            orphans: Vec::new(),
            closed: Vec::new(),
            attempts: 0,
            retirements: Vec::new(),
            next_peer: 0,
        }
    }

    pub fn submit(&mut self, operation: Operation<'_>) -> Ticket {
        self.engine
            .submit(operation, Delivery::default(), self.now_us)
    }

    pub fn get(&mut self, key: &[u8]) -> Ticket {
        let into = ReceiveBytes::default();
        self.submit(Operation::Get { key, into })
    }

    pub fn set(&mut self, key: &[u8], value: Vec<u8>) -> Ticket {
        self.submit(Operation::Store(Store::set(key, value)))
    }

    /// Moves everything until nothing moves any more.
    pub fn run(&mut self) {
        for _ in 0..1000 {
            let mut moved = self.carry_out();
            moved |= self.transmit();
            for server in 0..self.servers.len() {
                moved |= self.serve(server);
            }
            moved |= self.receive();
            if !moved {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// Lets time go by.
    pub fn wait_ms(&mut self, ms: u64) {
        self.now_us += ms * 1000;
        self.engine.tick(self.now_us);
        self.run();
    }

    pub fn outcome(&mut self, ticket: Ticket) -> Option<Result<Reply, Error>> {
        self.engine
            .fetch(ticket)
            .map(|completion: Completion| completion.outcome)
    }

    /// The error that an operation has ended with.
    #[track_caller]
    pub fn error(&mut self, ticket: Ticket) -> Error {
        let outcome = self.outcome(ticket).expect("it has ended");
        outcome.expect_err("it has failed")
    }

    /// The value that a get has ended with.
    #[track_caller]
    pub fn value(&mut self, ticket: Ticket) -> Vec<u8> {
        match self.outcome(ticket) {
            Some(Ok(Reply::Value { value, .. })) => value.into_vec(),
            other => panic!("{other:?}"),
        }
    }

    fn carry_out(&mut self) -> bool {
        let mut moved = false;
        while let Some(action) = self.engine.next_action() {
            moved = true;
            match action {
                Action::Connect { server, attempt } => self.connect(server, attempt),
                Action::Close(link) => self.close(link),
            }
        }
        moved
    }

    fn peer(&mut self) -> Peer {
        self.next_peer += 1;
        Peer(self.next_peer)
    }

    fn connect(&mut self, server: usize, attempt: u64) {
        self.attempts += 1;
        let (line, peer) = (self.peer(), self.peer());
        let fake = &mut self.servers[server];
        let fabric = Identity {
            session: 7,
            key: u64::from(peer.0) << 32,
        };
        let offered = match fake.door {
            Door::Silent => return,
            Door::Closed => {
                let error = Error::Connect("the door is closed".into());
                return self
                    .engine
                    .connect_failed(server, attempt, &error, self.now_us);
            }
            Door::Sockets => Err("no fabric".into()),
            door => {
                fake.links.push((Link::Fabric(peer), fabric));
                Ok(Offered {
                    peer,
                    identity: fabric,
                    token: 0x0102_0304_0506_0708,
                    credits: self.credits,
                    message_bytes_max: self.message_bytes_max,
                    runs_on_sockets: door.runs_on_sockets(),
                })
            }
        };
        let identity = Engine::identity_of_line(server, attempt);
        fake.links.push((Link::Tcp(line), identity));
        self.engine
            .connected(server, attempt, line, offered, self.now_us);
    }

    fn close(&mut self, link: Link) {
        self.closed.push(link);
        let has = |fake: &Fake| fake.identity_of(link).is_some();
        if let Some(server) = self.servers.iter().position(has) {
            self.servers[server].links.retain(|(open, _)| *open != link);
            self.give_back(server);
        }
    }

    /// What a closed connection held comes back.
    fn give_back(&mut self, server: usize) {
        for sent in std::mem::take(&mut self.servers[server].inbox) {
            if let Sent::Large(_, body, tag) = sent {
                self.orphans.push((tag, body));
            }
        }
        for (tag, body) in std::mem::take(&mut self.orphans) {
            self.engine.sent(tag, body, Err(FabricError::Cancelled));
        }
        let (gone, left) = std::mem::take(&mut self.receiving)
            .into_iter()
            .partition(|receiving: &Receiving| receiving.server == server);
        self.receiving = left;
        let gone: Vec<Receiving> = gone;
        for receiving in gone {
            let outcome = Err(FabricError::Cancelled);
            self.engine.received(receiving.tag, receiving.into, outcome);
        }
    }

    fn transmit(&mut self) -> bool {
        let servers = &mut self.servers;
        let mut welcomed = Vec::new();
        let mut retired = Vec::new();
        let mut moved = false;
        self.engine.transmit(|message| {
            moved = true;
            let has = |fake: &Fake| fake.identity_of(message.link).is_some();
            let to = servers.iter().position(has);
            let to = to.expect("nothing is sent to a closed connection");
            servers[to].used = servers[to].identity_of(message.link);
            match (message.kind, message.payload) {
                (Kind::Hello, Payload::Packets(token)) => {
                    assert_eq!(token, [8, 7, 6, 5, 4, 3, 2, 1]);
                    if servers[to].door != Door::FabricWithoutWelcome {
                        welcomed.push(to);
                    }
                }
                (Kind::Retire, Payload::Packets([])) => retired.push((to, message.link)),
                (Kind::Packets, Payload::Packets(packets)) => {
                    servers[to].messages.push(packets.len());
                    servers[to].inbox.push_back(Sent::Packets(packets.to_vec()));
                }
                (Kind::Packets, Payload::Shared(packets, range)) => {
                    let packets = packets[range].to_vec();
                    servers[to].messages.push(packets.len());
                    servers[to].inbox.push_back(Sent::Packets(packets));
                }
                (Kind::Packets, Payload::Large { head, body, tag }) => {
                    servers[to].messages.push(head.len());
                    servers[to]
                        .inbox
                        .push_back(Sent::Large(head.to_vec(), body, tag));
                }
                other => panic!("{other:?}"),
            }
        });
        for server in welcomed {
            self.deliver(server, Kind::Welcome, 0, &[]);
        }
        for (server, link) in retired {
            self.retirements.push(server);
            if self.servers[server].door == Door::FabricOnSockets {
                let error = FabricError::PeerLost("closed by the server".into());
                self.engine.lost(link, &error, self.now_us);
            }
        }
        moved
    }

    pub fn frame(&self, server: usize, kind: Kind, credits: u16) -> Frame {
        let identity = self.servers[server].used.expect("a connection");
        Frame {
            kind,
            session: identity.session,
            key: identity.key,
            credits,
            head_bytes: 0,
            body_bytes: 0,
        }
    }

    /// Delivers a message from a server.
    pub fn deliver(&mut self, server: usize, kind: Kind, credits: u16, packets: &[u8]) {
        let frame = self.frame(server, kind, credits);
        self.engine
            .message(Whole::new(&frame, packets), self.now_us);
    }

    /// Delivers a packet whose value lies elsewhere.
    pub fn deliver_apart(&mut self, server: usize, head: &[u8], body: &[u8]) {
        let frame = &self.frame(server, Kind::Packets, 0);
        self.engine
            .message(Whole { frame, head, body }, self.now_us);
    }

    /// Has a server answer one message.
    pub fn serve(&mut self, server: usize) -> bool {
        let fake = &mut self.servers[server];
        if fake.is_mute {
            return false;
        }
        let Some(sent) = fake.inbox.pop_front() else {
            return false;
        };
        let mut replies = Vec::new();
        let mut large = Vec::new();
        match sent {
            Sent::Packets(packets) => {
                let mut rest = &packets[..];
                while !rest.is_empty() {
                    let (packet, bytes) = Packet::decode(rest).unwrap().expect("whole packets");
                    answer(&mut fake.items, &packet, &mut replies, &mut large);
                    rest = &rest[bytes..];
                }
            }
            Sent::Large(mut head, body, tag) => {
                head.extend_from_slice(&body);
                let (packet, _) = Packet::decode(&head).unwrap().expect("a whole packet");
                answer(&mut fake.items, &packet, &mut replies, &mut large);
                self.engine.sent(tag, body, Ok(()));
            }
        }
        for (head, value) in large {
            self.offer(server, &head, value);
        }
        self.deliver(server, Kind::Packets, 1, &replies);
        true
    }

    /// Offers a value to the engine.
    pub fn offer(&mut self, server: usize, head: &[u8], value: Vec<u8>) {
        let frame = self.frame(server, Kind::Packets, 0);
        match self.engine.offered(&frame, head, value.len(), self.now_us) {
            Reception::Receive { into, tag } => self.receiving.push(Receiving {
                server,
                into,
                tag,
                value,
            }),
            Reception::Refuse => {}
        }
    }

    fn receive(&mut self) -> bool {
        let Some(mut receiving) = self.receiving.pop() else {
            return false;
        };
        receiving.into[..receiving.value.len()].copy_from_slice(&receiving.value);
        self.engine.received(receiving.tag, receiving.into, Ok(()));
        true
    }

    /// Has a server's connection end; `held` memory of it comes back only when the engine closes
    /// it.
    pub fn lose(&mut self, server: usize) {
        if let Some(&(link, _)) = self.servers[server].links.first() {
            let error = FabricError::PeerLost("killed".into());
            self.engine.lost(link, &error, self.now_us);
        }
    }
}

/// Answers a request, as memcached does.
fn answer(
    items: &mut HashMap<Vec<u8>, Vec<u8>>,
    request: &Packet<'_>,
    replies: &mut Vec<u8>,
    large: &mut Vec<(Vec<u8>, Vec<u8>)>,
) {
    let opcode = Opcode::from_byte(request.header.opcode).expect("a known opcode");
    let value = items.get(request.key);
    match (opcode, value) {
        (Opcode::Get, Some(value)) if value.len() > OFFER_BYTES_MIN => {
            let header = header(request, Status::Success);
            let mut head = Vec::new();
            farcache_proto::binary::encode_head(
                header,
                &encode_u32(0),
                &[],
                value.len(),
                &mut head,
            );
            large.push((head, value.clone()));
        }
        (Opcode::Get, Some(value)) => {
            reply(request, Status::Success, &encode_u32(0), value, replies)
        }
        (Opcode::Get | Opcode::Delete, None) => {
            reply(request, Status::NotFound, &[], b"Not found", replies);
        }
        (Opcode::Set | Opcode::SetQ, _) => {
            items.insert(request.key.to_vec(), request.value.to_vec());
            if opcode == Opcode::Set {
                reply(request, Status::Success, &[], &[], replies);
            }
        }
        (Opcode::Delete, Some(_)) => {
            items.remove(request.key);
            reply(request, Status::Success, &[], &[], replies);
        }
        _ => reply(request, Status::Success, &[], &[], replies),
    }
}

fn header(request: &Packet<'_>, status: Status) -> Header {
    Header {
        magic: MAGIC_RESPONSE,
        opcode: request.header.opcode,
        opaque: request.header.opaque,
        status: status as u16,
        ..Header::default()
    }
}

/// Appends an answer.
pub fn reply(request: &Packet<'_>, status: Status, extras: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let header = header(request, status);
    Packet {
        header,
        extras,
        key: &[],
        value,
    }
    .encode(out);
}
