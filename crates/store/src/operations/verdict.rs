//! Whether an item may take the place of the present one: modes and tokens of the memcached
//! protocols.

use crate::options::{SetMode, SetOptions, SetOutcome};

/// Whether an item may take the place of the present one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Store,
    /// The client's token is outdated, but it wants the value stored all the same.
    StoreStale,
    Refuse(SetOutcome),
}

/// The token that a client presents, against the item's.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Same,
    /// Older, and the client asked for that case (meta protocol `I`).
    Outdated,
    Different,
}

impl Comparison {
    pub fn of(options: &SetOptions, wanted: u64, cas: u64) -> Comparison {
        match wanted {
            _ if wanted == cas => Comparison::Same,
            // No item ever has token 0, so it is not an older one.
            1.. if options.invalidate && wanted < cas => Comparison::Outdated,
            _ => Comparison::Different,
        }
    }
}

impl Verdict {
    /// Judges by whether an item is present, whose token `cas` gives where it counts.
    ///
    /// # Errors
    /// Those of `cas`.
    pub fn of<E>(
        options: &SetOptions,
        is_present: bool,
        cas: impl FnOnce() -> Result<u64, E>,
    ) -> Result<Verdict, E> {
        let refused = match (options.mode, options.compare_cas, is_present) {
            (SetMode::Add, _, true) => SetOutcome::NotStored,
            (_, Some(_), false) => SetOutcome::NotFound,
            (SetMode::Replace, _, false) => SetOutcome::NotStored,
            (_, Some(wanted), true) => match Comparison::of(options, wanted, cas()?) {
                Comparison::Same => return Ok(Verdict::Store),
                Comparison::Outdated => return Ok(Verdict::StoreStale),
                Comparison::Different => SetOutcome::Exists,
            },
            _ => return Ok(Verdict::Store),
        };
        Ok(Verdict::Refuse(refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With an item present whose token is 7, and without one.
    fn verdicts(options: SetOptions) -> [Verdict; 2] {
        [true, false].map(|is_present| {
            let cas = || match is_present {
                true => Ok(7),
                false => Err("nothing has no token"),
            };
            Verdict::of(&options, is_present, cas).unwrap()
        })
    }

    fn with_token(mode: SetMode, token: u64, invalidate: bool) -> SetOptions {
        SetOptions {
            mode,
            compare_cas: Some(token),
            invalidate,
            ..SetOptions::default()
        }
    }

    #[test]
    fn modes_ask_for_an_item_or_for_none() {
        use SetOutcome::NotStored;
        use Verdict::{Refuse, Store};
        let of_mode = |mode| SetOptions {
            mode,
            ..SetOptions::default()
        };
        assert_eq!(verdicts(of_mode(SetMode::Set)), [Store, Store]);
        assert_eq!(verdicts(of_mode(SetMode::Add)), [Refuse(NotStored), Store]);
        let of_replace = [Store, Refuse(NotStored)];
        assert_eq!(verdicts(of_mode(SetMode::Replace)), of_replace);
    }

    #[test]
    fn a_token_must_be_the_items() {
        use SetOutcome::{Exists, NotFound, NotStored};
        use Verdict::{Refuse, Store};
        let set = |token| verdicts(with_token(SetMode::Set, token, false));
        assert_eq!(set(7), [Store, Refuse(NotFound)]);
        assert_eq!(set(6), [Refuse(Exists), Refuse(NotFound)]);
        let replace = verdicts(with_token(SetMode::Replace, 7, false));
        assert_eq!(replace, [Store, Refuse(NotFound)]);
        let add = verdicts(with_token(SetMode::Add, 7, false));
        assert_eq!(add, [Refuse(NotStored), Refuse(NotFound)]);
    }

    #[test]
    fn an_older_token_stores_a_stale_value_where_that_is_asked_for() {
        use SetOutcome::{Exists, NotFound};
        use Verdict::{Refuse, Store, StoreStale};
        let set = |token| verdicts(with_token(SetMode::Set, token, true));
        assert_eq!(set(6), [StoreStale, Refuse(NotFound)]);
        assert_eq!(set(7), [Store, Refuse(NotFound)]);
        assert_eq!(set(8), [Refuse(Exists), Refuse(NotFound)]);
        assert_eq!(set(0), [Refuse(Exists), Refuse(NotFound)], "no item has 0");
    }

    #[test]
    fn the_token_is_looked_up_only_where_it_counts() {
        let cas = || Err("it lies on a device");
        let judge = |options: &SetOptions| Verdict::of(options, true, cas);
        assert!(judge(&SetOptions::default()).is_ok());
        assert!(judge(&with_token(SetMode::Add, 7, false)).is_ok());
        assert!(judge(&with_token(SetMode::Set, 7, false)).is_err());
    }
}
