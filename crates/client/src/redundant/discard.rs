//! Keys that nobody writes again, and nobody asks for any more: room that is given back.

use super::{Redundant, now};
use crate::connections::Submitted;
use crate::{Delivery, Keeping, Operation, Route};
use farcache_cluster::ServerId;

/// So long, in seconds, each server remembers the deletion: what was sent to it before comes too
/// late until then, and does not take room again.
const TOMBSTONE_S: u32 = 60;

impl Redundant {
    /// Begins to delete what each server of a key has of it; see
    /// [`crate::Client::submit_discard`].
    pub fn discard(&self, key: &[u8]) -> Vec<Submitted> {
        let version = self.clock().next(now()).bits();
        let owners = self.connections.owners_of_key(key, self.owners(key));
        let discard = |server: &ServerId| {
            let (keep_s, timeout) = (TOMBSTONE_S, None);
            let route = Route::Server(server.0 as usize);
            let delete = Operation::DeleteIfNewer {
                key,
                version,
                keep_s,
                is_promised: false,
                keeping: Keeping::Nothing,
            };
            self.connections.submit(delete, Delivery { route, timeout })
        };
        owners.iter().map(discard).collect()
    }
}
