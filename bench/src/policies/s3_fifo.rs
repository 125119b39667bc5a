//! S3-FIFO: J. Yang et al., "FIFO Queues are All You Need for Cache Eviction" (SOSP 2023), its
//! algorithm 1, in bytes.

use super::list::{List, Objects};
use super::{Access, Policy};

/// The small queue's part of the capacity is one in this many.
const SMALL_PART: u64 = 10;
/// Largest frequency that is told apart.
const FREQUENCY_MAX: u8 = 3;
/// An object of the small queue moves on if it was used more often than this.
const USES_TO_MOVE: u8 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Small,
    Main,
    Ghost,
}

/// The cache.
pub struct S3Fifo {
    capacity_bytes: u64,
    all: Objects,
    small: List,
    main: List,
    ghost: List,
    places: Vec<Place>,
    uses: Vec<u8>,
}

impl S3Fifo {
    /// An empty one.
    pub fn new(capacity_bytes: u64, objects: u32) -> S3Fifo {
        S3Fifo {
            capacity_bytes,
            all: Objects::new(objects),
            small: List::default(),
            main: List::default(),
            ghost: List::default(),
            places: vec![Place::Nowhere; objects as usize],
            uses: vec![0; objects as usize],
        }
    }

    fn evict(&mut self) {
        let small_bytes = self.capacity_bytes / SMALL_PART;
        if self.small.bytes() >= small_bytes.max(1) || self.main.bytes() == 0 {
            self.evict_from_small();
        } else {
            self.evict_from_main();
        }
    }

    /// Moves on what was used, until something goes or the queue is empty.
    fn evict_from_small(&mut self) {
        while let Some((object, bytes)) = self.small.pop(&mut self.all) {
            let index = object as usize;
            let was_used = self.uses[index] > USES_TO_MOVE;
            self.uses[index] = 0;
            if !was_used {
                return self.remember(object, bytes);
            }
            self.places[index] = Place::Main;
            self.main.push(&mut self.all, object, bytes);
        }
    }

    /// The ghost queue remembers as many bytes as the main queue may hold.
    fn remember(&mut self, object: u32, bytes: u64) {
        self.places[object as usize] = Place::Ghost;
        self.ghost.push(&mut self.all, object, bytes);
        let most = self.capacity_bytes - self.capacity_bytes / SMALL_PART;
        while self.ghost.bytes() > most {
            let (oldest, _) = self.ghost.pop(&mut self.all).expect("it holds bytes");
            self.places[oldest as usize] = Place::Nowhere;
        }
    }

    fn evict_from_main(&mut self) {
        while let Some((object, bytes)) = self.main.pop(&mut self.all) {
            let uses = &mut self.uses[object as usize];
            if *uses == 0 {
                self.places[object as usize] = Place::Nowhere;
                return;
            }
            *uses -= 1;
            self.main.push(&mut self.all, object, bytes);
        }
    }
}

impl Policy for S3Fifo {
    fn access(&mut self, access: Access) -> bool {
        let index = access.object as usize;
        if matches!(self.places[index], Place::Small | Place::Main) {
            self.uses[index] = (self.uses[index] + 1).min(FREQUENCY_MAX);
            return true;
        }
        if access.bytes > self.capacity_bytes {
            return false;
        }
        while self.bytes() + access.bytes > self.capacity_bytes {
            self.evict();
        }
        self.uses[index] = 0;
        if self.places[index] == Place::Ghost {
            self.ghost.remove(&mut self.all, access.object);
            self.places[index] = Place::Main;
            self.main.push(&mut self.all, access.object, access.bytes);
        } else {
            self.places[index] = Place::Small;
            self.small.push(&mut self.all, access.object, access.bytes);
        }
        false
    }

    fn bytes(&self) -> u64 {
        self.small.bytes() + self.main.bytes()
    }
}
