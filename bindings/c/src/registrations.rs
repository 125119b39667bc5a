//! Which memory of the caller's is registered with the network, and what uses it.

use crate::status::{Failure, Status};
use farcache_client::LentMemory;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A piece of registered memory. A share is held by each request that uses it.
pub struct Registered(Arc<LentMemory>);

impl Registered {
    /// As the client has it.
    pub fn memory(&self) -> &Arc<LentMemory> {
        &self.0
    }
}

/// All pieces of one client.
#[derive(Default)]
pub struct Registrations {
    all: Mutex<Vec<Arc<Registered>>>,
    /// How many there are, to be looked at without the lock.
    count: AtomicUsize,
}

impl Registrations {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Registered>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the network knows now.
    pub fn add(&self, memory: Arc<LentMemory>) -> Arc<Registered> {
        let registered = Arc::new(Registered(memory));
        let mut all = self.all();
        all.push(Arc::clone(&registered));
        self.count.store(all.len(), Ordering::Release);
        registered
    }

    /// The piece that these bytes lie in.
    pub fn of(&self, bytes: &[u8]) -> Option<Arc<Registered>> {
        if self.count.load(Ordering::Acquire) == 0 || bytes.is_empty() {
            return None;
        }
        let all = self.all();
        let found = all.iter().find(|registered| registered.0.contains(bytes));
        found.cloned()
    }

    /// Takes a piece out. The caller has one share of it.
    ///
    /// # Errors
    /// [`Status::Busy`]: a request uses it, and nothing has changed.
    pub fn remove(&self, registered: &Arc<Registered>) -> Result<(), Failure> {
        let mut all = self.all();
        // The list's and the caller's own; requests get theirs under the same lock.
        if Arc::strong_count(registered) > 2 {
            let message = "a request that is not complete uses the buffer";
            return Err(Failure::new(Status::Busy, message));
        }
        all.retain(|other| !Arc::ptr_eq(other, registered));
        self.count.store(all.len(), Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::NonNull;

    fn memory(bytes: &mut [u8]) -> Arc<LentMemory> {
        let start = NonNull::from(&mut *bytes).cast();
        // SAFETY: each test keeps the bytes for longer than the memory, and does not touch them.
        Arc::new(unsafe { LentMemory::new(start, bytes.len()) })
    }

    #[test]
    fn bytes_are_found_in_the_piece_that_has_all_of_them() {
        let (mut first, mut second) = (vec![0; 64], vec![0; 64]);
        let inside = first[8..16].to_vec();
        let registrations = Registrations::default();
        assert!(registrations.of(&inside).is_none());
        let kept = registrations.add(memory(&mut first));
        let other = registrations.add(memory(&mut second));
        let found = registrations.of(&first[8..16]).expect("it is registered");
        assert!(Arc::ptr_eq(&found, &kept));
        let found = registrations.of(&second[..]).expect("it is registered");
        assert!(Arc::ptr_eq(&found, &other));
        assert!(registrations.of(&inside).is_none());
        assert!(registrations.of(&first[..0]).is_none());
    }

    #[test]
    fn a_piece_stays_while_a_request_has_a_share() {
        let mut bytes = vec![0; 64];
        let registrations = Registrations::default();
        let kept = registrations.add(memory(&mut bytes));
        let request = registrations.of(&bytes).expect("it is registered");
        let refused = registrations.remove(&kept);
        assert!(refused.is_err_and(|failure| failure.status == Status::Busy));
        assert!(registrations.of(&bytes).is_some());
        drop(request);
        assert!(registrations.remove(&kept).is_ok());
        assert!(registrations.of(&bytes).is_none());
    }
}
