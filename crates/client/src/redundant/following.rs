//! Copies that are on their way when their write has been acknowledged (`async`): reads of the same
//! client begin elsewhere meanwhile, and the client's end waits for them.

use super::Redundant;
use crate::connections::Submitted;
use farcache_cluster::ServerId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many copies are on their way at most; whoever adds one waits for the oldest then.
const FOLLOWING_MAX: usize = 1024;

/// A copy that is on its way to a server.
struct Copy {
    key: Box<[u8]>,
    to: ServerId,
    request: Submitted,
}

/// All of them.
#[derive(Default)]
pub(super) struct Following(Mutex<Vec<Copy>>);

impl Following {
    fn all(&self) -> MutexGuard<'_, Vec<Copy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies of a key follow by these requests.
    pub fn add(&self, key: &[u8], requests: impl Iterator<Item = (ServerId, Submitted)>) {
        let mut all = self.all();
        all.extend(requests.map(|(to, request)| Copy {
            key: key.into(),
            to,
            request,
        }));
        let surplus = all.len().saturating_sub(FOLLOWING_MAX);
        let oldest: Vec<_> = all.drain(..surplus).collect();
        drop(all);
        end(oldest);
    }

    /// Servers that have not told yet that they have their copy of a key.
    pub fn of_key(&self, key: &[u8]) -> Vec<ServerId> {
        let mut all = self.all();
        let ended: Vec<_> = all
            .extract_if(.., |one| *one.key == *key && one.request.is_complete())
            .collect();
        let waiting = all.iter().filter(|one| *one.key == *key);
        let waiting = waiting.map(|one| one.to).collect();
        drop(all);
        end(ended);
        waiting
    }

    fn await_all(&self) {
        let all = std::mem::take(&mut *self.all());
        end(all);
    }
}

/// How a copy that follows ends is told to nobody: the write has been acknowledged.
fn end(copies: Vec<Copy>) {
    copies
        .into_iter()
        .for_each(|copy| drop(copy.request.complete()));
}

/// Ends with the last handle of a client: it waits for the copies that follow, and tells servers of
/// the writes that have ended.
pub(crate) struct LastCopies(pub Arc<Redundant>);

impl Drop for LastCopies {
    fn drop(&mut self) {
        self.0.following.await_all();
        self.0.connections.tell_rest();
    }
}
