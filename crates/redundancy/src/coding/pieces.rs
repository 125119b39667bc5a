//! The bytes that servers have brought, and the value made of them.

use super::Workshop;
use super::assembly::Assembly;
use super::parts::Parts;
use super::pool::Pool;
use crate::plan::{Answer, Form, Held, Part};
use crate::stored::{HEADER_BYTES, Header, Piece, checksum, copy_with_checksum};
use crate::{Redundancy, Scheme, Version};
use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};
use std::ops::Deref;
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
    bytes: Bytes,
}

/// Where the bytes of a part are.
enum Bytes {
    /// In a buffer, with the header in front.
    Stored(Vec<u8>),
    /// In a buffer without the header.
    Apart(Vec<u8>),
    /// In the value's memory, which somebody else has.
    Lent(LentBytes),
    /// In the value.
    InValue,
}

/// A part that lies where it belongs in its value's memory. When all have been dropped, that memory
/// is the caller's again.
pub type LentBytes = Box<dyn Deref<Target = [u8]> + Send>;

/// What a server has sent of its part, the header apart.
pub enum Sent {
    /// In a buffer of its own.
    Apart(Vec<u8>),
    /// In its place in memory that [`Pieces::adopt`] brings.
    InPlace(LentBytes),
}

impl Brought {
    fn part<'a>(&'a self, value: &'a Assembly) -> &'a [u8] {
        match self.is_in_value() {
            true => value.part(&self.header),
            false => self.bytes.outside(),
        }
    }

    fn is_in_value(&self) -> bool {
        matches!(self.bytes, Bytes::InValue)
    }

    /// The number of a shard.
    fn shard(&self) -> Option<usize> {
        match self.header.piece {
            Piece::Shard { shard, .. } => Some(shard.into()),
            Piece::Copy(_) | Piece::Witness(_) => None,
        }
    }
}

impl Bytes {
    /// The part, where it is not in the value.
    fn outside(&self) -> &[u8] {
        match self {
            Bytes::Stored(bytes) => &bytes[HEADER_BYTES..],
            Bytes::Apart(bytes) => bytes,
            Bytes::Lent(bytes) => bytes,
            Bytes::InValue => &[],
        }
    }

    /// The buffer, if it is one of its own.
    fn into_buffer(self) -> Option<Vec<u8>> {
        match self {
            Bytes::Stored(bytes) | Bytes::Apart(bytes) => Some(bytes),
            Bytes::Lent(_) | Bytes::InValue => None,
        }
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
                bytes: room,
                ..Assembly::default()
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
        let header = Header::decode(&bytes).ok();
        let bytes = Bytes::Stored(bytes);
        self.take_bytes(redundancy, from, header, (bytes, flags, cas))
    }

    /// Takes what a server has of the key, of which the beginning came apart.
    pub fn take_apart(
        &mut self,
        redundancy: Redundancy,
        from: ServerId,
        front: &[u8],
        (sent, flags, cas): (Sent, u32, u64),
    ) -> Answer {
        // What is longer would stand in the part.
        let header = Header::decode(front).ok();
        let header = header.filter(|_| front.len() == HEADER_BYTES);
        let bytes = match sent {
            Sent::Apart(bytes) => Bytes::Apart(bytes),
            Sent::InPlace(bytes) => Bytes::Lent(bytes),
        };
        self.take_bytes(redundancy, from, header, (bytes, flags, cas))
    }

    fn take_bytes(
        &mut self,
        redundancy: Redundancy,
        from: ServerId,
        header: Option<Header>,
        (bytes, flags, cas): (Bytes, u32, u64),
    ) -> Answer {
        let mut answer = Answer::default();
        let header = header.filter(|header| header.version.bits() == cas);
        let part = header.and_then(|header| part_of(redundancy, header.piece));
        let (Some(header), Some(part)) = (header, part) else {
            self.has_foreign = true;
            return answer;
        };
        let brought = Brought {
            from,
            header,
            flags,
            bytes,
        };
        let is_whole = self.is_whole(&brought);
        if !is_whole && !brought.part(&self.value).is_empty() {
            // Damaged: as good as lost.
            return answer;
        }
        let version = header.version;
        answer.held.push(Held { version, part });
        if is_whole && part != Part::Witness {
            answer.brought = Some(version);
            self.keep(brought);
        } else if let Some(buffer) = brought.bytes.into_buffer() {
            self.pool.give_back(Arc::new(buffer));
        }
        answer
    }

    /// Whether a part is undamaged. A data shard that came in a buffer is in its place in the value
    /// then, if the value's memory is here.
    fn is_whole(&mut self, brought: &Brought) -> bool {
        let (header, part) = (&brought.header, brought.bytes.outside());
        if part.len() != header.part_bytes() {
            return false;
        }
        let room = match brought.bytes {
            Bytes::Stored(_) => self.value.room(header, true),
            // The value's memory may be elsewhere, with parts in it.
            Bytes::Apart(_) => self.value.room(header, false),
            Bytes::Lent(_) | Bytes::InValue => None,
        };
        let Some(room) = room else {
            return checksum(part) == header.checksum;
        };
        let is_whole = copy_with_checksum(part, room) == header.checksum;
        if let (false, Some(shard)) = (is_whole, brought.shard()) {
            self.value.shards &= !(1 << shard);
        }
        is_whole
    }

    /// How many parts lie in memory that somebody else has.
    pub fn lent_count(&self) -> usize {
        let lent = |one: &&Brought| matches!(one.bytes, Bytes::Lent(_));
        self.brought.iter().filter(lent).count()
    }

    /// Takes over the value's memory from whoever has it, once the parts that lie in it have been
    /// let go of. Where there are none, it is room for the value.
    pub fn adopt(&mut self, take: impl FnOnce() -> Option<Vec<u8>>) {
        let mut value = Assembly::default();
        for one in &mut self.brought {
            if !matches!(one.bytes, Bytes::Lent(_)) {
                continue;
            }
            one.bytes = Bytes::InValue;
            value.version = Some(one.header.version);
            match one.header.piece {
                Piece::Copy(_) => value.is_whole = true,
                Piece::Witness(_) => {}
                Piece::Shard { shard, .. } => value.shards |= 1 << shard,
            }
        }
        match take() {
            Some(bytes) => self.value = Assembly { bytes, ..value },
            None => self.brought.retain(|one| !one.is_in_value()),
        }
    }

    /// Gives parts that lie in the value buffers of their own.
    fn move_out(&mut self) {
        for one in &mut self.brought {
            if one.is_in_value() {
                one.bytes = Bytes::Apart(self.value.part(&one.header).to_vec());
            }
        }
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
        let is_wanted = |one: &Brought| one.header.version == version && from.contains(&one.from);
        let mut headers = self.brought.iter().filter(|one| is_wanted(one));
        let Some(&Header {
            piece: Piece::Shard { scheme, .. },
            value_bytes,
            ..
        }) = headers.next().map(|one| &one.header)
        else {
            return;
        };
        if headers.any(|one| one.header.value_bytes != value_bytes) {
            // No writer makes such parts.
            return;
        }
        let shard_bytes = scheme.shard_bytes(value_bytes as usize);
        let padded_bytes = shard_bytes * scheme.data_shards();
        if self.value.version != Some(version) || self.value.bytes.len() != padded_bytes {
            self.move_out();
            self.value.begin(version, padded_bytes);
        }
        let (brought, value) = (&self.brought, &mut self.value);
        let shards: ArrayVec<&Brought, OWNERS_MAX> =
            brought.iter().filter(|one| is_wanted(one)).collect();
        for one in &shards {
            if !value.has(&one.header)
                && let Some(room) = value.room(&one.header, false)
            {
                room.copy_from_slice(one.bytes.outside());
            }
        }
        if fill_gaps(workshop, scheme, value, shard_bytes, &shards) {
            value.bytes.truncate(value_bytes as usize);
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
            Piece::Shard { scheme, .. } => (Form::Shards(scheme), self.value.whole(version)?),
            _ => (Form::Copies(redundancy.holders()), one.part(&self.value)),
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

    /// Value and flags of a version, which are here no longer.
    pub fn take_value(&mut self, version: Version) -> Option<(Vec<u8>, u32)> {
        let one = self.of(version)?;
        let (piece, flags) = (one.header.piece, one.flags);
        let is_whole = self.value.whole(version).is_some();
        if !is_whole && matches!(piece, Piece::Shard { .. }) {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.value).bytes;
        if !is_whole {
            bytes.clear();
            bytes.extend_from_slice(self.of(version)?.bytes.outside());
        }
        self.brought.retain(|one| !one.is_in_value());
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
            if let Some(buffer) = brought.bytes.into_buffer() {
                self.pool.give_back(Arc::new(buffer));
            }
        }
    }
}

/// Computes the data shards that are not in the value, of these; false where that cannot be.
fn fill_gaps(
    workshop: &Workshop,
    scheme: Scheme,
    value: &mut Assembly,
    shard_bytes: usize,
    shards: &[&Brought],
) -> bool {
    let mut present = ArrayVec::<(usize, &[u8]), OWNERS_MAX>::new();
    let mut missing = ArrayVec::<(usize, &mut [u8]), OWNERS_MAX>::new();
    let of_number = |shard| shards.iter().find(|one| one.shard() == Some(shard));
    let mut rooms = value.bytes.chunks_exact_mut(shard_bytes.max(1));
    for shard in 0..scheme.data_shards() {
        // Nothing is made of nothing.
        let room = rooms.next().unwrap_or_default();
        match of_number(shard) {
            Some(one) => present.push((shard, &room[..one.header.part_bytes()])),
            None if shard_bytes > 0 => missing.push((shard, room)),
            None => {}
        }
    }
    let parity = scheme.data_shards()..scheme.shards();
    let brought = parity.filter_map(|shard| Some((shard, of_number(shard)?.bytes.outside())));
    present.extend(brought);
    let decoded = workshop.with_coder(scheme, |coder| coder.reconstruct(&present, &mut missing));
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
