//! Which keys a server is an owner of, as far as the parts themselves tell.

use farcache_cluster::{ClusterMap, OWNERS_MAX, ServerId};
use farcache_peers::listing::{Entry, PartOfValue};
use farcache_redundancy::stored::Header;
use farcache_store::Listed;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The fewest owners of a value that lies on several.
pub const OWNERS_MIN: usize = 2;

/// The most owners that a value had which was met. A tombstone does not tell how many owners its
/// key has; those that other keys have count then.
pub struct Widest(AtomicUsize);

impl Default for Widest {
    fn default() -> Widest {
        Widest(AtomicUsize::new(OWNERS_MIN))
    }
}

impl Widest {
    /// A value with so many owners was met.
    pub fn note(&self, owners: usize) {
        if self.get() < owners {
            self.0.fetch_max(owners.min(OWNERS_MAX), Relaxed);
        }
    }

    /// How many owners that is.
    pub fn get(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// What an item is part of, which a tombstone does not tell, and how many owners its key has; none
/// where it is no part of a value.
fn part_and_owners(item: &Listed<'_>, widest: &Widest) -> Option<(Option<PartOfValue>, usize)> {
    let part = match item.value {
        Some(value) => Some(part_of(value)?),
        None => None,
    };
    let owners = match part {
        Some(part) if usize::from(part.owners) < OWNERS_MIN => return None,
        Some(part) => part.owners.into(),
        None => widest.get(),
    };
    widest.note(owners);
    Some((part, owners))
}

/// How many owners the key of an item has; none where it is no part of a value.
pub fn owners(item: &Listed<'_>, widest: &Widest) -> Option<usize> {
    part_and_owners(item, widest).map(|(_, owners)| owners)
}

/// What a list tells a server of an item; none where it is no part of a value, or the key is not
/// one of that server's.
pub fn entry<'a>(
    map: &ClusterMap,
    asker: ServerId,
    item: &Listed<'a>,
    widest: &Widest,
) -> Option<Entry<'a>> {
    let (part, owners) = part_and_owners(item, widest)?;
    let is_owner = map.locate(item.key, owners).contains(&asker);
    is_owner.then_some(Entry {
        key: item.key,
        version: item.version.bits(),
        part,
    })
}

fn part_of(value: &[u8]) -> Option<PartOfValue> {
    let header = Header::decode(value).ok()?;
    Some(PartOfValue {
        piece: header.piece.numbers(),
        owners: header.owners() as u8,
        value_bytes: header.value_bytes,
    })
}
