//! SIEVE: Y. Zhang et al., "SIEVE is Simpler than LRU" (NSDI 2024), in bytes.

use super::list::{List, Objects};
use super::{Access, Policy};
use crate::traces::ObjectId;

/// The cache.
pub struct Sieve {
    capacity_bytes: u64,
    all: Objects,
    list: List,
    is_there: Vec<bool>,
    was_used: Vec<bool>,
    /// Next object to look at; the oldest if none.
    hand: Option<ObjectId>,
}

impl Sieve {
    /// An empty one.
    pub fn new(capacity_bytes: u64, objects: u32) -> Sieve {
        Sieve {
            capacity_bytes,
            all: Objects::new(objects),
            list: List::default(),
            is_there: vec![false; objects as usize],
            was_used: vec![false; objects as usize],
            hand: None,
        }
    }

    fn evict(&mut self) {
        let Some(mut object) = self.hand.or(self.list.oldest()) else {
            return;
        };
        while std::mem::take(&mut self.was_used[object as usize]) {
            let next = self.all.newer(object).or(self.list.oldest());
            object = next.expect("the list is not empty");
        }
        self.hand = self.all.newer(object);
        self.list.remove(&mut self.all, object);
        self.is_there[object as usize] = false;
    }
}

impl Policy for Sieve {
    fn access(&mut self, access: Access) -> bool {
        let index = access.object as usize;
        if self.is_there[index] {
            self.was_used[index] = true;
            return true;
        }
        if access.bytes > self.capacity_bytes {
            return false;
        }
        while self.list.bytes() + access.bytes > self.capacity_bytes {
            self.evict();
        }
        self.list.push(&mut self.all, access.object, access.bytes);
        (self.is_there[index], self.was_used[index]) = (true, false);
        false
    }

    fn bytes(&self) -> u64 {
        self.list.bytes()
    }
}
