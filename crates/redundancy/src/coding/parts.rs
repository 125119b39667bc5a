//! The bytes that each server gets of a value.

use super::Workshop;
use super::pool::Pool;
use crate::plan::{Form, Part};
use crate::stored::{HEADER_BYTES, Header, Piece, checksum, copy_with_checksum};
use crate::{Scheme, Version};
use std::sync::Arc;

/// The parts of one value, each with the header in front of it.
pub struct Parts {
    pool: Arc<Pool>,
    value_bytes: u32,
    /// Owners, which each get a copy.
    copies: u8,
    /// The application's number.
    pub flags: u32,
    /// When the value expires, as Unix time in seconds; 0 for never.
    pub expiry_unix: u32,
    stored: Vec<Stored>,
}

struct Stored {
    piece: Piece,
    /// Of the part.
    checksum: u32,
    version: Option<Version>,
    /// Empty until the part has been copied.
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
            Form::Copies => stored.push(Stored::missing(Piece::Copy)),
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
            copies: if form == Form::Copies {
                owners as u8
            } else {
                0
            },
            flags,
            expiry_unix,
            stored,
        }
    }

    /// Copies one part of this value, if it has not been; parity is none of it.
    pub fn copy(&mut self, part: Part, value: &[u8]) {
        if let Some(stored) = self.stored.get_mut(index_of(part)) {
            stored.copy(&self.pool, value);
        }
    }

    /// Copies what has not been copied of this value.
    pub fn copy_all(&mut self, value: &[u8]) {
        for stored in &mut self.stored {
            stored.copy(&self.pool, value);
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
        let data: Vec<&[u8]> = self.stored.iter().map(Stored::part).collect();
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
        let index = index_of(part);
        let (value_bytes, copies) = (self.value_bytes, self.copies);
        let expiry_unix = self.expiry_unix;
        let stored = &mut self.stored[index];
        if stored.version != Some(version) {
            let header = Header {
                piece: stored.piece,
                copies,
                value_bytes,
                expiry_unix,
                version,
                checksum: stored.checksum,
            };
            // Copied where the network still has it under an older version.
            let bytes = Arc::make_mut(&mut stored.bytes);
            bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
            stored.version = Some(version);
        }
        Arc::clone(&stored.bytes)
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

/// Where a part stands among those of its value.
fn index_of(part: Part) -> usize {
    match part {
        Part::Shard(shard) => usize::from(shard),
        Part::Copy | Part::Tombstone => 0,
    }
}

impl Stored {
    fn missing(piece: Piece) -> Stored {
        Stored {
            piece,
            checksum: 0,
            version: None,
            bytes: Arc::default(),
        }
    }

    fn copy(&mut self, pool: &Pool, value: &[u8]) {
        let part = &value[self.piece.range(value.len())];
        if self.bytes.is_empty() {
            self.bytes = sized(pool.take(HEADER_BYTES + part.len()), part.len());
            let room = &mut Arc::make_mut(&mut self.bytes)[HEADER_BYTES..];
            self.checksum = copy_with_checksum(part, room);
        }
    }

    fn parity(scheme: Scheme, shard: u8, bytes: Arc<Vec<u8>>) -> Stored {
        Stored {
            piece: Piece::Shard { scheme, shard },
            checksum: checksum(&bytes[HEADER_BYTES..]),
            version: None,
            bytes,
        }
    }

    fn part(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(parts: &mut Parts, count: u8) -> Vec<Vec<u8>> {
        let version = Version::from_bits(7 << 14).unwrap();
        (0..count)
            .map(|shard| parts.of(Part::Shard(shard), version).to_vec())
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
            let whole = all(&mut whole, 5);
            assert_eq!(all(&mut single, 5), whole, "{bytes} bytes");
            for stored in &whole {
                assert!(Header::split(stored).is_ok());
            }
        }
    }
}
