//! Whom a reader has asked, and who is still to answer.

use super::answers::Answers;
use super::group::{Group, Positions};
use super::round::Requests;
use super::{Action, Question, RequestId};
use crate::Version;
use arrayvec::ArrayVec;
use farcache_cluster::OWNERS_MAX;

/// A request that is under way.
pub(super) struct Pending {
    id: RequestId,
    pub position: usize,
    /// Whether it is about what the owner has beneath what it has told of.
    pub is_beneath: bool,
}

/// The requests of one read.
#[derive(Default)]
pub(super) struct Asking {
    /// Position of the owner that is asked first.
    pub first: usize,
    /// What owners are to promise, where it is for a change.
    pub promise: Option<Version>,
    pub requests: Requests,
    asked: Positions,
    pending: ArrayVec<Pending, OWNERS_MAX>,
    /// Who has nothing beneath what it has told of.
    at_bottom: Positions,
}

impl Asking {
    /// Nobody has been asked; what is under way is not waited for.
    pub fn begin_anew(&mut self) {
        self.asked = Positions::default();
        self.pending.clear();
        self.at_bottom = Positions::default();
    }

    /// Whether nobody is still to answer.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Who is still to answer.
    pub fn under_way(&self) -> Positions {
        self.pending.iter().map(|one| one.position).collect()
    }

    /// A request is not under way any more; none where it was not.
    pub fn take(&mut self, id: RequestId) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.id == id)?;
        Some(self.pending.remove(at))
    }

    /// Members that have not been asked.
    pub fn unasked(&self, group: &Group) -> Positions {
        group.live().without(self.asked)
    }

    /// Asks one more owner; false where all have been asked.
    pub fn ask_further<O>(&mut self, group: &Group, actions: &mut Vec<Action<O>>) -> bool {
        let order = (0..OWNERS_MAX).map(|offset| (self.first + offset) % OWNERS_MAX);
        let (live, asked) = (group.live(), self.asked);
        // Positions beyond the last owner are never live, so the order goes around them.
        let mut open = order.filter(|position| live.has(*position) && !asked.has(*position));
        let Some(position) = open.next() else {
            return false;
        };
        self.asked.insert(position);
        let question = self.promise.map_or(Question::Read(None), Question::Promise);
        self.ask(group, position, question, actions);
        true
    }

    /// Asks an owner this.
    pub fn ask<O>(
        &mut self,
        group: &Group,
        position: usize,
        question: Question,
        actions: &mut Vec<Action<O>>,
    ) {
        let id = self.requests.ask(group, position, question, actions);
        self.pending.push(Pending {
            id,
            position,
            is_beneath: matches!(question, Question::Beneath(_)),
        });
    }

    /// Asks what lies beneath the oldest version that an owner has told of: those owners first for
    /// whom that version is the newest. False where all have told all.
    pub fn ask_beneath<O>(
        &mut self,
        group: &Group,
        answers: &Answers,
        actions: &mut Vec<Action<O>>,
    ) -> bool {
        let oldest = answers.oldest();
        let above: ArrayVec<_, OWNERS_MAX> = oldest
            .filter(|(position, _)| !self.at_bottom.has(*position))
            .collect();
        let newest = above.iter().map(|(_, version)| *version).max();
        for (position, version) in above {
            if Some(version) == newest {
                self.ask(group, position, Question::Beneath(version), actions);
            }
        }
        newest.is_some()
    }

    /// An owner has nothing beneath what it has told of.
    pub fn note_bottom(&mut self, position: usize) {
        self.at_bottom.insert(position);
    }
}
