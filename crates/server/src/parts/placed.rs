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
        sum: owners_sum(map.client_addresses(&located).map(owner_label)),
    };
    (located, placed)
}

/// Whether a key lies by this map as somebody else has placed it; where the map places no keys,
/// wherever that is.
pub fn is_placed(map: &ClusterMap, key: &[u8], placed: Placed) -> bool {
    let has_no_place = || map.hash_of_key(key).is_none();
    let is_here = || place(map, key, placed.owners).1.sum == placed.sum;
    placed.edition == map.edition() || has_no_place() || is_here()
}
