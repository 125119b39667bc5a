//! On which server a key lives: libmemcached's distributions.

mod continuum;
mod namespace;
mod server;

pub use crate::address::DEFAULT_PORT;
pub use namespace::{InvalidNamespace, NAMESPACE_BYTES_MAX, Namespace, digest_prefixed};
pub use server::Server;

use crate::hash::HashAlgorithm;
use crate::{Owners, ServerId};
pub(crate) use continuum::Continuum;

/// How a key's hash leads to a server (`MEMCACHED_BEHAVIOR_DISTRIBUTION`).
///
/// The ketama distributions place every server at many points of a ring of 32-bit numbers; a key
/// belongs to the server of the first point at or after its hash. So a server that comes or goes
/// moves only its own share of the keys.
///
/// libmemcached goes over from [`Ketama`](Self::Ketama) to [`KetamaWeighted`](Self::KetamaWeighted)
/// by itself when a server with a weight above 1 is added to it. Here only the caller chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// The hash modulo the number of servers, libmemcached's default. Ignores weights, and servers
    /// that are down keep their keys.
    #[default]
    Modula,
    /// `MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA` (and `..._CONSISTENT`): 100 points for each
    /// server, made by the key hash. Ignores weights.
    Ketama,
    /// `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`: 160 points for each server on average, shared out by
    /// weight, made by MD5. That behaviour also sets the key hash to MD5, which here the caller
    /// does.
    KetamaWeighted,
    /// `MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY`: as [`Ketama`](Self::Ketama) with points
    /// named as the Java client spymemcached names them.
    KetamaSpy,
    /// `MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY` after `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`:
    /// as [`KetamaWeighted`](Self::KetamaWeighted) with spymemcached's names of the points.
    KetamaSpyWeighted,
}

/// What decides on a key's server besides the servers themselves. The default is libmemcached's.
#[derive(Clone, Debug, Default)]
pub struct PlacementSettings {
    /// How a hash leads to a server.
    pub distribution: Distribution,
    /// The hash of the keys (`MEMCACHED_BEHAVIOR_HASH`).
    pub key_hash: HashAlgorithm,
    /// The namespace, where it is hashed with the key (`MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY`).
    /// `None` where there is none or keys are hashed without it.
    pub hashed_namespace: Option<Namespace>,
    /// Sort the servers by host, then port (`MEMCACHED_BEHAVIOR_SORT_HOSTS`), so that programs
    /// which list the same servers in another order agree.
    pub sort_servers: bool,
}

/// A list of servers and the rule that gives every key to one of them.
#[derive(Clone, Debug)]
pub struct Placement {
    settings: PlacementSettings,
    servers: Vec<Server>,
    /// Of the ketama distributions; `None` with [`Distribution::Modula`] or without servers.
    continuum: Option<Continuum>,
}

impl Placement {
    /// Places keys on `servers`, all of which are up.
    #[must_use]
    pub fn new(settings: PlacementSettings, mut servers: Vec<Server>) -> Self {
        if settings.sort_servers {
            servers.sort_by(|one, other| one.address().cmp(other.address()));
        }
        let mut placement = Self {
            settings,
            servers,
            continuum: None,
        };
        placement.rebuild(|_| true);
        placement
    }

    /// The servers, in the order of their names: [`ServerId`] 0 is the first, and so on.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The server of this name.
    #[must_use]
    pub fn server(&self, name: ServerId) -> Option<&Server> {
        self.servers.get(name.0 as usize)
    }

    /// How many points the ring has; `None` where there is none.
    #[must_use]
    pub fn points(&self) -> Option<usize> {
        self.continuum.as_ref().map(Continuum::points)
    }

    /// Gives the keys of the servers that are down to the others, and theirs back to those that are
    /// up again (`MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS`). `is_up` is asked with the index of
    /// every server.
    ///
    /// As in libmemcached nothing changes with [`Distribution::Modula`], nor where no server is up.
    pub fn rebuild(&mut self, is_up: impl Fn(usize) -> bool) {
        if self.settings.distribution == Distribution::Modula {
            return;
        }
        let up: Vec<(ServerId, &Server)> = (self.servers.iter().enumerate())
            .filter(|&(index, _)| is_up(index))
            .map(|(index, server)| (ServerId(index as u32), server))
            .collect();
        if let Some(continuum) = Continuum::new(&self.settings, &up) {
            self.continuum = Some(continuum);
        }
    }

    /// The servers that answer for the key, the owner first; none without servers.
    ///
    /// There are `wanted` of them, or as many as there are, and at most
    /// [`OWNERS_MAX`](crate::OWNERS_MAX). On a ring the next one is the next other server around
    /// it, which would own the key if the ones before it were down; servers that are
    /// [down](Self::rebuild) are passed over. With [`Distribution::Modula`] it is the next server
    /// of the list, down or not.
    ///
    /// `key` comes without the namespace. Of an operation "by key" (`memcached_get_by_key`) it is
    /// the group key.
    #[must_use]
    #[inline]
    pub fn locate(&self, key: &[u8], wanted: usize) -> Owners {
        self.locate_hash(self.hash_of_key(key), wanted)
    }

    /// As [`locate`](Self::locate), for a key with this hash.
    #[must_use]
    #[inline]
    pub fn locate_hash(&self, hash: u32, wanted: usize) -> Owners {
        match wanted {
            1 => self
                .owner_of_hash(hash)
                .map(Owners::one)
                .unwrap_or_default(),
            _ => self.distinct_owners(hash, wanted),
        }
    }

    fn distinct_owners(&self, hash: u32, wanted: usize) -> Owners {
        match &self.continuum {
            Some(continuum) => {
                Owners::distinct(continuum.walk(hash), wanted.min(continuum.servers()))
            }
            None => {
                let owner = self.server_of_hash(hash);
                let owners = owner.map(|owner| consecutive(owner, self.servers.len()));
                let owners = owners
                    .into_iter()
                    .flatten()
                    .map(|server| ServerId(server as u32));
                Owners::distinct(owners, wanted)
            }
        }
    }

    /// The index of the server on which the key lives; `None` without servers. See
    /// [`locate`](Self::locate).
    #[must_use]
    #[inline]
    pub fn server_of_key(&self, key: &[u8]) -> Option<usize> {
        self.server_of_hash(self.hash_of_key(key))
    }

    /// The index of the server to which a key with this hash belongs; `None` without servers.
    #[must_use]
    #[inline]
    pub fn server_of_hash(&self, hash: u32) -> Option<usize> {
        self.owner_of_hash(hash).map(|owner| owner.0 as usize)
    }

    #[inline]
    fn owner_of_hash(&self, hash: u32) -> Option<ServerId> {
        match &self.continuum {
            Some(continuum) => Some(continuum.owner(hash)),
            None => {
                let index = (hash as usize).checked_rem(self.servers.len())?;
                Some(ServerId(index as u32))
            }
        }
    }

    fn hash_of_key(&self, key: &[u8]) -> u32 {
        match &self.settings.hashed_namespace {
            Some(namespace) => namespace.digest(self.settings.key_hash, key),
            None => self.settings.key_hash.digest(key),
        }
    }
}

/// The indices of all `servers` in the order of their list, from `first` on and around its end:
/// where libmemcached keeps copies (`MEMCACHED_BEHAVIOR_NUMBER_OF_REPLICAS`), whatever the
/// distribution.
pub fn consecutive(first: usize, servers: usize) -> impl Iterator<Item = usize> {
    (0..servers).map(move |step| (first + step) % servers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OWNERS_MAX;

    const ALL: [Distribution; 5] = [
        Distribution::Modula,
        Distribution::Ketama,
        Distribution::KetamaWeighted,
        Distribution::KetamaSpy,
        Distribution::KetamaSpyWeighted,
    ];

    fn placement(distribution: Distribution, server_count: u16) -> Placement {
        let settings = PlacementSettings {
            distribution,
            ..PlacementSettings::default()
        };
        let servers = (0..server_count)
            .map(|index| Server::new("cache", 11211 + index))
            .collect();
        Placement::new(settings, servers)
    }

    fn owners(placement: &Placement) -> Vec<usize> {
        let keys = (0..500).map(|number| format!("key{number}"));
        keys.map(|key| placement.server_of_key(key.as_bytes()).unwrap())
            .collect()
    }

    #[test]
    fn without_servers_no_key_has_one() {
        for distribution in ALL {
            let mut empty = placement(distribution, 0);
            empty.rebuild(|_| true);
            assert_eq!(empty.server_of_key(b"key"), None);
            assert!(empty.locate(b"key", 1).is_empty());
            assert!(empty.locate(b"key", 2).is_empty());
        }
    }

    #[test]
    fn a_server_that_goes_down_moves_only_its_own_keys() {
        for distribution in &ALL[1..] {
            let mut ring = placement(*distribution, 4);
            let before = owners(&ring);
            ring.rebuild(|index| index != 2);
            let after = owners(&ring);
            assert!(
                before.contains(&2) && !after.contains(&2),
                "{distribution:?}"
            );
            let moved = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before != after);
            assert!(
                moved.map(|(before, _)| before).all(|&owner| owner == 2),
                "{distribution:?}"
            );
            ring.rebuild(|_| true);
            assert_eq!(owners(&ring), before, "{distribution:?}");
        }
    }

    #[test]
    fn nothing_moves_when_no_server_is_up() {
        for distribution in ALL {
            let mut placement = placement(distribution, 3);
            placement.rebuild(|index| index == 1);
            let before = owners(&placement);
            placement.rebuild(|_| false);
            assert_eq!(owners(&placement), before, "{distribution:?}");
        }
    }

    #[test]
    fn modula_leaves_a_server_that_is_down_its_keys() {
        let mut placement = placement(Distribution::Modula, 3);
        let before = owners(&placement);
        placement.rebuild(|index| index != 0);
        assert_eq!(owners(&placement), before);
    }

    /// The servers of a key, asked for one more at a time.
    fn located(placement: &Placement, key: &[u8]) -> Vec<u32> {
        let all = placement.locate(key, OWNERS_MAX);
        for wanted in 0..=placement.servers().len() {
            assert_eq!(placement.locate(key, wanted)[..], all[..wanted]);
        }
        all.iter().map(|owner| owner.0).collect()
    }

    #[test]
    fn the_owner_is_the_first_of_all_servers_in_some_order() {
        for distribution in ALL {
            let placement = placement(distribution, 5);
            for number in 0..200 {
                let key = format!("key{number}");
                let mut servers = located(&placement, key.as_bytes());
                let owner = placement.server_of_key(key.as_bytes()).unwrap();
                assert_eq!(servers[0] as usize, owner, "{distribution:?}");
                servers.sort_unstable();
                assert_eq!(servers, [0, 1, 2, 3, 4], "{distribution:?}");
            }
        }
    }

    #[test]
    fn on_a_ring_the_next_server_takes_over_from_the_one_before() {
        for distribution in &ALL[1..] {
            let mut ring = placement(*distribution, 5);
            for number in 0..50 {
                let key = format!("key{number}");
                ring.rebuild(|_| true);
                let servers = located(&ring, key.as_bytes());
                for down in 1..5 {
                    ring.rebuild(|index| !servers[..down].contains(&(index as u32)));
                    let wanted = &servers[down..];
                    let left = ring.locate(key.as_bytes(), OWNERS_MAX);
                    let left: Vec<u32> = left.iter().map(|owner| owner.0).collect();
                    assert_eq!(left, wanted, "{distribution:?}, {key}");
                }
            }
        }
    }

    #[test]
    fn modula_goes_on_with_the_next_of_the_list() {
        let placement = placement(Distribution::Modula, 4);
        let owners = placement.locate_hash(4 * 1000 + 2, 3);
        assert_eq!(owners[..], [2, 3, 0].map(ServerId));
        assert_eq!(consecutive(3, 4).collect::<Vec<_>>(), [3, 0, 1, 2]);
    }
}
