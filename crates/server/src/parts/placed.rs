//! By which owners a key is placed, as clients and servers tell one another.

use farcache_cluster::{ClusterMap, Owners};
use farcache_proto::binary::Placed;
use farcache_redundancy::spread::{owner_label, owners_sum};

/// The owners of a key that has so many by this map, and what others are told of that.
pub fn place(map: &ClusterMap, key: &[u8], owners: u8) -> (Owners, Placed) {
    let located = map.locate(key, owners.into());
    let placed = Placed {
        edition: map.edition(),
        owners,
        sum: sum_of(map, &located),
    };
    (located, placed)
}

/// Whether a key lies by this map as somebody else has placed it; where the map places no keys,
/// wherever that is.
pub fn is_placed(map: &ClusterMap, key: &[u8], placed: Placed) -> bool {
    let is_here = |hash| {
        let owners = map.locate_hash(hash, placed.owners.into());
        sum_of(map, &owners) == placed.sum
    };
    placed.edition == map.edition() || map.hash_of_key(key).is_none_or(is_here)
}

fn sum_of(map: &ClusterMap, owners: &Owners) -> u32 {
    owners_sum(map.client_addresses(owners).map(owner_label))
}
