//! Storing an accepted version at all members (rules 4 and 5), for writers and for readers who
//! finish what a writer has left.

use super::group::{Group, Positions};
use super::{Action, Form, Question, Reply, Request, RequestId, TRIES_MAX};
use crate::Version;
use arrayvec::ArrayVec;
use farcache_cluster::OWNERS_MAX;

/// Gives requests their numbers, which are never used twice in a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(u32);

impl Requests {
    pub fn ask<O>(
        &mut self,
        group: &Group,
        position: usize,
        question: Question,
        actions: &mut Vec<Action<O>>,
    ) -> RequestId {
        self.0 += 1;
        let id = RequestId(self.0);
        actions.push(Action::Ask(Request {
            id,
            to: group.owner(position),
            epoch: group.epoch(),
            question,
        }));
        id
    }
}

/// How storing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Going,
    /// All members have stored it.
    Complete,
    /// One does not answer, and nobody says that it is gone.
    Stuck,
}

pub(super) struct Pending {
    pub id: RequestId,
    pub position: usize,
    pub tries: u8,
}

/// Requests that are under way, one for each server at most.
pub(super) type AllPending = ArrayVec<Pending, OWNERS_MAX>;

/// One version on its way to all members of one map.
pub(super) struct Storing {
    version: Version,
    form: Form,
    /// Who has stored it by this map.
    stored: Positions,
    /// Who has been asked.
    asked: Positions,
    pending: AllPending,
    /// Parts that are at hand: data shards are from the beginning, parity once it has been made.
    is_encoded: bool,
}

impl Storing {
    /// `stored` are those who are known to have it by this map.
    pub fn new(version: Version, form: Form, stored: Positions) -> Storing {
        Storing::behind(version, form, stored, AllPending::new())
    }

    /// The same where others have been asked to accept it and have not answered yet. One that
    /// refuses is asked to store it all the same (rule 4).
    pub fn behind(version: Version, form: Form, stored: Positions, pending: AllPending) -> Storing {
        let mut asked = stored;
        pending.iter().for_each(|one| asked.insert(one.position));
        Storing {
            version,
            form,
            stored,
            asked,
            pending,
            is_encoded: false,
        }
    }

    /// Asks all members that have not been asked and whose parts are at hand.
    pub fn go_on<O>(
        &mut self,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) -> Progress {
        for position in group.live().iter() {
            if !self.asked.has(position) && self.form.is_at_hand(position, self.is_encoded) {
                self.asked.insert(position);
                self.ask(group, position, 1, requests, actions);
            }
        }
        self.progress(group)
    }

    fn ask<O>(
        &mut self,
        group: &Group,
        position: usize,
        tries: u8,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) {
        let question = Question::Store(self.version, self.form.part_at(position));
        let id = requests.ask(group, position, question, actions);
        self.pending.push(Pending {
            id,
            position,
            tries,
        });
    }

    pub fn note_encoded(&mut self) {
        self.is_encoded = true;
    }

    fn progress(&self, group: &Group) -> Progress {
        match self.stored.covers(group.live()) {
            true => Progress::Complete,
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
        let Some(at) = self.pending.iter().position(|pending| pending.id == id) else {
            return Progress::Going;
        };
        let pending = self.pending.remove(at);
        match reply {
            Some(Reply::Stored { .. }) => {
                self.stored.insert(pending.position);
                self.progress(group)
            }
            // It belongs to a newer map, with which all begins at zero.
            Some(Reply::NewerMap) => Progress::Going,
            _ if pending.tries == TRIES_MAX => Progress::Stuck,
            _ => {
                self.ask(
                    group,
                    pending.position,
                    pending.tries + 1,
                    requests,
                    actions,
                );
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
            requests.ask(group, position, Question::Complete(self.version), actions);
        }
    }
}
