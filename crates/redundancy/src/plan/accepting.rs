//! A new version on its way to all members, each of which may refuse it (rule 3).

use super::group::{Group, Positions};
use super::layout::Layout;
use super::round::{Requests, Round};
use super::storing::Storing;
use super::{Action, Part, Question, Reply, RequestId, TRIES_MAX};
use crate::Version;

/// What has become of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Answers are to come.
    Open,
    /// So many have accepted it as have to: it stays.
    Accepted,
    /// So many have refused it that nobody will see it.
    Refused {
        /// What a newer version must exceed.
        current: Version,
    },
    /// No member that is caught up has answered.
    NobodyReady,
    /// Some have accepted it, others cannot be asked: somebody may see it, or nobody ever.
    Doubtful,
    /// A newer map decides.
    AwaitsMap,
}

/// How many must accept a version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// So that it stays, whatever the others say.
    pub quorum: usize,
    /// So that whoever asks for a promise can read it.
    pub readable: usize,
}

impl Wanted {
    /// How many must have had a version before a reader may show it.
    fn shown_min(self) -> usize {
        self.quorum.max(self.readable)
    }
}

/// One version that members are asked to accept.
pub(super) struct Accepting {
    round: Round,
    wanted: Wanted,
    accepted: Positions,
    /// Who has something newer, and may have had it before.
    unsure: Positions,
    /// Who has nothing newer, and has refused it for a promise.
    only_promised: Positions,
    /// It stands on promises: whoever accepts it settles it.
    is_promised: bool,
    /// The newest version for which one has refused it.
    current: Option<Version>,
    /// The newest promise for which one has refused it.
    promised: Option<Version>,
    /// A request was lost, which may have been carried out.
    is_doubtful: bool,
    has_newer_map: bool,
    /// Whether one that has accepted it had a value before.
    pub was_present: bool,
}

impl Accepting {
    /// Nobody has been asked.
    pub fn new(version: Version, layout: Layout, wanted: Wanted, is_encoded: bool) -> Accepting {
        Self::asking(Question::Accept, version, layout, wanted, is_encoded)
    }

    /// Nobody has been asked to accept a version for which all members have given their promise
    /// (rule 10).
    pub fn on_promises(
        version: Version,
        layout: Layout,
        wanted: Wanted,
        is_encoded: bool,
    ) -> Accepting {
        let question = Question::AcceptPromised;
        let accepting = Self::asking(question, version, layout, wanted, is_encoded);
        Accepting {
            is_promised: true,
            ..accepting
        }
    }

    fn asking(
        question: fn(Version, Part) -> Question,
        version: Version,
        layout: Layout,
        wanted: Wanted,
        is_encoded: bool,
    ) -> Accepting {
        let mut round = Round::new(version, layout, question);
        round.is_encoded = is_encoded;
        Accepting {
            round,
            wanted,
            accepted: Positions::default(),
            unsure: Positions::default(),
            only_promised: Positions::default(),
            is_promised: false,
            current: None,
            promised: None,
            is_doubtful: false,
            has_newer_map: false,
            was_present: false,
        }
    }

    /// All parts are at hand from now on.
    pub fn note_encoded(&mut self) {
        self.round.is_encoded = true;
    }

    /// Asks all members that have not been asked and whose parts are at hand.
    pub fn go_on<O>(
        &mut self,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) {
        self.round.go_on(group, requests, actions);
    }

    /// An answer, or none (`reply` is missing then). Others' answers are passed over.
    pub fn settle<O>(
        &mut self,
        id: RequestId,
        reply: Option<&Reply>,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) -> Verdict {
        let Some(pending) = self.round.take(id) else {
            return Verdict::Open;
        };
        match reply {
            Some(&Reply::Stored { was_present }) => {
                self.accepted.insert(pending.position);
                self.was_present |= was_present;
            }
            Some(&Reply::Refused { current }) => self.current = self.current.max(Some(current)),
            Some(&Reply::Unsure { current }) => {
                self.unsure.insert(pending.position);
                self.current = self.current.max(Some(current));
            }
            Some(&Reply::Promised { current, has_newer }) => {
                self.promised = self.promised.max(Some(current));
                if !has_newer {
                    self.only_promised.insert(pending.position);
                }
            }
            Some(Reply::NotReady) => {}
            Some(Reply::NewerMap) => self.has_newer_map = true,
            Some(Reply::Answer(_)) | None => {
                self.is_doubtful = true;
                if pending.tries < TRIES_MAX {
                    self.round.ask_again(&pending, group, requests, actions);
                }
            }
        }
        self.verdict(group)
    }

    fn verdict(&self, group: &Group) -> Verdict {
        if self.accepted.count() >= self.wanted.quorum {
            return Verdict::Accepted;
        }
        if !self.round.pending.is_empty() || !self.round.asked.covers(group.live()) {
            return Verdict::Open;
        }
        let (accepted, is_readable) = (
            self.accepted.count(),
            self.accepted.count() >= self.wanted.readable,
        );
        match self.current.max(self.promised) {
            _ if self.has_newer_map => Verdict::AwaitsMap,
            // Whoever asks for a promise meets it, and nothing older comes in between.
            _ if self.is_promised && is_readable => Verdict::Accepted,
            _ if self.is_doubtful => Verdict::Doubtful,
            // Whoever was given the promise has met it.
            Some(_) if is_readable && self.current.is_none() => Verdict::Accepted,
            // It may have been met, or be older than what was acknowledged before it began.
            Some(_) if is_readable && self.promised.is_some() => Verdict::Doubtful,
            // Those who do not know may have had it: then so many have that somebody may have seen
            // it. Where nobody accepts what is sent once, nobody has had it from others.
            Some(_)
                if accepted > 0 && accepted + self.unsure.count() >= self.wanted.shown_min() =>
            {
                Verdict::Doubtful
            }
            Some(current) => Verdict::Refused { current },
            None if accepted > 0 => Verdict::Doubtful,
            None => Verdict::NobodyReady,
        }
    }

    /// Whether somebody has the version, or may have it.
    pub fn may_be_held(&self) -> bool {
        self.is_doubtful || self.accepted.count() > 0 || !self.round.pending.is_empty()
    }

    /// Of whom it is certain that whoever writes above it has met it, as long as enough of them to
    /// read it are there. Where it was written on no promise, something newer may have been
    /// acknowledged before, and each who knows no better may have been away then: none, where fewer
    /// than a quorum have nothing newer.
    pub fn acceptors(&self) -> Positions {
        let without_newer = self.accepted.with(self.only_promised);
        match self.is_promised || without_newer.count() >= self.wanted.quorum {
            true => self.accepted,
            false => Positions::default(),
        }
    }

    /// What is left to be done of an accepted version.
    pub fn into_storing(self) -> Storing {
        Storing::behind(self.round, self.accepted)
    }
}
