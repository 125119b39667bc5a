//! Looking ahead over pipelined storage commands, so that their cache misses overlap.

use super::ownership::STORES_MAX;
use super::run::Run;
use arrayvec::ArrayVec;
use farcache_proto::text::peek_store;

/// Commands looked at together: enough to cover a miss, few enough to stay in the first-level
/// cache.
const AHEAD_MAX: usize = STORES_MAX;

impl<'i> Run<'_, 'i> {
    /// Starts fetching what this storage command and those right behind it will touch, once for
    /// each of them.
    pub(super) fn prefetch_stores(&mut self) {
        if self.position < self.prefetched {
            return;
        }
        let mut keys: ArrayVec<&'i [u8], AHEAD_MAX> = ArrayVec::new();
        let mut rest = self.rest();
        while !keys.is_full()
            && let Some((key, bytes)) = peek_store(rest)
        {
            keys.push(key);
            rest = rest.get(bytes..).unwrap_or_default();
        }
        self.ownership.look_at_stores(&keys, self.context);
        self.context.store.prefetch(&keys);
        self.prefetched = self.position + self.rest().len() - rest.len();
    }
}
