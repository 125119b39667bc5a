//! Reading a value.

mod deciding;
mod finishing;

use super::answers::Answers;
use super::asking::{Asking, Pending};
use super::findings::Findings;
use super::group::Group;
use super::storing::Storing;
use super::{Action, Answer, Event, Fencing, Reply, RequestId};
use crate::{Redundancy, Version};
use farcache_cluster::ServerId;

/// What a read has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The value of this version, which is at hand.
    Value(Version),
    /// The key was deleted by this version.
    Deleted(Version),
    /// No owner has anything.
    Nothing,
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// What it has found.
    Found(Found),
    /// Too few owners answer, or they have not enough parts of one version in common: what there
    /// was may have been evicted, or a writer has died, or too many servers are lost.
    Unavailable,
    /// Of a read for a change: a server has, or has promised, something newer. Nothing has changed.
    Refused {
        /// What a newer version must exceed.
        current: Version,
    },
}

/// Bytes that were asked for may have gone when the request arrives, because something newer is
/// complete. So often in one read that is the work of a server that errs.
const FETCHES_MAX: u16 = 100;

enum Stage {
    Asking,
    /// The value is being made from its shards.
    Decoding {
        version: Version,
        is_complete: bool,
    },
    /// What a writer has left is being finished, before it is shown (rule 7).
    Finishing {
        found: Found,
        storing: Box<Storing>,
    },
    Ended,
}

/// Reads one key.
pub struct Read {
    redundancy: Redundancy,
    fencing: Fencing,
    group: Group,
    /// How many more than necessary are asked at once.
    spare: usize,
    /// All members are to hold what it shows, not only so many as a later read must ask.
    is_thorough: bool,
    is_complete: bool,
    asking: Asking,
    stage: Stage,
    answers: Answers,
    tries: u8,
    /// How often holders were asked for bytes that they had not brought.
    fetches: u16,
}

type Actions = Vec<Action<ReadOutcome>>;

impl Read {
    /// Begins a read. `first` counts from the first owner, around; `spare` is how many answers more
    /// than necessary are asked for, so that the slowest of them need not be waited for.
    pub fn begin(
        redundancy: Redundancy,
        group: Group,
        first: usize,
        spare: usize,
        actions: &mut Actions,
    ) -> Read {
        let fencing = Fencing::Kept;
        Self::begin_among(redundancy, fencing, group, first, spare, actions)
    }

    /// Begins a read among servers of which this is known.
    pub fn begin_among(
        redundancy: Redundancy,
        fencing: Fencing,
        group: Group,
        first: usize,
        spare: usize,
        actions: &mut Actions,
    ) -> Read {
        let read = Read::new(redundancy, fencing, group);
        let mut read = Read { spare, ..read };
        read.asking.first = first;
        read.begin_anew(actions);
        read
    }

    /// Begins a read that sees to it that all members hold what it shows: the end of a write whose
    /// writer could not store it everywhere.
    pub fn begin_thorough(
        redundancy: Redundancy,
        fencing: Fencing,
        group: Group,
        actions: &mut Actions,
    ) -> Read {
        let mut read = Read::new_thorough(redundancy, fencing, group);
        read.begin_anew(actions);
        read
    }

    /// Begins a read of what is to be changed under this version. All members promise to store
    /// nothing older, and what it finds need not be complete: what is written in its place is
    /// (rule 10).
    pub fn begin_for_change(
        redundancy: Redundancy,
        fencing: Fencing,
        group: Group,
        version: Version,
        actions: &mut Actions,
    ) -> Read {
        let mut read = Read::new_thorough(redundancy, fencing, group);
        read.asking.promise = Some(version);
        read.begin_anew(actions);
        read
    }

    fn new(redundancy: Redundancy, fencing: Fencing, group: Group) -> Read {
        Read {
            redundancy,
            fencing,
            group,
            spare: 0,
            is_thorough: false,
            is_complete: false,
            asking: Asking::default(),
            stage: Stage::Asking,
            answers: Answers::default(),
            tries: 0,
            fetches: 0,
        }
    }

    fn new_thorough(redundancy: Redundancy, fencing: Fencing, group: Group) -> Read {
        Read {
            is_thorough: true,
            ..Read::new(redundancy, fencing, group)
        }
    }

    /// Whether what it has found is known to be complete, and at all members where it is read for a
    /// change. Other readers have seen to that.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Members that have a part of what it has found, as all have, and have not been asked for it:
    /// they do not know that it is in use.
    pub fn unasked(&self) -> impl Iterator<Item = ServerId> {
        let unasked = self.asking.unasked(&self.group);
        unasked.iter().map(|position| self.group.owner(position))
    }

    /// Whether nothing more will be asked.
    pub fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    /// Takes note of what has happened.
    pub fn handle(&mut self, event: Event, actions: &mut Actions) {
        match event {
            Event::Map(group) if group.epoch() > self.group.epoch() && !self.has_ended() => {
                self.group = group;
                self.tries = 0;
                self.begin_anew(actions);
            }
            Event::Reply(id, reply) => self.settle(id, Some(reply), actions),
            Event::Lost(id) => self.settle(id, None, actions),
            Event::Slow if matches!(self.stage, Stage::Asking) => _ = self.ask_further(actions),
            Event::Decoded => self.note_decoded(actions),
            Event::Encoded => {
                if let Stage::Finishing { storing, .. } = &mut self.stage {
                    storing.note_encoded();
                    let progress = storing.go_on(&self.group, &mut self.asking.requests, actions);
                    self.note_progress(progress, actions);
                }
            }
            Event::Map(_) | Event::Slow => {}
        }
    }

    /// Forgets all answers: those of one epoch count only, and only those from after the last time
    /// that they did not suffice.
    fn begin_anew(&mut self, actions: &mut Actions) {
        self.stage = Stage::Asking;
        self.asking.begin_anew();
        self.answers.clear();
        let wanted = self.answers_min() + self.spare;
        for _ in 0..wanted {
            if !self.ask_further(actions) {
                break;
            }
        }
        let stored_min = self.redundancy.stored_min();
        let wanted = match self.asking.promise {
            Some(_) => stored_min,
            None => self.redundancy.needed(),
        };
        if self.group.live_count() < wanted {
            self.end(ReadOutcome::Unavailable, actions);
        }
    }

    /// What can be concluded from the answers so far.
    fn findings(&self) -> Findings<'_> {
        Findings {
            redundancy: self.redundancy,
            fencing: self.fencing,
            group: &self.group,
            answers: &self.answers,
        }
    }

    /// How many answers are taken before anything is made of them.
    fn answers_min(&self) -> usize {
        let needed = self.redundancy.needed();
        if self.is_thorough {
            return self.group.live_count();
        }
        match self.fencing {
            Fencing::Kept => needed,
            Fencing::None => needed.max(self.findings().quorum()),
        }
    }

    /// Asks one more owner; false where all have been asked.
    fn ask_further(&mut self, actions: &mut Actions) -> bool {
        self.asking.ask_further(&self.group, actions)
    }

    /// Asks owners what they have beneath what they have told of; false where all have told all.
    fn ask_beneath(&mut self, actions: &mut Actions) -> bool {
        // Where somebody fences, servers tell all that they hold at once.
        self.fencing == Fencing::None
            && self.redundancy.keeps_older()
            && self.asking.ask_beneath(&self.group, &self.answers, actions)
    }

    fn settle(&mut self, id: RequestId, reply: Option<Reply>, actions: &mut Actions) {
        if let Stage::Finishing { storing, .. } = &mut self.stage {
            let (group, requests) = (&self.group, &mut self.asking.requests);
            let progress = storing.settle(id, reply.as_ref(), group, requests, actions);
            return self.note_progress(progress, actions);
        }
        let Some(Pending {
            position,
            is_beneath,
            ..
        }) = self.asking.take(id)
        else {
            return;
        };
        if !matches!(self.stage, Stage::Asking) {
            return;
        }
        if is_beneath {
            return self.settle_beneath(position, reply, actions);
        }
        if let Some(Reply::Refused { current } | Reply::Promised { current, .. }) = reply {
            return self.end(ReadOutcome::Refused { current }, actions);
        }
        if let Some(Reply::Answer(answer)) = reply {
            if let Some(current) = self.overtakes(&answer) {
                return self.end(ReadOutcome::Refused { current }, actions);
            }
            self.answers.note(position, answer);
            return self.decide(actions);
        }
        let is_last = !self.ask_further(actions) && self.asking.is_idle();
        // With a newer map it begins anew.
        if is_last && reply != Some(Reply::NewerMap) {
            self.ask_again(actions);
        }
    }

    /// What a server has beneath what it has told of, if it tells.
    fn settle_beneath(&mut self, position: usize, reply: Option<Reply>, actions: &mut Actions) {
        match reply {
            Some(Reply::Answer(beneath)) => {
                if !self.answers.note_beneath(position, &beneath) {
                    self.asking.note_bottom(position);
                }
            }
            // It may have beneath that what others have, too.
            _ => self.answers.remove(position),
        }
        // What one has between may be what was written last, though fewer have told of it so far.
        if self.asking.is_idle() {
            self.decide(actions);
        }
    }

    /// What a server has that the change could not take the place of.
    fn overtakes(&self, answer: &Answer) -> Option<Version> {
        let newest = answer.held.iter().map(|held| held.version).max();
        newest.max(answer.dropped).filter(|newest| {
            self.asking
                .promise
                .is_some_and(|promise| *newest >= promise)
        })
    }

    fn end(&mut self, outcome: ReadOutcome, actions: &mut Actions) {
        if !self.has_ended() {
            actions.push(Action::Done(outcome));
            self.stage = Stage::Ended;
        }
    }
}
