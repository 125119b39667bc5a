//! A server of a cluster that owns every key.

use crate::versions::VERSION;
use farcache_proto::binary::Placed;
use farcache_session::{Failure, Forward, Peer};
use farcache_store::Listed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How many owners clients say that a key has.
pub const OWNERS: u8 = 3;

/// It is asked about the key `k` only.
#[derive(Default)]
pub struct Owner {
    /// It has owned every key all along.
    pub all_along: bool,
    /// The sum of the owners to which its map gives every key.
    pub owners_sum: Arc<AtomicU32>,
}

impl Forward for Owner {
    fn epoch(&self) -> u64 {
        2
    }

    fn owner(&self, _key: &[u8]) -> Option<Peer> {
        None
    }

    fn owns_each(&self, _keys: &[&[u8]]) -> bool {
        true
    }

    fn owns_every(&self) -> bool {
        true
    }

    fn takes_value(&self, _bytes: usize) -> bool {
        false
    }

    fn ask(&self, _owner: Peer, _request: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        Some(Err(Failure::NotForwarded))
    }

    fn has_owned(&self, item: &Listed<'_>) -> bool {
        assert_eq!((item.key, item.version.bits()), (&b"k"[..], VERSION + 1));
        self.all_along
    }

    fn was_owner(&self, key: &[u8]) -> bool {
        assert_eq!(key, b"k");
        self.all_along
    }

    fn is_placed(&self, key: &[u8], placed: Placed) -> bool {
        assert_eq!((key, placed.owners), (&b"k"[..], OWNERS));
        placed.sum == self.owners_sum.load(Relaxed)
    }
}
