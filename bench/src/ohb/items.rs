//! The keys and values of a benchmark.

use super::session::{Session, StoredValue};
use crate::load::keys::{KeyId, KeyShape};
use crate::load::values::{ValueSizes, Values};
use farcache_client::zeroed_memory;
use std::io;
use std::sync::Arc;

/// Most bytes over which the values are spread by default, so that large ones are not always in
/// the processor's cache.
const SPREAD_BYTES_MAX: usize = 64 << 20;
/// Keys by default, where their values are small.
const KEYS_DEFAULT: usize = 1000;
/// Values made; further keys share them.
const VALUES_MAX: usize = 1000;
/// Operations begun together while the items are stored.
const STORED_TOGETHER_BYTES: usize = 32 << 10;

/// Keys of one size with values of one size, used in turn.
pub struct Items {
    keys: Vec<u8>,
    key_bytes: usize,
    /// One value behind the other.
    values: Arc<Vec<u8>>,
    value_bytes: usize,
}

impl Items {
    /// `keys` of them, or as many as suit the size. Without `values` they can be fetched only.
    pub fn new(
        value_bytes: usize,
        key_bytes: usize,
        keys: Option<usize>,
        with_values: bool,
    ) -> Self {
        let count = keys.unwrap_or_else(|| keys_for(value_bytes)).max(1);
        let shape = KeyShape::new(key_bytes);
        let mut keys = Vec::with_capacity(count * key_bytes);
        (0..count).for_each(|id| shape.push(id as KeyId, &mut keys));
        let made = if with_values {
            count.min(keys_for(value_bytes)).min(VALUES_MAX)
        } else {
            0
        };
        let content = Values::new(ValueSizes::fixed(value_bytes));
        let mut values = zeroed_memory(made * value_bytes);
        values.clear();
        (0..made).for_each(|id| content.push(id as KeyId, &mut values));
        Items {
            keys,
            key_bytes,
            values: Arc::new(values),
            value_bytes,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    /// Size of each value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// A key, by a number that may be larger than their count.
    pub fn key(&self, number: u64) -> &[u8] {
        let index = (number % self.count() as u64) as usize;
        &self.keys[index * self.key_bytes..][..self.key_bytes]
    }

    /// The value of that key.
    ///
    /// # Panics
    /// If there are no values.
    pub fn value(&self, number: u64) -> StoredValue<'_> {
        let index = (number % self.count() as u64) as usize;
        let start = index * self.value_bytes % self.values.len();
        StoredValue {
            memory: &self.values,
            range: start..start + self.value_bytes,
        }
    }

    /// The memory of all values.
    pub fn memory(&self) -> &Arc<Vec<u8>> {
        &self.values
    }

    /// Carries out the operation with this number; shows the value if it fetches one.
    ///
    /// # Errors
    /// Those of the session.
    pub fn carry_out(
        &self,
        session: &mut impl Session,
        number: u64,
        stores: bool,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        match stores {
            true => session.set(self.key(number), &self.value(number)),
            false => session.get(self.key(number), see),
        }
    }

    /// Begins the operation with this number.
    ///
    /// # Errors
    /// Those of the session.
    pub fn begin(&self, session: &mut impl Session, number: u64, stores: bool) -> io::Result<()> {
        match stores {
            true => session.begin_set(self.key(number), &self.value(number)),
            false => session.begin_get(self.key(number)),
        }
    }

    /// Stores every item.
    ///
    /// # Errors
    /// Those of the session.
    pub fn store(&self, session: &mut impl Session) -> io::Result<()> {
        self.for_each(session, true, |_, _| Ok(()))
    }

    /// Fetches every item and compares it, byte by byte.
    ///
    /// # Errors
    /// Those of the session, and a value that is another than the one stored.
    pub fn verify(&self, session: &mut impl Session) -> io::Result<()> {
        self.for_each(session, false, |number, value| {
            match *value == *self.value(number) {
                true => Ok(()),
                false => Err(io::Error::other(format!(
                    "the value of item {number} is not the one stored"
                ))),
            }
        })
    }

    /// Begins and finishes the same operation on every item, several together.
    fn for_each(
        &self,
        session: &mut impl Session,
        stores: bool,
        mut see: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let together = (STORED_TOGETHER_BYTES / self.value_bytes.max(1)).clamp(1, 64) as u64;
        let count = self.count() as u64;
        for first in (0..count).step_by(together as usize) {
            let numbers = first..(first + together).min(count);
            for number in numbers.clone() {
                self.begin(session, number, stores)?;
            }
            session.flush()?;
            for number in numbers {
                let mut seen = Ok(());
                session.finish(&mut |value| seen = see(number, value))?;
                seen?;
            }
        }
        Ok(())
    }
}

/// Keys that suit a size of value: a thousand, or as many as fill 64 MB.
pub fn keys_for(value_bytes: usize) -> usize {
    (SPREAD_BYTES_MAX / value_bytes.max(1)).clamp(1, KEYS_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::super::session::fake::FakeSession;
    use super::*;

    #[test]
    fn items_are_used_in_turn() {
        let items = Items::new(100, 16, Some(3), true);
        assert_eq!(items.count(), 3);
        assert_eq!(items.key(4), items.key(1));
        assert_ne!(items.key(0), items.key(1));
        assert_eq!(items.value(5), items.value(2));
        assert_ne!(items.value(0), items.value(1));
    }

    #[test]
    fn the_number_of_items_suits_their_size() {
        let counts = [1, 64, 1 << 20, 1 << 29].map(keys_for);
        assert_eq!(counts, [1000, 1000, 64, 1]);
    }

    #[test]
    fn stored_items_are_verified_and_a_wrong_one_is_found() {
        let items = Items::new(1000, 16, Some(100), true);
        let mut session = FakeSession::default();
        items.store(&mut session).unwrap();
        assert_eq!(session.values.len(), 100);
        items.verify(&mut session).unwrap();
        session.spoils = true;
        assert!(items.verify(&mut session).is_err());
    }
}
