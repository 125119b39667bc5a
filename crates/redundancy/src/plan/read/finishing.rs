//! What has been found is shown, once enough members hold it.

use super::{Actions, Found, Read, ReadOutcome, Stage};
use crate::plan::layout::Layout;
use crate::plan::storing::{Newer, Progress, Storing};
use crate::plan::{Action, Fencing, Form};
use crate::{Redundancy, Version};

impl Read {
    pub(super) fn note_decoded(&mut self, actions: &mut Actions) {
        let Stage::Decoding {
            version,
            is_complete,
        } = self.stage
        else {
            return;
        };
        let Redundancy::Erasure(scheme) = self.redundancy else {
            return;
        };
        if !is_complete && self.asking.promise.is_none() {
            actions.push(Action::Encode);
        }
        let found = Found::Value(version);
        self.show(found, Form::Shards(scheme), is_complete, actions);
    }

    pub(super) fn show(
        &mut self,
        found: Found,
        form: Form,
        is_complete: bool,
        actions: &mut Actions,
    ) {
        let (Found::Value(version) | Found::Deleted(version)) = found else {
            return;
        };
        self.is_complete = is_complete;
        if is_complete || self.asking.promise.is_some() {
            self.end(ReadOutcome::Found(found), actions);
            return self.tell_complete(version, actions);
        }
        // Who has said by this map that it holds the version has stored it by this map.
        let stored = self.answers.holders(version);
        // Of what fewer have accepted than it takes to read it, nobody is shown anything.
        let may_be_refused = self.redundancy.needed() < self.redundancy.accepted_min();
        let newer = match self.fencing {
            Fencing::None if may_be_refused => Newer::MayBeAbove {
                quorum: self.findings().quorum(),
            },
            _ => Newer::CountsAsStored,
        };
        let owners = self.group.owners_count();
        let layout = Layout::beside(form, owners, |at| self.answers.shard_of(at, version));
        let storing = Storing::to_be_shown(version, layout, stored, newer);
        let mut storing = Box::new(storing);
        let progress = storing.go_on(&self.group, &mut self.asking.requests, actions);
        self.stage = Stage::Finishing { found, storing };
        self.note_progress(progress, actions);
    }

    /// Where all members have what was found, tells this to those that do not know it.
    fn tell_complete(&mut self, version: Version, actions: &mut Actions) {
        if self.is_complete && self.fencing == Fencing::None {
            let unsure = self.answers.unsure_of(version);
            let (group, requests) = (&self.group, &mut self.asking.requests);
            requests.tell_complete(group, unsure, version, actions);
        }
    }

    pub(super) fn note_progress(&mut self, progress: Progress, actions: &mut Actions) {
        let Stage::Finishing { found, storing } = &self.stage else {
            return;
        };
        match progress {
            Progress::Going => {}
            // Whoever was given the promise finishes it, or the next reader does.
            Progress::Stuck | Progress::Overtaken => {
                self.end(ReadOutcome::Unavailable, actions);
            }
            Progress::Superseded => self.ask_again(actions),
            Progress::Complete
                if self.fencing == Fencing::Kept
                    && self.group.live_count() < self.redundancy.stored_min() =>
            {
                // Not enough for a write, so not for the end of one.
                self.end(ReadOutcome::Unavailable, actions);
            }
            Progress::Complete => {
                self.is_complete = true;
                actions.push(Action::Done(ReadOutcome::Found(*found)));
                storing.tell_complete(&self.group, &mut self.asking.requests, actions);
                self.stage = Stage::Ended;
            }
        }
    }
}
