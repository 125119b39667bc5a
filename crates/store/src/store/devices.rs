//! What the owner of a store is told of its devices.

use super::Store;
use farcache_log::{Log, TierEvent, TierStats};

impl Store {
    /// Figures of the tier now; none where the store has none. Walks the table of slots: meant for
    /// `stats`, not for every request.
    pub fn tier_stats(&self) -> Option<TierStats> {
        self.core.tier.as_ref().map(Log::stats)
    }

    /// What the owner of the store should log, since the last call.
    pub fn take_tier_events(&self) -> Vec<TierEvent> {
        let tier = self.core.tier.as_ref();
        tier.map(Log::take_events).unwrap_or_default()
    }

    /// The memory into which values are read from the devices: first byte and size. It stays where
    /// it is as long as the store, so it can be registered with a network. Values larger than 4
    /// MiB, and those for which it has no room, are read elsewhere.
    pub fn read_region(&self) -> Option<(*const u8, usize)> {
        self.core.tier.as_ref().map(Log::read_region)
    }
}
