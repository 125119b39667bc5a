//! The ways in which keys are given to servers.

use farcache_cluster::hash::HashAlgorithm as Algorithm;
use farcache_libmemcached_abi::{Distribution, HashAlgorithm};

/// The servers of virtual buckets.
pub(crate) struct Buckets(Box<[u32]>);

impl Buckets {
    /// The index of each bucket's server; there must be a power of two.
    pub(crate) fn new(servers: &[u32]) -> Buckets {
        Buckets(servers.into())
    }

    /// The server of a hash, of so many. The application may name servers that are not there.
    pub(crate) fn server_of_hash(&self, hash: usize, servers: usize) -> usize {
        self.0[hash & (self.0.len() - 1)] as usize % servers
    }
}

/// The client's name for a hash.
pub(crate) fn algorithm(number: HashAlgorithm) -> Algorithm {
    match number {
        HashAlgorithm::MD5 => Algorithm::Md5,
        HashAlgorithm::CRC => Algorithm::Crc,
        HashAlgorithm::FNV1_64 => Algorithm::Fnv1_64,
        HashAlgorithm::FNV1A_64 => Algorithm::Fnv1a64,
        HashAlgorithm::FNV1_32 => Algorithm::Fnv1_32,
        HashAlgorithm::FNV1A_32 => Algorithm::Fnv1a32,
        HashAlgorithm::MURMUR => Algorithm::Murmur,
        HashAlgorithm::JENKINS => Algorithm::Jenkins,
        HashAlgorithm::MURMUR3 => Algorithm::Murmur3,
        _ => Algorithm::Default,
    }
}

/// Whether a ring gives keys to servers.
pub(crate) fn is_consistent(distribution: Distribution) -> bool {
    matches!(
        distribution,
        Distribution::CONSISTENT
            | Distribution::CONSISTENT_KETAMA
            | Distribution::CONSISTENT_KETAMA_SPY
            | Distribution::CONSISTENT_WEIGHTED
    )
}
