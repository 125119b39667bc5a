//! Which keys have other owners in another map.
//!
//! Who owns what before and after is looked up, never guessed from who joined and left:
//! libmemcached shares points out in single precision, so with some numbers of servers it takes
//! points from all of them, and keys move between servers that stay.

use super::ClusterMap;
use super::content::{HashArc, Move, Phase};
use crate::ServerId;
use std::collections::BTreeMap;
use std::fmt;

/// Keys that have another owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which keys: the longest arc with these owners.
    pub arc: HashArc,
    /// Their owner in the old map.
    pub from: ServerId,
    /// Their owner in the new map.
    pub to: ServerId,
}

/// Why two maps have no difference that could be told in arcs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomparable {
    /// One of them gives keys to no server.
    NoOwners,
    /// They hash keys by different functions, so a key lies on different arcs.
    Hashes,
}

impl fmt::Display for Incomparable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoOwners => "one of the maps gives keys to no server",
            Self::Hashes => "the maps hash keys by different functions",
        })
    }
}

impl std::error::Error for Incomparable {}

/// All keys that belong to another server by the new map's rule, in ascending order. What is on its
/// way by either map does not count.
///
/// # Errors
/// The maps cannot be compared.
pub fn difference(old: &ClusterMap, new: &ClusterMap) -> Result<Vec<Change>, Incomparable> {
    let hashes = [old, new].map(|map| map.content().rule.key_hash());
    if hashes.contains(&None) {
        return Err(Incomparable::NoOwners);
    }
    if hashes[0] != hashes[1] {
        return Err(Incomparable::Hashes);
    }
    let mut changes: Vec<Change> = Vec::new();
    let mut first = 0;
    loop {
        let (from, old_last) = old.routes.stretch(first).ok_or(Incomparable::NoOwners)?;
        let (to, new_last) = new.routes.stretch(first).ok_or(Incomparable::NoOwners)?;
        let last = old_last.min(new_last);
        if from != to {
            let arc = HashArc { first, last };
            add(&mut changes, Change { arc, from, to });
        }
        match last.checked_add(1) {
            Some(next) => first = next,
            None => return Ok(changes),
        }
    }
}

/// Adds a change, to the last one where that goes on.
fn add(changes: &mut Vec<Change>, change: Change) {
    match changes.last_mut() {
        Some(before)
            if (before.from, before.to) == (change.from, change.to)
                && before.arc.last + 1 == change.arc.first =>
        {
            before.arc.last = change.arc.last;
        }
        _ => changes.push(change),
    }
}

/// The moves that bring about what changes, all at their beginning, as a new map lists them.
#[must_use]
pub fn plan_moves(changes: &[Change]) -> Vec<Move> {
    let mut of_ends = BTreeMap::<_, Vec<HashArc>>::new();
    for change in changes {
        let ends = (change.from, change.to);
        of_ends.entry(ends).or_default().push(change.arc);
    }
    let begun = of_ends.into_iter().map(|((from, to), arcs)| Move {
        from,
        to,
        phase: Phase::HandingOver,
        arcs,
    });
    begun.collect()
}
