//! Which versions that the server has had since before the map in force still count.
//!
//! Whoever becomes an owner of a key may have something of it from when it was one before, which
//! others have overwritten or deleted since. So the server catches up after each map by which keys
//! lie elsewhere: until a repair has asked the others, clients are not shown what it had of keys of
//! which it was no owner by the map before. What it had as an owner counts as it did. Were that
//! hidden too, or dropped, nothing would be left of a dead server's keys: all others become owners
//! of some of them with the same map.

use farcache_base::version::Version;
use farcache_cluster::map::Epoch;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_store::Store;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// Most maps that are remembered. Where more follow one another before a repair has ended, nothing
/// from before counts.
const MAPS_MAX: usize = 16;

/// How often the server had begun to catch up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round(u64);

/// The maps since the server had caught up last, and their part in what clients are shown.
pub struct EarlierMaps {
    store: Arc<Store>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    round: Round,
    /// Of the map for which it began last.
    epoch: Epoch,
    /// In the order in which others took their place.
    maps: Vec<Earlier>,
}

struct Earlier {
    /// The map and who the server was by it; none where it is not known who owned keys.
    map: Option<(Arc<ClusterMap>, ServerId)>,
    /// The newest version that was known when another map took its place.
    up_to: Option<Version>,
}

impl Earlier {
    fn is_owner(&self, key: &[u8], owners: usize) -> bool {
        let map = self.map.as_ref();
        map.is_some_and(|(map, me)| map.locate(key, owners).contains(me))
    }
}

impl EarlierMaps {
    /// The maps of a server that starts. It begins to catch up, and what it has on an SSD from
    /// before does not count.
    pub fn new(store: &Arc<Store>) -> EarlierMaps {
        let maps = EarlierMaps {
            store: Arc::clone(store),
            state: RwLock::default(),
        };
        maps.succeed(None, Epoch(0));
        maps
    }

    fn written(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A map of this epoch is about to take the place of this one, by which the server had that
    /// name; none where nobody knows who has owned keys until now. The server begins to catch up.
    pub fn succeed(&self, map: Option<(Arc<ClusterMap>, ServerId)>, next: Epoch) {
        let mut state = self.written();
        state.round.0 += 1;
        state.epoch = next;
        let map = map.filter(|_| state.maps.len() < MAPS_MAX);
        if map.is_none() {
            state.maps.clear();
        }
        // Whoever sees that the store catches up waits for the lock to learn more.
        let up_to = self.store.begin_catching_up();
        state.maps.push(Earlier { map, up_to });
    }

    /// How often the server has begun to catch up.
    pub fn round(&self) -> Round {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .round
    }

    /// The server has caught up by the map of this epoch; false where it has begun again since, or
    /// for a later map that was not in force yet.
    pub fn end(&self, round: Round, by: Epoch) -> bool {
        let mut state = self.written();
        let has_caught_up = state.round == round && state.epoch <= by;
        if has_caught_up {
            state.maps.clear();
            self.store.end_catching_up();
        }
        has_caught_up
    }

    /// Whether the server was one of so many owners of a key for as long as it may have had this
    /// version, or (none) since it had caught up last, as far as that was before the map in force.
    pub fn has_owned(&self, key: &[u8], owners: usize, version: Option<Version>) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let is_since = |it: &&Earlier| version.is_none() || version <= it.up_to;
        let mut since = state.maps.iter().filter(is_since);
        since.all(|earlier| earlier.is_owner(key, owners))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_store::{SetOptions, SetOutcome, StoreConfig};

    const ME: ServerId = ServerId(1);
    const NEXT: Epoch = Epoch(9);

    /// A map of these servers.
    fn map(epoch: u64, servers: &[u32]) -> Arc<ClusterMap> {
        let mut text = format!("farcache-cluster-map 1\ncluster c\nepoch {epoch}\n");
        text += "placement ketama\n";
        for id in servers {
            text += &format!(
                "server {id} incarnation=1 weight=1 zone=- state=serving addresses=h{id}:1\n"
            );
        }
        text += "end\n";
        Arc::new(text.parse().expect("a map"))
    }

    fn version(number: u64) -> Version {
        Version::from_bits(number << 14).expect("not 0")
    }

    fn note(store: &Arc<Store>, number: u64) {
        let options = SetOptions {
            version: Some(version(number)),
            ..SetOptions::default()
        };
        let stored = store.handle().set(b"any", b"value", &options);
        assert!(matches!(stored, Ok(SetOutcome::Stored { .. })));
    }

    /// A key of whose three owners the server is one, or is none, by a map.
    fn key_where(map: &ClusterMap, is_owner: bool) -> Vec<u8> {
        let keys = (0..).map(|number: u32| number.to_string().into_bytes());
        let is_it = |key: &Vec<u8>| map.locate(key, 3).contains(&ME) == is_owner;
        keys.into_iter().find(is_it).expect("a key")
    }

    #[test]
    fn what_a_server_had_as_an_owner_counts_and_nothing_else_does() {
        let store = Store::new(StoreConfig::default()).expect("memory for a test");
        note(&store, 1);
        let maps = EarlierMaps::new(&store);
        let six = map(1, &[1, 2, 3, 4, 5, 6]);
        let (own, foreign) = (key_where(&six, true), key_where(&six, false));
        assert!(
            !maps.has_owned(&own, 3, Some(version(1))),
            "it has just started"
        );
        assert!(maps.end(maps.round(), NEXT));
        assert!(!store.is_catching_up());

        note(&store, 5);
        maps.succeed(Some((Arc::clone(&six), ME)), NEXT);
        assert!(store.is_catching_up());
        assert!(maps.has_owned(&own, 3, Some(version(5))));
        assert!(!maps.has_owned(&foreign, 3, Some(version(5))));
        assert!(
            maps.has_owned(&foreign, 3, Some(version(6))),
            "it came after"
        );
        assert!(maps.has_owned(&own, 3, None) && !maps.has_owned(&foreign, 3, None));

        // By a map in between it was no owner.
        let between = map(2, &[2, 3, 4, 5, 6]);
        note(&store, 7);
        maps.succeed(Some((between, ME)), NEXT);
        assert!(!maps.has_owned(&own, 3, Some(version(5))));
        assert!(!maps.has_owned(&own, 3, Some(version(7))));
    }

    #[test]
    fn a_round_ends_by_its_own_map_and_only_if_no_other_has_begun() {
        let store = Store::new(StoreConfig::default()).expect("memory for a test");
        let maps = EarlierMaps::new(&store);
        let first = maps.round();
        maps.succeed(Some((map(1, &[1, 2, 3]), ME)), NEXT);
        assert!(!maps.end(first, NEXT));
        // The map is not in force yet.
        assert!(!maps.end(maps.round(), Epoch(NEXT.0 - 1)));
        assert!(store.is_catching_up());
        assert!(maps.end(maps.round(), NEXT));
        assert!(!store.is_catching_up());
    }

    #[test]
    fn of_too_many_maps_nothing_counts() {
        let store = Store::new(StoreConfig::default()).expect("memory for a test");
        note(&store, 1);
        let maps = EarlierMaps::new(&store);
        assert!(maps.end(maps.round(), NEXT));
        let three = map(1, &[1, 2, 3]);
        for _ in 0..MAPS_MAX {
            maps.succeed(Some((Arc::clone(&three), ME)), NEXT);
            assert!(maps.has_owned(b"key", 3, Some(version(1))));
        }
        maps.succeed(Some((three, ME)), NEXT);
        assert!(!maps.has_owned(b"key", 3, Some(version(1))));
    }
}
