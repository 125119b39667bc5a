//! What a reader concludes from what a key's owners have answered.

use super::Fencing;
use super::answers::Answers;
use super::group::Group;
use crate::{Redundancy, Version};

/// The answers, and whose they are.
pub(super) struct Findings<'a> {
    pub redundancy: Redundancy,
    pub fencing: Fencing,
    pub group: &'a Group,
    pub answers: &'a Answers,
}

impl Findings<'_> {
    /// As many servers as a write must reach, or all that are live.
    pub fn quorum(&self) -> usize {
        self.redundancy.stored_min().min(self.group.live_count())
    }

    /// Whether the answers say that all members have stored this version, so that what is found is
    /// found again by others, whoever is lost.
    pub fn is_known_to_be_complete(&self, version: Version) -> bool {
        let answers = &self.answers;
        // Nobody else waits for what one server has acknowledged.
        let is_single = self.redundancy.stored_min() == 1;
        let is_told = self.is_met_by_all(version) && !answers.call_incomplete(version);
        answers.call_complete(version) || is_single || is_told
    }

    /// Whether so many hold a version, of which none was told that it is complete, that all members
    /// may hold it: the others are asked then.
    pub fn may_be_complete(&self, version: Version) -> bool {
        self.is_met_by_all(version) && self.answers.call_incomplete(version)
    }

    /// Whether whoever takes as many answers as a write must reach meets a version, where nobody
    /// fences.
    fn is_met_by_all(&self, version: Version) -> bool {
        let holders = self.answers.holders(version).count();
        self.fencing == Fencing::None && holders >= self.quorum()
    }

    /// Whether no answer leaves room for an acknowledged write above this version. A server that
    /// has forgotten something may have forgotten that, unless so many hold the version that too
    /// few are left for another one's quorum.
    /// That holds only where none of the answers tells of anything newer.
    pub fn is_newest(&self, version: Version) -> bool {
        let others_max = self.redundancy.owners() - self.redundancy.stored_min();
        let answers = &self.answers;
        let is_on_top = answers.newest() == Some(version);
        let may_have_dropped =
            answers.may_have_dropped(version) || answers.may_have_dropped_beneath(version);
        self.fencing == Fencing::Kept
            || is_on_top && answers.holders(version).count() > others_max
            || !may_have_dropped
    }

    /// Whether the answers say that there is no value: it was never there, has been evicted, or
    /// lies on too few servers.
    pub fn is_nothing(&self) -> bool {
        let (answers, needed) = (&self.answers, self.redundancy.needed());
        if self.fencing == Fencing::Kept {
            return answers.empty_count() >= needed;
        }
        let has_all = answers.count() >= self.group.live_count();
        // Whoever has lost nothing since a write was acknowledged holds it, or something newer. So
        // one that was acknowledged cannot be the only one and on too few of all.
        let is_lost =
            |newest| answers.hold_only(newest) && answers.holders(newest).count() < needed;
        let is_gone = |newest| answers.may_have_dropped(newest) || is_lost(newest);
        has_all && answers.newest().is_none_or(is_gone)
    }
}
