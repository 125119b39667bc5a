//! What a repair is told, and what it asks for.

use super::mend::HeldPart;
use crate::Version;
use crate::stored::{HEADER_BYTES, Piece};
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};
use std::time::Duration;

/// Where a source's list goes on; it means something to the source only.
pub type Cursor = [u8; 16];

/// A key of which a list tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Box<[u8]>,
    /// The version that the list names.
    pub version: Version,
    /// What the list names; none of a tombstone.
    pub listed: Option<Piece>,
    /// Length of the value, 0 of a tombstone.
    pub value_bytes: u32,
    /// Its owners by the map, in the ring's order.
    pub owners: ArrayVec<ServerId, OWNERS_MAX>,
    /// Which of them this server is.
    pub me: usize,
    /// The version that this server has, a tombstone's included.
    pub held: Option<Version>,
    /// Which part that is, where it is known.
    pub piece: Option<Piece>,
    /// This server has it from before it was away: it may have been overwritten or deleted since.
    pub is_unconfirmed: bool,
    /// This server was an owner of the key all along, though it catches up: what it lacks of it, it
    /// has forgotten.
    pub was_owner: bool,
}

impl Entry {
    /// Whether this server has an older version, or gets a tombstone only.
    pub(super) fn needs_no_room(&self) -> bool {
        self.held.is_some() || self.value_bytes == 0
    }

    /// Whether this server has the version only of a value of which another one has this piece, and
    /// is one of those that should have a copy.
    pub(super) fn lacks(&self, theirs: Piece) -> bool {
        let mine = self.piece;
        let is_witness = matches!(mine, Some(Piece::Witness(holders)) if holders.has(self.me));
        is_witness && !matches!(theirs, Piece::Shard { .. })
    }
}

/// A plan's name for a key that is being mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MendId(pub u64);

/// A part to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Make {
    /// Of this version.
    pub version: Version,
    /// Which part.
    pub piece: Piece,
    /// Length of the whole value.
    pub value_bytes: u32,
    /// All other owners have the version: it is complete when this server has it.
    pub is_complete: bool,
    /// Whose parts it is made of.
    pub from: ArrayVec<ServerId, OWNERS_MAX>,
}

impl Make {
    pub(super) fn part_bytes(&self) -> usize {
        let value_bytes = self.value_bytes as usize;
        HEADER_BYTES
            + match self.piece {
                Piece::Copy(_) => value_bytes,
                Piece::Witness(_) => 0,
                Piece::Shard { scheme, .. } => scheme.shard_bytes(value_bytes),
            }
    }

    pub(super) fn bytes_fetched(&self) -> usize {
        self.part_bytes() * self.from.len()
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A source is to be asked for a page: [`Event::Page`] or [`Event::Away`].
    List {
        /// Whom to ask.
        from: ServerId,
        /// Where its list goes on; zeros are the beginning.
        cursor: Cursor,
        /// Only what was read since it was stored.
        used_only: bool,
        /// About how many entries; with 0 only the source's state is of interest.
        entries_max: u16,
    },
    /// The next page of what this server has: [`Event::Own`].
    ListOwn(OwnItems),
    /// What this server has of the key is to be looked up anew: [`Event::LookedUp`].
    LookUp(Entry),
    /// An owner is to be asked what it has of the key: [`Event::Said`].
    Look(MendId, ServerId),
    /// An owner is to be asked for its part of this version, whole: [`Event::Brought`].
    Fetch(MendId, ServerId, Version),
    /// The part is to be made of what was brought, and stored if it is newer: [`Event::Mended`].
    Make(MendId, Make),
    /// A tombstone of this version is to be stored if it is newer: [`Event::Mended`].
    Bury(MendId, Version),
    /// What this server has is to be removed if it is of this version: [`Event::Mended`].
    Drop(MendId, Version),
}

/// What of this server's own items others are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnItems {
    /// What it has from before it was away.
    FromBefore,
    /// That, and all whose writers have ended: an earlier pass may have fetched it.
    AllSettled,
}

/// How mending a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mended {
    /// The part is there, or something newer is.
    Stored,
    /// It cannot be stored now: there is no room, or something was forgotten meanwhile.
    Refused,
    /// What was brought is damaged, or does not fit together.
    Damaged,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A page has come, of which the entries count whose key this server owns.
    Page {
        /// Who has sent it.
        from: ServerId,
        /// What it lists.
        entries: Vec<Entry>,
        /// Where the next page begins; none where that was the last.
        next: Option<Cursor>,
        /// Whether the source has caught up.
        is_caught_up: bool,
        /// Up to which version the source has forgotten keys.
        forgotten: Option<Version>,
    },
    /// What was asked for of this server's own items, and whether that was the last page.
    Own(Vec<Entry>, bool),
    /// A key with what this server has of it now.
    LookedUp(Entry),
    /// What an owner has of a key.
    Said(MendId, ServerId, Option<HeldPart>, Option<Version>),
    /// An owner has brought its part of the version that was asked for; or (false) it has it no
    /// longer, or damaged.
    Brought(MendId, ServerId, bool),
    /// A key has been dealt with.
    Mended(MendId, Mended),
    /// A server cannot be asked any more: what it was asked gets no answer.
    Away(ServerId),
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This; there may be nothing to be done before the next event.
    Do(Vec<Action>),
    /// Nothing before this time.
    Wait(Duration),
    /// The pass has ended. Whether nothing was left undone that another pass could do now.
    Done(bool),
}
