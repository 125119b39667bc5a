//! W-TinyLFU: G. Einziger, R. Friedman, B. Manes, "TinyLFU: A Highly Efficient Cache Admission
//! Policy" (ACM Transactions on Storage, 2017), in bytes. Frequencies are exact, not a sketch's
//! estimate, and age as the sketch's do.

use super::list::{List, Objects};
use super::{Access, Policy};
use crate::traces::ObjectId;

/// The window's part of the capacity is one in this many.
const WINDOW_PART: u64 = 100;
/// The protected part of the main region, in hundredths.
const PROTECTED_PERCENT: u64 = 80;
/// Largest frequency that is told apart.
const FREQUENCY_MAX: u8 = 15;
/// All frequencies are halved after so many accesses for each object in the cache.
const ACCESSES_PER_OBJECT: u64 = 10;

/// The parts of the cache.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Window,
    Probation,
    Protected,
}

/// How often an object was used, in the halving period of that number.
#[derive(Clone, Copy, Default)]
struct Frequency {
    count: u8,
    period: u32,
}

impl Frequency {
    fn now(self, period: u32) -> u8 {
        self.count.checked_shr(period - self.period).unwrap_or(0)
    }
}

/// The cache.
pub struct WTinyLfu {
    capacity_bytes: u64,
    all: Objects,
    lists: [List; 3],
    places: Vec<Option<Part>>,
    frequencies: Vec<Frequency>,
    period: u32,
    accesses: u64,
}

impl WTinyLfu {
    /// An empty one.
    pub fn new(capacity_bytes: u64, objects: u32) -> WTinyLfu {
        WTinyLfu {
            capacity_bytes,
            all: Objects::new(objects),
            lists: Default::default(),
            places: vec![None; objects as usize],
            frequencies: vec![Frequency::default(); objects as usize],
            period: 0,
            accesses: 0,
        }
    }

    fn window_bytes_max(&self) -> u64 {
        self.capacity_bytes / WINDOW_PART
    }

    fn main_bytes_max(&self) -> u64 {
        self.capacity_bytes - self.window_bytes_max()
    }

    fn list(&self, part: Part) -> &List {
        &self.lists[part as usize]
    }

    fn frequency(&self, object: ObjectId) -> u8 {
        self.frequencies[object as usize].now(self.period)
    }

    fn count(&mut self, object: ObjectId) {
        self.frequencies[object as usize] = Frequency {
            count: (self.frequency(object) + 1).min(FREQUENCY_MAX),
            period: self.period,
        };
        self.accesses += 1;
        let objects: u64 = self.lists.iter().map(List::len).sum();
        if self.accesses >= ACCESSES_PER_OBJECT * objects.max(1) {
            self.accesses /= 2;
            self.period += 1;
        }
    }

    fn put(&mut self, part: Part, object: ObjectId, bytes: u64) {
        self.lists[part as usize].push(&mut self.all, object, bytes);
        self.places[object as usize] = Some(part);
    }

    fn take(&mut self, part: Part, object: ObjectId) -> u64 {
        self.places[object as usize] = None;
        self.lists[part as usize].remove(&mut self.all, object)
    }

    fn note_hit(&mut self, part: Part, object: ObjectId) {
        let bytes = self.take(part, object);
        let part = match part {
            Part::Window => Part::Window,
            Part::Probation | Part::Protected => Part::Protected,
        };
        self.put(part, object, bytes);
        let protected_bytes_max = self.main_bytes_max() * PROTECTED_PERCENT / 100;
        while self.list(Part::Protected).bytes() > protected_bytes_max {
            let oldest = self.list(Part::Protected).oldest();
            let oldest = oldest.expect("it holds bytes");
            let bytes = self.take(Part::Protected, oldest);
            self.put(Part::Probation, oldest, bytes);
        }
    }

    /// What falls out of the window enters the main region in place of objects that are used less,
    /// or goes.
    fn empty_window(&mut self) {
        while self.list(Part::Window).bytes() > self.window_bytes_max() {
            let candidate = self.list(Part::Window).oldest();
            let candidate = candidate.expect("it holds bytes");
            let bytes = self.take(Part::Window, candidate);
            if bytes <= self.main_bytes_max() && self.make_room(candidate, bytes) {
                self.put(Part::Probation, candidate, bytes);
            }
        }
    }

    fn make_room(&mut self, candidate: ObjectId, bytes: u64) -> bool {
        let parts = [Part::Probation, Part::Protected];
        let used = |cache: &Self| {
            parts
                .map(|part| cache.list(part).bytes())
                .iter()
                .sum::<u64>()
        };
        while used(self) + bytes > self.main_bytes_max() {
            let oldest = |part| Some((part, self.list(part).oldest()?));
            let victim = parts.into_iter().find_map(oldest);
            let (part, victim) = victim.expect("the main region holds bytes");
            if self.frequency(candidate) <= self.frequency(victim) {
                return false;
            }
            self.take(part, victim);
        }
        true
    }
}

impl Policy for WTinyLfu {
    fn access(&mut self, access: Access) -> bool {
        self.count(access.object);
        if let Some(part) = self.places[access.object as usize] {
            self.note_hit(part, access.object);
            return true;
        }
        if access.bytes <= self.capacity_bytes {
            // What is larger than the window stands for admission at once.
            self.put(Part::Window, access.object, access.bytes);
            self.empty_window();
        }
        false
    }

    fn bytes(&self) -> u64 {
        self.lists.iter().map(List::bytes).sum()
    }
}
