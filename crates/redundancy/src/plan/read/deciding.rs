//! What is made of the answers so far: a version to show, further questions, or another try.

use super::{Actions, FETCHES_MAX, Found, Read, ReadOutcome, Stage};
use crate::Version;
use crate::plan::{Action, Fencing, Form, Question, TRIES_MAX};

impl Read {
    /// Rule 7: takes the newest version that k answers have in common.
    pub(super) fn decide(&mut self, actions: &mut Actions) {
        if self.answers.count() < self.answers_min() {
            return self.await_more(actions);
        }
        let findings = self.findings();
        let common = self.answers.newest_common(self.redundancy);
        let newest = common.filter(|(version, _)| findings.is_newest(*version));
        let Some((version, form)) = newest else {
            return self.look_further(actions);
        };
        let is_known = findings.is_known_to_be_complete(version);
        let is_everywhere = self.answers.holders(version).covers(self.group.live());
        let asks_all = self.asking.promise.is_none() && findings.may_be_complete(version);
        if asks_all && !is_known && !is_everywhere && self.awaits_others(actions) {
            return;
        }
        let is_complete = match (is_everywhere, self.fencing) {
            // That is all it means.
            (true, Fencing::None) => true,
            (true, Fencing::Kept) => is_known,
            (false, _) => is_known && !self.is_thorough,
        };
        match form {
            Form::Tombstone => self.show(Found::Deleted(version), form, is_complete, actions),
            Form::Copies(_) if self.has_brought(version, 1, actions) => {
                self.show(Found::Value(version), form, is_complete, actions);
            }
            Form::Shards(scheme) if self.has_brought(version, scheme.data_shards(), actions) => {
                let from = self.answers.bringers(version).iter();
                let from = from.take(scheme.data_shards());
                let from = from.map(|position| self.group.owner(position)).collect();
                actions.push(Action::Decode(version, from));
                self.stage = Stage::Decoding {
                    version,
                    is_complete,
                };
            }
            Form::Copies(_) | Form::Shards(_) => {}
        }
    }

    /// No version is there that can be shown: whether others have one, or the same ones beneath
    /// what they have told of, or there is nothing.
    fn look_further(&mut self, actions: &mut Actions) {
        let is_nothing = self.findings().is_nothing();
        let goes_on = match (is_nothing, self.fencing) {
            (true, Fencing::Kept) => false,
            // What has been evicted may be beneath what has not.
            (true, Fencing::None) => !self.asking.is_idle() || self.ask_beneath(actions),
            (false, _) => self.awaits_others(actions) || self.ask_beneath(actions),
        };
        match (goes_on, is_nothing) {
            (true, _) => {}
            (false, true) => {
                self.is_complete = true;
                self.end(ReadOutcome::Found(Found::Nothing), actions);
            }
            (false, false) => self.ask_again(actions),
        }
    }

    /// Whether more answers are to come, of whoever has not been asked otherwise.
    fn awaits_others(&mut self, actions: &mut Actions) -> bool {
        !self.asking.is_idle() || self.ask_further(actions)
    }

    /// Whether enough servers have brought the bytes of a version; else those who hold it are asked
    /// for them.
    fn has_brought(&mut self, version: Version, wanted: usize, actions: &mut Actions) -> bool {
        let brought = self.answers.bringers(version);
        if brought.count() >= wanted {
            return true;
        }
        let under_way = self.asking.under_way();
        let others = self.answers.holders_of_further_bytes(version);
        if brought.count() + others.count() < wanted {
            self.await_more(actions);
            return false;
        }
        let missing = wanted - brought.count();
        if self.fetches > FETCHES_MAX {
            self.end(ReadOutcome::Unavailable, actions);
            return false;
        }
        for position in others.iter().take(missing) {
            if !under_way.has(position) {
                self.fetches += 1;
                let question = Question::Read(Some(version));
                self.asking.ask(&self.group, position, question, actions);
            }
        }
        false
    }

    /// The answers do not suffice yet.
    fn await_more(&mut self, actions: &mut Actions) {
        if !self.awaits_others(actions) {
            self.ask_again(actions);
        }
    }

    /// All have answered, or do not answer, and nothing can be made of it.
    pub(super) fn ask_again(&mut self, actions: &mut Actions) {
        self.tries += 1;
        if self.tries == TRIES_MAX {
            return self.end(ReadOutcome::Unavailable, actions);
        }
        self.begin_anew(actions);
    }
}
