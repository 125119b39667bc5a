//! What *store if newer* and *delete if newer* leave in an item: its version, and whether it stands
//! for nothing.

use farcache_base::version::Version;

/// Bit of the stored word that no version has.
const TOMBSTONE: u64 = 1 << 63;

/// The version with which an item was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// By which version it was stored or deleted.
    pub version: Version,
    /// The item was deleted by this version: it has no value, no reader sees it, and its expiry
    /// says until when it is kept.
    pub is_tombstone: bool,
}

impl Stamp {
    /// That of a value.
    #[inline]
    pub fn of_value(version: Version) -> Stamp {
        Stamp {
            version,
            is_tombstone: false,
        }
    }

    /// That of a tombstone.
    #[inline]
    pub fn of_tombstone(version: Version) -> Stamp {
        Stamp {
            version,
            is_tombstone: true,
        }
    }

    /// As it stands in the item's field for a CAS token.
    #[inline]
    pub fn word(self) -> u64 {
        let mark = if self.is_tombstone { TOMBSTONE } else { 0 };
        self.version.bits() | mark
    }

    /// None where the word cannot have been written by [`Stamp::word`].
    #[inline]
    pub fn of_word(word: u64) -> Option<Stamp> {
        let version = Version::from_bits(word & !TOMBSTONE)?;
        Some(Stamp {
            version,
            is_tombstone: word & TOMBSTONE != 0,
        })
    }
}
