//! Values that wait for readers who do not take them.
//!
//! A client may take any time to read its replies, and each value pinned for it keeps a whole
//! segment from being reused. So what waits for a client is handed over to the store meanwhile
//! ([`crate::StoreHandle::stall`]), and gives way when memory is short: the store copies it to
//! memory of its own, of which there is so much for all readers together, and the segment goes.
//! Where that is used up, whoever has been waiting for the longest loses what waits for it: its
//! connection has to be closed.

use super::{Core, PinnedValue};
use crate::schedule::atomic::{AtomicU64, Ordering::Relaxed};
use crate::schedule::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::Arc;

/// Copies for readers take at most so much of the memory limit at start, on top of it: one in so
/// many bytes.
const COPIED_PART: u64 = 8;

/// Values that wait for one client. Dropping them gives them up.
pub struct StalledValues {
    core: Arc<Core>,
    number: u64,
}

/// A client that does not read.
#[derive(Default)]
struct Reader {
    values: Vec<PinnedValue>,
    /// How many of these keep a segment.
    pinned: usize,
    /// Bytes of the values that were copied.
    copied_bytes: u64,
}

#[derive(Default)]
struct Readers {
    /// The number of the last one.
    last: u64,
    /// By number, so that the one who has been waiting for the longest comes first.
    waiting: BTreeMap<u64, Reader>,
}

/// All readers who take nothing, and what was copied for readers.
pub(crate) struct StalledReaders {
    readers: Mutex<Readers>,
    copied_bytes: Arc<AtomicU64>,
    copied_bytes_max: u64,
    given_up: AtomicU64,
}

/// Bytes of one copy, counted until dropped.
pub(crate) struct CopiedBytes {
    all: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for CopiedBytes {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Relaxed);
    }
}

impl Reader {
    fn new(values: Vec<PinnedValue>) -> Reader {
        let mut reader = Reader {
            values,
            ..Reader::default()
        };
        reader.count();
        reader
    }

    fn count(&mut self) {
        let is_pinned = |value: &&PinnedValue| value.segment().is_some();
        self.pinned = self.values.iter().filter(is_pinned).count();
        self.copied_bytes = self.values.iter().map(PinnedValue::copied_bytes).sum();
    }
}

impl StalledReaders {
    /// None yet, of a store with so much memory.
    pub fn new(memory_bytes: u64) -> StalledReaders {
        StalledReaders {
            readers: Mutex::default(),
            copied_bytes: Arc::default(),
            copied_bytes_max: memory_bytes / COPIED_PART,
            given_up: AtomicU64::new(0),
        }
    }

    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().expect("no holder panics")
    }

    /// Memory that copies take, in bytes.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes.load(Relaxed)
    }

    /// Whether half of the memory for copies is taken.
    pub fn is_half_full(&self) -> bool {
        2 * self.copied_bytes() > self.copied_bytes_max
    }

    /// How many readers lost what waited for them.
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Relaxed)
    }

    fn add(&self, values: Vec<PinnedValue>) -> u64 {
        let mut readers = self.readers();
        readers.last += 1;
        let number = readers.last;
        readers.waiting.insert(number, Reader::new(values));
        number
    }

    /// Has no reader keep a segment whose head is wanted; true if that let go of any. What a reader
    /// is just being sent stays.
    pub fn release(&self, is_wanted: impl Fn(u32) -> bool) -> bool {
        let mut readers = self.readers();
        let keeps_wanted = |reader: &Reader| {
            let mut heads = reader.values.iter().filter_map(PinnedValue::segment);
            reader.pinned > 0 && heads.any(&is_wanted)
        };
        let waiting = readers.waiting.iter();
        let numbers: Vec<u64> = waiting
            .filter(|(_, reader)| keeps_wanted(reader))
            .map(|(&number, _)| number)
            .collect();
        for &number in &numbers {
            self.release_one(&mut readers, number, &is_wanted);
        }
        !numbers.is_empty()
    }

    fn release_one(&self, readers: &mut Readers, number: u64, is_wanted: &impl Fn(u32) -> bool) {
        // It may have been given up for another one.
        let Some(mut reader) = readers.waiting.remove(&number) else {
            return;
        };
        let mut values = reader.values.iter_mut();
        let is_kept = values.all(|value| {
            let keeps_wanted = value.segment().is_some_and(is_wanted);
            !keeps_wanted
                || self.make_room(readers, number, value.len() as u64)
                    && value.move_out(|bytes| Some(self.count(bytes)))
        });
        if is_kept {
            reader.count();
            readers.waiting.insert(number, reader);
        } else {
            self.given_up.fetch_add(1, Relaxed);
        }
    }

    /// Memory for one more copy, taken from those who have been waiting longer than the reader of
    /// this number; false if there is none.
    fn make_room(&self, readers: &mut Readers, number: u64, bytes: u64) -> bool {
        while self.copied_bytes() + bytes > self.copied_bytes_max {
            let mut older = readers.waiting.range(..number);
            let oldest = older.find(|(_, reader)| reader.copied_bytes > 0);
            let Some((&oldest, _)) = oldest else {
                return false;
            };
            readers.waiting.remove(&oldest);
            self.given_up.fetch_add(1, Relaxed);
        }
        true
    }

    /// Counts a copy of so many bytes.
    pub fn count(&self, bytes: u64) -> CopiedBytes {
        self.copied_bytes.fetch_add(bytes, Relaxed);
        CopiedBytes {
            all: Arc::clone(&self.copied_bytes),
            bytes,
        }
    }
}

impl StalledValues {
    /// Hands these values over to the store.
    pub(crate) fn of(core: &Arc<Core>, values: Vec<PinnedValue>) -> StalledValues {
        StalledValues {
            number: core.stalled.add(values),
            core: Arc::clone(core),
        }
    }

    /// The values, to be sent; none where they had to give way.
    pub fn resume(self) -> Option<Vec<PinnedValue>> {
        self.take().map(|reader| reader.values)
    }

    /// Whether the values had to give way: the client cannot be sent what it is to get.
    pub fn is_given_up(&self) -> bool {
        let readers = self.core.stalled.readers();
        !readers.waiting.contains_key(&self.number)
    }

    fn take(&self) -> Option<Reader> {
        self.core.stalled.readers().waiting.remove(&self.number)
    }
}

impl Drop for StalledValues {
    fn drop(&mut self) {
        // Dropped when the lock is free again.
        mem::drop(self.take());
    }
}

impl fmt::Debug for StalledValues {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "StalledValues number {}", self.number)
    }
}
