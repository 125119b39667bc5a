//! The trait.

use farcache_cluster::ClusterMap;
use farcache_cluster::map::Epoch;
use std::sync::Arc;
use std::time::Instant;

/// Knows the map of one cluster. Its epoch never falls.
pub trait Directory: Send + Sync {
    /// The map in force. Cheap: the map is shared, not copied.
    fn map(&self) -> Arc<ClusterMap>;

    /// Waits until a map with an epoch above `known` is in force, and returns it; `None` when there
    /// is none at the `deadline`, or at once where the source will never bring one.
    fn wait_beyond(&self, known: Epoch, deadline: Instant) -> Option<Arc<ClusterMap>>;
}
