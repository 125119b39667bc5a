//! What says where keys lie is changed: the servers, the distribution and the hash functions. The
//! connections end then, where they know of it.

use crate::arguments::{code, context};
use crate::context::Context;
use crate::distribution::{Buckets, is_consistent};
use crate::hash;
use farcache_client::Client;
use farcache_libmemcached_abi::{
    Distribution, Handle, HashAlgorithm, HashReturn, Hashkit, Return, flags,
};

impl Context<'_> {
    /// Makes the handle's public fields say how many servers there are; they are connected to anew.
    pub(crate) fn servers_changed(&mut self) {
        self.handle.number_of_hosts = self.state.servers.len() as u32;
        let first = self.state.servers.first_mut();
        let first = first.map_or(std::ptr::null_mut(), |first| {
            std::ptr::from_mut(&mut **first)
        });
        self.handle.servers = first.cast();
        self.disconnect();
    }

    /// Does what libmemcached does whenever servers or distribution change: sorts the servers if
    /// that is wished, and makes the ring anew.
    pub(crate) fn run_distribution(&mut self) {
        if self.handle.has(flags::USE_SORT_HOSTS) {
            let servers = &mut self.state.servers;
            servers.sort_by(|one, other| {
                (&one.hostname, one.port).cmp(&(&other.hostname, other.port))
            });
        }
        if is_consistent(self.handle.distribution) {
            self.make_ring();
        }
        self.servers_changed();
    }

    pub(crate) fn set_distribution(&mut self, distribution: Distribution) -> Result<(), Return> {
        match distribution {
            Distribution::CONSISTENT | Distribution::CONSISTENT_KETAMA => {
                self.handle.ketama.weighted = false;
            }
            Distribution::CONSISTENT_WEIGHTED => self.handle.ketama.weighted = true,
            Distribution::MODULA
            | Distribution::RANDOM
            | Distribution::CONSISTENT_KETAMA_SPY
            | Distribution::VIRTUAL_BUCKET => {}
            _ => {
                let what = "Invalid memcached_server_distribution_t";
                return Err(self.fail(Return::INVALID_ARGUMENTS, what));
            }
        }
        self.handle.distribution = distribution;
        self.run_distribution();
        Ok(())
    }

    pub(crate) fn set_key_hash(&mut self, algorithm: HashAlgorithm) -> Result<(), Return> {
        let outcome = hash::set_key_hash(&mut self.handle.hashkit, algorithm);
        self.hash_was_set(outcome)
    }

    pub(crate) fn set_distribution_hash(&mut self, algorithm: HashAlgorithm) -> Result<(), Return> {
        let outcome = hash::set_distribution_hash(&mut self.handle.hashkit, algorithm);
        self.hash_was_set(outcome)
    }

    fn hash_was_set(&mut self, outcome: HashReturn) -> Result<(), Return> {
        match outcome {
            HashReturn::SUCCESS => {
                self.placement_changed();
                Ok(())
            }
            _ => Err(self.fail(Return::INVALID_ARGUMENTS, "Invalid memcached_hash_t()")),
        }
    }

    /// Keys that lie on several servers lie elsewhere now: the client is made anew.
    fn placement_changed(&mut self) {
        let client = self.state.client.as_ref();
        if client.is_some_and(Client::has_any_redundancy) {
            self.disconnect();
        }
    }
}

export! {
    /// Chooses how keys are given to servers.
    fn memcached_behavior_set_distribution(handle: *mut Handle, distribution: Distribution) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.set_distribution(distribution))
    }

    /// Gives keys to servers by virtual buckets: of each bucket the index of its server. The
    /// buckets must be a power of two; forward map and replicas are kept by libmemcached and used
    /// by nobody.
    fn memcached_bucket_set(
        handle: *mut Handle,
        host_map: *const u32,
        _forward_map: *const u32,
        buckets: u32,
        _replicas: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        if host_map.is_null() {
            return Return::INVALID_ARGUMENTS;
        }
        if buckets == 0 {
            return Return::INVALID_ARGUMENTS;
        }
        // SAFETY: C's contract, as it stands at the top of the crate.
        let masters = unsafe { std::slice::from_raw_parts(host_map, buckets as usize) };
        context.state.buckets = Some(Buckets::new(masters));
        code(context.set_distribution(Distribution::VIRTUAL_BUCKET))
    }

    /// Gives the handle a copy of a kit.
    fn memcached_set_hashkit(handle: *mut Handle, kit: *mut Hashkit) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        match unsafe { kit.as_ref() } {
            Some(kit) => hash::clone(&mut context.handle.hashkit, kit),
            None => {
                hash::free(&mut context.handle.hashkit);
                // SAFETY: the kit is the handle's own.
                unsafe { hash::create(&mut context.handle.hashkit) };
            }
        }
        context.servers_changed();
        Return::SUCCESS
    }
}
