//! Least recently used.

use super::list::{List, Objects};
use super::{Access, Policy};

/// The cache.
pub struct Lru {
    capacity_bytes: u64,
    all: Objects,
    list: List,
    is_there: Vec<bool>,
}

impl Lru {
    /// An empty one.
    pub fn new(capacity_bytes: u64, objects: u32) -> Lru {
        Lru {
            capacity_bytes,
            all: Objects::new(objects),
            list: List::default(),
            is_there: vec![false; objects as usize],
        }
    }
}

impl Policy for Lru {
    fn access(&mut self, access: Access) -> bool {
        let index = access.object as usize;
        if self.is_there[index] {
            let bytes = self.list.remove(&mut self.all, access.object);
            self.list.push(&mut self.all, access.object, bytes);
            return true;
        }
        if access.bytes > self.capacity_bytes {
            return false;
        }
        while self.list.bytes() + access.bytes > self.capacity_bytes {
            let (object, _) = self.list.pop(&mut self.all).expect("it holds bytes");
            self.is_there[object as usize] = false;
        }
        self.list.push(&mut self.all, access.object, access.bytes);
        self.is_there[index] = true;
        false
    }

    fn bytes(&self) -> u64 {
        self.list.bytes()
    }
}
