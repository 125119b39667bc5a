//! Removing, invalidating and clearing items.

use super::rewrite::{Part, Rewrite, RewriteEnd};
use crate::core::Entry;
use crate::handle::Item;
use crate::handle::StoreHandle;
use crate::index::LockedChain;
use crate::options::{Access, DeleteOptions, DeleteOutcome};
use crate::suspended::{Suspended, settled};
use farcache_base::time::NEVER;

impl StoreHandle {
    /// Removes an item, or invalidates or clears it. Where there is no memory to write down that an
    /// item is stale, it is removed: no reader may take it for fresh.
    ///
    /// # Errors
    /// [`Suspended`], where the item must be read from a device first, or what takes its place has
    /// to wait for room; nothing has changed then.
    pub fn delete(&self, key: &[u8], options: &DeleteOptions) -> Result<DeleteOutcome, Suspended> {
        self.enter();
        let hash = self.core.hash(key);
        if !options.invalidate && !options.clear_value {
            return self.remove(hash, key, options.compare_cas);
        }
        let end = self.rewrite(hash, key, Access::Peek, |item| kept_item(item, options));
        match settled(end)? {
            Ok(RewriteEnd::Done(_)) => Ok(DeleteOutcome::Deleted),
            Ok(RewriteEnd::Refused(outcome)) => Ok(outcome),
            Ok(RewriteEnd::Absent) => Ok(DeleteOutcome::NotFound),
            Err(_) => self.remove(hash, key, options.compare_cas),
        }
    }

    /// Removes an item, whatever it is and wherever it lies: nothing has to be waited for.
    pub fn discard(&self, key: &[u8]) {
        self.enter();
        let hash = self.core.hash(key);
        let chain = self.core.index.lock(hash);
        if let Some(entry) = self.entry(&chain, key) {
            self.core.touch_dirty(hash);
            let unlinked = self.unlink(&chain, &entry);
            drop(chain);
            self.note_unlinked(unlinked);
            self.core.touch_dirty(hash);
        }
    }

    fn remove(
        &self,
        hash: u64,
        key: &[u8],
        compare_cas: Option<u64>,
    ) -> Result<DeleteOutcome, Suspended> {
        let chain = self.core.index.lock(hash);
        let Some(entry) = self.entry(&chain, key) else {
            return Ok(DeleteOutcome::NotFound);
        };
        if let Some(wanted) = compare_cas.filter(|_| entry.is_visible)
            && wanted != self.cas_of_entry(hash, &entry)?
        {
            return Ok(DeleteOutcome::Exists);
        }
        self.core.touch_dirty(hash);
        let unlinked = self.unlink(&chain, &entry);
        drop(chain);
        let outcome = self.note_unlinked(unlinked);
        self.core.touch_dirty(hash);
        Ok(outcome)
    }

    /// Takes an entry out of its chain.
    pub(super) fn unlink(&self, chain: &LockedChain<'_>, entry: &Entry<'_, '_>) -> Unlinked {
        Unlinked {
            entries: self.core.unlink(chain, entry),
            was_visible: entry.is_visible,
        }
    }

    /// Accounts for an entry that was taken out, once its chain is unlocked.
    pub(super) fn note_unlinked(&self, unlinked: Unlinked) -> DeleteOutcome {
        self.events().removed.add(1);
        self.note_entries(-unlinked.entries);
        if unlinked.was_visible {
            DeleteOutcome::Deleted
        } else {
            DeleteOutcome::NotFound
        }
    }
}

/// What is still to be accounted for of an entry that was taken out of its chain: accounting may
/// split this very chain, so that is unlocked first.
#[must_use]
pub(super) struct Unlinked {
    entries: i64,
    was_visible: bool,
}

/// The item that stays in place of one that was invalidated or cleared.
fn kept_item(item: &Item<'_>, options: &DeleteOptions) -> Result<Rewrite<'static>, DeleteOutcome> {
    if options
        .compare_cas
        .is_some_and(|wanted| wanted != item.cas())
    {
        return Err(DeleteOutcome::Exists);
    }
    let mut fields = item.fields();
    fields.set_cas(options.new_cas);
    if options.clear_value {
        fields.flags = options.flags;
        fields.expiry = NEVER;
        // A token of 0 is none.
        let kept_cas = Some(item.cas()).filter(|cas| *cas != 0 && !options.invalidate);
        fields.cas = fields.cas.or(kept_cas);
    }
    fields.stale = options.invalidate;
    fields.win_sent = false;
    fields.expiry = options.expiry.unwrap_or(fields.expiry);
    let (before, after) = (Part::EMPTY, Part::EMPTY);
    Ok(Rewrite {
        fields,
        before,
        keeps_value: !options.clear_value,
        after,
    })
}
