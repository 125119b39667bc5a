//! From records to a trace: objects are numbered, and sizes that are not told are chosen.

use super::{ObjectId, Record, Request, Trace};
use crate::load::values::ValueSizes;
use std::collections::HashMap;

/// Sizes of values.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Where the trace tells none: fixed, or drawn once for each object.
    pub untold: ValueSizes,
    /// What is larger counts as so large, in bytes.
    pub bytes_max: u32,
}

/// A request whose size may not be known yet.
struct Pending {
    object: ObjectId,
    value_bytes: Option<u32>,
}

/// Collects records.
pub struct Builder {
    sizes: Sizes,
    requests_max: usize,
    objects: HashMap<u64, ObjectId>,
    /// Size that each object was last told to have.
    told: Vec<Option<u32>>,
    pending: Vec<Pending>,
}

impl Builder {
    /// Takes up to so many requests.
    pub fn new(sizes: Sizes, requests_max: usize) -> Builder {
        Builder {
            sizes,
            requests_max,
            objects: HashMap::new(),
            told: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Whether it takes no more.
    pub fn is_full(&self) -> bool {
        self.pending.len() >= self.requests_max
    }

    /// Takes a record.
    pub fn add(&mut self, record: Record) {
        let next = self.told.len() as ObjectId;
        let object = *self.objects.entry(record.key).or_insert(next);
        if object == next {
            self.told.push(None);
        }
        let told = record.value_bytes.or(self.told[object as usize]);
        self.told[object as usize] = told;
        if record.is_read && !self.is_full() {
            self.pending.push(Pending {
                object,
                value_bytes: told,
            });
        }
    }

    /// The trace.
    pub fn finish(self) -> Trace {
        let mut trace = Trace::default();
        // Records that were no reads may have numbered objects that nobody asks for.
        let mut numbers: Vec<Option<ObjectId>> = vec![None; self.told.len()];
        for pending in self.pending {
            let object = pending.object;
            let told = pending.value_bytes.or(self.told[object as usize]);
            let chosen = || self.sizes.untold.of(object) as u32;
            let value_bytes = told.unwrap_or_else(chosen).min(self.sizes.bytes_max);
            let number = *numbers[object as usize].get_or_insert_with(|| {
                trace.value_bytes += u64::from(value_bytes);
                trace.objects += 1;
                trace.objects - 1
            });
            trace.requests.push(Request {
                object: number,
                value_bytes,
            });
        }
        trace
    }
}
