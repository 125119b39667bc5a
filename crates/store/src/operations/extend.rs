//! Appending and prepending to a value.

use super::rewrite::{Part, Rewrite, RewriteEnd};
use crate::handle::StoreHandle;
use crate::options::{Access, SetMode, SetOptions, SetOutcome};
use crate::suspended::Interrupt;

impl StoreHandle {
    /// Appends to or prepends to the present value.
    pub(super) fn extend(
        &self,
        hash: u64,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
    ) -> Result<SetOutcome, Interrupt> {
        loop {
            let end = self.rewrite(hash, key, Access::Peek, |item| {
                if options
                    .compare_cas
                    .is_some_and(|wanted| wanted != item.cas())
                {
                    return Err(SetOutcome::Exists);
                }
                let mut fields = item.fields();
                fields.set_cas(options.new_cas);
                fields.cas_told = options.cas_wanted;
                (fields.stale, fields.win_sent) = (false, false);
                let (before, after) = match options.mode {
                    SetMode::Prepend => (Part::Borrowed(value), Part::EMPTY),
                    _ => (Part::EMPTY, Part::Borrowed(value)),
                };
                Ok(Rewrite {
                    fields,
                    before,
                    keeps_value: true,
                    after,
                })
            })?;
            let created = SetOptions {
                mode: SetMode::Add,
                expiry: options.vivify.unwrap_or_default(),
                ..*options
            };
            return match end {
                RewriteEnd::Done(item) => Ok(SetOutcome::Stored {
                    cas: item.told_cas(),
                }),
                RewriteEnd::Refused(outcome) => Ok(outcome),
                RewriteEnd::Absent if options.compare_cas.is_some() => Ok(SetOutcome::NotFound),
                RewriteEnd::Absent if options.vivify.is_none() => Ok(SetOutcome::NotStored),
                RewriteEnd::Absent => match self.set(key, value, &created)? {
                    // Another thread was first: there is something to extend now.
                    SetOutcome::NotStored => continue,
                    outcome => Ok(outcome),
                },
            };
        }
    }
}
