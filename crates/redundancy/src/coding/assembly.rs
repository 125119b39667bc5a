//! The memory of a value as its data shards come into it, each when it arrives.

use crate::Version;
use crate::stored::{Header, Piece};

/// The value of one version, or its shards so far.
#[derive(Default)]
pub(super) struct Assembly {
    /// That of the shards in it.
    pub(super) version: Option<Version>,
    /// Which shards are in it, by bits.
    pub(super) shards: u32,
    pub(super) is_whole: bool,
    pub(super) bytes: Vec<u8>,
}

impl Assembly {
    pub(super) fn begin(&mut self, version: Version, padded_bytes: usize) {
        self.version = Some(version);
        (self.shards, self.is_whole) = (0, false);
        if self.bytes.capacity() < padded_bytes {
            // What is there need not be moved.
            self.bytes = vec![0; padded_bytes];
        }
        self.bytes.resize(padded_bytes, 0);
    }

    /// Room of a data shard of this version. What has come of an older one goes, where `may_begin`.
    pub(super) fn room(&mut self, header: &Header, may_begin: bool) -> Option<&mut [u8]> {
        let Piece::Shard { scheme, shard } = header.piece else {
            return None;
        };
        let (value_bytes, shard) = (header.value_bytes as usize, usize::from(shard));
        if shard >= scheme.data_shards() {
            return None;
        }
        let shard_bytes = scheme.shard_bytes(value_bytes);
        if may_begin && self.version < Some(header.version) {
            self.begin(header.version, shard_bytes * scheme.data_shards());
        }
        if self.version != Some(header.version) || self.is_whole {
            return None;
        }
        self.shards |= 1 << shard;
        let room = self.bytes.get_mut(shard * shard_bytes..)?;
        room.get_mut(..header.part_bytes())
    }

    /// Whether it has this part.
    pub(super) fn has(&self, header: &Header) -> bool {
        match header.piece {
            Piece::Copy(_) => self.is_whole,
            Piece::Witness(_) => false,
            Piece::Shard { shard, .. } => self.shards >> shard & 1 == 1,
        }
    }

    /// The bytes of a part that has come here; nothing where they have gone.
    pub(super) fn part(&self, header: &Header) -> &[u8] {
        let start = match header.piece {
            Piece::Copy(_) | Piece::Witness(_) => 0,
            Piece::Shard { scheme, shard } => {
                usize::from(shard) * scheme.shard_bytes(header.value_bytes as usize)
            }
        };
        let part = self.bytes.get(start..start + header.part_bytes());
        part.unwrap_or_default()
    }

    /// The value of a version, if all of it is there.
    pub(super) fn whole(&self, version: Version) -> Option<&[u8]> {
        (self.is_whole && self.version == Some(version)).then_some(&self.bytes[..])
    }
}
