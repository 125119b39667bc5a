//! The model as the checker sees it.

use crate::state::{
    Client, EPOCHS_MAX, Phase, READER, SERVERS, Server, Set, State, VERSION_MAX, WRITERS, bit,
    is_tombstone,
};
use stateright::{Model, Property};
use std::array;

/// A rule that is left out, to see a promise break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// Servers take requests of any epoch.
    NoFence,
    /// Leases never end, and the keeper does not wait for their end.
    NoLeases,
    /// A returning server answers reads at once, with what its SSD holds.
    ServesAtOnce,
    /// A server catches up from one that does not know the map with it yet.
    CatchesUpFromOlderEpoch,
    /// A server that is not caught up accepts new versions.
    JoinerAccepts,
    /// A write is acknowledged by a quorum, not by all members.
    AcknowledgesEarly,
    /// A writer goes on counting when the map has changed.
    CountsAcrossMaps,
    /// A read shows what it found without finishing it.
    ShowsUnfinished,
    /// A read takes shards of any versions.
    MixesVersions,
    /// A new version takes the place of the old one at once.
    OverwritesInPlace,
    /// Servers forget a tombstone, and its version, when all owners know it.
    ForgetsTombstones,
    /// A writer takes a refusal as success.
    IgnoresRefusals,
    /// Any server may refuse a version, also after another has accepted it.
    GoesAboveAnywhere,
}

/// A policy and the scope in which it is checked.
#[derive(Clone, Debug)]
pub struct Redundancy {
    /// Shards that make a value; 1 for copies.
    pub k: usize,
    /// The least servers that must take a write.
    pub write_quorum: u32,
    /// The writes; the first is a DELETE, the second a SET.
    pub writes: usize,
    /// Reads, one after the other.
    pub reads: u8,
    /// Crashes and cuts.
    pub faults: u8,
    /// Restarts of crashed servers.
    pub returns: u8,
    /// The rule that is left out.
    pub mutation: Option<Mutation>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A client begins, or begins again, with the map of an epoch.
    Begin(usize, u8),
    /// A client stores at a server.
    Store(usize, usize),
    /// A write, or the finishing of one, is acknowledged.
    Acknowledge(usize),
    /// The reader asks a server.
    Ask(usize),
    /// A server hears that a version is complete.
    Mark(usize, u8),
    /// A server forgets a tombstone.
    Forget(usize),
    /// A server crashes.
    Crash(usize),
    /// A server is cut off from the keeper of the map.
    Cut(usize),
    /// The lease of a server that is cut off ends.
    EndLease(usize),
    /// A server that was cut off hears the keeper again.
    Heal(usize),
    /// The keeper removes a server from the map.
    Remove(usize),
    /// A server hears of the newest map.
    Deliver(usize),
    /// A crashed server runs again.
    Restart(usize),
    /// The keeper takes a server into the map.
    Join(usize),
    /// A server takes over what a set of others hold.
    CatchUp(usize, Set),
}

impl Redundancy {
    pub(crate) fn has(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn step(&self, state: &mut State, action: Action) -> Option<()> {
        match action {
            Action::Begin(client, epoch) => self.begin(state, client, epoch),
            Action::Store(client, server) => self.store(state, client, server),
            Action::Acknowledge(client) => self.acknowledge(state, client),
            Action::Ask(server) => self.ask(state, server),
            Action::Mark(server, version) => self.mark(state, server, version),
            Action::Forget(server) => self.forget(state, server),
            Action::Crash(server) => self.crash(state, server),
            Action::Cut(server) => self.cut(state, server),
            Action::EndLease(server) => self.end_lease(state, server),
            Action::Heal(server) => self.heal(state, server),
            Action::Remove(server) => self.remove(state, server),
            Action::Deliver(server) => self.deliver(state, server),
            Action::Restart(server) => self.restart(state, server),
            Action::Join(server) => self.join(state, server),
            Action::CatchUp(server, from) => self.catch_up(state, server, from),
        }
    }

    /// While no more servers are missing than the scheme allows, what was acknowledged or shown,
    /// or something newer, can be read.
    fn is_there(&self, state: &State) -> bool {
        let serving = state.serving();
        let is_beyond_bound = (serving.count_ones() as usize) < self.k;
        let holds = |version: u8| {
            let holds = |number: &usize| {
                serving & bit(*number) != 0 && state.servers[*number].held & bit(version) != 0
            };
            (0..SERVERS).filter(holds).count() >= self.k
        };
        let may_be_forgotten = is_tombstone(state.floor) && self.has(Mutation::ForgetsTombstones);
        is_beyond_bound || may_be_forgotten || (state.floor..=VERSION_MAX).any(holds)
    }
}

impl Model for Redundancy {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let server = Server {
            phase: Phase::Serving,
            cut: false,
            lease: true,
            epoch: 0,
            held: bit(0_usize),
            complete: 0,
        };
        let mut maps = [0; EPOCHS_MAX];
        maps[0] = bit(SERVERS) - 1;
        let clients = array::from_fn(|client| {
            let takes_part = client < self.writes || client == READER;
            if takes_part {
                Client::Idle
            } else {
                Client::Done
            }
        });
        vec![State {
            servers: [server; SERVERS],
            maps,
            epoch: 0,
            clients,
            reads_left: self.reads,
            faults_left: self.faults,
            returns_left: self.returns,
            floor: 0,
            completed: 0,
            broken: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        for client in 0..=READER {
            let oldest = match state.clients[client] {
                Client::Idle => 0,
                Client::Reading { epoch, .. } | Client::Storing { epoch, .. } => epoch + 1,
                Client::Done => continue,
            };
            actions.extend((oldest..=state.epoch).map(|epoch| Action::Begin(client, epoch)));
            if let Client::Storing { .. } = state.clients[client] {
                actions.push(Action::Acknowledge(client));
                actions.extend((0..SERVERS).map(|server| Action::Store(client, server)));
            }
        }
        for server in 0..SERVERS {
            actions.extend((1..=VERSION_MAX).map(|version| Action::Mark(server, version)));
            let of_one = [
                Action::Ask,
                Action::Forget,
                Action::Crash,
                Action::Cut,
                Action::EndLease,
                Action::Heal,
                Action::Remove,
                Action::Deliver,
                Action::Restart,
                Action::Join,
            ];
            actions.extend(of_one.map(|action| action(server)));
            let sources = (1..bit(SERVERS)).filter(|from| from & bit(server) == 0);
            actions.extend(sources.map(|from| Action::CatchUp(server, from)));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = *last;
        self.step(&mut next, action)?;
        Some(next.canonical())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("replies keep the promise", |_, state: &State| {
                state.broken.is_none()
            }),
            Property::always("what was acknowledged is there", |model: &Self, state| {
                model.is_there(state)
            }),
            Property::sometimes("both writes are acknowledged", |_, state: &State| {
                state.clients[..WRITERS] == [Client::Done; WRITERS]
                    && state.completed & 0b110 == 0b110
            }),
            Property::sometimes(
                "a read finishes the write of another",
                |_, state: &State| {
                    let is_finished = |client: &Client| match client {
                        Client::Storing { version, .. } => state.completed & bit(*version) != 0,
                        _ => false,
                    };
                    state.clients[..WRITERS].iter().any(is_finished)
                },
            ),
            Property::sometimes(
                "a server that returned serves a new value",
                |model: &Self, state: &State| {
                    let serves = |server: &Server| {
                        server.phase == Phase::Serving && server.complete > 0 && state.epoch == 2
                    };
                    let all_are_back = state.serving().count_ones() as usize == SERVERS;
                    model.returns > state.returns_left
                        && all_are_back
                        && state.servers.iter().all(serves)
                },
            ),
            Property::sometimes("a writer goes above a refusal", |_, state: &State| {
                state.completed >> (WRITERS + 1) != 0
            }),
        ]
    }
}
