//! A server that follows the rules, unless a fault is planted in it.

use crate::world::Fault;
use farcache_redundancy::Version;
use farcache_redundancy::plan::{Answer, Held, Part, Question, Reply, Request};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Crashed,
    /// It runs, and belongs to no map.
    Out,
    /// In the map; takes writes, but lacks what was written before.
    Joining,
    /// In the map, and caught up.
    Serving,
}

pub struct Server {
    pub phase: Phase,
    pub has_lease: bool,
    /// Cut off from the keeper of the map, though not from clients.
    pub is_cut: bool,
    pub epoch: u64,
    pub held: BTreeMap<Version, (Part, Vec<u8>)>,
    pub complete: Option<Version>,
    pub fault: Option<Fault>,
}

impl Server {
    pub fn new(fault: Option<Fault>) -> Server {
        Server {
            phase: Phase::Serving,
            has_lease: true,
            is_cut: false,
            epoch: 0,
            held: BTreeMap::new(),
            complete: None,
            fault,
        }
    }

    /// One line for those who look for the cause of a violation.
    pub fn summary(&self) -> String {
        let Server {
            phase,
            has_lease,
            is_cut,
            epoch,
            held,
            complete,
            ..
        } = self;
        let held: Vec<_> = held
            .iter()
            .map(|(version, (part, _))| (version, part))
            .collect();
        format!("{phase:?} {has_lease} {is_cut} {epoch} {held:?} {complete:?}\n")
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// The newest version that it holds or knows of.
    fn newest(&self) -> Option<Version> {
        self.held.keys().next_back().copied().max(self.complete)
    }

    pub fn mark(&mut self, version: Version) {
        self.complete = self.complete.max(Some(version));
        let complete = self.complete;
        self.held.retain(|one, _| Some(*one) >= complete);
    }

    /// What it answers, and the bytes that come along; nothing where it does not answer.
    pub fn answer(&mut self, request: &Request, bytes: &[u8]) -> Option<(Reply, Vec<u8>)> {
        let takes_part = matches!(self.phase, Phase::Joining | Phase::Serving);
        if !takes_part || !self.has_lease {
            return None;
        }
        if request.epoch < self.epoch && !self.has(Fault::NoFence) {
            return Some((Reply::NewerMap, Vec::new()));
        }
        let reply = match request.question {
            Question::Complete(version) => {
                let part = self.held.get(&version).map(|held| held.0);
                self.mark(version);
                if part == Some(Part::Tombstone) && self.has(Fault::ForgetsTombstones) {
                    self.held.clear();
                    self.complete = None;
                }
                return None;
            }
            Question::Store(version, part) => self.store(version, part, bytes),
            _ if self.phase != Phase::Serving => Reply::NotReady,
            // Nobody changes anything, and what is held is told at once.
            Question::AcceptPromised(..) | Question::Promise(_) | Question::Beneath(_) => {
                Reply::NotReady
            }
            Question::Accept(version, part) => self.accept(version, part, bytes),
            Question::Read(version) => return Some(self.read(version)),
        };
        Some((reply, Vec::new()))
    }

    fn accept(&mut self, version: Version, part: Part, bytes: &[u8]) -> Reply {
        if let Some(current) = self.newest().filter(|_| !self.has(Fault::AcceptsOlder)) {
            let is_other = || self.held.get(&version).is_some_and(|held| held.1 != bytes);
            if current > version || current == version && is_other() {
                return Reply::Refused { current };
            }
        }
        self.store(version, part, bytes)
    }

    fn store(&mut self, version: Version, part: Part, bytes: &[u8]) -> Reply {
        let was_present = self
            .held
            .values()
            .next_back()
            .is_some_and(|held| held.0 != Part::Tombstone);
        let stored = Reply::Stored { was_present };
        if self.has(Fault::StoresNothing) && version.bits().is_multiple_of(3) {
            return stored;
        }
        if self.has(Fault::OverwritesInPlace) && self.newest() < Some(version) {
            self.held.clear();
        }
        // Something newer is complete: this one is of no use any more.
        if self.complete <= Some(version) {
            self.held.insert(version, (part, bytes.to_vec()));
        }
        stored
    }

    fn has_bytes(&self, version: Version) -> bool {
        let held = self.held.get(&version);
        held.is_some_and(|(part, _)| *part != Part::Witness)
    }

    fn read(&self, wanted: Option<Version>) -> (Reply, Vec<u8>) {
        let newest = self.held.keys().next_back().copied();
        let brought = wanted.or(newest).filter(|version| self.has_bytes(*version));
        let held = self.held.iter().rev();
        let held = held.map(|(&version, &(part, _))| Held { version, part });
        let complete = match self.fault {
            Some(Fault::CallsAllComplete) => self.newest(),
            _ => self.complete,
        };
        let answer = Answer {
            incomplete: None,
            dropped: None,
            held: held.take(farcache_redundancy::plan::HELD_MAX).collect(),
            complete,
            brought,
        };
        let source = match (self.fault, self.held.keys().next()) {
            (Some(Fault::TellsWrongVersion), Some(oldest)) => brought.map(|_| *oldest),
            _ => brought,
        };
        let bytes = source.and_then(|version| self.held.get(&version));
        (
            Reply::Answer(answer),
            bytes.map_or_else(Vec::new, |held| held.1.clone()),
        )
    }
}
