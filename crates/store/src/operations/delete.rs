//! Removing, invalidating and clearing items.

use super::rewrite::{Part, Rewrite, RewriteEnd};
use crate::found::Item;
use crate::handle::StoreHandle;
use crate::options::{Access, DeleteOptions, DeleteOutcome};
use farcache_base::time::NEVER;

impl StoreHandle {
    /// Removes an item, or invalidates or clears it. Where there is no memory to write down that an
    /// item is stale, it is removed: no reader may take it for fresh.
    pub fn delete(&self, key: &[u8], options: &DeleteOptions) -> DeleteOutcome {
        if self.needs_reads() {
            return DeleteOutcome::NotFound;
        }
        self.enter();
        let hash = self.core.hash(key);
        if !options.invalidate && !options.clear_value {
            return self.remove(hash, key, options.compare_cas);
        }
        let end = self.rewrite(hash, key, Access::Peek, |item| kept_item(item, options));
        match end {
            Ok(RewriteEnd::Done(_)) => DeleteOutcome::Deleted,
            Ok(RewriteEnd::Refused(outcome)) => outcome,
            Ok(RewriteEnd::Absent) => DeleteOutcome::NotFound,
            Err(_) => self.remove(hash, key, options.compare_cas),
        }
    }

    fn remove(&self, hash: u64, key: &[u8], compare_cas: Option<u64>) -> DeleteOutcome {
        let chain = self.core.index.lock(hash);
        let Some(entry) = self.entry(&chain, key) else {
            return DeleteOutcome::NotFound;
        };
        if let Some(wanted) = compare_cas.filter(|_| entry.is_visible) {
            match self.cas_of_entry(hash, &entry) {
                Some(cas) if cas == wanted => {}
                Some(_) => return DeleteOutcome::Exists,
                None => return DeleteOutcome::NotFound,
            }
        }
        let entries = self.core.unlink(&chain, &entry);
        drop(chain);
        self.events().removed.add(1);
        self.note_entries(-entries);
        if entry.is_visible {
            DeleteOutcome::Deleted
        } else {
            DeleteOutcome::NotFound
        }
    }
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
    fields.cas = options.new_cas;
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
