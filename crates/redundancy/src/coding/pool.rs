//! Memory of parts that have been sent or received, kept for the next ones: fresh memory costs more
//! than a part's way through the network, as the system clears every page of it.

use std::sync::{Arc, Mutex, PoisonError};

/// Capacity that is kept, in bytes: parts of two values of several megabytes, each with its parity.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// How many buffers are kept, however small they are.
const KEPT_MAX: usize = 64;

/// Buffers that are not in use.
#[derive(Default)]
pub struct Pool(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    buffers: Vec<Arc<Vec<u8>>>,
    bytes: usize,
}

impl Pool {
    /// A buffer of any length, with any bytes in it, which has room for so many if there is one.
    /// Nobody else has it.
    pub fn take(&self, bytes: usize) -> Arc<Vec<u8>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |one: &Arc<Vec<u8>>| one.capacity() >= bytes;
        let at = kept.buffers.iter().rposition(fits);
        let Some(at) = at.or(kept.buffers.len().checked_sub(1)) else {
            return Arc::default();
        };
        let buffer = kept.buffers.swap_remove(at);
        kept.bytes -= buffer.capacity();
        buffer
    }

    /// A buffer that is given away: a request for a part has no use for sharing it.
    pub fn take_vec(&self, bytes: usize) -> Vec<u8> {
        Arc::unwrap_or_clone(self.take(bytes))
    }

    /// Keeps a buffer, if nobody else has it.
    pub fn give_back(&self, mut buffer: Arc<Vec<u8>>) {
        let is_sole = Arc::get_mut(&mut buffer).is_some();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            kept.bytes + buffer.capacity() <= KEPT_BYTES_MAX && kept.buffers.len() < KEPT_MAX;
        if is_sole && fits && buffer.capacity() > 0 {
            kept.bytes += buffer.capacity();
            kept.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_when_nobody_has_it() {
        let pool = Pool::default();
        let buffer = Arc::new(vec![7; 1000]);
        let place = buffer.as_ptr();
        let shared = Arc::clone(&buffer);
        pool.give_back(buffer);
        assert_eq!(pool.take(10).capacity(), 0, "somebody has it");
        pool.give_back(shared);
        pool.give_back(Arc::new(vec![1; 10]));
        assert_eq!(pool.take(500).as_ptr(), place, "the other one is too small");
        assert_eq!(pool.take(500).capacity(), 10);
        assert_eq!(pool.take(500).capacity(), 0);
    }

    #[test]
    fn no_more_is_kept_than_is_of_use() {
        let pool = Pool::default();
        for _ in 0..10 {
            pool.give_back(Arc::new(Vec::with_capacity(KEPT_BYTES_MAX / 4)));
        }
        let kept = (0..10).filter(|_| pool.take(1).capacity() > 0).count();
        assert_eq!(kept, 4);
        for _ in 0..2 * KEPT_MAX {
            pool.give_back(Arc::new(vec![1]));
        }
        let kept = (0..2 * KEPT_MAX).filter(|_| pool.take(1).capacity() > 0);
        assert_eq!(kept.count(), KEPT_MAX);
    }
}
