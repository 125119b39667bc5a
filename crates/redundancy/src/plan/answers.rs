//! What a key's owners have answered to a read, and what can be said of it.

use super::group::Positions;
use super::{Answer, Form, Held, Part};
use crate::{Redundancy, Version};
use arrayvec::ArrayVec;
use farcache_cluster::OWNERS_MAX;

/// Parts that make more of a value than each of them: an owner that has moved up by a place since
/// a value was stored has a shard that its new place is given to as well.
#[derive(Default)]
struct Apart {
    /// A bit for each shard that is among them.
    shards: u32,
}

impl Apart {
    /// Whether a part is more than those before it, among which it is from now on.
    fn admits(&mut self, part: Part) -> bool {
        let Part::Shard(shard) = part else {
            return true;
        };
        let before = self.shards;
        self.shards |= 1 << shard;
        self.shards != before
    }
}

/// What all owners have answered so far.
#[derive(Default)]
pub(super) struct Answers {
    /// The last answer of each owner that has answered, by its position.
    all: ArrayVec<(usize, Answer), OWNERS_MAX>,
    /// What one may have had beneath what it has told of, and has forgotten, was not newer.
    dropped_beneath: Option<Version>,
}

impl Answers {
    /// Takes an answer, in place of an earlier one of the same owner.
    pub fn note(&mut self, position: usize, answer: Answer) {
        self.remove(position);
        self.all.push((position, answer));
    }

    /// Takes what an owner has beneath what it has told of; false where that is nothing, or too
    /// much to be true.
    pub fn note_beneath(&mut self, position: usize, beneath: &Answer) -> bool {
        let Some((_, answer)) = self.all.iter_mut().find(|(other, _)| *other == position) else {
            return false;
        };
        answer.incomplete = beneath.incomplete.or(answer.incomplete);
        answer.brought = beneath.brought.or(answer.brought);
        self.dropped_beneath = self.dropped_beneath.max(beneath.dropped);
        let held = beneath.held.first();
        held.is_some_and(|held| answer.held.try_push(*held).is_ok())
    }

    /// An owner has not told all: what it has told does not count.
    pub fn remove(&mut self, position: usize) {
        self.all.retain(|(other, _)| *other != position);
    }

    /// The oldest version of which each owner has told that it holds it.
    pub fn oldest(&self) -> impl Iterator<Item = (usize, Version)> {
        let oldest = |answer: &Answer| answer.held.iter().map(|held| held.version).min();
        let of = move |(position, answer): &(usize, Answer)| Some((*position, oldest(answer)?));
        self.all.iter().filter_map(of)
    }

    pub fn clear(&mut self) {
        *self = Answers::default();
    }

    /// How many owners have answered.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        self.all.iter().flat_map(|(_, answer)| &answer.held)
    }

    /// The newest version that anybody holds.
    pub fn newest(&self) -> Option<Version> {
        self.held().map(|held| held.version).max()
    }

    /// Whether nobody holds any other version.
    pub fn hold_only(&self, version: Version) -> bool {
        self.held().all(|held| held.version == version)
    }

    /// How many hold nothing.
    pub fn empty_count(&self) -> usize {
        let is_empty = |answer: &&(usize, Answer)| answer.1.held.is_empty();
        self.all.iter().filter(is_empty).count()
    }

    /// Whether one who holds nothing may have held this version, or a newer one.
    pub fn may_have_dropped(&self, version: Version) -> bool {
        let mut dropped = self.all.iter().map(|(_, answer)| answer.dropped);
        dropped.any(|dropped| dropped >= Some(version))
    }

    /// Whether one may have held this version, or a newer one, beneath what it holds.
    pub fn may_have_dropped_beneath(&self, version: Version) -> bool {
        self.dropped_beneath >= Some(version)
    }

    /// Whether one knows that this version, or a newer one, is complete.
    pub fn call_complete(&self, version: Version) -> bool {
        let mut complete = self.all.iter().map(|(_, answer)| answer.complete);
        complete.any(|complete| complete >= Some(version))
    }

    /// Who holds this version, and does not take it for complete.
    pub fn unsure_of(&self, version: Version) -> Positions {
        self.who(|answer| answer.incomplete == Some(version))
    }

    /// Whether none of those who hold this version takes it for complete.
    pub fn call_incomplete(&self, version: Version) -> bool {
        self.unsure_of(version).covers(self.holders(version))
    }

    /// Who holds a part of a version.
    pub fn holders(&self, version: Version) -> Positions {
        self.who(|answer| answer.held.iter().any(|held| held.version == version))
    }

    /// Which shard of a version the owner at this position has, as far as it has answered.
    pub fn shard_of(&self, position: usize, version: Version) -> Option<u8> {
        let answer = self.all.iter().find(|(other, _)| *other == position);
        match answer?.1.part_of(version)? {
            Part::Shard(shard) => Some(shard),
            Part::Copy | Part::Witness | Part::Tombstone => None,
        }
    }

    /// Who has bytes of a version that nobody has brought yet; of those with the same shard one.
    pub fn holders_of_further_bytes(&self, version: Version) -> Positions {
        let mut apart = Apart::default();
        let brought = self.bringers_in(version, &mut apart);
        let mut is_further = |answer: &Answer| {
            let part = answer
                .part_of(version)
                .filter(|part| *part != Part::Witness);
            part.is_some_and(|part| apart.admits(part))
        };
        let others = self
            .all
            .iter()
            .filter(|(position, _)| !brought.has(*position));
        let further = others.filter(|(_, answer)| is_further(answer));
        further.map(|(position, _)| *position).collect()
    }

    /// Who has brought the bytes of a version; of those with the same shard one.
    pub fn bringers(&self, version: Version) -> Positions {
        self.bringers_in(version, &mut Apart::default())
    }

    fn bringers_in(&self, version: Version, apart: &mut Apart) -> Positions {
        let mut has_brought = |answer: &Answer| {
            let part = answer.part_of(version);
            answer.brought == Some(version) && part.is_some_and(|part| apart.admits(part))
        };
        let all = self.all.iter().filter(|(_, answer)| has_brought(answer));
        all.map(|(position, _)| *position).collect()
    }

    /// How many parts of a version are held, each shard counted once.
    fn parts_count(&self, version: Version) -> usize {
        let mut apart = Apart::default();
        let parts = self.all.iter();
        let parts = parts.filter_map(|(_, answer)| answer.part_of(version));
        parts.filter(|part| apart.admits(*part)).count()
    }

    fn who(&self, is_one: impl Fn(&Answer) -> bool) -> Positions {
        let all = self.all.iter().filter(|(_, answer)| is_one(answer));
        all.map(|(position, _)| *position).collect()
    }

    /// The newest version that at least k answers hold, with its form.
    pub fn newest_common(&self, redundancy: Redundancy) -> Option<(Version, Form)> {
        let is_common = |held: &&Held| self.parts_count(held.version) >= redundancy.needed();
        let newest = self
            .held()
            .filter(is_common)
            .max_by_key(|held| held.version)?;
        let form = match (newest.part, redundancy) {
            (Part::Tombstone, _) => Form::Tombstone,
            (Part::Shard(_), Redundancy::Erasure(scheme)) => Form::Shards(scheme),
            (Part::Copy | Part::Witness | Part::Shard(_), _) => Form::Copies(redundancy.holders()),
        };
        Some((newest.version, form))
    }
}
