//! What a multi-get brings.

use crate::{Error, Item};
use farcache_fabric::bytes::ReceiveBytes;

/// A value and what is stored with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRef<'a> {
    /// The value.
    pub value: &'a [u8],
    /// As stored.
    pub flags: u32,
    /// The item's CAS token.
    pub cas: u64,
}

/// Where the value of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On its way.
    Awaited,
    /// There is none.
    Missing,
    /// In the common memory.
    Inline { start: u32, bytes: u32 },
    /// In memory of its own, which is this one.
    Large(u32),
    /// In memory of its own, once it has been received.
    Arriving,
    /// It could not be had; the number of the error.
    Failed(u32),
}

/// What is known of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    /// The server that was asked.
    pub(crate) server: u32,
    pub(crate) flags: u32,
    pub(crate) cas: u64,
}

/// The values of a multi-get, in the order of its keys. It may be used again for the next one, and
/// then needs no new memory.
#[derive(Debug, Default)]
pub struct Values {
    pub(crate) entries: Vec<Entry>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) larges: Vec<ReceiveBytes>,
    pub(crate) errors: Vec<Error>,
}

impl Values {
    /// Empty, for use with a multi-get.
    #[must_use]
    pub fn new() -> Self {
        Values::default()
    }

    /// How many keys were asked for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key was asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of the key with this number; `None` where the key is absent.
    ///
    /// # Errors
    /// Why it could not be had.
    ///
    /// # Panics
    /// Fewer keys were asked for.
    pub fn get(&self, index: usize) -> Result<Option<ItemRef<'_>>, &Error> {
        let Entry {
            place, flags, cas, ..
        } = self.entries[index];
        let value = match place {
            Place::Inline { start, bytes } => &self.bytes[start as usize..][..bytes as usize],
            Place::Large(number) => &self.larges[number as usize][..],
            Place::Failed(number) => return Err(&self.errors[number as usize]),
            Place::Missing | Place::Awaited | Place::Arriving => return Ok(None),
        };
        Ok(Some(ItemRef { value, flags, cas }))
    }

    /// All values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = Result<Option<ItemRef<'_>>, &Error>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// How many keys were found.
    #[must_use]
    pub fn found(&self) -> usize {
        let is_there =
            |entry: &&Entry| matches!(entry.place, Place::Inline { .. } | Place::Large(_));
        self.entries.iter().filter(is_there).count()
    }

    /// The first failure of any key.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.errors.first()
    }

    /// The failures of the keys.
    #[must_use]
    pub fn errors(&self) -> &[Error] {
        &self.errors
    }

    /// Takes the value of a key out, which is absent from then on; a large one in the memory that
    /// it was received in.
    ///
    /// # Panics
    /// Fewer keys were asked for.
    pub fn take(&mut self, index: usize) -> Option<Vec<u8>> {
        let entry = &mut self.entries[index];
        let value = match entry.place {
            Place::Inline { start, bytes } => {
                self.bytes[start as usize..][..bytes as usize].to_vec()
            }
            Place::Large(number) => std::mem::take(&mut self.larges[number as usize]).into_vec(),
            _ => return None,
        };
        entry.place = Place::Missing;
        Some(value)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.larges.clear();
        self.errors.clear();
    }

    pub(crate) fn fail(&mut self, key: usize, error: Error) {
        self.entries[key].place = Place::Failed(self.errors.len() as u32);
        self.errors.push(error);
    }

    /// Adds a key that was got in another way.
    pub(crate) fn push_got(&mut self, got: Result<Option<Item>, Error>) {
        let key = self.entries.len();
        self.entries.push(Entry {
            place: Place::Missing,
            server: 0,
            flags: 0,
            cas: 0,
        });
        match got {
            Ok(Some(Item { value, flags, cas })) => {
                let place = Place::Large(self.larges.len() as u32);
                self.larges.push(value.into());
                let entry = &mut self.entries[key];
                (entry.place, entry.flags, entry.cas) = (place, flags, cas);
            }
            Ok(None) => {}
            Err(error) => self.fail(key, error),
        }
    }

    /// Keeps a small value.
    pub(crate) fn keep(&mut self, key: usize, value: &[u8], flags: u32, cas: u64) {
        let place = match u32::try_from(self.bytes.len() + value.len()) {
            Ok(end) => Place::Inline {
                start: end - value.len() as u32,
                bytes: value.len() as u32,
            },
            Err(_) => {
                self.larges.push(value.to_vec().into());
                Place::Large(self.larges.len() as u32 - 1)
            }
        };
        if matches!(place, Place::Inline { .. }) {
            self.bytes.extend_from_slice(value);
        }
        let entry = &mut self.entries[key];
        (entry.place, entry.flags, entry.cas) = (place, flags, cas);
    }
}
