//! A server with one version of the key, which nobody fences, unless a fault is planted in it.

use farcache_redundancy::Version;
use farcache_redundancy::plan::{Answer, Held, Part, Question, Reply};

/// What is done otherwise than by the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A promise is given and not kept.
    NoPromises,
    /// A change is accepted though something was promised to another one, or nothing at all.
    AcceptsWithoutPromise,
    /// What is older than the promise is stored where it is the end of an accepted write.
    StoresBelowPromise,
    /// A change begins with the promises of a quorum, not of all members.
    AsksQuorumOnly,
    /// A change whose end is unknown is begun again.
    CountsAgain,
}

/// What it holds: the version, which part of it, and the value; none is a tombstone.
pub type Item = (Version, Part, Option<u32>);

#[derive(Default)]
pub struct Server {
    pub is_down: bool,
    /// Rises with every return.
    pub incarnation: u32,
    pub held: Option<Item>,
    pub promised: Option<Version>,
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
                // Something newer counts.
                Reply::Refused { .. } => stored(false),
                Reply::Promised { .. } if self.has(Fault::StoresBelowPromise) => {
                    self.held = Some((version, part, value));
                    stored(false)
                }
                reply => reply,
            },
            Question::Promise(version) => match self.promised {
                Some(current) if current > version && !self.has(Fault::NoPromises) => {
                    Reply::Promised { current }
                }
                _ => {
                    self.promised = Some(version);
                    return self.read();
                }
            },
            Question::Read(_) => return self.read(),
            Question::Complete(_) => stored(false),
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
            if current >= version {
                // Who was given the promise may have met it, and have written what is there.
                return match promised.filter(|promised| *promised > version) {
                    Some(promised) => Reply::Promised {
                        current: current.max(promised),
                    },
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
            return Reply::Promised { current };
        }
        let was_present = self.held.is_some_and(|(_, _, value)| value.is_some());
        self.held = Some((version, part, value));
        stored(was_present)
    }

    fn read(&self) -> (Reply, Option<Item>) {
        let mut answer = Answer::default();
        if let Some((version, part, _)) = self.held {
            answer.held.push(Held { version, part });
            answer.brought = Some(version).filter(|_| part != Part::Tombstone);
        }
        (Reply::Answer(answer), self.held)
    }
}

fn stored(was_present: bool) -> Reply {
    Reply::Stored { was_present }
}
