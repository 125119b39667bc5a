//! What the keeper of the map does, and the servers that it names.

use crate::model::{Mutation, Redundancy};
use crate::state::{Phase, Server, Set, State, bit};

impl Redundancy {
    /// A server crashes. What it holds on its SSD stays there.
    pub(crate) fn crash(&self, state: &mut State, number: usize) -> Option<()> {
        let server = &mut state.servers[number];
        if server.phase == Phase::Crashed || server.cut {
            return None;
        }
        state.faults_left = state.faults_left.checked_sub(1)?;
        server.phase = Phase::Crashed;
        server.lease = false;
        Some(())
    }

    /// A server no longer hears the keeper, nor the keeper it.
    pub(crate) fn cut(&self, state: &mut State, number: usize) -> Option<()> {
        let server = &mut state.servers[number];
        let takes_part = matches!(server.phase, Phase::Joining | Phase::Serving);
        if server.cut || !takes_part {
            return None;
        }
        state.faults_left = state.faults_left.checked_sub(1)?;
        server.cut = true;
        Some(())
    }

    /// The lease of a server that is cut off ends.
    pub(crate) fn end_lease(&self, state: &mut State, number: usize) -> Option<()> {
        let server = &mut state.servers[number];
        if !server.cut || !server.lease || self.has(Mutation::NoLeases) {
            return None;
        }
        server.lease = false;
        Some(())
    }

    /// Server and keeper hear each other again; members of the newest map have a lease again.
    pub(crate) fn heal(&self, state: &mut State, number: usize) -> Option<()> {
        let is_member = state.members() & bit(number) != 0;
        let server = &mut state.servers[number];
        if !server.cut {
            return None;
        }
        server.cut = false;
        server.lease = is_member;
        Some(())
    }

    /// The keeper removes a server that has restarted or whose lease has ended, though never the
    /// last one that is caught up.
    pub(crate) fn remove(&self, state: &mut State, number: usize) -> Option<()> {
        let server = &state.servers[number];
        let gone = matches!(server.phase, Phase::Crashed | Phase::Out);
        let silent = server.cut && (!server.lease || self.has(Mutation::NoLeases));
        let others = state.serving() & !bit(number);
        if state.members() & bit(number) == 0 || !(gone || silent) || others == 0 {
            return None;
        }
        state.publish(state.members() & !bit(number));
        Some(())
    }

    /// A server hears of the newest map.
    pub(crate) fn deliver(&self, state: &mut State, number: usize) -> Option<()> {
        let (epoch, members) = (state.epoch, state.members());
        let server = &mut state.servers[number];
        let takes_part = matches!(server.phase, Phase::Joining | Phase::Serving);
        if !takes_part || server.cut || server.epoch == epoch {
            return None;
        }
        server.epoch = epoch;
        if members & bit(number) == 0 {
            server.phase = Phase::Out;
            server.lease = false;
        }
        Some(())
    }

    /// A crashed server runs again, with what is on its SSD.
    pub(crate) fn restart(&self, state: &mut State, number: usize) -> Option<()> {
        let server = &mut state.servers[number];
        if server.phase != Phase::Crashed {
            return None;
        }
        state.returns_left = state.returns_left.checked_sub(1)?;
        server.phase = Phase::Out;
        Some(())
    }

    /// The keeper takes a server into the map; what it held before counts for nothing.
    pub(crate) fn join(&self, state: &mut State, number: usize) -> Option<()> {
        let server = &state.servers[number];
        if server.phase != Phase::Out || state.members() & bit(number) != 0 {
            return None;
        }
        state.publish(state.members() | bit(number));
        let epoch = state.epoch;
        let server = &mut state.servers[number];
        let joined = Server {
            cut: false,
            lease: true,
            epoch,
            ..*server
        };
        *server = if self.has(Mutation::ServesAtOnce) {
            Server {
                phase: Phase::Serving,
                ..joined
            }
        } else {
            Server {
                phase: Phase::Joining,
                held: 0,
                complete: 0,
                ..joined
            }
        };
        Some(())
    }

    /// A server that joins takes over what k caught-up servers of its epoch hold, and serves.
    pub(crate) fn catch_up(&self, state: &mut State, number: usize, from: Set) -> Option<()> {
        let joiner = state.servers[number];
        let is_source = |server: &Server| {
            let same_epoch = server.epoch == joiner.epoch;
            let epoch_fits = same_epoch || self.has(Mutation::CatchesUpFromOlderEpoch);
            server.phase == Phase::Serving && server.lease && epoch_fits
        };
        let numbered = || state.servers.iter().enumerate();
        let sources = || {
            numbered()
                .filter(|(other, _)| from & bit(*other) != 0)
                .map(|(_, it)| it)
        };
        let enough = from.count_ones() as usize == self.k;
        if joiner.phase != Phase::Joining || !enough || !sources().all(is_source) {
            return None;
        }
        let complete = sources().map(|source| source.complete).max()?;
        let common = sources().fold(!0, |common, source| common & source.held);
        if common & bit(complete) == 0 {
            return None;
        }
        let server = &mut state.servers[number];
        server.held |= common;
        server.mark(complete);
        server.phase = Phase::Serving;
        Some(())
    }
}
