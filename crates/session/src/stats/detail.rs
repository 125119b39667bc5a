//! `stats detail`: gets, hits, sets and deletes of each key prefix.

use memchr::memchr;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// Most prefixes that are counted; keys of further ones are not, so that a client that sends ever
/// new ones cannot fill the memory.
const PREFIXES_MAX: usize = 1 << 16;

#[derive(Default)]
struct Counts {
    gets: u64,
    hits: u64,
    sets: u64,
    deletes: u64,
}

/// The counts of each prefix, while they are wanted.
pub struct Detail {
    is_on: AtomicBool,
    delimiter: u8,
    prefixes: Mutex<BTreeMap<Box<[u8]>, Counts>>,
}

impl Detail {
    /// A prefix is what stands before the first `delimiter` of a key; counts from now on if
    /// `is_on`.
    pub fn new(delimiter: u8, is_on: bool) -> Detail {
        Detail {
            is_on: AtomicBool::new(is_on),
            delimiter,
            prefixes: Mutex::default(),
        }
    }

    /// Whether requests are counted by prefix.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Starts or stops counting; what has been counted stays.
    pub fn switch(&self, on: bool) {
        self.is_on.store(on, Relaxed);
    }

    /// Forgets what has been counted.
    pub fn clear(&self) {
        self.map().clear();
    }

    /// A key was asked for.
    pub fn get(&self, key: &[u8], hit: bool) {
        self.count(key, |counts| {
            counts.gets += 1;
            counts.hits += u64::from(hit);
        });
    }

    /// A key was to be stored.
    pub fn set(&self, key: &[u8]) {
        self.count(key, |counts| counts.sets += 1);
    }

    /// A key was to be removed.
    pub fn delete(&self, key: &[u8]) {
        self.count(key, |counts| counts.deletes += 1);
    }

    #[inline]
    fn count(&self, key: &[u8], change: impl FnOnce(&mut Counts)) {
        if self.is_on() {
            self.count_prefix(key, change);
        }
    }

    #[cold]
    fn count_prefix(&self, key: &[u8], change: impl FnOnce(&mut Counts)) {
        let Some(end) = memchr(self.delimiter, key) else {
            return;
        };
        let mut map = self.map();
        if let Some(counts) = map.get_mut(&key[..end]) {
            change(counts);
        } else if map.len() < PREFIXES_MAX {
            change(map.entry(key[..end].into()).or_default());
        }
    }

    /// Appends one line for each prefix, and `END`.
    pub(super) fn dump(&self, out: &mut Vec<u8>) {
        for (
            prefix,
            Counts {
                gets,
                hits,
                sets,
                deletes,
            },
        ) in self.map().iter()
        {
            out.extend_from_slice(b"PREFIX ");
            out.extend_from_slice(prefix);
            // Writing to a vector does not fail.
            let _ = write!(out, " get {gets} hit {hits} set {sets} del {deletes}\r\n");
        }
        out.extend_from_slice(b"END\r\n");
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<Box<[u8]>, Counts>> {
        self.prefixes.lock().expect("no panic while held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(detail: &Detail) -> String {
        let mut out = Vec::new();
        detail.dump(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn counts_each_prefix_while_on() {
        let detail = Detail::new(b':', false);
        detail.get(b"a:1", true);
        detail.switch(true);
        detail.get(b"a:1", true);
        detail.get(b"a:2:x", false);
        detail.set(b"a:1");
        detail.delete(b"b:1");
        detail.get(b"no delimiter", true);
        assert_eq!(
            dump(&detail),
            "PREFIX a get 2 hit 1 set 1 del 0\r\nPREFIX b get 0 hit 0 set 0 del 1\r\nEND\r\n"
        );
        detail.switch(false);
        detail.set(b"a:1");
        detail.clear();
        assert_eq!(dump(&detail), "END\r\n");
    }

    #[test]
    fn the_number_of_prefixes_is_bounded() {
        let detail = Detail::new(b':', true);
        (0..PREFIXES_MAX + 10).for_each(|number| detail.set(format!("{number}:x").as_bytes()));
        assert_eq!(detail.map().len(), PREFIXES_MAX);
    }
}
