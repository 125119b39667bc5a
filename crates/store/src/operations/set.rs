//! Storing a value.

use super::rewrite::{Part, Rewrite, RewriteEnd};
use super::terms::{Refusal, Terms};
use super::verdict::{Comparison, Verdict};
use super::versioned::VersionCommit;
use crate::core::Entry;
use crate::handle::StoreHandle;
use crate::index::{Location, LockedChain};
use crate::item::{Fields, Layout, RawItem, Stamp, memcached_item_bytes};
use crate::options::{Access, SetMode, SetOptions, SetOutcome, StoreError};
use crate::segment::{Placed, Written};
use crate::suspended::{Interrupt, Suspended};
use farcache_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Frequency of an item that was evicted a short while ago: enough to reach the main queue, however
/// large it is.
const FREQUENCY_OF_GHOST: u32 = 2;

/// How putting a written item under its key ended.
pub(super) enum Commit {
    Ended(SetOutcome),
    /// The client's token is outdated, but it wants the value stored all the same.
    MustBeStale,
    /// A flush has voided the filling in which the item was written, before it was stored: it must
    /// be written anew.
    Void,
}

/// What is still to be accounted for of an item that was published: accounting may split its very
/// chain, so that is unlocked first.
#[must_use]
pub(super) enum Published<'c> {
    /// The key had no entry.
    Added,
    /// It takes the place of what lay there, which had so many entries.
    InPlaceOf {
        location: Location,
        item: Option<RawItem<'c>>,
        entries: i64,
    },
}

impl StoreHandle {
    /// Stores a value that is at hand.
    ///
    /// # Errors
    /// [`Interrupt`]; nothing has changed then.
    pub fn set(
        &self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
    ) -> Result<SetOutcome, Interrupt> {
        self.check_size(key, value.len(), options.flags)?;
        self.enter();
        let hash = self.core.hash(key);
        self.core.index.prefetch(hash);
        self.core.ghosts.prefetch(hash);
        if let Some(version) = options.version {
            self.core.incomplete.prefetch(version);
        }
        if matches!(options.mode, SetMode::Append | SetMode::Prepend) && options.version.is_none() {
            return self.extend(hash, key, value, options);
        }
        let fields = self.fields_of(options);
        let layout = fields.layout(key.len(), value.len());
        loop {
            let placed = self.place_or_make_room(&layout, options.expiry)?;
            // SAFETY: the room was just placed, with this layout's size.
            let written = unsafe { self.write(placed, layout, &fields, key, [value, &[], &[]]) };
            let commit = self.commit_written(hash, key, &written, options);
            if !matches!(commit, Ok(Commit::Ended(SetOutcome::Stored { .. }))) {
                self.give_back(written);
            }
            match commit? {
                Commit::Ended(outcome) => return Ok(outcome),
                Commit::MustBeStale => return self.set_stale(key, value, options),
                Commit::Void => {}
            }
        }
    }

    /// Refuses keys and values that may not be stored.
    pub(super) fn check_size(
        &self,
        key: &[u8],
        value_len: usize,
        flags: u32,
    ) -> Result<(), StoreError> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(StoreError::BadKey);
        }
        let bytes = memcached_item_bytes(key.len(), value_len, flags);
        let is_too_large = value_len > VALUE_BYTES_MAX || bytes > self.core.config.item_bytes_max;
        if is_too_large {
            Err(StoreError::TooLarge)
        } else {
            Ok(())
        }
    }

    pub(super) fn fields_of(&self, options: &SetOptions) -> Fields {
        Fields {
            flags: options.flags,
            expiry: options.expiry,
            cas: options.new_cas,
            stamp: options.version.map(Stamp::of_value),
            key_is_binary: options.key_is_binary,
            stale: false,
            win_sent: options.win_sent,
            cas_told: options.cas_wanted && self.core.config.cas,
        }
    }

    /// Room for an item; may pass a quiescent point to get it.
    pub(super) fn place_or_make_room(
        &self,
        layout: &Layout,
        expiry: u32,
    ) -> Result<Placed, Interrupt> {
        if let Some(placed) = self.place(layout, expiry) {
            return Ok(placed);
        }
        self.ensure_room(layout, expiry)?;
        Ok(self.place(layout, expiry).ok_or(StoreError::OutOfMemory)?)
    }

    /// Puts a written item under its key, if the present one allows it.
    pub(super) fn commit_written(
        &self,
        hash: u64,
        key: &[u8],
        written: &Written<'_>,
        options: &SetOptions,
    ) -> Result<Commit, Suspended> {
        if options.version.is_some() {
            let terms = Terms {
                restored: options.restored,
                fills_in: options.fills_in,
                is_promised: options.is_promised,
                keeping: options.keeping,
            };
            let commit = self.commit_version(hash, key, written, terms)?;
            return Ok(self.told_commit(commit, written));
        }
        let chain = self.core.index.lock(hash);
        if self.core.is_void(written.head(), written.item()) {
            return Ok(Commit::Void);
        }
        let entry = self.entry(&chain, key);
        let present = entry.as_ref().filter(|entry| entry.is_visible);
        let cas = || match present {
            Some(present) => self.cas_of_entry(hash, present),
            None => Ok(0),
        };
        match Verdict::of(options, present.is_some(), cas)? {
            Verdict::Store => {}
            Verdict::Refuse(outcome) => return Ok(Commit::Ended(outcome)),
            Verdict::StoreStale => return Ok(Commit::MustBeStale),
        }
        let Some(published) = self.publish(hash, &chain, entry.as_ref(), written) else {
            return Ok(Commit::Ended(SetOutcome::NotStored));
        };
        drop(chain);
        self.note_published(hash, written, published);
        let cas = self.cas_told_of(written);
        Ok(Commit::Ended(SetOutcome::Stored { cas }))
    }

    /// How a commit by version is told to those who know no versions.
    fn told_commit(&self, commit: VersionCommit, written: &Written<'_>) -> Commit {
        Commit::Ended(match commit {
            // A version that was there already has the same token.
            VersionCommit::Stored { .. } | VersionCommit::Refused(Refusal::Same) => {
                let cas = self.cas_told_of(written);
                SetOutcome::Stored { cas }
            }
            VersionCommit::Refused(Refusal::Older { current }) => SetOutcome::Older { current },
            VersionCommit::Refused(Refusal::Unsure { current }) => SetOutcome::Unsure { current },
            VersionCommit::Refused(Refusal::Promised { current, has_newer }) => {
                SetOutcome::Promised { current, has_newer }
            }
            VersionCommit::Full => SetOutcome::NotStored,
            VersionCommit::Void => return Commit::Void,
        })
    }

    /// Stores a value that is outdated already: it is stale from the start, and what the present
    /// item says of expiry and recaching stays.
    pub(super) fn set_stale(
        &self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
    ) -> Result<SetOutcome, Interrupt> {
        let hash = self.core.hash(key);
        let wanted = options.compare_cas.unwrap_or_default();
        let end = self.rewrite(hash, key, Access::Peek, |item| {
            if Comparison::of(options, wanted, item.cas()) != Comparison::Outdated {
                return Err(SetOutcome::Exists);
            }
            let mut fields = self.fields_of(options);
            fields.stale = true;
            fields.expiry = item.expiry();
            fields.win_sent |= item.is_win_sent();
            let (before, after) = (Part::Borrowed(value), Part::EMPTY);
            Ok(Rewrite {
                fields,
                before,
                keeps_value: false,
                after,
            })
        })?;
        Ok(match end {
            RewriteEnd::Done(item) => SetOutcome::Stored {
                cas: item.told_cas(),
            },
            RewriteEnd::Refused(outcome) => outcome,
            RewriteEnd::Absent => SetOutcome::NotFound,
        })
    }

    /// Points the index at a written item, in place of the key's entry if there is one. None where
    /// the index is full.
    // Inlined, so that what it returns stays in registers: a set takes 5 % fewer instructions.
    #[inline(always)]
    pub(super) fn publish<'c>(
        &self,
        hash: u64,
        chain: &LockedChain<'_>,
        entry: Option<&Entry<'c, '_>>,
        written: &Written<'_>,
    ) -> Option<Published<'c>> {
        let item = written.item();
        self.core.touch_dirty(hash);
        // Before the entry, so that the count never falls behind what others take away.
        self.core
            .arena
            .meta(written.head())
            .add_live(item.layout().size());
        let Some(entry) = entry else {
            // Before others see the item, whose uses count in the same word.
            if self.core.ghosts.take(hash) {
                item.inherit_state(item.state(), FREQUENCY_OF_GHOST);
            }
            // SAFETY: an item has been written there, and its room is given back only where this
            // ends with nothing.
            if !unsafe { chain.insert(written.location()) } {
                self.core.note_dead(written.location(), item);
                return None;
            }
            return Some(Published::Added);
        };
        if item.stamp().is_none() {
            self.core.forget_version_of(entry);
        }
        // SAFETY: as for `insert`; the slot is of this chain.
        unsafe { chain.replace(entry.slot, written.location()) };
        Some(Published::InPlaceOf {
            location: entry.location,
            item: entry.item,
            entries: self.core.bury(chain, entry),
        })
    }

    /// Accounts for what was published, once its chain is unlocked.
    #[inline(always)]
    pub(super) fn note_published(
        &self,
        hash: u64,
        written: &Written<'_>,
        published: Published<'_>,
    ) {
        match published {
            Published::Added => {
                self.events().added.add(1);
                self.note_entries(1);
            }
            Published::InPlaceOf {
                location,
                item,
                entries,
            } => {
                self.core.note_replaced(location, item);
                if entries > 1 {
                    self.note_entries(1 - entries);
                }
            }
        }
        self.events().stored.add(1);
        self.core.note_dirty(hash, written.location());
    }

    /// The token of an item found with its chain locked.
    ///
    /// # Errors
    /// [`Suspended`], where a device must be read for it first.
    pub(super) fn cas_of_entry(&self, hash: u64, entry: &Entry<'_, '_>) -> Result<u64, Suspended> {
        let Some(item) = entry.item else {
            self.want(hash, entry.location)?;
            // Its segment has gone in this moment: replayed, the request finds it elsewhere.
            return Err(Suspended::OnDevice);
        };
        Ok(self.core.cas_of(entry.location, item))
    }

    /// The token of an item just stored, as the client is told it.
    fn cas_told_of(&self, written: &Written<'_>) -> u64 {
        if self.core.config.cas {
            self.core.cas_of(written.location(), written.item())
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StoreConfig;
    use crate::store::Store;

    /// A flush comes after the value has been written and before it is stored.
    #[test]
    fn nothing_is_stored_where_a_flush_has_voided_everything() {
        let config = StoreConfig {
            memory_bytes: 1 << 20,
            segment_bytes: 64 << 10,
            huge_pages: false,
            ..StoreConfig::default()
        };
        let store = Store::new(config).unwrap();
        let handle = store.handle();
        handle.enter();
        let (key, value, options) = (b"key", b"value", SetOptions::default());
        let hash = handle.core.hash(key);
        let fields = handle.fields_of(&options);
        let layout = fields.layout(key.len(), value.len());
        let placed = handle.place_or_make_room(&layout, 0).unwrap();
        let written = handle.write_checked(placed, layout, &fields, key, value);
        handle.flush_all(None);
        let commit = handle.commit_written(hash, key, &written, &options);
        assert!(matches!(commit, Ok(Commit::Void)));
        assert!(handle.get(key, Access::Peek).unwrap().is_none());
        // The whole operation puts it elsewhere.
        assert!(handle.set(key, value, &options).is_ok());
        assert!(handle.get(key, Access::Peek).unwrap().is_some());
    }
}
