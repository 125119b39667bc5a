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
    bytes: Arc<Vec<u8>>,
}

impl Parts {
    /// The parts of a value with so many owners; of shards the data, parity follows by
    /// [`Parts::encode`].
    pub fn new(
        workshop: &Workshop,
        (form, owners): (Form, usize),
        value: &[u8],
        flags: u32,
        expiry_unix: u32,
    ) -> Parts {
        let pool = Arc::clone(&workshop.pool);
        let copy = |piece, bytes| Stored::copied(&pool, piece, bytes);
        let stored = match form {
            Form::Tombstone => Vec::new(),
            Form::Copies => vec![copy(Piece::Copy, value)],
            Form::Shards(scheme) => {
                let mut all = Vec::with_capacity(scheme.shards());
                let cut = scheme.cut(value);
                let shards = cut.iter().zip(0..);
                all.extend(
                    shards.map(|(bytes, shard)| copy(Piece::Shard { scheme, shard }, bytes)),
                );
                all
            }
        };
        Parts {
            pool,
            value_bytes: value.len() as u32,
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

    /// Makes the parity shards, where there are such.
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
        let index = match part {
            Part::Shard(shard) => usize::from(shard),
            Part::Copy | Part::Tombstone => 0,
        };
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

impl Stored {
    fn copied(pool: &Pool, piece: Piece, part: &[u8]) -> Stored {
        let mut bytes = sized(pool.take(HEADER_BYTES + part.len()), part.len());
        let room = &mut Arc::make_mut(&mut bytes)[HEADER_BYTES..];
        let checksum = copy_with_checksum(part, room);
        Stored {
            piece,
            checksum,
            version: None,
            bytes,
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
