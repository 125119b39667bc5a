//! The bytes that each server gets of a value.

use super::Workshop;
use super::pool::Pool;
use crate::plan::{Form, Part};
use crate::stored::{HEADER_BYTES, Header, Piece, checksum, copy_with_checksum};
use crate::{Holders, Scheme, Version};
use std::ops::Range;
use std::sync::Arc;

/// The parts of one value, each with the header in front of it.
pub struct Parts {
    pool: Arc<Pool>,
    value_bytes: u32,
    /// Owners of a value that is copied; 0 of others, which tell by their scheme.
    owners: u8,
    /// The application's number.
    pub flags: u32,
    /// When the value expires, as Unix time in seconds; 0 for never.
    pub expiry_unix: u32,
    stored: Vec<Stored>,
    /// The value itself, where parts of it are sent from where they lie.
    lent: Option<Arc<Vec<u8>>>,
}

/// A part that is sent from where it lies in the value.
pub struct LentPart {
    /// What stands before it where it is stored.
    pub header: [u8; HEADER_BYTES],
    /// The value.
    pub value: Arc<Vec<u8>>,
    /// Where the part lies in it.
    pub range: Range<usize>,
}

struct Stored {
    piece: Piece,
    /// Of the part; none until that has been copied, or summed where it is lent.
    checksum: Option<u32>,
    version: Option<Version>,
    /// With the header in front; empty until the part has been copied.
    bytes: Arc<Vec<u8>>,
}

impl Parts {
    /// The parts of a value with so many owners; of shards the data, parity follows by
    /// [`Parts::encode`].
    pub fn new(
        workshop: &Workshop,
        stored_as: (Form, usize),
        value: &[u8],
        flags: u32,
        expiry_unix: u32,
    ) -> Parts {
        let mut parts = Parts::begin(workshop, stored_as, value.len(), flags, expiry_unix);
        parts.copy_all(value);
        parts
    }

    /// The parts of a value of so many bytes, of which none has been copied yet: each may travel
    /// while the next one is copied.
    pub fn begin(
        workshop: &Workshop,
        (form, owners): (Form, usize),
        value_bytes: usize,
        flags: u32,
        expiry_unix: u32,
    ) -> Parts {
        let mut stored = Vec::new();
        match form {
            Form::Tombstone => {}
            Form::Copies(holders) => {
                stored.push(Stored::missing(Piece::Copy(holders)));
                stored.extend((holders != Holders::ALL).then(|| Stored::witness(holders)));
            }
            Form::Shards(scheme) => {
                stored.reserve_exact(scheme.shards());
                let shards = (0..).take(scheme.data_shards());
                let missing = |shard| Stored::missing(Piece::Shard { scheme, shard });
                stored.extend(shards.map(missing));
            }
        }
        Parts {
            pool: Arc::clone(&workshop.pool),
            value_bytes: value_bytes as u32,
            owners: match form {
                Form::Copies(_) => owners as u8,
                Form::Shards(_) | Form::Tombstone => 0,
            },
            flags,
            expiry_unix,
            stored,
            lent: None,
        }
    }

    /// Has parts of the value be sent from where they lie: it must be the one that they are made
    /// of.
    pub fn lend(&mut self, value: Arc<Vec<u8>>) {
        self.lent = Some(value);
    }

    /// Copies one part of this value, or sums it where it is lent, if that has not been done;
    /// parity is none of it.
    pub fn copy(&mut self, part: Part, value: &[u8]) {
        let is_lent = self.lent.is_some();
        if let Some(stored) = self.stored.get_mut(index_of(part)) {
            stored.prepare(&self.pool, value, is_lent);
        }
    }

    /// Does the same to all that are left of this value.
    pub fn copy_all(&mut self, value: &[u8]) {
        let is_lent = self.lent.is_some();
        for stored in &mut self.stored {
            stored.prepare(&self.pool, value, is_lent);
        }
    }

    /// Makes the parity shards, where there are such, once all of the value has been copied.
    pub fn encode(&mut self, workshop: &Workshop) {
        let Some(Piece::Shard { scheme, .. }) = self.stored.first().map(|stored| stored.piece)
        else {
            return;
        };
        if self.stored.len() == scheme.shards() {
            return;
        }
        let shard_bytes = scheme.shard_bytes(self.value_bytes as usize);
        let room = |_| sized(self.pool.take(HEADER_BYTES + shard_bytes), shard_bytes);
        let mut parity: Vec<Arc<Vec<u8>>> = (0..scheme.parity_shards()).map(room).collect();
        let (lent, value_bytes) = (self.lent.as_ref(), self.value_bytes as usize);
        let parts = self.stored.iter();
        let data: Vec<&[u8]> = parts.map(|one| one.part(lent, value_bytes)).collect();
        let mut outputs: Vec<&mut [u8]> = parity
            .iter_mut()
            .map(|bytes| &mut Arc::make_mut(bytes)[HEADER_BYTES..])
            .collect();
        let encoded = workshop.with_coder(scheme, |coder| coder.encode(&data, &mut outputs));
        encoded.expect("shards of one value have the lengths that its scheme gives them");
        self.stored.extend(
            parity
                .into_iter()
                .zip(scheme.data_shards()..)
                .map(|(bytes, shard)| Stored::parity(scheme, shard as u8, bytes)),
        );
    }

    /// What a server stores of a version.
    ///
    /// # Panics
    /// It is a part that there is not, or not yet.
    pub fn of(&mut self, part: Part, version: Version) -> Arc<Vec<u8>> {
        let header = self.header(part, version);
        let stored = &mut self.stored[index_of(part)];
        if let Some(value) = self.lent.as_ref().filter(|_| stored.bytes.is_empty()) {
            stored.copy(&self.pool, value);
        }
        if stored.version != Some(version) {
            // Copied where the network still has it under an older version.
            let bytes = Arc::make_mut(&mut stored.bytes);
            bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
            stored.version = Some(version);
        }
        Arc::clone(&stored.bytes)
    }

    /// What a server stores of a version, apart, where the part is lent: parity and witnesses never
    /// are.
    ///
    /// # Panics
    /// As [`Parts::of`].
    pub fn lent(&self, part: Part, version: Version) -> Option<LentPart> {
        let (value, piece) = (self.lent.as_ref()?, self.stored[index_of(part)].piece);
        let range = piece.range(self.value_bytes as usize);
        let is_in_it = piece.bytes(self.value_bytes as usize) == range.len();
        let is_lent = is_in_it && !matches!(piece, Piece::Witness(_));
        is_lent.then(|| LentPart {
            header: self.header(part, version).encode(),
            value: Arc::clone(value),
            range,
        })
    }

    fn header(&self, part: Part, version: Version) -> Header {
        let stored = &self.stored[index_of(part)];
        Header {
            piece: stored.piece,
            owners: self.owners,
            value_bytes: self.value_bytes,
            expiry_unix: self.expiry_unix,
            version,
            checksum: stored.checksum.expect("copied or summed by now"),
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        for stored in self.stored.drain(..) {
            self.pool.give_back(stored.bytes);
        }
    }
}

/// A buffer for a header and so many bytes of a part; what it holds is of no interest.
fn sized(mut buffer: Arc<Vec<u8>>, part_bytes: usize) -> Arc<Vec<u8>> {
    let bytes = Arc::make_mut(&mut buffer);
    if bytes.capacity() < HEADER_BYTES + part_bytes {
        // What is there need not be moved.
        *bytes = vec![0; HEADER_BYTES + part_bytes];
    }
    bytes.resize(HEADER_BYTES + part_bytes, 0);
    buffer
}

/// The index of a part among the parts of its value.
fn index_of(part: Part) -> usize {
    match part {
        Part::Shard(shard) => usize::from(shard),
        Part::Copy | Part::Tombstone => 0,
        Part::Witness => 1,
    }
}

impl Stored {
    fn missing(piece: Piece) -> Stored {
        Stored {
            piece,
            checksum: None,
            version: None,
            bytes: Arc::default(),
        }
    }

    /// There are no bytes that could be missing.
    fn witness(holders: Holders) -> Stored {
        Stored {
            checksum: Some(checksum(&[])),
            bytes: Arc::new(vec![0; HEADER_BYTES]),
            ..Stored::missing(Piece::Witness(holders))
        }
    }

    fn prepare(&mut self, pool: &Pool, value: &[u8], is_lent: bool) {
        if self.checksum.is_some() {
            return;
        }
        match is_lent {
            true => self.checksum = Some(checksum(&value[self.piece.range(value.len())])),
            false => self.copy(pool, value),
        }
    }

    fn copy(&mut self, pool: &Pool, value: &[u8]) {
        let part = &value[self.piece.range(value.len())];
        self.bytes = sized(pool.take(HEADER_BYTES + part.len()), part.len());
        let room = &mut Arc::make_mut(&mut self.bytes)[HEADER_BYTES..];
        self.checksum = Some(copy_with_checksum(part, room));
    }

    fn parity(scheme: Scheme, shard: u8, bytes: Arc<Vec<u8>>) -> Stored {
        Stored {
            piece: Piece::Shard { scheme, shard },
            checksum: Some(checksum(&bytes[HEADER_BYTES..])),
            version: None,
            bytes,
        }
    }

    /// Its bytes, copied or in the value that was lent.
    fn part<'a>(&'a self, lent: Option<&'a Arc<Vec<u8>>>, value_bytes: usize) -> &'a [u8] {
        match lent {
            Some(value) => &value[self.piece.range(value_bytes)],
            None => &self.bytes[HEADER_BYTES..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> Version {
        Version::from_bits(7 << 14).unwrap()
    }

    fn all(parts: &mut Parts, count: u8) -> Vec<Vec<u8>> {
        (0..count)
            .map(|shard| parts.of(Part::Shard(shard), version()).to_vec())
            .collect()
    }

    #[test]
    fn parts_that_are_copied_one_by_one_are_those_that_are_copied_together() {
        let workshop = Workshop::default();
        let scheme = Scheme::new(3, 2).unwrap();
        let stored_as = (Form::Shards(scheme), scheme.shards());
        for bytes in [0, 1, 2, 3, 100, 70_001] {
            let value: Vec<u8> = (0..bytes).map(|at| ((at * 31) >> 2) as u8).collect();
            let mut whole = Parts::new(&workshop, stored_as, &value, 5, 0);
            whole.encode(&workshop);
            let mut single = Parts::begin(&workshop, stored_as, bytes, 5, 0);
            for shard in [1, 0, 1] {
                single.copy(Part::Shard(shard), &value);
            }
            // Parity is none of the value.
            single.copy(Part::Shard(3), &value);
            single.copy_all(&value);
            single.encode(&workshop);
            let mut lent = Parts::begin(&workshop, stored_as, bytes, 5, 0);
            let value = Arc::new(value);
            lent.lend(Arc::clone(&value));
            lent.copy(Part::Shard(2), &value);
            lent.copy_all(&value);
            lent.encode(&workshop);
            let whole = all(&mut whole, 5);
            for (shard, stored) in whole.iter().enumerate() {
                let part = lent.lent(Part::Shard(shard as u8), version());
                let is_data = shard < 3 || bytes == 0;
                assert_eq!(part.is_some(), is_data, "parity lies nowhere in the value");
                if let Some(part) = part {
                    let rest = &part.value[part.range];
                    assert_eq!([&part.header[..], rest].concat(), *stored);
                }
            }
            assert_eq!(all(&mut single, 5), whole, "{bytes} bytes");
            assert_eq!(all(&mut lent, 5), whole, "copied when asked for");
            for stored in &whole {
                assert!(Header::split(stored).is_ok());
            }
        }
    }
}
