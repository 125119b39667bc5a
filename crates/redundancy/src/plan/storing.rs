//! Storing an accepted version at all members (rules 4 and 5), for writers and for readers who
//! finish what a writer has left.

use super::group::{Group, Positions};
use super::layout::Layout;
use super::round::{Requests, Round};
use super::{Action, Question, Reply, RequestId, TRIES_MAX};
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
    /// Some have something newer, and have never had it: nobody may be shown it.
    Superseded,
}

/// What it means that a server has something newer, and has never had the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newer {
    /// It counts as stored (rule 4).
    CountsAsStored,
    /// Where nobody fences, its writer may be about to write it anew, above that, unless a quorum
    /// has had it: who wants to show it needs so many.
    MayBeAbove {
        /// How many.
        quorum: usize,
    },
}

/// One version on its way to all members of one map.
pub(super) struct Storing {
    round: Round,
    /// Who has stored it by this map.
    stored: Positions,
    /// Who has promised to take something newer only.
    promised: Positions,
    newer: Newer,
    /// Requests up to this one ask to accept it.
    accepting: Option<RequestId>,
    /// Who has something newer, where that does not count.
    superseding: Positions,
}

impl Storing {
    /// `stored` are those who are known to have it by this map.
    pub fn new(version: Version, layout: Layout, stored: Positions) -> Storing {
        Storing::behind(Round::new(version, layout, Question::Store), stored)
    }

    /// A round in which a reader stores what it is going to show; `newer` says what a server that
    /// has something newer counts as.
    pub fn to_be_shown(
        version: Version,
        layout: Layout,
        stored: Positions,
        newer: Newer,
    ) -> Storing {
        let storing = Storing::new(version, layout, stored);
        Storing { newer, ..storing }
    }

    /// A round that follows one in which servers were asked to accept the version and have not all
    /// answered. One that refuses is asked to store it all the same (rule 4).
    pub fn behind(before: Round, stored: Positions) -> Storing {
        let accepting = before.pending.iter().map(|one| one.id).max();
        let mut round = Round::new(before.version, before.layout, Question::Store);
        round.asked = stored;
        for one in &before.pending {
            round.asked.insert(one.position);
        }
        round.pending = before.pending;
        Storing {
            round,
            stored,
            promised: Positions::default(),
            newer: Newer::CountsAsStored,
            accepting,
            superseding: Positions::default(),
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
        let settled = self.stored.with(self.promised).with(self.superseding);
        match self.stored.covers(group.live()) {
            true => Progress::Complete,
            false if !settled.covers(group.live()) => Progress::Going,
            false if self.superseding.count() == 0 => Progress::Overtaken,
            false => match self.newer {
                Newer::MayBeAbove { quorum } if self.stored.count() < quorum => {
                    Progress::Superseded
                }
                _ if self.promised.count() > 0 => Progress::Overtaken,
                _ => Progress::Complete,
            },
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
        let is_newer = matches!(reply, Some(Reply::Refused { .. } | Reply::Unsure { .. }))
            && Some(id) > self.accepting;
        match reply {
            _ if is_newer && self.newer != Newer::CountsAsStored => {
                self.superseding.insert(pending.position);
                self.progress(group)
            }
            _ if is_newer || matches!(reply, Some(Reply::Stored { .. })) => {
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
        requests.tell_complete(group, group.live(), self.round.version, actions);
    }
}
