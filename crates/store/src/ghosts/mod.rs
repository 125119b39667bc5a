//! Ghosts: what was evicted a short while ago, as fingerprints of hashes.
//!
//! An item that comes back while its ghost is here was evicted too soon: it counts as used from the
//! start, so that it reaches the main queue (S3-FIFO's ghost queue, SOSP 2023). There are about as
//! many ghosts as items, 2 bytes each, in lines of the cache, and fewer where items are so small
//! that this would be more than a 128th of the memory limit; each line forgets its oldest. So a
//! ghost lasts for about as many evictions as there are ghosts.
//!
//! While hardly anything comes back only a sample of all hashes, an eighth, has ghosts: then most
//! evictions and most new items touch no line. As those of the sample have all lines to themselves,
//! they last eight times as long, which is how reuse beyond the memory is noticed.
//!
//! Ghosts are hints, so threads need not agree on them: all is read and written with plain, relaxed
//! loads and stores, a word at a time. Two threads that change a word at the same time each write
//! what they read of its other lanes, so a ghost may be lost, be found twice, or be overwritten
//! out of turn, and one of the counts may miss a step; but a word never holds anything that was
//! not written to it, so no thread finds a lane that is not there. Nothing but how long an item
//! stays in memory depends on it. One item in about 2,000 is taken for another's ghost anyway.

mod table;

use crate::sync::{AtomicU64, Ordering::Relaxed};
use std::io;
use table::Table;

/// Fingerprints in a line.
const LINE_GHOSTS: u64 = 31;
/// Bits of a fingerprint, and of the number that says which one of a line is overwritten next.
const LANE_BITS: u32 = 16;
const LANE_MASK: u64 = (1 << LANE_BITS) - 1;
/// Bits of a hash of which the sample has none, and which say nothing of line or fingerprint.
const SAMPLE_BITS: u64 = 0b111 << 45;
/// Ghosts of the sample that decide whether others are worth it; more where a segment has more.
const SAMPLE_GHOSTS: u64 = 256;
/// They are if one of so many is taken: several times what is taken for another's.
const WORTH_PART: u64 = 256;
/// Part of the memory limit that ghosts take at most: of small items fewer are remembered.
const MEMORY_PART: u64 = 128;
/// A number of lines that is off by this part of it is left as it is.
const TOLERATED_PART: u64 = 8;
/// Lanes in a word.
const LANES: u64 = 4;
/// The lowest bit of each lane, and its highest.
const LOWEST: u64 = 0x0001_0001_0001_0001;
const HIGHEST: u64 = LOWEST << (LANE_BITS - 1);

/// A line of the cache.
///
/// | bits | content |
/// |---|---|
/// | 0 to 15 of word 0 | number of the lane written last, 1 to 31; 0 while the line is empty |
/// | lanes 1 to 31, of 16 bits | fingerprints, 0 where there is none |
#[repr(C, align(64))]
struct Line {
    words: [AtomicU64; 8],
}

const _: () = assert!(cfg!(loom) || size_of::<Line>() == 64 && LINE_GHOSTS + 1 == 8 * LANES);

impl Line {
    #[cfg(loom)]
    fn empty() -> Line {
        Line {
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn remember(&self, fingerprint: u64) {
        let last = self.words[0].load(Relaxed) & LANE_MASK;
        let lane = if last < LINE_GHOSTS { last + 1 } else { 1 };
        self.set_lane(0, lane);
        self.set_lane(lane, fingerprint);
    }

    /// Takes a ghost out; false where there is none.
    #[inline]
    fn take(&self, fingerprint: u64) -> bool {
        let wanted = LOWEST * fingerprint;
        // All words without a branch: most lookups find nothing.
        let words = self.words.each_ref().map(|word| word.load(Relaxed));
        let maybe = words.map(|word| maybe_zero_lanes(word ^ wanted));
        maybe.iter().fold(0, |any, lanes| any | lanes) != 0 && self.take_from(&words, fingerprint)
    }

    #[cold]
    fn take_from(&self, words: &[u64; 8], fingerprint: u64) -> bool {
        let lane = (1..=LINE_GHOSTS).find(|lane| {
            let word = words[(lane / LANES) as usize];
            word >> (lane % LANES * u64::from(LANE_BITS)) & LANE_MASK == fingerprint
        });
        if let Some(lane) = lane {
            self.set_lane(lane, 0);
        }
        lane.is_some()
    }

    fn set_lane(&self, lane: u64, value: u64) {
        let word = &self.words[(lane / LANES) as usize];
        let shift = lane % LANES * u64::from(LANE_BITS);
        let others = word.load(Relaxed) & !(LANE_MASK << shift);
        word.store(others | value << shift, Relaxed);
    }
}

/// Not 0 where a lane is 0, and rarely where none is: a borrow passes from lane to lane.
#[inline]
fn maybe_zero_lanes(word: u64) -> u64 {
    word.wrapping_sub(LOWEST) & !word & HIGHEST
}

/// The ghosts of a store.
pub(crate) struct Ghosts {
    table: Table,
    /// Lines in use; 0 before the first eviction, so that nothing is looked up until then.
    lines: AtomicU64,
    /// Most lines that were ever in use: their memory is not given back.
    lines_most: AtomicU64,
    /// Bits of which a hash may have none if it is to have a ghost.
    left_out: AtomicU64,
    /// Ghosts made of the sample, and taken, since what they decide was decided.
    made: AtomicU64,
    taken: AtomicU64,
}

impl Ghosts {
    /// None yet, for a memory limit of at most so many bytes.
    ///
    /// # Errors
    /// The kernel's, where the address space cannot be had.
    pub fn new(memory_max: u64, huge_pages: bool) -> io::Result<Ghosts> {
        Ok(Ghosts {
            table: Table::reserve(lines_in(memory_max) + 1, huge_pages)?,
            lines: AtomicU64::new(0),
            lines_most: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            made: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        })
    }

    /// Makes room for about as many ghosts as there are items, or for fewer where that would take
    /// too much beside a memory limit of so many bytes, when some are about to be evicted. A change
    /// loses the ghosts of some lines, so a small one is not made. By one thread at a time. Whether
    /// more memory is taken than before.
    pub fn fit(&self, items: u64, memory_bytes: u64) -> bool {
        let before = self.bytes();
        let wanted = (items / LINE_GHOSTS).min(lines_in(memory_bytes));
        let wanted = wanted.clamp(1, self.table.lines());
        let lines = self.lines.load(Relaxed);
        if lines == 0 || wanted.abs_diff(lines) > lines / TOLERATED_PART {
            self.lines.store(wanted, Relaxed);
            let most = self.lines_most.load(Relaxed).max(wanted);
            self.lines_most.store(most, Relaxed);
        }
        if self.made.load(Relaxed) >= SAMPLE_GHOSTS {
            self.judge_sample();
        }
        self.bytes() > before
    }

    /// Where hardly anything comes back, ghosts cost more than they are worth: only the sample has
    /// some, until things come back.
    fn judge_sample(&self) {
        let made = self.made.swap(0, Relaxed);
        let taken = self.taken.swap(0, Relaxed);
        let is_worth_it = taken * WORTH_PART >= made;
        self.left_out
            .store(if is_worth_it { 0 } else { SAMPLE_BITS }, Relaxed);
    }

    /// Starts fetching the line of a hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        if let Some(line) = self.line(hash) {
            crate::prefetch::prefetch(line);
        }
    }

    /// Notes what is evicted; by one thread at a time.
    pub fn remember(&self, hash: u64) {
        if let Some(line) = self.line(hash) {
            line.remember(fingerprint(hash));
            if is_of_sample(hash) {
                self.made.store(self.made.load(Relaxed) + 1, Relaxed);
            }
        }
    }

    /// Whether what has this hash was evicted a short while ago; it is forgotten then.
    #[inline]
    pub fn take(&self, hash: u64) -> bool {
        let is_taken = self
            .line(hash)
            .is_some_and(|line| line.take(fingerprint(hash)));
        if is_taken && is_of_sample(hash) {
            self.taken.fetch_add(1, Relaxed);
        }
        is_taken
    }

    /// Bytes taken, which are not given back.
    pub fn bytes(&self) -> u64 {
        self.lines_most.load(Relaxed) * size_of::<Line>() as u64
    }

    #[inline]
    fn line(&self, hash: u64) -> Option<&Line> {
        let lines = self.lines.load(Relaxed);
        let has_ghost = lines > 0 && hash & self.left_out.load(Relaxed) == 0;
        has_ghost.then(|| self.table.line(hash, lines))
    }
}

/// Lines beside a memory limit of so many bytes.
fn lines_in(memory_bytes: u64) -> u64 {
    memory_bytes / MEMORY_PART / size_of::<Line>() as u64
}

/// Whether what has this hash stands for all.
pub(crate) fn is_of_sample(hash: u64) -> bool {
    hash & SAMPLE_BITS == 0
}

/// From bits of the hash that say nothing of the line; never 0.
fn fingerprint(hash: u64) -> u64 {
    (hash >> (64 - LANE_BITS)).max(1)
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod model;
