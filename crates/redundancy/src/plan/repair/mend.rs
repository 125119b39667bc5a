//! One key: what its owners have of it, and what this server makes of that.

use super::{Entry, Make, OwnState};
use crate::plan::Form;
use crate::plan::layout::Layout;
use crate::stored::Piece;
use crate::{Holders, Scheme, Version};
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};

/// What a server has of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldPart {
    /// Which version.
    pub version: Version,
    /// Which part of the value; none of a tombstone.
    pub part: Option<PartInfo>,
}

/// What the header of a part says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// Which part.
    pub piece: Piece,
    /// Owners of the value; 0 where that is not known.
    pub owners: u8,
    /// Length of the whole value.
    pub value_bytes: u32,
}

/// What an owner has said of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// What it has.
    pub held: Option<HeldPart>,
    /// Where it has nothing: whatever it has forgotten of the key was not newer than this.
    pub dropped: Option<Version>,
    /// Whether it had caught up, so that what it lacks was deleted or evicted.
    pub is_caught_up: bool,
}

impl Said {
    fn has(&self, version: Version) -> bool {
        self.held.is_some_and(|held| held.version == version)
    }
}

/// What a server has of which only the version is known.
const ANY_COPY: Piece = Piece::Copy(Holders::ALL);

/// What is known of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// It has been asked.
    Asked,
    Said(Said),
    /// It cannot be asked.
    Away,
}

/// What is to become of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing: what this server has is right, or better than what others have.
    Keep,
    /// Its part of this version is to be made of what these servers have.
    Make(Make),
    /// It was deleted by this version.
    Bury(Version),
    /// What this server has was overwritten or deleted while it was away, by whom nobody tells.
    Drop(Version),
    /// There is a version that may have been acknowledged, and too few have a part of it.
    TooFew,
    /// Those who may know better cannot be asked now.
    Unclear,
    /// Too few have it yet to tell, and its writer may be at work.
    Young,
}

/// A key on its way to be mended.
#[derive(Clone, Debug)]
pub(super) struct Mend {
    pub entry: Entry,
    /// By position; this server's own is not used.
    views: ArrayVec<View, OWNERS_MAX>,
    pub stage: Stage,
    /// A server was lost that had been asked.
    pub is_doubtful: bool,
}

/// How far a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its owners are asked what they have.
    Looking,
    /// Parts are on their way, so many of which have not come; or what they make is being stored.
    Making(Make, usize),
    /// A tombstone is being stored.
    Burying,
    /// What this server has is being removed.
    Dropping,
}

impl Mend {
    /// Nobody has been asked; `can_ask` says of which servers one can be.
    pub fn new(entry: Entry, can_ask: impl Fn(ServerId) -> bool) -> Mend {
        let views = entry.owners.iter().map(|owner| match can_ask(*owner) {
            true => View::Asked,
            false => View::Away,
        });
        Mend {
            views: views.collect(),
            entry,
            stage: Stage::Looking,
            is_doubtful: false,
        }
    }

    /// Bytes that it takes in memory, or will take for all that is known.
    pub fn bytes(&self) -> usize {
        match &self.stage {
            Stage::Looking => 2 * self.entry.value_bytes as usize,
            Stage::Making(make, _) => make.bytes_fetched() + make.part_bytes(),
            Stage::Burying | Stage::Dropping => 0,
        }
    }

    /// The owners that are asked.
    pub fn asked(&self) -> ArrayVec<ServerId, OWNERS_MAX> {
        let owners = self.entry.owners.iter().enumerate();
        let asked = owners.filter(|(at, _)| *at != self.entry.me && self.views[*at] == View::Asked);
        asked.map(|(_, owner)| *owner).collect()
    }

    /// An owner has answered; or (none) it cannot be asked any more, also not for what it has said
    /// that it has. Whether no answer is to come.
    pub fn note(&mut self, from: ServerId, said: Option<Said>) -> bool {
        let at = self.entry.owners.iter().position(|one| *one == from);
        match (at.map(|at| &mut self.views[at]), said) {
            (Some(view @ View::Asked), Some(said)) => *view = View::Said(said),
            (Some(view @ (View::Asked | View::Said(_))), None) => {
                *view = View::Away;
                self.is_doubtful = true;
            }
            _ => {}
        }
        self.asked().is_empty()
    }

    fn said(&self) -> impl Iterator<Item = (usize, &Said)> {
        let views = self.views.iter().enumerate();
        views.filter_map(|(at, view)| match view {
            View::Said(said) if at != self.entry.me => Some((at, said)),
            _ => None,
        })
    }

    fn held(&self) -> impl Iterator<Item = (usize, &HeldPart)> {
        self.said()
            .filter_map(|(at, said)| said.held.as_ref().map(|held| (at, held)))
    }

    /// Owners that may have lost this version although they had acknowledged it: those that are away
    /// or have not caught up, and this one if it has not.
    fn missing_owners(&self, version: Version, is_catching_up: bool) -> usize {
        let others = self.views.iter().enumerate().filter(|(at, view)| {
            let has_lost = match view {
                View::Said(said) => {
                    !said.is_caught_up && said.held.is_none_or(|held| held.version < version)
                }
                View::Asked | View::Away => true,
            };
            *at != self.entry.me && has_lost
        });
        others.count() + usize::from(is_catching_up)
    }

    /// What to do when all have answered.
    pub fn decide(&self, own: &OwnState) -> Decision {
        if self.is_doubtful {
            return Decision::Unclear;
        }
        let own = &OwnState {
            is_catching_up: own.is_catching_up && !self.entry.was_owner,
            ..*own
        };
        let mut versions: ArrayVec<Version, OWNERS_MAX> = ArrayVec::new();
        for (_, held) in self.held() {
            let is_wanted = Some(held.version) > self.entry.held || self.lacks_bytes_of(held);
            if is_wanted && !versions.contains(&held.version) {
                versions.push(held.version);
            }
        }
        versions.sort_unstable_by(|one, other| other.cmp(one));
        let mut is_short = false;
        for version in versions {
            match self.judge(version, own) {
                Decision::Keep => {}
                Decision::TooFew => is_short = true,
                decision => return decision,
            }
        }
        match self.entry.held.filter(|_| self.entry.is_unconfirmed) {
            Some(held) if self.is_overruled(held, true) => Decision::Drop(held),
            _ if is_short => Decision::TooFew,
            _ => Decision::Keep,
        }
    }

    /// Whether a version that is newer than this server's is to be taken.
    fn judge(&self, version: Version, own: &OwnState) -> Decision {
        let of_version = |(_, held): &(usize, &HeldPart)| held.version == version;
        let mut parts: ArrayVec<(usize, PartInfo), OWNERS_MAX> = ArrayVec::new();
        for (at, held) in self.held().filter(of_version) {
            let Some(part) = held.part else {
                let holders = self.held().filter(of_version).count();
                return match holders >= self.majority() || own.has_ended(version) {
                    true => Decision::Bury(version),
                    false => Decision::Young,
                };
            };
            let is_new = |other: &(usize, PartInfo)| {
                other.1.piece != part.piece || !matches!(part.piece, Piece::Shard { .. })
            };
            if part.value_bytes
                == parts
                    .first()
                    .map_or(part.value_bytes, |one| one.1.value_bytes)
                && is_of_one_scheme(&parts, part.piece)
                && parts.iter().all(is_new)
            {
                parts.push((at, part));
            }
        }
        let Some(&(_, first)) = parts.first() else {
            return Decision::Keep;
        };
        let is_here = self.entry.held == Some(version);
        let is_few = self.holders_are_few(version, is_here);
        let is_forgotten = self.entry.held.is_none() && own.has_forgotten(version, is_few);
        if is_forgotten || self.is_overruled(version, is_here) {
            return Decision::Keep;
        }
        // What too few have stored was never acknowledged, and its writer may go above it.
        let holders = parts.len() + usize::from(is_here);
        let may_count = holders + self.missing_owners(version, own.is_catching_up);
        let stored_min = self.stored_min(first.piece);
        if may_count < stored_min {
            return Decision::Keep;
        }
        // A writer that is refused goes above, as nobody will read what so few have accepted: one
        // more part now would have it take effect twice.
        if holders < stored_min && !own.has_ended(version) {
            return Decision::Young;
        }
        let (needed, mine) = match first.piece {
            Piece::Copy(holders) | Piece::Witness(holders) => match holders.has(self.entry.me) {
                true => (1, Piece::Copy(holders)),
                false => (1, Piece::Witness(holders)),
            },
            Piece::Shard { scheme, .. } => {
                let shard = self.shard_to_make(scheme, version);
                (scheme.data_shards(), Piece::Shard { scheme, shard })
            }
        };
        if matches!(mine, Piece::Copy(_)) {
            parts.retain(|(_, part)| matches!(part.piece, Piece::Copy(_)));
        }
        if parts.len() < needed {
            return Decision::TooFew;
        }
        // Who has not caught up may have missed that it was overwritten or deleted.
        let is_known = || {
            self.said()
                .any(|(_, said)| said.is_caught_up && said.has(version))
        };
        if self.is_one_away() && !is_known() {
            return Decision::Unclear;
        }
        // One that has the very part that is wanted sends it.
        parts.sort_by_key(|(at, part)| (part.piece != mine, *at));
        let needed = if parts[0].1.piece == mine { 1 } else { needed };
        let from = parts[..needed].iter();
        Decision::Make(Make {
            version,
            piece: mine,
            value_bytes: first.value_bytes,
            is_complete: self.are_others_holders(version),
            from: from.map(|(at, _)| self.entry.owners[*at]).collect(),
        })
    }

    /// Whether all other owners have a version, so that it is complete when this server has it.
    fn are_others_holders(&self, version: Version) -> bool {
        let holders = self.said().filter(|(_, said)| said.has(version));
        holders.count() + 1 == self.entry.owners.len()
    }

    fn is_one_away(&self) -> bool {
        let mut views = self.views.iter().enumerate();
        views.any(|(at, view)| at != self.entry.me && *view == View::Away)
    }

    /// The shard that this server should have, where others hold theirs.
    fn shard_to_make(&self, scheme: Scheme, version: Version) -> u8 {
        let owners = self.entry.owners.len();
        let layout = Layout::beside(Form::Shards(scheme), owners, |at| {
            let (_, held) = self.held().find(|(holder, _)| *holder == at)?;
            match held.part.filter(|_| held.version == version)?.piece {
                Piece::Shard { shard, .. } => Some(shard),
                Piece::Copy(_) | Piece::Witness(_) => None,
            }
        });
        layout.shard_at(self.entry.me)
    }

    fn majority(&self) -> usize {
        self.entry.owners.len() / 2 + 1
    }

    /// Whether this server has only the version of what it should have a copy of: it stood further
    /// behind by an older map.
    fn lacks_bytes_of(&self, held: &HeldPart) -> bool {
        let piece = held.part.map(|part| part.piece);
        self.entry.held == Some(held.version) && piece.is_some_and(|one| self.entry.lacks(one))
    }

    /// Owners that must have stored a write before it was acknowledged: a majority of copies, else
    /// max(k, m + 1), also of a small value, m + 1 owners of which have copies.
    fn stored_min(&self, piece: Piece) -> usize {
        match piece {
            Piece::Copy(Holders::ALL) | Piece::Witness(Holders::ALL) => self.majority(),
            Piece::Copy(holders) | Piece::Witness(holders) => {
                let owners = self.entry.owners.len();
                let copies = holders.count(owners);
                copies.max(owners + 1 - copies)
            }
            Piece::Shard { scheme, .. } => scheme.data_shards().max(scheme.parity_shards() + 1),
        }
    }

    /// Whether a version was overwritten or deleted as far as anybody knows: an owner that has
    /// caught up has nothing, and has forgotten newer things; and those who have the version are
    /// few.
    fn is_overruled(&self, version: Version, is_own: bool) -> bool {
        let overrules = |(_, said): (usize, &Said)| {
            said.is_caught_up && said.held.is_none() && said.dropped >= Some(version)
        };
        self.holders_are_few(version, is_own) && self.said().any(overrules)
    }

    /// Whether those who have a version are so few that the others could acknowledge a write above
    /// it.
    fn holders_are_few(&self, version: Version, is_own: bool) -> bool {
        let has_it = |(_, held): &(usize, &HeldPart)| held.version == version;
        let holders = self.held().filter(has_it).count() + usize::from(is_own);
        let piece = self.held().find(has_it).and_then(|(_, held)| held.part);
        let piece = piece.map_or(self.entry.piece.unwrap_or(ANY_COPY), |part| part.piece);
        holders
            <= self
                .entry
                .owners
                .len()
                .saturating_sub(self.stored_min(piece))
    }
}

/// Whether a piece can go together with others that were met.
fn is_of_one_scheme(parts: &[(usize, PartInfo)], piece: Piece) -> bool {
    let Some((_, first)) = parts.first() else {
        return true;
    };
    match (first.piece, piece) {
        (Piece::Shard { scheme, .. }, Piece::Shard { scheme: other, .. }) => scheme == other,
        (Piece::Shard { .. }, _) | (_, Piece::Shard { .. }) => false,
        // Copies and witnesses.
        _ => true,
    }
}
