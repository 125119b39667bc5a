//! The policy that knows the future: L. Belady, "A study of replacement algorithms for a
//! virtual-storage computer" (1966). With objects of one size nothing hits more; with many sizes it
//! is a high mark, not a bound.

use super::{Access, NEVER, Policy};
use crate::traces::ObjectId;
use std::collections::BTreeSet;

/// The cache.
pub struct Belady {
    capacity_bytes: u64,
    used_bytes: u64,
    /// Next use of each object held, `None` if it is not held.
    held: Vec<Option<u64>>,
    bytes: Vec<u64>,
    by_next: BTreeSet<(u64, ObjectId)>,
}

impl Belady {
    /// An empty one.
    pub fn new(capacity_bytes: u64, objects: u32) -> Belady {
        Belady {
            capacity_bytes,
            used_bytes: 0,
            held: vec![None; objects as usize],
            bytes: vec![0; objects as usize],
            by_next: BTreeSet::new(),
        }
    }

    fn remove(&mut self, next: u64, object: ObjectId) {
        self.by_next.remove(&(next, object));
        self.held[object as usize] = None;
        self.used_bytes -= self.bytes[object as usize];
    }

    fn insert(&mut self, next: u64, object: ObjectId, bytes: u64) {
        self.by_next.insert((next, object));
        self.held[object as usize] = Some(next);
        self.bytes[object as usize] = bytes;
        self.used_bytes += bytes;
    }
}

impl Policy for Belady {
    fn access(&mut self, access: Access) -> bool {
        let held = self.held[access.object as usize];
        let mut bytes = access.bytes;
        if let Some(next) = held {
            bytes = self.bytes[access.object as usize];
            self.remove(next, access.object);
        }
        if access.next == NEVER || bytes > self.capacity_bytes {
            return held.is_some();
        }
        while self.used_bytes + bytes > self.capacity_bytes {
            let &(next, object) = self.by_next.last().expect("it holds bytes");
            if next <= access.next {
                return held.is_some();
            }
            self.remove(next, object);
        }
        self.insert(access.next, access.object, bytes);
        held.is_some()
    }

    fn bytes(&self) -> u64 {
        self.used_bytes
    }
}
