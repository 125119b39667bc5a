//! A server of one key, which nobody fences, unless a fault is planted in it. It has the newest
//! version and, where values lie in shards, what that has taken the place of.

use farcache_redundancy::Version;
use farcache_redundancy::plan::{Answer, Held, Part, Question, Reply};
use std::collections::{BTreeMap, BTreeSet};

/// What is done otherwise than by the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A promise is given and not kept.
    NoPromises,
    /// A change is accepted though something was promised to another one, or nothing at all.
    AcceptsWithoutPromise,
    /// What is older than the promise is stored where it is the end of an accepted write.
    StoresBelowPromise,
    /// What has something newer, too, says that only a promise is in the way.
    HidesWhatIsNewer,
    /// A change begins with the promises of a quorum, not of all members.
    AsksQuorumOnly,
    /// A change whose end is unknown is begun again.
    CountsAgain,
    /// What was held before something newer came is refused as if it had never been there.
    ForgetsAcceptance,
    /// What was held before something newer came is refused as if it had never been there, but only
    /// where the server does not know.
    ForgetsDoubt,
    /// A reader who wants to finish a version is told that it is stored, where something newer is.
    CallsNewerStored,
    /// Whatever is held counts as complete.
    CallsAllComplete,
    /// Nothing is kept of what was there before.
    KeepsNothingOlder,
    /// Of what was there before nothing is kept that is not known to be complete.
    KeepsCompleteOnly,
    /// What was accepted is not kept beneath something newer.
    KeepsNothingBeneath,
}

/// What it holds: the version, which part of it, and the value; none is a tombstone.
pub type Item = (Version, Part, Option<u32>);

/// Versions that were held before something newer came: the last of them.
#[derive(Default)]
pub struct Had {
    kept: Vec<Version>,
    kept_max: usize,
    /// The newest that is not kept any more.
    dropped: Option<Version>,
}

impl Had {
    pub fn of(kept_max: usize) -> Had {
        Had {
            kept_max,
            ..Had::default()
        }
    }

    fn note(&mut self, version: Version) {
        self.kept.push(version);
        if self.kept.len() > self.kept_max {
            self.dropped = self.dropped.max(Some(self.kept.remove(0)));
        }
    }

    /// Whether it was held; none where nobody knows.
    fn version(&self, version: Version) -> Option<bool> {
        match self.kept.contains(&version) {
            false if self.dropped >= Some(version) => None,
            has_had => Some(has_had),
        }
    }
}

#[derive(Default)]
pub struct Server {
    pub is_down: bool,
    /// Rises with every return.
    pub incarnation: u32,
    pub held: Option<Item>,
    pub promised: Option<Version>,
    /// What it held before something newer came, as far as it remembers.
    pub had: Had,
    /// What it was not told to be complete.
    pub incomplete: BTreeSet<Version>,
    /// Whether what was there before is kept until what has come is complete.
    pub keeps_older: bool,
    /// How much of it.
    pub older_max: usize,
    /// By the version that took its place.
    pub beneath: BTreeMap<Version, Item>,
    /// The newest that was to be kept and is not any more.
    pub beneath_dropped: Option<Version>,
    pub fault: Option<Fault>,
}

impl Server {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn keeps_promises(&self) -> bool {
        !self.has(Fault::NoPromises)
    }

    /// It has come back with nothing.
    pub fn comes_back(&mut self) {
        *self = Server {
            incarnation: self.incarnation + 1,
            fault: self.fault,
            keeps_older: self.keeps_older,
            older_max: self.older_max,
            had: Had::of(self.had.kept_max),
            ..Server::default()
        };
    }

    /// What it answers to a question, and the item that comes along with it.
    pub fn answer(&mut self, question: Question, value: Option<u32>) -> (Reply, Option<Item>) {
        let reply = match question {
            Question::Accept(version, part) | Question::AcceptPromised(version, part) => {
                let is_promised = matches!(question, Question::AcceptPromised(..));
                self.take(version, part, value, is_promised)
            }
            Question::Store(version, part) => match self.take(version, part, value, false) {
                Reply::Refused { .. } if self.has(Fault::CallsNewerStored) => stored(false),
                Reply::Refused { .. } | Reply::Unsure { .. }
                    if self.keeps_beneath((version, part, value)) =>
                {
                    stored(false)
                }
                Reply::Promised { .. } if self.has(Fault::StoresBelowPromise) => {
                    self.hold(version, part, value);
                    stored(false)
                }
                reply => reply,
            },
            Question::Promise(version) => match self.promised {
                Some(current) if current > version && !self.has(Fault::NoPromises) => {
                    Reply::Promised {
                        current,
                        has_newer: false,
                    }
                }
                _ => {
                    self.promised = Some(version);
                    return self.tell(self.held);
                }
            },
            Question::Read(_) => return self.tell(self.held),
            Question::Beneath(version) => {
                let (mut reply, item) = self.tell(self.beneath.get(&version).copied());
                if let (Reply::Answer(answer), None) = (&mut reply, item) {
                    answer.dropped = self.beneath_dropped.filter(|_| answer.held.is_empty());
                }
                return (reply, item);
            }
            Question::Complete(version) => {
                self.incomplete.remove(&version);
                let mut next = Some(version);
                while let Some((version, ..)) = next.and_then(|it| self.beneath.remove(&it)) {
                    next = Some(version);
                }
                stored(false)
            }
        };
        (reply, None)
    }

    fn take(
        &mut self,
        version: Version,
        part: Part,
        value: Option<u32>,
        is_promised: bool,
    ) -> Reply {
        if let Some((current, _, there)) = self.held {
            if current == version && there == value {
                return stored(false);
            }
            let promised = self
                .promised
                .filter(|_| !is_promised && self.keeps_promises());
            let has_had = self.had.version(version);
            if has_had == Some(true) && !is_promised && !self.has(Fault::ForgetsAcceptance) {
                return stored(false);
            }
            if current >= version {
                // Who was given the promise may have met it, and have written what is there.
                return match promised.filter(|promised| *promised > version) {
                    Some(promised) => Reply::Promised {
                        current: current.max(promised),
                        has_newer: !self.has(Fault::HidesWhatIsNewer),
                    },
                    None if has_had.is_none() && !self.has(Fault::ForgetsDoubt) => {
                        Reply::Unsure { current }
                    }
                    None => Reply::Refused { current },
                };
            }
        }
        let stands = match is_promised {
            true => self.promised == Some(version) || self.has(Fault::AcceptsWithoutPromise),
            false => self.promised <= Some(version),
        };
        if !stands && !self.has(Fault::NoPromises) {
            let current = self.promised.unwrap_or(version);
            return Reply::Promised {
                current,
                has_newer: false,
            };
        }
        if let Some(before) = self.held {
            self.had.note(before.0);
            self.put_aside(version, before);
        }
        let was_present = self.held.is_some_and(|(_, _, value)| value.is_some());
        self.hold(version, part, value);
        stored(was_present)
    }

    fn hold(&mut self, version: Version, part: Part, value: Option<u32>) {
        self.held = Some((version, part, value));
        if !self.has(Fault::CallsAllComplete) {
            self.incomplete.insert(version);
        }
    }

    fn put_aside(&mut self, successor: Version, before: Item) {
        if !self.keeps_older || self.has(Fault::KeepsNothingOlder) {
            return;
        }
        let is_complete = !self.incomplete.contains(&before.0);
        let kept = match self.has(Fault::KeepsCompleteOnly) && !is_complete {
            true => self.beneath.get(&before.0).copied(),
            false => Some(before),
        };
        self.beneath.extend(kept.map(|kept| (successor, kept)));
        self.drop_oldest();
    }

    /// Keeps an accepted item beneath something newer that is not known to be complete.
    fn keeps_beneath(&mut self, item: Item) -> bool {
        let newest = self.held.filter(|held| self.incomplete.contains(&held.0));
        let (Some((newest, ..)), true) = (newest, self.keeps_older) else {
            return false;
        };
        if self.has(Fault::KeepsNothingOlder) || self.has(Fault::KeepsNothingBeneath) {
            return false;
        }
        let mut above = newest;
        while let Some(beneath) = self.beneath.get(&above).filter(|it| it.0 > item.0) {
            above = beneath.0;
        }
        let below = self.beneath.insert(above, item);
        let below = below.filter(|below| below.0 < item.0);
        self.beneath.extend(below.map(|below| (item.0, below)));
        self.had.note(item.0);
        self.incomplete.insert(item.0);
        self.drop_oldest();
        true
    }

    fn drop_oldest(&mut self) {
        while self.beneath.len() > self.older_max {
            let dropped = self.beneath.pop_first().map(|(_, (version, ..))| version);
            self.beneath_dropped = self.beneath_dropped.max(dropped);
        }
    }

    fn tell(&self, item: Option<Item>) -> (Reply, Option<Item>) {
        let mut answer = Answer::default();
        if let Some((version, part, _)) = item {
            answer.held.push(Held { version, part });
            answer.incomplete = Some(version).filter(|one| self.incomplete.contains(one));
            let has_bytes = !matches!(part, Part::Tombstone | Part::Witness);
            answer.brought = Some(version).filter(|_| has_bytes);
        }
        let item = item.filter(|(_, part, _)| *part != Part::Witness);
        (Reply::Answer(answer), item)
    }
}

fn stored(was_present: bool) -> Reply {
    Reply::Stored { was_present }
}
