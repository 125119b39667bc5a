//! On which server a key lives: libmemcached's distributions.

mod continuum;
mod namespace;
mod server;

pub use namespace::{InvalidNamespace, NAMESPACE_BYTES_MAX, Namespace};
pub use server::{DEFAULT_PORT, Server};

use crate::hash::HashAlgorithm;
use continuum::Continuum;

/// How a key's hash leads to a server (`MEMCACHED_BEHAVIOR_DISTRIBUTION`).
///
/// The ketama distributions place every server at many points of a ring of 32-bit numbers; a key belongs to the server
/// of the first point at or after its hash. So a server that comes or goes moves only its own share of the keys.
///
/// libmemcached goes over from [`Ketama`](Self::Ketama) to [`KetamaWeighted`](Self::KetamaWeighted) by itself when a
/// server with a weight above 1 is added to it. Here only the caller chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// The hash modulo the number of servers, libmemcached's default. Ignores weights, and servers that are down keep
    /// their keys.
    #[default]
    Modula,
    /// `MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA` (and `..._CONSISTENT`): 100 points for each server, made by the key
    /// hash. Ignores weights.
    Ketama,
    /// `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`: 160 points for each server on average, shared out by weight, made by MD5.
    /// That behaviour also sets the key hash to MD5, which here the caller does.
    KetamaWeighted,
    /// `MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY`: as [`Ketama`](Self::Ketama) with points named as the Java client
    /// spymemcached names them.
    KetamaSpy,
    /// The same after `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`: as [`KetamaWeighted`](Self::KetamaWeighted) with
    /// spymemcached's names of the points.
    KetamaSpyWeighted,
}

/// What decides on a key's server besides the servers themselves. The default is libmemcached's.
#[derive(Clone, Debug, Default)]
pub struct PlacementSettings {
    /// How a hash leads to a server.
    pub distribution: Distribution,
    /// The hash of the keys (`MEMCACHED_BEHAVIOR_HASH`).
    pub key_hash: HashAlgorithm,
    /// The namespace, where it is hashed with the key (`MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY`). `None` where there
    /// is none or keys are hashed without it.
    pub hashed_namespace: Option<Namespace>,
    /// Sort the servers by host, then port (`MEMCACHED_BEHAVIOR_SORT_HOSTS`), so that programs which list the same
    /// servers in another order agree.
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
            servers.sort_by(Server::compare_addresses);
        }
        let mut placement = Self {
            settings,
            servers,
            continuum: None,
        };
        placement.rebuild(|_| true);
        placement
    }

    /// The servers, in the order that the other functions count them.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// How many points the ring has; `None` where there is none.
    #[must_use]
    pub fn points(&self) -> Option<usize> {
        self.continuum.as_ref().map(Continuum::points)
    }

    /// Gives the keys of the servers that are down to the others, and theirs back to those that are up again
    /// (`MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS`). `is_up` is asked with the index of every server.
    ///
    /// As in libmemcached nothing changes with [`Distribution::Modula`], nor where no server is up.
    pub fn rebuild(&mut self, is_up: impl Fn(usize) -> bool) {
        let up: Vec<usize> = (0..self.servers.len())
            .filter(|&index| is_up(index))
            .collect();
        if self.settings.distribution != Distribution::Modula && !up.is_empty() {
            self.continuum = Some(Continuum::new(&self.settings, &self.servers, &up));
        }
    }

    /// The index of the server on which the key lives; `None` without servers.
    ///
    /// `key` comes without the namespace. Of an operation "by key" (`memcached_get_by_key`) it is the group key.
    #[must_use]
    pub fn server_of_key(&self, key: &[u8]) -> Option<usize> {
        self.server_of_hash(self.hash_of_key(key))
    }

    /// The index of the server to which a key with this hash belongs; `None` without servers.
    #[must_use]
    pub fn server_of_hash(&self, hash: u32) -> Option<usize> {
        match &self.continuum {
            Some(continuum) => Some(continuum.server_of_hash(hash)),
            None => (hash as usize).checked_rem(self.servers.len()),
        }
    }

    fn hash_of_key(&self, key: &[u8]) -> u32 {
        match &self.settings.hashed_namespace {
            Some(namespace) => namespace.digest(self.settings.key_hash, key),
            None => self.settings.key_hash.digest(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
