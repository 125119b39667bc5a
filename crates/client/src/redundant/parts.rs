//! The bytes that each server gets of a value.

use super::Redundant;
use farcache_redundancy::plan::{Form, Part};
use farcache_redundancy::stored::{HEADER_BYTES, Header, Piece, checksum};
use farcache_redundancy::{Scheme, Version};
use std::sync::Arc;

/// The parts of one value, each with the header in front of it.
pub(super) struct Parts {
    value_bytes: u32,
    pub flags: u32,
    pub expiry_unix: u32,
    stored: Vec<Stored>,
}

struct Stored {
    piece: Piece,
    /// Of the part; none before it has been computed.
    checksum: Option<u32>,
    version: Option<Version>,
    bytes: Arc<Vec<u8>>,
}

impl Parts {
    /// Those of a value; of shards the data, parity follows by [`Parts::encode`].
    pub fn new(form: Form, value: &[u8], flags: u32, expiry_unix: u32) -> Parts {
        let copy = |piece, bytes: &[u8]| {
            let mut stored = Vec::with_capacity(HEADER_BYTES + bytes.len());
            stored.resize(HEADER_BYTES, 0);
            stored.extend_from_slice(bytes);
            Stored {
                piece,
                checksum: None,
                version: None,
                bytes: Arc::new(stored),
            }
        };
        let stored = match form {
            Form::Tombstone => Vec::new(),
            Form::Copies => vec![copy(Piece::Copy, value)],
            Form::Shards(scheme) => {
                let cut = scheme.cut(value);
                let shards = cut.iter().zip(0..);
                let data = shards.map(|(bytes, shard)| copy(Piece::Shard { scheme, shard }, bytes));
                data.collect()
            }
        };
        Parts {
            value_bytes: value.len() as u32,
            flags,
            expiry_unix,
            stored,
        }
    }

    /// Makes the parity shards, where there are such.
    pub fn encode(&mut self, redundant: &Redundant) {
        let Some(Piece::Shard { scheme, .. }) = self.stored.first().map(|stored| stored.piece)
        else {
            return;
        };
        if self.stored.len() == scheme.shards() {
            return;
        }
        let shard_bytes = scheme.shard_bytes(self.value_bytes as usize);
        let mut parity = vec![vec![0; HEADER_BYTES + shard_bytes]; scheme.parity_shards()];
        let data: Vec<&[u8]> = self.stored.iter().map(Stored::part).collect();
        let mut outputs: Vec<&mut [u8]> = parity
            .iter_mut()
            .map(|bytes| &mut bytes[HEADER_BYTES..])
            .collect();
        let encoded = redundant.with_coder(scheme, |coder| coder.encode(&data, &mut outputs));
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
        let (value_bytes, expiry_unix) = (self.value_bytes, self.expiry_unix);
        let stored = &mut self.stored[index];
        if stored.version != Some(version) {
            let sum = *stored
                .checksum
                .get_or_insert_with(|| checksum(&stored.bytes[HEADER_BYTES..]));
            let header = Header {
                piece: stored.piece,
                value_bytes,
                expiry_unix,
                version,
                checksum: sum,
            };
            // Copied where the network still has it under an older version.
            let bytes = Arc::make_mut(&mut stored.bytes);
            bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
            stored.version = Some(version);
        }
        Arc::clone(&stored.bytes)
    }
}

impl Stored {
    fn parity(scheme: Scheme, shard: u8, bytes: Vec<u8>) -> Stored {
        Stored {
            piece: Piece::Shard { scheme, shard },
            checksum: None,
            version: None,
            bytes: Arc::new(bytes),
        }
    }

    fn part(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }
}
