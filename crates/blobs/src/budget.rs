//! Bytes in flight of all streams together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many bytes, of which streams take their shares.
#[derive(Debug)]
pub struct Budget {
    bytes_max: usize,
    taken: AtomicUsize,
}

/// What a stream has taken; given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        let taken = AtomicUsize::new(0);
        Arc::new(Budget { bytes_max, taken })
    }

    /// A share of so many bytes, where they are left. Nobody waits for one: a stream without a
    /// share goes on with one chunk at a time, so streams cannot wait for one another in a circle.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        let left = |taken: usize| {
            taken
                .checked_add(bytes)
                .filter(|sum| *sum <= self.bytes_max)
        };
        let taken = &self.taken;
        let update = taken.try_update(Ordering::Relaxed, Ordering::Relaxed, left);
        update.ok().map(|_| Share {
            budget: Arc::clone(self),
            bytes,
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_never_more_than_there_is_and_comes_back() {
        let budget = Budget::new(10);
        let first = budget.take(6).expect("left");
        assert!(budget.take(5).is_none());
        let second = budget.take(4).expect("left");
        assert!(budget.take(1).is_none() && budget.take(usize::MAX).is_none());
        drop(first);
        assert!(budget.take(7).is_none() && budget.take(6).is_some());
        drop(second);
        assert!(budget.take(10).is_some());
    }
}
