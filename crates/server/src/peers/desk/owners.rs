//! Who owns keys, by the map in force.

use super::Answer;
use crate::cluster::{EarlierMaps, Place};
use crate::moves::{ServerMoves, in_flight::InFlight};
use crate::parts::owned::{self, OWNERS_MIN, Widest};
use crate::parts::placed;
use crate::peers::known::KnownKeys;
use farcache_cluster::hash::HashAlgorithm;
use farcache_cluster::map::Domain;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_peers::listing::Entry;
use farcache_proto::binary::Placed;
use farcache_session::{Failure, Forward, Moves, Peer};
use farcache_store::Listed;
use std::sync::Arc;

/// Who owns keys, for those whose requests are not passed on.
pub struct Owners {
    /// None before the map lists this server.
    pub(super) me: Option<ServerId>,
    pub(super) map: Arc<ClusterMap>,
    /// The keys that it owns.
    domain: Domain,
    /// Some of them, where their hash takes long.
    known: Option<KnownKeys>,
    widest: Widest,
    pub(super) moving: InFlight,
    earlier: Option<Arc<EarlierMaps>>,
}

impl Owners {
    pub(super) fn new(place: &Place, map: Arc<ClusterMap>, past: &Past) -> Owners {
        let Past { moves, earlier } = past;
        let me = place.id(&map);
        let domain = Domain::new(&map, me);
        let hashes_slowly = map.content().rule.key_hash() == Some(HashAlgorithm::Md5);
        Owners {
            known: (hashes_slowly && !domain.is_all()).then(KnownKeys::new),
            domain,
            moving: InFlight::new(moves, &map, me),
            earlier: earlier.clone(),
            me,
            map,
            widest: Widest::default(),
        }
    }
}

impl Forward for Owners {
    fn epoch(&self) -> u64 {
        self.map.epoch().0
    }

    fn owner(&self, key: &[u8]) -> Option<Peer> {
        if self.owns_every() {
            return None;
        }
        let hash = self.map.hash_of_key(key)?;
        if self.domain.has_hash(hash) && !self.moving.withholds(hash) {
            return None;
        }
        let owner = *self.map.locate_hash(hash, 1).first()?;
        Some(Peer(owner.0))
    }

    fn owns_each(&self, keys: &[&[u8]]) -> bool {
        let has_each = || self.domain.has_each(keys);
        let owns_each = match (keys, &self.known) {
            ([key], Some(known)) => known.has(key, has_each),
            // Several are hashed side by side, in little time.
            _ => has_each(),
        };
        owns_each && self.moving.are_here(keys)
    }

    fn owns_every(&self) -> bool {
        self.domain.is_all() && self.moving.is_settled()
    }

    fn takes_value(&self, _bytes: usize) -> bool {
        false
    }

    fn ask(&self, _owner: Peer, _request: &[u8]) -> Option<Answer> {
        Some(Err(Failure::NotForwarded))
    }

    fn entry<'a>(&self, asker: Peer, item: &Listed<'a>) -> Option<Entry<'a>> {
        owned::entry(&self.map, ServerId(asker.0), item, &self.widest)
    }

    fn has_owned(&self, item: &Listed<'_>) -> bool {
        let owners = owned::owners(item, &self.widest);
        match (&self.earlier, owners) {
            (Some(earlier), Some(owners)) => {
                earlier.has_owned(item.key, owners, Some(item.version))
            }
            _ => false,
        }
    }

    fn was_owner(&self, key: &[u8]) -> bool {
        let earlier = self.earlier.as_ref();
        earlier.is_some_and(|earlier| earlier.has_owned(key, OWNERS_MIN, None))
    }

    fn is_placed(&self, key: &[u8], placed: Placed) -> bool {
        placed::is_placed(&self.map, key, placed)
    }

    fn moves(&self) -> Option<&dyn Moves> {
        self.moving.is_any().then_some(&self.moving)
    }
}

/// What a server has from before the map in force, or is still given.
pub struct Past {
    /// What moves.
    pub moves: Arc<ServerMoves>,
    /// By which maps it went; none where it fetches nothing that it lacks.
    pub earlier: Option<Arc<EarlierMaps>>,
}
