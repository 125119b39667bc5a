//! What there is at one moment.

/// Owners of the key.
pub const SERVERS: usize = 3;
/// Clients that write, each once. The reader is the client after them.
pub const WRITERS: usize = 2;
/// The reader's number among the clients.
pub const READER: usize = WRITERS;
/// The highest version: a writer's first one, or the one that it takes above a refusal. Version 0
/// is there, complete, from the start.
pub const VERSION_MAX: u8 = 6;
/// The most maps that a scope may come to: a fault removes a server, which may join again.
pub const EPOCHS_MAX: usize = 8;

/// A set of servers or of versions, by bits.
pub type Set = u8;

/// The set of one member.
pub fn bit(member: impl Into<usize>) -> Set {
    1 << member.into()
}

/// Whether a version deletes: the first writer's do, its versions are odd.
pub fn is_tombstone(version: u8) -> bool {
    version % 2 == 1
}

/// What a user is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// A read shows nothing older than what was acknowledged, or shown, before it began.
    NothingOlder,
    /// No write is acknowledged whose version is older than what was acknowledged, or shown,
    /// before it began: nobody would ever see it.
    NotSwallowed,
    /// A reply is made of one write.
    NotMixed,
    /// A write takes effect under one version only.
    TakesEffectOnce,
}

/// How far a server takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The process does not run.
    Crashed,
    /// It runs, but knows that it belongs to no map: restarted, or removed.
    Out,
    /// In the map; takes writes, but lacks what was written before.
    Joining,
    /// In the map, and caught up.
    Serving,
}

/// An owner of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server {
    /// How far it takes part.
    pub phase: Phase,
    /// Cut off from the keeper of the map, though not from clients.
    pub cut: bool,
    /// Whether its lease lasts, without which it answers nobody.
    pub lease: bool,
    /// The epoch of the map that it knows.
    pub epoch: u8,
    /// The versions of which it has its copy or shard.
    pub held: Set,
    /// The newest version that it knows to be complete; it has dropped all older ones.
    pub complete: u8,
}

impl Server {
    /// The newest version that it holds or knows of.
    pub fn newest(&self) -> u8 {
        self.complete
            .max(self.held.checked_ilog2().unwrap_or(0) as u8)
    }

    /// Takes note that a version is complete, and drops the older ones.
    pub fn mark(&mut self, version: u8) {
        self.complete = self.complete.max(version);
        self.held &= !0 << self.complete;
    }
}

/// What a server tells a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The versions that it holds.
    pub held: Set,
    /// The newest of which it knows that it is complete.
    pub complete: u8,
}

/// What a client is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// Has not begun, or is between two reads.
    Idle,
    /// Stores a version: a writer its own, the reader one that it finishes.
    Storing {
        /// The version.
        version: u8,
        /// Whether a server has accepted the version, so that it stays as it is.
        accepted: bool,
        /// The epoch of the map that it goes by.
        epoch: u8,
        /// The servers that have stored it in this epoch.
        stored: Set,
        /// The servers that have refused it in this epoch, or were not ready to accept it, while
        /// nobody had accepted it.
        refused: Set,
        /// The newest version that had been acknowledged or shown when the operation began.
        floor: u8,
    },
    /// Asks servers.
    Reading {
        /// The epoch of the map that it goes by.
        epoch: u8,
        /// The answers so far.
        answers: [Option<Answer>; SERVERS],
        /// The newest version that had been acknowledged or shown when the read began.
        floor: u8,
    },
    /// Has written.
    Done,
}

/// Everything at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The owners.
    pub servers: [Server; SERVERS],
    /// The members of each epoch's map; those after `epoch` are empty.
    pub maps: [Set; EPOCHS_MAX],
    /// The newest map's epoch.
    pub epoch: u8,
    /// The writers, then the reader.
    pub clients: [Client; WRITERS + 1],
    /// Reads that are still to come.
    pub reads_left: u8,
    /// Crashes and cuts that are still to come.
    pub faults_left: u8,
    /// Returns of crashed servers that are still to come.
    pub returns_left: u8,
    /// The newest version that was acknowledged or shown.
    pub floor: u8,
    /// All versions that were acknowledged or finished by a read.
    pub completed: Set,
    /// The promise that was broken.
    pub broken: Option<Promise>,
}

impl State {
    /// The members of the newest map.
    pub fn members(&self) -> Set {
        self.maps[usize::from(self.epoch)]
    }

    /// The keeper publishes a new map.
    pub fn publish(&mut self, members: Set) {
        self.epoch += 1;
        self.maps[usize::from(self.epoch)] = members;
    }

    /// The members of the newest map that are caught up.
    pub fn serving(&self) -> Set {
        let serves = |number: &usize| self.servers[*number].phase == Phase::Serving;
        let serving = (0..SERVERS).filter(serves);
        serving.fold(0, |set, number| set | bit(number)) & self.members()
    }

    /// This state with the servers numbered in the way that gives the least state: no rule depends
    /// on a server's number.
    pub fn canonical(self) -> Self {
        const ORDERS: [[usize; SERVERS]; 5] =
            [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let others = ORDERS.into_iter().map(|order| self.renumbered(order));
        others.fold(self, Self::min)
    }

    /// Server `i` becomes who was server `order[i]`.
    fn renumbered(mut self, order: [usize; SERVERS]) -> Self {
        let set = |old: Set| {
            let members = (0..SERVERS).filter(|number| old & bit(order[*number]) != 0);
            members.fold(0, |set, number| set | bit(number))
        };
        self.servers = order.map(|number| self.servers[number]);
        self.maps = self.maps.map(set);
        for client in &mut self.clients {
            match client {
                Client::Storing {
                    stored, refused, ..
                } => (*stored, *refused) = (set(*stored), set(*refused)),
                Client::Reading { answers, .. } => *answers = order.map(|number| answers[number]),
                Client::Idle | Client::Done => {}
            }
        }
        self
    }
}
