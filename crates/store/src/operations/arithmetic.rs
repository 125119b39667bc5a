//! Increment and decrement.

use super::rewrite::{Part, Rewrite, RewriteEnd};
use crate::handle::Item;
use crate::handle::StoreHandle;
use crate::options::{
    Access, ArithmeticOptions, ArithmeticOutcome, SetMode, SetOptions, SetOutcome,
};
use crate::suspended::Interrupt;
use farcache_base::decimal;
use farcache_base::time::Seconds;

impl StoreHandle {
    /// Adds to or subtracts from a value that is a decimal number of at most 64 bits.
    ///
    /// # Errors
    /// [`Interrupt`]; nothing has changed then.
    pub fn arithmetic(
        &self,
        key: &[u8],
        options: &ArithmeticOptions,
    ) -> Result<ArithmeticOutcome, Interrupt> {
        self.enter();
        let hash = self.core.hash(key);
        loop {
            let mut value = 0;
            let end = self.rewrite(hash, key, Access::Use, |item| {
                value = new_value(item, options)?;
                let mut fields = item.fields();
                fields.set_cas(options.new_cas);
                fields.cas_told = options.cas_wanted;
                fields.expiry = options.expiry.unwrap_or(fields.expiry);
                let (before, after) = (Part::EMPTY, Part::Number(value));
                Ok(Rewrite {
                    fields,
                    before,
                    keeps_value: false,
                    after,
                })
            })?;
            return match (end, options.initial) {
                (RewriteEnd::Done(item), _) => {
                    let (cas, expiry) = (item.told_cas(), item.expiry());
                    Ok(ArithmeticOutcome::Done {
                        value,
                        cas,
                        expiry,
                        created: false,
                    })
                }
                (RewriteEnd::Refused(outcome), _) => Ok(outcome),
                (RewriteEnd::Absent, None) => Ok(ArithmeticOutcome::NotFound),
                (RewriteEnd::Absent, Some((value, expiry))) => {
                    match self.create_number(key, value, expiry, options)? {
                        SetOutcome::Stored { cas } => Ok(ArithmeticOutcome::Done {
                            value,
                            cas,
                            expiry,
                            created: true,
                        }),
                        // Another thread was first: there is a number to change now.
                        _ => continue,
                    }
                }
            };
        }
    }

    fn create_number(
        &self,
        key: &[u8],
        value: u64,
        expiry: Seconds,
        options: &ArithmeticOptions,
    ) -> Result<SetOutcome, Interrupt> {
        let created = SetOptions {
            mode: SetMode::Add,
            expiry,
            new_cas: options.new_cas,
            key_is_binary: options.key_is_binary,
            cas_wanted: options.cas_wanted,
            ..SetOptions::default()
        };
        self.set(key, value.to_string().as_bytes(), &created)
    }
}

fn new_value(item: &Item<'_>, options: &ArithmeticOptions) -> Result<u64, ArithmeticOutcome> {
    if options
        .compare_cas
        .is_some_and(|wanted| wanted != item.cas())
    {
        return Err(ArithmeticOutcome::Exists);
    }
    let old = decimal::number(item.value()).ok_or(ArithmeticOutcome::NotNumeric)?;
    let delta = options.delta;
    Ok(if options.decrement {
        old.saturating_sub(delta)
    } else {
        old.wrapping_add(delta)
    })
}
