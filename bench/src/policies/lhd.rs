//! LHD: N. Beckmann, H. Chen, A. Cidon, "LHD: Improving Cache Hit Rate by Maximizing Hit Density"
//! (NSDI 2018), in bytes.
//!
//! Hit density is the hits expected of an object over the bytes and time that keeping it takes, by
//! its age and the age at its last hit. Of a sample of objects, the one with the least goes.

use super::{Access, Policy};
use crate::traces::ObjectId;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Objects looked at for each eviction, as in the paper.
const SAMPLE: usize = 32;
/// Ages told apart, in units that adapt.
const AGES: usize = 256;
/// Classes by the age at the last hit; the first is of objects without one.
const CLASSES: usize = 16;
/// Accesses between two reckonings of the densities.
const ACCESSES_PER_RECKONING: u64 = 1 << 14;
/// What old events still count for at each reckoning, as in the paper.
const DECAY: f64 = 0.9;
/// The unit of age doubles where more than this part of the events lies beyond the last age, and is
/// halved where nearly all lies in the first eighth.
const BEYOND_PART_MAX: f64 = 0.01;

#[derive(Clone, Copy)]
struct Held {
    object: ObjectId,
    bytes: u64,
    last_access: u64,
    class: usize,
}

/// The cache.
pub struct Lhd {
    capacity_bytes: u64,
    used_bytes: u64,
    held: Vec<Held>,
    /// Place of each object among those held.
    places: Vec<Option<u32>>,
    accesses: u64,
    age_shift: u32,
    hits: Vec<[f64; AGES]>,
    evictions: Vec<[f64; AGES]>,
    densities: Vec<[f64; AGES]>,
    random: SmallRng,
}

impl Lhd {
    /// An empty one.
    pub fn new(capacity_bytes: u64, objects: u32) -> Lhd {
        // Until there are events, the younger the better.
        let first = std::array::from_fn(|age| 1.0 / (age + 1) as f64);
        Lhd {
            capacity_bytes,
            used_bytes: 0,
            held: Vec::new(),
            places: vec![None; objects as usize],
            accesses: 0,
            age_shift: 6,
            hits: vec![[0.0; AGES]; CLASSES],
            evictions: vec![[0.0; AGES]; CLASSES],
            densities: vec![first; CLASSES],
            random: SmallRng::seed_from_u64(1),
        }
    }

    fn age_of(&self, held: &Held) -> usize {
        let age = (self.accesses - held.last_access) >> self.age_shift;
        (age as usize).min(AGES - 1)
    }

    fn density_of(&self, held: &Held) -> f64 {
        self.densities[held.class][self.age_of(held)] / held.bytes as f64
    }

    fn evict(&mut self) {
        let count = self.held.len();
        let sample = (0..SAMPLE).map(|_| self.random.random_range(0..count));
        let sample: Vec<usize> = sample.collect();
        let density = |place: &usize| self.density_of(&self.held[*place]);
        let least = |one: &usize, other: &usize| density(one).total_cmp(&density(other));
        let place = sample.into_iter().min_by(least).expect("a sample");
        let victim = self.held[place];
        let age = self.age_of(&victim);
        self.evictions[victim.class][age] += 1.0;
        self.places[victim.object as usize] = None;
        self.used_bytes -= victim.bytes;
        self.held.swap_remove(place);
        if let Some(moved) = self.held.get(place) {
            self.places[moved.object as usize] = Some(place as u32);
        }
    }

    fn note_hit(&mut self, place: usize) {
        let held = self.held[place];
        let age = self.age_of(&held);
        self.hits[held.class][age] += 1.0;
        // Younger at the last hit, higher the class.
        let class = CLASSES - 1 - (age + 1).ilog2() as usize;
        let held = &mut self.held[place];
        (held.last_access, held.class) = (self.accesses, class);
    }

    fn reckon(&mut self) {
        for class in 0..CLASSES {
            // From the greatest age downwards: hits still to come over the time still to be spent.
            let (mut hits, mut events, mut lifetime) = (0.0, 0.0, 0.0);
            for age in (0..AGES).rev() {
                hits += self.hits[class][age];
                events += self.hits[class][age] + self.evictions[class][age];
                lifetime += events;
                if lifetime > 0.0 {
                    self.densities[class][age] = hits / lifetime;
                }
            }
        }
        self.adapt_unit();
        let rows = self.hits.iter_mut().chain(&mut self.evictions);
        rows.flatten().for_each(|count| *count *= DECAY);
    }

    fn adapt_unit(&mut self) {
        let events = |from: usize| -> f64 {
            let rows = self.hits.iter().chain(&self.evictions);
            rows.map(|row| row[from..].iter().sum::<f64>()).sum()
        };
        let (all, beyond, late) = (events(0), events(AGES - 1), events(AGES / 8));
        let shift = match () {
            () if beyond > all * BEYOND_PART_MAX => self.age_shift + 1,
            () if late < all * BEYOND_PART_MAX => self.age_shift.saturating_sub(1),
            () => self.age_shift,
        };
        if shift == self.age_shift {
            return;
        }
        let is_coarser = shift > self.age_shift;
        self.age_shift = shift;
        let rows = self.hits.iter_mut().chain(&mut self.evictions);
        rows.for_each(|row| rescale(row, is_coarser));
    }
}

/// Counts by age in another unit.
fn rescale(row: &mut [f64; AGES], is_coarser: bool) {
    let old = *row;
    *row = [0.0; AGES];
    for (age, count) in old.into_iter().enumerate() {
        match is_coarser {
            true => row[age / 2] += count,
            false => {
                for half in [2 * age, 2 * age + 1] {
                    row[half.min(AGES - 1)] += count / 2.0;
                }
            }
        }
    }
}

impl Policy for Lhd {
    fn access(&mut self, access: Access) -> bool {
        self.accesses += 1;
        if self.accesses.is_multiple_of(ACCESSES_PER_RECKONING) {
            self.reckon();
        }
        if let Some(place) = self.places[access.object as usize] {
            self.note_hit(place as usize);
            return true;
        }
        if access.bytes > self.capacity_bytes {
            return false;
        }
        while self.used_bytes + access.bytes > self.capacity_bytes {
            self.evict();
        }
        self.places[access.object as usize] = Some(self.held.len() as u32);
        self.used_bytes += access.bytes;
        self.held.push(Held {
            object: access.object,
            bytes: access.bytes.max(1),
            last_access: self.accesses,
            class: 0,
        });
        false
    }

    fn bytes(&self) -> u64 {
        self.used_bytes
    }
}
