//! An exact least-recently-used cache of key numbers, with a limit in bytes: what memcached
//! strives for, were its slab classes ideally balanced.

use crate::load::keys::KeyId;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Slot {
    id: KeyId,
    cost_bytes: u64,
    newer: u32,
    older: u32,
}

/// The cache.
pub struct Lru {
    capacity_bytes: u64,
    used_bytes: u64,
    /// Slot of each key.
    places: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl Lru {
    /// A cache of `capacity_bytes`.
    pub fn new(capacity_bytes: u64) -> Self {
        Lru {
            capacity_bytes,
            used_bytes: 0,
            places: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Whether the key is there; if so, it is now the newest.
    pub fn get(&mut self, id: KeyId) -> bool {
        match self.places.get(id as usize) {
            None | Some(&NONE) => false,
            Some(&slot) => {
                self.unlink(slot);
                self.link_newest(slot);
                true
            }
        }
    }

    /// Adds a key that is not there, and evicts the oldest until all fits.
    pub fn insert(&mut self, id: KeyId, cost_bytes: u64) {
        while self.used_bytes + cost_bytes > self.capacity_bytes && self.oldest != NONE {
            self.evict();
        }
        let slot = Slot {
            id,
            cost_bytes,
            newer: NONE,
            older: NONE,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        if self.places.len() <= id as usize {
            self.places.resize(id as usize + 1, NONE);
        }
        self.places[id as usize] = place;
        self.used_bytes += cost_bytes;
        self.link_newest(place);
    }

    fn evict(&mut self) {
        let oldest = self.oldest;
        let slot = self.slots[oldest as usize];
        self.unlink(oldest);
        self.places[slot.id as usize] = NONE;
        self.used_bytes -= slot.cost_bytes;
        self.free.push(oldest);
    }

    fn unlink(&mut self, place: u32) {
        let Slot { newer, older, .. } = self.slots[place as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, place: u32) {
        let second = self.newest;
        let slot = &mut self.slots[place as usize];
        (slot.newer, slot.older) = (NONE, second);
        match second {
            NONE => self.oldest = place,
            second => self.slots[second as usize].newer = place,
        }
        self.newest = place;
    }
}

/// Bytes of the slab chunk in which memcached 1.6 puts an item: a header of 48 bytes, a CAS of 8,
/// key and value with their terminators, in chunks that start at 96 bytes and grow by a quarter,
/// rounded up to 8. Source: its `-vv` listing of slab classes and `items.c`'s item size.
pub fn memcached_chunk_bytes(key_bytes: usize, value_bytes: usize) -> usize {
    let item_bytes = 48 + 8 + key_bytes + 1 + value_bytes + 2;
    let mut chunk_bytes = 96;
    while chunk_bytes < item_bytes {
        chunk_bytes = (chunk_bytes * 5 / 4).next_multiple_of(8);
    }
    chunk_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut lru = Lru::new(30);
        (1..=3).for_each(|id| lru.insert(id, 10));
        assert!(lru.get(1));
        lru.insert(4, 10);
        assert_eq!(
            [1, 2, 3, 4].map(|id| lru.get(id)),
            [true, false, true, true]
        );
        lru.insert(5, 20);
        assert_eq!(
            [1, 3, 4, 5].map(|id| lru.get(id)),
            [false, false, true, true]
        );
    }

    #[test]
    fn the_limit_holds_and_slots_are_used_again() {
        let mut lru = Lru::new(100);
        for id in 0..1000 {
            lru.insert(id, 1 + u64::from(id % 7));
            assert!(lru.used_bytes <= 100);
        }
        assert!(lru.slots.len() <= 100);
    }

    #[test]
    fn chunks_match_memcached_s_classes() {
        // The first classes that `memcached -vv` prints: 96, 120, 152, 192, 240, 304.
        assert_eq!(memcached_chunk_bytes(16, 10), 96);
        assert_eq!(memcached_chunk_bytes(16, 64), 152);
        assert_eq!(memcached_chunk_bytes(16, 79), 192);
        assert_eq!(memcached_chunk_bytes(16, 117), 192);
        assert_eq!(memcached_chunk_bytes(16, 118), 240);
        assert_eq!(memcached_chunk_bytes(16, 200), 304);
    }
}
