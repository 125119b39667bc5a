//! The bytes that servers have brought, and the value made of them.

use super::Redundant;
use super::parts::Parts;
use farcache_cluster::ServerId;
use farcache_redundancy::plan::{Answer, Form, Held, Part};
use farcache_redundancy::stored::{HEADER_BYTES, Header, Piece};
use farcache_redundancy::{Redundancy, Version};

/// What has been brought of a key.
#[derive(Default)]
pub(super) struct Pieces {
    brought: Vec<Brought>,
    /// Something has been met that this policy cannot have stored.
    has_foreign: bool,
    value: Option<(Version, Vec<u8>)>,
}

struct Brought {
    from: ServerId,
    header: Header,
    flags: u32,
    /// With the header in front.
    bytes: Vec<u8>,
}

impl Pieces {
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
        let is_whole = Header::split(&bytes).is_ok();
        if !is_whole && bytes.len() != HEADER_BYTES {
            // Damaged: as good as lost.
            return answer;
        }
        let version = header.version;
        answer.held.push(Held { version, part });
        if is_whole {
            answer.brought = Some(version);
            self.brought.retain(|other| other.from != from);
            self.brought.push(Brought {
                from,
                header,
                flags,
                bytes,
            });
        }
        answer
    }

    /// Makes the value of a version from the shards that these servers have brought.
    pub fn decode(&mut self, redundant: &Redundant, version: Version, from: &[ServerId]) {
        let of_version = |one: &&Brought| one.header.version == version && from.contains(&one.from);
        let shards: Vec<&Brought> = self.brought.iter().filter(of_version).collect();
        let Some(Piece::Shard { scheme, .. }) = shards.first().map(|one| one.header.piece) else {
            return;
        };
        let value_bytes = shards[0].header.value_bytes as usize;
        let shard_bytes = scheme.shard_bytes(value_bytes);
        let padded_bytes = shard_bytes * scheme.data_shards();
        let mut value = vec![0; padded_bytes];
        let mut present = Vec::new();
        for one in &shards {
            if let Piece::Shard { shard, .. } = one.header.piece {
                present.push((usize::from(shard), &one.bytes[HEADER_BYTES..]));
            }
        }
        let mut missing = Vec::new();
        // Nothing is made of nothing.
        let rooms = value.chunks_mut(shard_bytes.max(1)).enumerate();
        for (shard, room) in rooms.take(scheme.data_shards()) {
            match present.iter().find(|(other, _)| *other == shard) {
                Some((_, bytes)) => room[..bytes.len()].copy_from_slice(bytes),
                None => missing.push((shard, room)),
            }
        }
        let decoded =
            redundant.with_coder(scheme, |coder| coder.reconstruct(&present, &mut missing));
        if decoded.is_ok() {
            value.truncate(value_bytes);
            self.value = Some((version, value));
        }
    }

    /// The parts of a version that was read, to be stored where it is missing.
    pub fn parts(&self, form: Form, version: Version) -> Option<Parts> {
        let one = self.of(version)?;
        let value = match form {
            Form::Shards(_) => self
                .value
                .as_ref()
                .filter(|(of, _)| *of == version)?
                .1
                .as_slice(),
            _ => &one.bytes[HEADER_BYTES..],
        };
        Some(Parts::new(form, value, one.flags, one.header.expiry_unix))
    }

    /// The form in which a version is stored.
    pub fn form(&self, version: Version) -> Option<Form> {
        Some(match self.of(version)?.header.piece {
            Piece::Copy => Form::Copies,
            Piece::Shard { scheme, .. } => Form::Shards(scheme),
        })
    }

    /// Value and flags of a version.
    pub fn take_value(&mut self, version: Version) -> Option<(Vec<u8>, u32)> {
        let one = self.of(version)?;
        let flags = one.flags;
        if one.header.piece != Piece::Copy {
            let value = self.value.take().filter(|(of, _)| *of == version);
            return value.map(|(_, value)| (value, flags));
        }
        let at = self
            .brought
            .iter()
            .position(|one| one.header.version == version)?;
        let mut bytes = self.brought.swap_remove(at).bytes;
        bytes.drain(..HEADER_BYTES);
        Some((bytes, flags))
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

/// What a piece is to the plans; none where it is of another redundancy.
fn part_of(redundancy: Redundancy, piece: Piece) -> Option<Part> {
    match (redundancy, piece) {
        (_, Piece::Copy) => Some(Part::Copy),
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
