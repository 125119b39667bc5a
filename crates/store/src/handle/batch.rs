//! Many lookups at once: what they will touch is fetched for all before any of it is looked at.

use super::{Item, StoreHandle};
use crate::BATCH_MAX;
use crate::index::{Hint, Location};
use crate::options::Access;
use crate::prefetch::prefetch_line;
use crate::suspended::Suspended;
use arrayvec::ArrayVec;

impl StoreHandle {
    /// Looks up to [`BATCH_MAX`] keys up together, which overlaps their cache misses; `found`
    /// receives one entry a key, in order.
    ///
    /// # Errors
    /// [`Suspended`], where any of them must be read from a device first: `found` is empty then,
    /// and the reads of all that must be read can start together.
    ///
    /// # Panics
    /// With more than [`BATCH_MAX`] keys.
    pub fn get_batch<'h>(
        &'h self,
        keys: &[&[u8]],
        access: Access,
        found: &mut Vec<Option<Item<'h>>>,
    ) -> Result<(), Suspended> {
        assert!(keys.len() <= BATCH_MAX, "at most {BATCH_MAX} keys at once");
        self.enter();
        found.clear();
        let hinted = self.prefetch_hinted(keys);
        let mut suspended = None;
        found.extend(hinted.iter().zip(keys).map(|(&(hash, hint), key)| {
            // The hint is right but for keys whose tags are alike, and for what others change.
            match hint {
                Hint::At(location) => self.accept(location, key, access),
                _ => None,
            }
            .or_else(|| self.get_of_batch(hash, key, access, &mut suspended))
        }));
        if self.core.is_sync() {
            hinted.iter().for_each(|&(hash, _)| self.note_seen(hash));
        }
        match suspended {
            None => Ok(()),
            Some(suspended) => {
                found.clear();
                Err(suspended)
            }
        }
    }

    /// A key of a batch that is not where its hint says. One that must be read does not end the
    /// batch: the reads of the keys behind it start as well. Not inlined, so that it costs the
    /// others nothing.
    #[inline(never)]
    fn get_of_batch(
        &self,
        hash: u64,
        key: &[u8],
        access: Access,
        suspended: &mut Option<Suspended>,
    ) -> Option<Item<'_>> {
        match self.get_hashed(hash, key, access) {
            Ok(item) => item,
            Err(what) => {
                *suspended = Some(what);
                None
            }
        }
    }

    /// Starts fetching what operations on up to [`BATCH_MAX`] keys will touch; keys beyond that are
    /// left alone, and so is a single one, whose misses cannot overlap with anything. Worth it
    /// before several operations that follow each other closely.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        if keys.len() < 2 {
            return;
        }
        self.enter();
        self.prefetch_hinted(&keys[..keys.len().min(BATCH_MAX)]);
    }

    /// Fetches, each stage for all keys before the next: first buckets, then items or overflow
    /// buckets, then the items that those lead to.
    #[inline]
    fn prefetch_hinted(&self, keys: &[&[u8]]) -> ArrayVec<(u64, Hint), BATCH_MAX> {
        let index = &self.core.index;
        let mut hinted: ArrayVec<(u64, Hint), BATCH_MAX> = ArrayVec::new();
        for key in keys {
            let hash = self.core.hash(key);
            index.prefetch(hash);
            hinted.push((hash, Hint::Nowhere));
        }
        let mut goes_further = false;
        for (hash, hint) in &mut hinted {
            *hint = index.hint(*hash);
            match *hint {
                Hint::At(location) => self.prefetch_item(location),
                Hint::Further(overflow) => {
                    index.prefetch_further(overflow);
                    goes_further = true;
                }
                Hint::Nowhere => {}
            }
        }
        if goes_further {
            self.prefetch_behind_overflow(&mut hinted);
        }
        hinted
    }

    fn prefetch_behind_overflow(&self, hinted: &mut [(u64, Hint)]) {
        for (hash, hint) in hinted {
            let Hint::Further(overflow) = *hint else {
                continue;
            };
            *hint = self.core.index.hint_further(overflow, *hash);
            if let Hint::At(location) = *hint {
                self.prefetch_item(location);
            }
        }
    }

    /// Starts fetching an item: header and key lie on its first line, the rest of a small item on
    /// the next.
    #[inline]
    fn prefetch_item(&self, location: Location) {
        if location.is_on_device() {
            return;
        }
        let address = self.core.arena.address_of(location).cast_const();
        prefetch_line(address);
        prefetch_line(address.wrapping_add(64));
    }
}
