//! On which server a key lives.

use crate::arguments::{bytes, context};
use crate::context::Context;
use crate::distribution::{algorithm, is_consistent};
use crate::hash;
use crate::instance::now_s;
use farcache_cluster::distribution::{
    Distribution as Ring, Placement, PlacementSettings, Server, consecutive, digest_prefixed,
};
use farcache_libmemcached_abi::{Distribution, Handle, flags};
use std::ffi::c_char;

/// What libmemcached makes room for: points of a server on an unweighted ring and, on average, on a
/// weighted one, and servers more than there are.
const POINTS_PER_SERVER: u32 = 100;
const WEIGHTED_POINTS_PER_SERVER: u32 = 160;
const SERVERS_TO_COME: u32 = 10;

impl Context<'_> {
    fn ring(&self) -> Ring {
        let is_spy = self.handle.distribution == Distribution::CONSISTENT_KETAMA_SPY;
        match (is_spy, self.handle.ketama.weighted) {
            (true, true) => Ring::KetamaSpyWeighted,
            (true, false) => Ring::KetamaSpy,
            (false, true) => Ring::KetamaWeighted,
            (false, false) => Ring::Ketama,
        }
    }

    /// How keys that lie on several servers are placed: as the others, where the client knows the
    /// handle's way, but for the namespace, which always counts.
    pub(crate) fn placement_settings(&self) -> PlacementSettings {
        PlacementSettings {
            distribution: match is_consistent(self.handle.distribution) {
                true => self.ring(),
                false => Ring::Modula,
            },
            key_hash: algorithm(hash::key_hash(&self.handle.hashkit)),
            hashed_namespace: None,
            sort_servers: false,
        }
    }

    /// Makes the ring anew, of the servers that are not ejected.
    pub(crate) fn make_ring(&mut self) {
        let settings = PlacementSettings {
            distribution: self.ring(),
            ..self.placement_settings()
        };
        let servers = self.state.servers.iter().map(|server| {
            let host = server.hostname.to_string_lossy();
            Server::new(host, server.port).with_weight(server.weight)
        });
        let mut ring = Placement::new(settings, servers.collect());
        let mut live = self.state.servers.len();
        self.handle.ketama.next_distribution_rebuild = 0;
        if self.handle.has(flags::AUTO_EJECT_HOSTS) {
            let now = now_s();
            let retries = || {
                self.state
                    .servers
                    .iter()
                    .map(|server| server.next_retry.get())
            };
            let until = retries().filter(|&retry| retry > now).min();
            self.handle.ketama.next_distribution_rebuild = until.unwrap_or(0);
            let ejected: Vec<bool> = retries().map(|retry| retry > now).collect();
            live -= ejected.iter().filter(|is_ejected| **is_ejected).count();
            if live == 0 {
                return; // Everything stays as it is.
            }
            ring.rebuild(|server| !ejected[server]);
        }
        self.state.ring = Some(ring);
        self.tell_points(live as u32);
    }

    /// Tells in the handle's public fields how many points the ring has, and has room for as
    /// libmemcached counts it.
    fn tell_points(&mut self, live_servers: u32) {
        let Some(points) = self.state.ring.as_ref().and_then(Placement::points) else {
            return;
        };
        let per_server = match self.handle.ketama.weighted {
            true => WEIGHTED_POINTS_PER_SERVER,
            false => POINTS_PER_SERVER,
        };
        let ketama = &mut self.handle.ketama;
        ketama.continuum_points_counter = points as u32;
        if live_servers * per_server > ketama.continuum_count {
            ketama.continuum_count = (live_servers + SERVERS_TO_COME) * per_server;
        }
    }

    /// Lets servers back that were ejected for a time, when that is over.
    pub(crate) fn rebuild_when_due(&mut self) {
        let due = self.handle.ketama.next_distribution_rebuild;
        let is_ejecting = self.handle.has(flags::AUTO_EJECT_HOSTS);
        if is_ejecting && due != 0 && now_s() > due {
            self.make_ring();
        }
    }

    /// The index of the key's server; 0 where there are no servers.
    pub(crate) fn server_of_key(&self, key: &[u8]) -> usize {
        self.server_of_hash(self.hash_of_key(key))
    }

    fn hash_of_key(&self, key: &[u8]) -> u32 {
        if self.state.servers.len() == 1 {
            return 0;
        }
        if !self.handle.has(flags::HASH_WITH_NAMESPACE) {
            return hash::digest(&self.handle.hashkit, key);
        }
        let digest = |whole: &[u8]| hash::digest(&self.handle.hashkit, whole);
        digest_prefixed(self.namespace(), key, digest)
    }

    /// The servers that keep copies of what this one has, in order.
    pub(crate) fn servers_after(&self, server: usize) -> impl Iterator<Item = usize> + use<> {
        consecutive(server, self.state.servers.len()).skip(1)
    }

    /// How many further servers get what this one gets; none without the binary protocol, as in
    /// libmemcached.
    pub(crate) fn replicas(&self) -> usize {
        match self.is_binary() {
            true => (self.handle.number_of_replicas as usize).min(self.state.servers.len() - 1),
            false => 0,
        }
    }

    fn server_of_hash(&self, hash: u32) -> usize {
        let count = self.state.servers.len();
        if count == 0 {
            return 0;
        }
        let hash = hash as usize;
        match self.handle.distribution {
            Distribution::VIRTUAL_BUCKET => match &self.state.buckets {
                Some(buckets) => buckets.server_of_hash(hash, count),
                None => hash & (count - 1),
            },
            Distribution::RANDOM => {
                // SAFETY: rand has no conditions. Of glibc it is the same as `random`, which the
                // application may seed.
                let number = unsafe { libc::rand() };
                number.unsigned_abs() as usize % count
            }
            distribution if is_consistent(distribution) => {
                let ring = self.state.ring.as_ref();
                ring.and_then(|ring| ring.server_of_hash(hash as u32))
                    .unwrap_or(0)
            }
            _ => hash % count,
        }
    }
}

export! {
    /// The index of the server on which a key lives.
    fn memcached_generate_hash(handle: *const Handle, key: *const c_char, key_length: usize) -> u32 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(context) = (unsafe { context(handle) }) else {
            return u32::MAX;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        context.server_of_key(unsafe { bytes(key, key_length) }) as u32
    }

    /// Lets servers back that were ejected for a time, when that is over.
    fn memcached_autoeject(handle: *mut Handle) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(mut context) = unsafe { context(handle) } {
            context.rebuild_when_due();
        }
    }

    /// How keys are given to servers.
    fn memcached_behavior_get_distribution(handle: *mut Handle) -> Distribution {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let handle = unsafe { handle.as_ref() };
        handle.map_or(Distribution::CONSISTENT_MAX, |handle| handle.distribution)
    }
}
