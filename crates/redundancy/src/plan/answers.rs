//! What a key's owners have answered to a read, and what can be said of it.

use super::group::Positions;
use super::{Answer, Form, Held, Part};
use crate::{Redundancy, Version};
use arrayvec::ArrayVec;
use farcache_cluster::OWNERS_MAX;

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
        let mut shards = Positions::default();
        let has_brought = |answer: &Answer| answer.brought == Some(version);
        let is_witness = |answer: &Answer| answer.part_of(version) == Some(Part::Witness);
        self.apart(version, &mut shards, has_brought);
        self.apart(version, &mut shards, |answer| {
            !has_brought(answer) && !is_witness(answer)
        })
    }

    /// Who has brought the bytes of a version; of those with the same shard one.
    pub fn bringers(&self, version: Version) -> Positions {
        let shards = &mut Positions::default();
        self.apart(version, shards, |answer| answer.brought == Some(version))
    }

    /// Who holds parts of a version that make more of its value together than each: of those with
    /// the same shard one, and none with a shard that is among `shards`, to which theirs are added.
    /// An owner that has moved up by a place since the value was stored may have the shard that
    /// another one was given for its new place.
    fn apart(
        &self,
        version: Version,
        shards: &mut Positions,
        is_one: impl Fn(&Answer) -> bool,
    ) -> Positions {
        let mut adds = |answer: &Answer| match answer.part_of(version) {
            Some(Part::Shard(shard)) => shards.insert(shard.into()),
            part => part.is_some(),
        };
        let all = self.all.iter();
        let apart = all.filter(|(_, answer)| is_one(answer) && adds(answer));
        apart.map(|(position, _)| *position).collect()
    }

    fn who(&self, is_one: impl Fn(&Answer) -> bool) -> Positions {
        let all = self.all.iter().filter(|(_, answer)| is_one(answer));
        all.map(|(position, _)| *position).collect()
    }

    /// The newest version that at least k answers hold, with its form.
    pub fn newest_common(&self, redundancy: Redundancy) -> Option<(Version, Form)> {
        let is_common = |held: &&Held| {
            let parts = self.apart(held.version, &mut Positions::default(), |_| true);
            parts.count() >= redundancy.needed()
        };
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
