//! Bytes that live for ever, so that they can be sent without being owned by anyone.

use farcache_client::zeroed_memory;
use std::cell::Cell;

/// Values of one size after another, over as many bytes as there are values.
#[derive(Default)]
pub(super) struct Arena {
    bytes: Cell<&'static [u8]>,
    next: Cell<usize>,
}

impl Arena {
    /// The next value. Room for so many values is made once and never given back.
    pub(super) fn next(&self, value_bytes: usize, values: usize) -> &'static [u8] {
        let needed = value_bytes * values.max(1);
        if self.bytes.get().len() < needed {
            // Huge pages, as the fabric's benchmarks use. Written: memory that was never touched is
            // all one page to the system.
            let mut bytes = zeroed_memory(needed);
            bytes.fill(0x5a);
            self.bytes.set(Vec::leak(bytes));
        }
        let start = self.next.get();
        let start = if start + value_bytes > needed {
            0
        } else {
            start
        };
        self.next.set(start + value_bytes);
        &self.bytes.get()[start..start + value_bytes]
    }
}

/// A header that lives for ever.
pub(super) fn forever<const N: usize>(bytes: [u8; N]) -> &'static [u8] {
    Box::leak(Box::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_each_other_and_come_round() {
        let arena = Arena::default();
        let places: Vec<_> = (0..4).map(|_| arena.next(10, 3).as_ptr().addr()).collect();
        assert_eq!(places[1] - places[0], 10);
        assert_eq!(places[2] - places[0], 20);
        assert_eq!(places[3], places[0]);
        assert_eq!(arena.next(100, 1).len(), 100);
    }
}
