//! Keys that nobody writes again, and nobody asks for any more: room that is given back.

use super::now;
use crate::{Client, Delivery, Operation, Request, Route};

/// So long, in seconds, each server remembers the deletion: what was sent to it before comes too
/// late until then, and does not take room again.
const TOMBSTONE_S: u32 = 60;

impl Client {
    /// Begins to delete what the servers of a key have of it, each by itself, so that no server that
    /// is away keeps the others from giving back their room: one request for each of them. For keys
    /// that are written once, and are not asked for any more; a server that comes back may still
    /// have its part.
    #[must_use = "dropping a request gives its result up"]
    pub fn submit_discard(&self, key: &[u8]) -> Vec<Request> {
        let Some(redundant) = self.redundant_of(key) else {
            return vec![self.submit(Operation::Delete { key, cas: 0 })];
        };
        let version = redundant.clock().next(now()).bits();
        let owners = self.owners_of_key(key, redundant.owners(key));
        let discard = |server: usize| {
            let (keep_s, timeout) = (TOMBSTONE_S, None);
            let route = Route::Server(server);
            let delete = Operation::DeleteIfNewer {
                key,
                version,
                keep_s,
                is_promised: false,
            };
            self.submit_to(delete, Delivery { route, timeout })
        };
        let owners = owners.iter().map(|owner| owner.0 as usize);
        owners.map(discard).collect()
    }
}
