//! A new version on its way to all members, each of which may refuse it (rule 3).

use super::group::{Group, Positions};
use super::round::{Requests, Round};
use super::storing::Storing;
use super::{Action, Form, Question, Reply, RequestId, TRIES_MAX};
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

/// One version that members are asked to accept.
pub(super) struct Accepting {
    round: Round,
    /// How many must accept it.
    wanted: usize,
    accepted: Positions,
    /// The newest version for which one has refused it.
    current: Option<Version>,
    /// A request was lost, which may have been carried out.
    is_doubtful: bool,
    has_newer_map: bool,
    /// Whether one that has accepted it had a value before.
    pub was_present: bool,
}

impl Accepting {
    /// Nobody has been asked.
    pub fn new(version: Version, form: Form, wanted: usize, is_encoded: bool) -> Accepting {
        let mut round = Round::new(version, form, Question::Accept);
        round.is_encoded = is_encoded;
        Accepting {
            round,
            wanted,
            accepted: Positions::default(),
            current: None,
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
        if self.accepted.count() >= self.wanted {
            return Verdict::Accepted;
        }
        if !self.round.pending.is_empty() || !self.round.asked.covers(group.live()) {
            return Verdict::Open;
        }
        match self.current {
            _ if self.has_newer_map => Verdict::AwaitsMap,
            _ if self.is_doubtful => Verdict::Doubtful,
            Some(current) => Verdict::Refused { current },
            None if self.accepted.count() > 0 => Verdict::Doubtful,
            None => Verdict::NobodyReady,
        }
    }

    /// Whether somebody has the version, or may have it.
    pub fn may_be_held(&self) -> bool {
        self.is_doubtful || self.accepted.count() > 0 || !self.round.pending.is_empty()
    }

    /// What is left to be done of an accepted version.
    pub fn into_storing(self) -> Storing {
        Storing::behind(self.round, self.accepted)
    }
}
