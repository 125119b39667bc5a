//! Fences: of some keys, everything up to a sequence number is void, for ever.
//!
//! A server that is given keys which others may have owned must not serve what it held of them
//! before. Items tell by the sequence number of their filling how old they are, as for
//! [`Flush`](crate::flush::Flush); which keys a fence shuts out is told by arcs of a hash.
//!
//! Entries in memory that a fence voids are swept from the index, and readers compare only until
//! the sweep is over. An entry on a device does not tell its key, so those are judged whenever the
//! key is at hand: by whoever asks for it, and by whoever moves the item.

use crate::flush::Flush;
use crate::schedule::atomic::{AtomicU64, Ordering::*};
use crate::schedule::{Mutex, MutexGuard};
pub use farcache_log::KeyArcs;
use farcache_log::{Fence, join_oldest};
use std::sync::Arc;

/// Most fences that are kept apart. Of more the two oldest become one, which shuts out all that
/// either did, up to the later one's moment.
const FENCES_MAX: usize = 32;

/// Hashes keys for fences: the first argument says by which function.
#[derive(Clone, Copy, Debug)]
pub struct KeyHash(pub fn(u8, &[u8]) -> u32);

/// Stores whose configurations are compared have one program, so one such function.
impl PartialEq for KeyHash {
    fn eq(&self, _: &KeyHash) -> bool {
        true
    }
}

impl Eq for KeyHash {}

/// All fences of a store.
#[derive(Default)]
pub(crate) struct Fences {
    /// The highest floor of any; 0 without fences.
    newest: AtomicU64,
    /// By floor.
    list: Mutex<Arc<[Fence]>>,
    /// Held by whoever makes one.
    making: Mutex<()>,
    hash: Option<KeyHash>,
}

impl Fences {
    pub fn new(hash: Option<KeyHash>) -> Fences {
        Fences {
            hash,
            ..Fences::default()
        }
    }

    fn locked(&self) -> MutexGuard<'_, Arc<[Fence]>> {
        self.list.lock().expect("no holder panics")
    }

    fn put(&self, place: &mut Arc<[Fence]>, list: Vec<Fence>) {
        let newest = list.iter().map(|fence| fence.floor).max();
        *place = list.into();
        self.newest.store(newest.unwrap_or(0), SeqCst);
    }

    /// The highest floor of any fence; 0 without fences.
    #[inline]
    pub fn newest(&self) -> u64 {
        self.newest.load(SeqCst)
    }

    /// Whether an item of this key, in the filling with this sequence number, is void.
    #[inline]
    pub fn void(&self, sequence: u64, key: &[u8]) -> bool {
        sequence <= self.newest() && self.shut_out(sequence, key)
    }

    #[cold]
    fn shut_out(&self, sequence: u64, key: &[u8]) -> bool {
        let list = Arc::clone(&self.locked());
        let mut known: Option<(u8, u32)> = None;
        let mut hash_of = |hash: u8, function: KeyHash| match known {
            Some((of, value)) if of == hash => value,
            _ => {
                let value = function.0(hash, key);
                known = Some((hash, value));
                value
            }
        };
        let reaching = list.iter().filter(|fence| sequence <= fence.floor);
        reaching
            .into_iter()
            .any(|Fence { keys, .. }| match self.hash {
                Some(function) if !keys.is_all() => keys.has(hash_of(keys.hash, function)),
                // Nobody can tell which keys these are.
                _ => true,
            })
    }

    /// Voids all items of these keys in fillings begun so far, those begun while this call runs
    /// included: as [`Flush::begin`], and for its reasons.
    pub fn begin(&self, keys: KeyArcs, flush: &Flush, last_sequence: impl Fn() -> u64) {
        let _making = self.making.lock().expect("no holder panics");
        let keys = Arc::new(keys);
        let mut last = last_sequence();
        self.add(last, &keys);
        loop {
            flush.sweep_anew();
            let now = last_sequence();
            if now == last {
                return;
            }
            last = now;
            self.raise(last);
        }
    }

    fn add(&self, floor: u64, keys: &Arc<KeyArcs>) {
        let mut place = self.locked();
        let mut list = place.to_vec();
        list.push(Fence {
            floor,
            keys: Arc::clone(keys),
        });
        while list.len() > FENCES_MAX {
            join_oldest(&mut list);
        }
        self.put(&mut place, list);
    }

    fn raise(&self, floor: u64) {
        let mut place = self.locked();
        let mut list = place.to_vec();
        if let Some(fence) = list.last_mut() {
            fence.floor = fence.floor.max(floor);
        }
        self.put(&mut place, list);
    }

    /// Forgets fences of which nothing is left to shut out: there is nothing in fillings up to this
    /// sequence number.
    pub fn retire(&self, emptied_through: u64) {
        let mut place = self.locked();
        let left = place.iter().filter(|fence| fence.floor > emptied_through);
        let left: Vec<Fence> = left.cloned().collect();
        if left.len() < place.len() {
            self.put(&mut place, left);
        }
    }

    /// All fences.
    pub fn list(&self) -> Arc<[Fence]> {
        Arc::clone(&self.locked())
    }

    /// Continues with the fences of an earlier life of the store.
    pub fn restore(&self, list: Vec<Fence>) {
        self.put(&mut self.locked(), list);
    }
}

#[cfg(test)]
mod tests;
