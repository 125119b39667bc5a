//! What the benchmarks ask of a client.

use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A value to be stored, in the memory of all values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue<'a> {
    /// All values.
    pub memory: &'a Arc<Vec<u8>>,
    /// Which of it.
    pub range: Range<usize>,
}

impl Deref for StoredValue<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }
}

/// A client, with blocking calls, and with operations that are begun and finished in the same
/// order.
pub trait Session {
    /// Fetches a value and shows it.
    ///
    /// # Errors
    /// Where it failed; a key that is absent has failed.
    fn get(&mut self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> io::Result<()>;

    /// Stores a value.
    ///
    /// # Errors
    /// Where it failed.
    fn set(&mut self, key: &[u8], value: &StoredValue<'_>) -> io::Result<()>;

    /// Begins to fetch a value.
    ///
    /// # Errors
    /// Where it cannot be begun.
    fn begin_get(&mut self, key: &[u8]) -> io::Result<()>;

    /// Begins to fetch several values, which are one operation.
    ///
    /// # Errors
    /// Where it cannot be begun.
    fn begin_get_many(&mut self, keys: &[&[u8]]) -> io::Result<()>;

    /// Begins to store a value.
    ///
    /// # Errors
    /// Where it cannot be begun.
    fn begin_set(&mut self, key: &[u8], value: &StoredValue<'_>) -> io::Result<()>;

    /// Sends off what was begun; what was begun together travels together.
    ///
    /// # Errors
    /// Where nothing can be sent any more.
    fn flush(&mut self) -> io::Result<()>;

    /// Waits until the operation that was begun first is done, and shows the values that it
    /// fetched, if it did.
    ///
    /// # Errors
    /// Where it failed; a key that is absent has failed, with [`io::ErrorKind::NotFound`].
    fn finish(&mut self, see: &mut dyn FnMut(&[u8])) -> io::Result<()>;
}

/// What a benchmark does.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    /// Values are stored.
    Set,
    /// Values are fetched.
    Get,
    /// One operation in ten stores, the others fetch.
    Mix,
}

/// One operation of so many stores in [`Benchmark::Mix`].
const MIX_STORES_ONE_IN: u64 = 10;

impl Benchmark {
    /// Every benchmark.
    pub const ALL: [Benchmark; 3] = [Benchmark::Set, Benchmark::Get, Benchmark::Mix];

    /// Whether the operation with this number stores.
    pub fn stores(self, number: u64) -> bool {
        match self {
            Benchmark::Set => true,
            Benchmark::Get => false,
            Benchmark::Mix => number % MIX_STORES_ONE_IN == MIX_STORES_ONE_IN - 1,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Benchmark::Set => "SET",
            Benchmark::Get => "GET",
            Benchmark::Mix => "MIX 10:90",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_stores_one_in_ten() {
        let stores = |benchmark: Benchmark| (0..1000).filter(|n| benchmark.stores(*n)).count();
        assert_eq!(Benchmark::ALL.map(stores), [1000, 0, 100]);
    }
}

/// A client without a network, for the tests of the loops.
#[cfg(test)]
pub mod fake {
    use super::*;
    use std::collections::{HashMap, VecDeque};

    /// Keeps values in memory, and watches how it is used.
    #[derive(Default)]
    pub struct FakeSession {
        /// What is stored.
        pub values: HashMap<Vec<u8>, Vec<u8>>,
        /// Operations that are begun, with what they fetched.
        begun: VecDeque<io::Result<Vec<Vec<u8>>>>,
        /// Most operations begun at any time.
        pub begun_most: usize,
        /// Operations finished.
        pub finished: u64,
        /// Calls of flush.
        pub flushes: u64,
        /// Whether the last byte of every value is wrong.
        pub spoils: bool,
        /// Whether nothing can be begun any more.
        pub is_gone: bool,
    }

    impl FakeSession {
        fn begin(&mut self, fetched: io::Result<Vec<Vec<u8>>>) -> io::Result<()> {
            if self.is_gone {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            self.begun.push_back(fetched);
            self.begun_most = self.begun_most.max(self.begun.len());
            Ok(())
        }

        fn value(&self, key: &[u8]) -> io::Result<Vec<u8>> {
            let mut value = self.values.get(key).cloned();
            if let Some(last) = value.as_mut().and_then(|value| value.last_mut()) {
                *last ^= u8::from(self.spoils);
            }
            value.ok_or_else(|| io::ErrorKind::NotFound.into())
        }
    }

    impl Session for FakeSession {
        fn get(&mut self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
            self.begin_get(key)?;
            self.finish(see)
        }

        fn set(&mut self, key: &[u8], value: &StoredValue<'_>) -> io::Result<()> {
            self.begin_set(key, value)?;
            self.finish(&mut |_| ())
        }

        fn begin_get(&mut self, key: &[u8]) -> io::Result<()> {
            let value = self.value(key);
            self.begin(value.map(|value| vec![value]))
        }

        fn begin_get_many(&mut self, keys: &[&[u8]]) -> io::Result<()> {
            let values = keys.iter().map(|key| self.value(key)).collect();
            self.begin(values)
        }

        fn begin_set(&mut self, key: &[u8], value: &StoredValue<'_>) -> io::Result<()> {
            self.values.insert(key.to_vec(), value.to_vec());
            self.begin(Ok(Vec::new()))
        }

        fn flush(&mut self) -> io::Result<()> {
            self.flushes += 1;
            Ok(())
        }

        fn finish(&mut self, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
            let fetched = self.begun.pop_front().expect("something was begun");
            self.finished += 1;
            fetched?.iter().for_each(|value| see(value));
            Ok(())
        }
    }
}
