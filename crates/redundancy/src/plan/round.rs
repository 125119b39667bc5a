//! Asking every member the same of one version: to accept it, or to store it.

use super::group::{Group, Positions};
use super::layout::Layout;
use super::{Action, Part, Question, Request, RequestId};
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

    /// Tells these members that a version is complete (rule 6).
    pub fn tell_complete<O>(
        &mut self,
        group: &Group,
        members: Positions,
        version: Version,
        actions: &mut Vec<Action<O>>,
    ) {
        for position in members.iter() {
            self.ask(group, position, Question::Complete(version), actions);
        }
    }
}

pub(super) struct Pending {
    pub id: RequestId,
    pub position: usize,
    pub tries: u8,
}

/// Requests that are under way, one for each server at most.
pub(super) type AllPending = ArrayVec<Pending, OWNERS_MAX>;

/// Members who are asked, each once its part is at hand.
pub(super) struct Round {
    pub version: Version,
    pub layout: Layout,
    question: fn(Version, Part) -> Question,
    /// Who has been asked.
    pub asked: Positions,
    pub pending: AllPending,
    /// Parts that are at hand: data shards are from the beginning, parity once it has been made.
    pub is_encoded: bool,
}

impl Round {
    /// Nobody has been asked.
    pub fn new(version: Version, layout: Layout, question: fn(Version, Part) -> Question) -> Round {
        Round {
            version,
            layout,
            question,
            asked: Positions::default(),
            pending: AllPending::new(),
            is_encoded: false,
        }
    }

    /// Asks all members that have not been asked and whose parts are at hand.
    pub fn go_on<O>(
        &mut self,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) {
        for position in group.live().iter() {
            if !self.asked.has(position) && self.layout.is_at_hand(position, self.is_encoded) {
                self.asked.insert(position);
                self.ask(group, position, 1, requests, actions);
            }
        }
    }

    /// Asks the same once more.
    pub fn ask_again<O>(
        &mut self,
        lost: &Pending,
        group: &Group,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) {
        self.ask(group, lost.position, lost.tries + 1, requests, actions);
    }

    fn ask<O>(
        &mut self,
        group: &Group,
        position: usize,
        tries: u8,
        requests: &mut Requests,
        actions: &mut Vec<Action<O>>,
    ) {
        let question = (self.question)(self.version, self.layout.part_at(position));
        let id = requests.ask(group, position, question, actions);
        self.pending.push(Pending {
            id,
            position,
            tries,
        });
    }

    /// The request that is answered; none where it is somebody else's.
    pub fn take(&mut self, id: RequestId) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.id == id)?;
        Some(self.pending.remove(at))
    }
}
