//! The bytes that servers have brought, and the value made of them.

use super::Workshop;
use super::parts::Parts;
use super::pool::Pool;
use crate::plan::{Answer, Form, Held, Part};
use crate::stored::{HEADER_BYTES, Header, Piece, copy_with_checksum};
use crate::{Redundancy, Scheme, Version};
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};
use std::sync::Arc;

/// What has been brought of a key.
pub struct Pieces {
    pool: Arc<Pool>,
    brought: ArrayVec<Brought, OWNERS_MAX>,
    /// Something has been met that this policy cannot have stored.
    has_foreign: bool,
    value: Assembly,
}

struct Brought {
    from: ServerId,
    header: Header,
    flags: u32,
    /// With the header in front.
    bytes: Vec<u8>,
}

impl Brought {
    fn part(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }
}

/// The value as data shards put themselves into it, each when it arrives.
struct Assembly {
    /// That of the shards in it.
    version: Option<Version>,
    /// Which shards are in it, by bits.
    shards: u32,
    is_whole: bool,
    bytes: Vec<u8>,
}

impl Assembly {
    fn begin(&mut self, version: Version, padded_bytes: usize) {
        self.version = Some(version);
        (self.shards, self.is_whole) = (0, false);
        if self.bytes.capacity() < padded_bytes {
            // What is there need not be moved.
            self.bytes = vec![0; padded_bytes];
        }
        self.bytes.resize(padded_bytes, 0);
    }

    /// Room of a data shard of this version.
    fn room(&mut self, header: &Header) -> Option<&mut [u8]> {
        let Piece::Shard { scheme, shard } = header.piece else {
            return None;
        };
        let (value_bytes, shard) = (header.value_bytes as usize, usize::from(shard));
        if shard >= scheme.data_shards() {
            return None;
        }
        let shard_bytes = scheme.shard_bytes(value_bytes);
        if self.version < Some(header.version) {
            self.begin(header.version, shard_bytes * scheme.data_shards());
        }
        if self.version != Some(header.version) || self.is_whole {
            return None;
        }
        self.shards |= 1 << shard;
        let room = self.bytes.get_mut(shard * shard_bytes..)?;
        room.get_mut(..header.part_bytes())
    }
}

impl Pieces {
    /// Nothing. The value comes into this room, whose bytes are of no interest.
    pub fn new(workshop: &Workshop, room: Vec<u8>) -> Pieces {
        Pieces {
            pool: Arc::clone(&workshop.pool),
            brought: ArrayVec::new(),
            has_foreign: false,
            value: Assembly {
                version: None,
                shards: 0,
                is_whole: false,
                bytes: room,
            },
        }
    }

    /// Takes what a server has of the key, or the beginning of that.
    pub fn take(
        &mut self,
        redundancy: Redundancy,
        from: ServerId,
        (bytes, flags, cas): (Vec<u8>, u32, u64),
    ) -> Answer {
        let mut answer = Answer::default();
        let header = Header::decode(&bytes).ok();
        let header = header.filter(|header| header.version.bits() == cas);
        let part = header.and_then(|header| part_of(redundancy, header.piece));
        let (Some(header), Some(part)) = (header, part) else {
            self.has_foreign = true;
            return answer;
        };
        let is_whole = self.is_whole(&header, &bytes);
        if !is_whole && bytes.len() != HEADER_BYTES {
            // Damaged: as good as lost.
            return answer;
        }
        let version = header.version;
        answer.held.push(Held { version, part });
        if is_whole && part != Part::Witness {
            answer.brought = Some(version);
            self.keep(Brought {
                from,
                header,
                flags,
                bytes,
            });
        } else {
            self.pool.give_back(Arc::new(bytes));
        }
        answer
    }

    /// Whether a part is undamaged. A data shard is in its place in the value then.
    fn is_whole(&mut self, header: &Header, bytes: &[u8]) -> bool {
        let part = &bytes[HEADER_BYTES..];
        if part.len() != header.part_bytes() {
            return false;
        }
        let Some(room) = self.value.room(header) else {
            return Header::split(bytes).is_ok();
        };
        let is_whole = copy_with_checksum(part, room) == header.checksum;
        if let (false, Piece::Shard { shard, .. }) = (is_whole, header.piece) {
            self.value.shards &= !(1 << shard);
        }
        is_whole
    }

    fn keep(&mut self, brought: Brought) {
        let mut others = self.brought.iter();
        match others.position(|other| other.from == brought.from) {
            Some(at) => self.brought[at] = brought,
            // There are no more servers than owners.
            None => _ = self.brought.try_push(brought),
        }
    }

    /// Makes the value of a version from the shards that these servers have brought.
    pub fn decode(&mut self, workshop: &Workshop, version: Version, from: &[ServerId]) {
        let of_version = |one: &&Brought| one.header.version == version && from.contains(&one.from);
        let shards: ArrayVec<&Brought, OWNERS_MAX> =
            self.brought.iter().filter(of_version).collect();
        let Some(Piece::Shard { scheme, .. }) = shards.first().map(|one| one.header.piece) else {
            return;
        };
        let value_bytes = shards[0].header.value_bytes as usize;
        let lengths = shards.iter().map(|one| one.header.value_bytes as usize);
        if lengths.into_iter().any(|bytes| bytes != value_bytes) {
            // No writer makes such parts.
            return;
        }
        let shard_bytes = scheme.shard_bytes(value_bytes);
        let padded_bytes = shard_bytes * scheme.data_shards();
        let value = &mut self.value;
        if value.version != Some(version) || value.bytes.len() != padded_bytes {
            value.begin(version, padded_bytes);
        }
        let mut present = ArrayVec::<(usize, &[u8]), OWNERS_MAX>::new();
        for one in &shards {
            let Piece::Shard { shard, .. } = one.header.piece else {
                continue;
            };
            present.push((usize::from(shard), one.part()));
            if value.shards >> shard & 1 == 0
                && let Some(room) = value.room(&one.header)
            {
                room.copy_from_slice(one.part());
            }
        }
        if fill_gaps(workshop, scheme, value, shard_bytes, &present) {
            value.bytes.truncate(value_bytes);
            value.is_whole = true;
        }
    }

    /// The parts of a version that was read, to be stored where it is missing.
    pub fn parts(
        &self,
        workshop: &Workshop,
        redundancy: Redundancy,
        version: Version,
    ) -> Option<Parts> {
        let one = self.of(version)?;
        let (form, value) = match one.header.piece {
            Piece::Shard { scheme, .. } => (Form::Shards(scheme), self.decoded(version)?),
            _ => (Form::Copies(redundancy.holders()), one.part()),
        };
        let (stored_as, expiry_unix) = ((form, redundancy.owners()), one.header.expiry_unix);
        Some(Parts::new(
            workshop,
            stored_as,
            value,
            one.flags,
            expiry_unix,
        ))
    }

    /// When a version expires, as Unix time; 0 for never.
    pub fn expiry_unix(&self, version: Version) -> Option<u32> {
        Some(self.of(version)?.header.expiry_unix)
    }

    fn decoded(&self, version: Version) -> Option<&[u8]> {
        let value = &self.value;
        (value.is_whole && value.version == Some(version)).then_some(&value.bytes[..])
    }

    /// Value and flags of a version.
    pub fn take_value(&mut self, version: Version) -> Option<(Vec<u8>, u32)> {
        let one = self.of(version)?;
        let flags = one.flags;
        if matches!(one.header.piece, Piece::Shard { .. }) {
            self.decoded(version)?;
            return Some((std::mem::take(&mut self.value.bytes), flags));
        }
        let mut bytes = std::mem::take(&mut self.value.bytes);
        bytes.clear();
        bytes.extend_from_slice(self.of(version)?.part());
        Some((bytes, flags))
    }

    /// The room that no value has come into.
    pub fn take_room(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.value.bytes)
    }

    /// Whether something was met that this policy cannot have stored.
    pub fn has_foreign(&self) -> bool {
        self.has_foreign
    }

    fn of(&self, version: Version) -> Option<&Brought> {
        self.brought
            .iter()
            .find(|one| one.header.version == version)
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        for brought in self.brought.drain(..) {
            self.pool.give_back(Arc::new(brought.bytes));
        }
    }
}

/// Computes the data shards that are not in the value; false where that cannot be.
fn fill_gaps(
    workshop: &Workshop,
    scheme: Scheme,
    value: &mut Assembly,
    shard_bytes: usize,
    present: &[(usize, &[u8])],
) -> bool {
    let is_there = |shard: usize| present.iter().any(|(other, _)| *other == shard);
    // Nothing is made of nothing.
    let rooms = value.bytes.chunks_mut(shard_bytes.max(1)).enumerate();
    let missing = rooms
        .take(scheme.data_shards())
        .filter(|(shard, _)| !is_there(*shard));
    let mut missing: ArrayVec<_, OWNERS_MAX> = missing.collect();
    let decoded = workshop.with_coder(scheme, |coder| coder.reconstruct(present, &mut missing));
    decoded.is_ok()
}

/// What a piece is to the plans; none where it is of another redundancy.
fn part_of(redundancy: Redundancy, piece: Piece) -> Option<Part> {
    match (redundancy, piece) {
        (_, Piece::Copy(_)) => Some(Part::Copy),
        (_, Piece::Witness(_)) => Some(Part::Witness),
        (
            Redundancy::Erasure(scheme),
            Piece::Shard {
                scheme: other,
                shard,
            },
        ) if scheme == other => Some(Part::Shard(shard)),
        _ => None,
    }
}
