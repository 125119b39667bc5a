//! What writers and the reader do.

use crate::model::{Mutation, Redundancy};
use crate::state::{
    Answer, Client, Phase, Promise, READER, SERVERS, Server, State, VERSION_MAX, WRITERS, bit,
    is_tombstone,
};

impl Redundancy {
    /// A client begins, or begins again because there is a newer map.
    pub(crate) fn begin(&self, state: &mut State, client: usize, epoch: u8) -> Option<()> {
        let floor = state.floor;
        state.clients[client] = match state.clients[client] {
            Client::Idle if client == READER => {
                state.reads_left = state.reads_left.checked_sub(1)?;
                reading(epoch, floor)
            }
            Client::Idle => {
                let version = client as u8 + 1;
                Client::Storing {
                    version,
                    accepted: false,
                    epoch,
                    stored: 0,
                    refused: 0,
                    floor,
                }
            }
            Client::Storing { floor, .. } if client == READER => reading(epoch, floor),
            Client::Reading { floor, .. } => reading(epoch, floor),
            Client::Storing {
                version,
                accepted,
                stored,
                floor,
                ..
            } => {
                let stored = if self.has(Mutation::CountsAcrossMaps) {
                    stored
                } else {
                    0
                };
                Client::Storing {
                    version,
                    accepted,
                    epoch,
                    stored,
                    refused: 0,
                    floor,
                }
            }
            Client::Done => return None,
        };
        Some(())
    }

    /// Whether a server deals with requests of an epoch.
    fn answers(&self, server: &Server, epoch: u8) -> bool {
        let takes_part = matches!(server.phase, Phase::Joining | Phase::Serving);
        takes_part && server.lease && (server.epoch == epoch || self.has(Mutation::NoFence))
    }

    /// A client stores at one server. All may refuse the version until one has accepted it; when
    /// all have, the writer goes above.
    pub(crate) fn store(&self, state: &mut State, client: usize, number: usize) -> Option<()> {
        let Client::Storing {
            version,
            accepted,
            epoch,
            stored,
            refused,
            floor,
        } = state.clients[client]
        else {
            return None;
        };
        let members = state.maps[usize::from(epoch)];
        let server = &mut state.servers[number];
        if (stored | refused) & bit(number) != 0 || !self.answers(server, epoch) {
            return None;
        }
        let is_ready = server.phase == Phase::Serving || self.has(Mutation::JoinerAccepts);
        let may_refuse = !accepted || client != READER && self.has(Mutation::GoesAboveAnywhere);
        let refuses = may_refuse && server.newest() > version;
        let passes_over = self.has(Mutation::IgnoresRefusals);
        state.clients[client] = if !accepted && !is_ready || refuses && !passes_over {
            let refused = refused | bit(number);
            if members & !refused == 0 || refuses && self.has(Mutation::GoesAboveAnywhere) {
                above(version, epoch, floor)?
            } else {
                Client::Storing {
                    version,
                    accepted,
                    epoch,
                    stored,
                    refused,
                    floor,
                }
            }
        } else {
            self.take(server, version);
            Client::Storing {
                version,
                accepted: true,
                epoch,
                stored: stored | bit(number),
                // Those who have refused it are asked to store it all the same.
                refused: 0,
                floor,
            }
        };
        Some(())
    }

    /// A server keeps a version beside the others, unless it knows of a newer complete one.
    fn take(&self, server: &mut Server, version: u8) {
        if self.has(Mutation::OverwritesInPlace) && version > server.newest() {
            server.held = 0;
        }
        if version >= server.complete {
            server.held |= bit(version);
        }
    }

    /// A write, or the finishing of one, has reached all that it must reach.
    pub(crate) fn acknowledge(&self, state: &mut State, client: usize) -> Option<()> {
        let Client::Storing {
            version,
            epoch,
            stored,
            floor,
            ..
        } = state.clients[client]
        else {
            return None;
        };
        let members = state.maps[usize::from(epoch)];
        let has_all = stored & members == members || self.has(Mutation::AcknowledgesEarly);
        if !has_all || stored.count_ones() < self.write_quorum {
            return None;
        }
        let same_write =
            (1..=VERSION_MAX).filter(|other| is_tombstone(*other) == is_tombstone(version));
        let mut others = same_write.filter(|other| *other != version);
        if others.any(|other| state.completed & bit(other) != 0) {
            state.broken = Some(Promise::TakesEffectOnce);
        }
        state.completed |= bit(version);
        if client == READER {
            show(state, Some(version), floor);
        } else {
            state.clients[client] = Client::Done;
            if version < floor {
                state.broken = Some(Promise::NotSwallowed);
            }
            state.floor = state.floor.max(version);
        }
        Some(())
    }

    /// The reader asks a server, and makes up its mind when k have answered.
    pub(crate) fn ask(&self, state: &mut State, number: usize) -> Option<()> {
        let Client::Reading {
            epoch,
            mut answers,
            floor,
        } = state.clients[READER]
        else {
            return None;
        };
        let server = &state.servers[number];
        let serves = server.phase == Phase::Serving && self.answers(server, epoch);
        if answers[number].is_some() || !serves {
            return None;
        }
        answers[number] = Some(Answer {
            held: server.held,
            complete: server.complete,
        });
        if answers.iter().flatten().count() < self.k {
            state.clients[READER] = Client::Reading {
                epoch,
                answers,
                floor,
            };
        } else {
            self.decide(state, &answers, epoch, floor);
        }
        Some(())
    }

    /// Shows the newest version of which all k answers have a part; finishes it first unless one
    /// knows that it is complete. Asks again where there is no such version.
    fn decide(&self, state: &mut State, answers: &[Option<Answer>; SERVERS], epoch: u8, floor: u8) {
        let answers = || answers.iter().flatten();
        if self.has(Mutation::MixesVersions) {
            let newest = |answer: &Answer| answer.held.checked_ilog2();
            let mut versions = answers().map(newest);
            let first = versions.next();
            if versions.any(|version| Some(version) != first) {
                state.broken = Some(Promise::NotMixed);
            }
        }
        let common = answers().fold(!0, |common, answer| common & answer.held);
        let Some(version) = common.checked_ilog2().map(|version| version as u8) else {
            let nothing_is_held = answers().all(|answer| answer.held == 0);
            if nothing_is_held {
                show(state, None, floor);
            } else {
                state.clients[READER] = reading(epoch, floor);
            }
            return;
        };
        let is_complete = answers().any(|answer| answer.complete >= version);
        if is_complete || self.has(Mutation::ShowsUnfinished) {
            show(state, Some(version), floor);
        } else {
            state.clients[READER] = Client::Storing {
                version,
                accepted: true,
                epoch,
                stored: 0,
                refused: 0,
                floor,
            };
        }
    }

    /// A server hears from a client that a version is complete.
    pub(crate) fn mark(&self, state: &mut State, number: usize, version: u8) -> Option<()> {
        let server = &mut state.servers[number];
        let takes_part = matches!(server.phase, Phase::Joining | Phase::Serving);
        let is_news = server.complete < version && server.held & bit(version) != 0;
        if !takes_part || !is_news || state.completed & bit(version) == 0 {
            return None;
        }
        server.mark(version);
        Some(())
    }

    /// Only by a mutation: all servers know the tombstone, and one forgets it and its version.
    pub(crate) fn forget(&self, state: &mut State, number: usize) -> Option<()> {
        let tombstone = state.servers[number].complete;
        let knows = |server: &Server| server.complete >= tombstone || server.held == 0;
        let all_know = state.servers.iter().all(knows);
        let server = &mut state.servers[number];
        let is_alone = is_tombstone(tombstone) && server.held == bit(tombstone);
        if !self.has(Mutation::ForgetsTombstones) || !all_know || !is_alone {
            return None;
        }
        (server.held, server.complete) = (0, 0);
        Some(())
    }
}

/// A writer that nobody has accepted a version of takes its next one, if there is one.
fn above(version: u8, epoch: u8, floor: u8) -> Option<Client> {
    let version = version + WRITERS as u8;
    (version <= VERSION_MAX).then_some(Client::Storing {
        version,
        accepted: false,
        epoch,
        stored: 0,
        refused: 0,
        floor,
    })
}

fn reading(epoch: u8, floor: u8) -> Client {
    Client::Reading {
        epoch,
        answers: [None; SERVERS],
        floor,
    }
}

/// The reader's caller gets a version, or hears that there is none.
fn show(state: &mut State, version: Option<u8>, floor: u8) {
    let is_deleted = |version: u8| is_tombstone(version) && state.completed & bit(version) != 0;
    let may_be_missing = (floor..=VERSION_MAX).any(is_deleted);
    let is_older = version.map_or(!may_be_missing, |version| version < floor);
    if is_older {
        state.broken = Some(Promise::NothingOlder);
    }
    state.floor = state.floor.max(version.unwrap_or(0));
    state.clients[READER] = Client::Idle;
}
