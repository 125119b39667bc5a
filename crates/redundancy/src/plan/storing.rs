//! Storing an accepted version at all members (rules 4 and 5), for writers and for readers who
//! finish what a writer has left.

use super::group::{Group, Positions};
use super::round::{Requests, Round};
use super::{Action, Form, Question, Reply, RequestId, TRIES_MAX};
use crate::Version;

/// How storing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Going,
    /// All members have stored it.
    Complete,
    /// One does not answer, and nobody says that it is gone.
    Stuck,
    /// Some have promised to take something newer only, and the others have stored it.
    Overtaken,
}

/// One version on its way to all members of one map.
pub(super) struct Storing {
    round: Round,
    /// Who has stored it by this map.
    stored: Positions,
    /// Who has promised to take something newer only.
    promised: Positions,
}

impl Storing {
    /// `stored` are those who are known to have it by this map.
    pub fn new(version: Version, form: Form, stored: Positions) -> Storing {
        Storing::behind(Round::new(version, form, Question::Store), stored)
    }

    /// The same where others have been asked to accept it and have not answered yet. One that
    /// refuses is asked to store it all the same (rule 4).
    pub fn behind(before: Round, stored: Positions) -> Storing {
        let mut round = Round::new(before.version, before.form, Question::Store);
        round.asked = stored;
        for one in &before.pending {
            round.asked.insert(one.position);
        }
        round.pending = before.pending;
        let promised = Positions::default();
        Storing {
            round,
            stored,
            promised,
        }
    }

    /// Asks all members that have not been asked and whose parts are at hand.
    pub fn go_on<O>(
        &mut self,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) -> Progress {
        self.round.go_on(group, requests, actions);
        self.progress(group)
    }

    pub fn note_encoded(&mut self) {
        self.round.is_encoded = true;
    }

    fn progress(&self, group: &Group) -> Progress {
        let settled = self.stored.with(self.promised);
        match self.stored.covers(group.live()) {
            true => Progress::Complete,
            false if settled.covers(group.live()) => Progress::Overtaken,
            false => Progress::Going,
        }
    }

    /// An answer, or none (`reply` is missing then). Others' answers are passed over.
    pub fn settle<O>(
        &mut self,
        id: RequestId,
        reply: Option<&Reply>,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) -> Progress {
        let Some(pending) = self.round.take(id) else {
            return Progress::Going;
        };
        match reply {
            Some(Reply::Stored { .. }) => {
                self.stored.insert(pending.position);
                self.progress(group)
            }
            Some(Reply::Promised { .. }) => {
                self.promised.insert(pending.position);
                self.progress(group)
            }
            // It belongs to a newer map, with which all begins at zero.
            Some(Reply::NewerMap) => Progress::Going,
            _ if pending.tries == TRIES_MAX => Progress::Stuck,
            _ => {
                self.round.ask_again(&pending, group, requests, actions);
                Progress::Going
            }
        }
    }

    /// Tells all members that the version is complete.
    pub fn tell_complete<O>(
        &self,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) {
        for position in group.live().iter() {
            requests.ask(
                group,
                position,
                Question::Complete(self.round.version),
                actions,
            );
        }
    }
}
