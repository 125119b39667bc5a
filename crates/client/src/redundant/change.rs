//! What an operation makes of the value that it finds: the conditions and results are those that a
//! single server has for the same operation.

use super::absolute;
use crate::{Direction, Error, Initial, Operation, Reply, SendBytes, Store, StoreMode, Value};
use farcache_base::decimal;
use farcache_base::limits::VALUE_BYTES_MAX;
use std::borrow::Cow;

/// A value that an operation carries while it is under way.
pub(super) enum Given {
    Copied(Box<[u8]>),
    Lent(SendBytes),
}

impl Given {
    fn of(value: Value<'_>) -> Given {
        match value {
            Value::Copied(bytes) => Given::Copied(bytes.into()),
            Value::Lent(bytes) => Given::Lent(bytes),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Given::Copied(bytes) => bytes,
            Given::Lent(bytes) => bytes,
        }
    }
}

/// An operation whose effect depends on what is there.
pub(super) enum Change {
    /// A store with a condition, or one that joins values.
    Store {
        mode: StoreMode,
        value: Given,
        flags: u32,
        expiry_unix: u32,
        cas: u64,
    },
    Count {
        direction: Direction,
        delta: u64,
        /// Number and expiry, as Unix time, of what is created.
        initial: Option<(u64, u32)>,
    },
    /// Another expiry, as Unix time.
    Touch { expiry_unix: u32 },
    /// A deletion of the item with this token.
    Delete { cas: u64 },
    /// What is there stays as it is, and is complete then.
    Finish,
}

/// What a change finds.
#[derive(Clone, Debug, Default)]
pub(super) struct Present {
    pub value: Vec<u8>,
    pub flags: u32,
    pub expiry_unix: u32,
    /// Its version's bits.
    pub cas: u64,
}

/// What is to be stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written<'a> {
    Value {
        bytes: Cow<'a, [u8]>,
        flags: u32,
        expiry_unix: u32,
        /// Whatever its length, each owner has all of it.
        is_copied: bool,
    },
    Tombstone,
}

/// What the caller is told when that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The new version.
    Version,
    Number(u64),
    /// The value that was there.
    Value,
    Deleted,
}

impl Change {
    /// The change that an operation is. Only operations on one key that depend on its value are.
    pub fn of(operation: Operation<'_>) -> Option<Change> {
        Some(match operation {
            Operation::Store(Store {
                mode,
                value,
                flags,
                expiry_s,
                cas,
                ..
            }) => Change::Store {
                mode,
                value: Given::of(value),
                flags,
                expiry_unix: absolute(expiry_s),
                cas,
            },
            Operation::Arithmetic {
                direction,
                delta,
                initial,
                ..
            } => Change::Count {
                direction,
                delta,
                initial: initial.map(|Initial { number, expiry_s }| (number, absolute(expiry_s))),
            },
            Operation::Touch { expiry_s, .. } | Operation::GetAndTouch { expiry_s, .. } => {
                let expiry_unix = absolute(expiry_s);
                Change::Touch { expiry_unix }
            }
            Operation::Delete { cas, .. } => Change::Delete { cas },
            _ => return None,
        })
    }

    /// The value that was lent.
    pub fn take_lent(&mut self) -> Option<SendBytes> {
        let Change::Store { value, .. } = self else {
            return None;
        };
        match std::mem::replace(value, Given::Copied(Box::default())) {
            Given::Lent(bytes) => Some(bytes),
            Given::Copied(_) => None,
        }
    }

    /// What becomes of what is there, or of nothing.
    ///
    /// # Errors
    /// As the operation ends on a single server. Nothing is to be stored then.
    pub fn apply<'a>(&'a self, present: Option<&'a Present>) -> Result<(Written<'a>, Told), Error> {
        match self {
            Change::Store { .. } => Ok((self.store(present)?, Told::Version)),
            Change::Count {
                direction,
                delta,
                initial,
            } => {
                let (number, flags, expiry_unix) = count(*direction, *delta, *initial, present)?;
                let written = Written::Value {
                    bytes: number.to_string().into_bytes().into(),
                    flags,
                    expiry_unix,
                    is_copied: true,
                };
                Ok((written, Told::Number(number)))
            }
            Change::Touch { expiry_unix } => {
                let present = present.ok_or(Error::NotFound)?;
                Ok((present.with_expiry(*expiry_unix), Told::Value))
            }
            Change::Delete { cas } => match present {
                None => Err(Error::NotFound),
                Some(present) if *cas != 0 && present.cas != *cas => Err(Error::Exists),
                Some(_) => Ok((Written::Tombstone, Told::Deleted)),
            },
            Change::Finish => Ok((rewritten(present), Told::Version)),
        }
    }

    fn store<'a>(&'a self, present: Option<&'a Present>) -> Result<Written<'a>, Error> {
        let Change::Store {
            mode,
            value,
            flags,
            expiry_unix,
            cas,
        } = self
        else {
            return Err(Error::Protocol("no store"));
        };
        let joins = matches!(mode, StoreMode::Append | StoreMode::Prepend);
        match present {
            None if joins => return Err(Error::NotStored),
            None if *cas != 0 || *mode == StoreMode::Replace => return Err(Error::NotFound),
            Some(present) if *cas != 0 && present.cas != *cas => return Err(Error::Exists),
            Some(_) if *cas == 0 && *mode == StoreMode::Add => return Err(Error::Exists),
            _ => {}
        }
        let given = value.bytes();
        let (bytes, flags, expiry_unix) = match present.filter(|_| joins) {
            None => (Cow::Borrowed(given), *flags, *expiry_unix),
            Some(present) => {
                let joined = match mode {
                    StoreMode::Prepend => [given, &present.value].concat(),
                    _ => [&present.value, given].concat(),
                };
                (Cow::Owned(joined), present.flags, present.expiry_unix)
            }
        };
        if bytes.len() > VALUE_BYTES_MAX {
            return Err(Error::TooLarge);
        }
        Ok(Written::Value {
            bytes,
            flags,
            expiry_unix,
            is_copied: false,
        })
    }
}

impl Present {
    fn with_expiry(&self, expiry_unix: u32) -> Written<'_> {
        Written::Value {
            bytes: Cow::Borrowed(&self.value),
            flags: self.flags,
            expiry_unix,
            is_copied: false,
        }
    }
}

/// What is there, once more.
pub(super) fn rewritten(present: Option<&Present>) -> Written<'_> {
    match present {
        Some(present) => present.with_expiry(present.expiry_unix),
        None => Written::Tombstone,
    }
}

/// The number after counting, with the flags and the expiry that its item has or gets.
fn count(
    direction: Direction,
    delta: u64,
    initial: Option<(u64, u32)>,
    present: Option<&Present>,
) -> Result<(u64, u32, u32), Error> {
    let Some(present) = present else {
        let (number, expiry_unix) = initial.ok_or(Error::NotFound)?;
        return Ok((number, 0, expiry_unix));
    };
    let number = decimal::number(&present.value).ok_or(Error::NotNumeric)?;
    let number = match direction {
        Direction::Increment => number.wrapping_add(delta),
        Direction::Decrement => number.saturating_sub(delta),
    };
    Ok((number, present.flags, present.expiry_unix))
}

impl Told {
    /// The reply to an operation that stored this version. Of a value the caller has the bytes.
    pub fn reply(self, cas: u64) -> Reply {
        match self {
            Told::Number(number) => Reply::Number { number, cas },
            Told::Deleted => Reply::Done { cas: 0 },
            Told::Version | Told::Value => Reply::Done { cas },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(mode: StoreMode, value: &[u8], cas: u64) -> Change {
        Change::Store {
            mode,
            value: Given::Copied(value.into()),
            flags: 9,
            expiry_unix: 7,
            cas,
        }
    }

    fn present(value: &[u8]) -> Present {
        Present {
            value: value.into(),
            flags: 5,
            expiry_unix: 3,
            cas: 77,
        }
    }

    /// Bytes, flags and expiry of what is stored.
    fn stored(change: &Change, present: Option<&Present>) -> Result<(Vec<u8>, u32, u32), Error> {
        match change.apply(present)?.0 {
            Written::Value {
                bytes,
                flags,
                expiry_unix,
                ..
            } => Ok((bytes.into_owned(), flags, expiry_unix)),
            Written::Tombstone => panic!("a deletion"),
        }
    }

    #[test]
    fn stores_have_the_conditions_that_a_server_has() {
        use StoreMode::*;
        let there = present(b"old");
        let new = || Ok((b"new".to_vec(), 9, 7));
        for (mode, cas, on_present, on_absent) in [
            (Add, 0, Err(Error::Exists), new()),
            (Replace, 0, new(), Err(Error::NotFound)),
            (Set, 77, new(), Err(Error::NotFound)),
            (Set, 78, Err(Error::Exists), Err(Error::NotFound)),
            // With a token, all that counts is that the item has it.
            (Add, 77, new(), Err(Error::NotFound)),
            (
                Append,
                0,
                Ok((b"oldnew".to_vec(), 5, 3)),
                Err(Error::NotStored),
            ),
            (
                Prepend,
                0,
                Ok((b"newold".to_vec(), 5, 3)),
                Err(Error::NotStored),
            ),
            (Append, 78, Err(Error::Exists), Err(Error::NotStored)),
        ] {
            let change = store(mode, b"new", cas);
            assert_eq!(stored(&change, Some(&there)), on_present, "{mode:?} {cas}");
            assert_eq!(stored(&change, None), on_absent, "{mode:?} {cas}");
        }
    }

    #[test]
    fn numbers_are_counted_as_a_server_counts_them() {
        use Direction::*;
        let count = |direction, delta, initial, value: Option<&[u8]>| {
            let change = Change::Count {
                direction,
                delta,
                initial,
            };
            let there = value.map(present);
            stored(&change, there.as_ref())
        };
        let number = |text: &str, flags, expiry| Ok((text.as_bytes().to_vec(), flags, expiry));
        assert_eq!(count(Increment, 5, None, Some(b"7 ")), number("12", 5, 3));
        assert_eq!(count(Decrement, 9, None, Some(b"7")), number("0", 5, 3));
        let most = Some(&b"18446744073709551615"[..]);
        assert_eq!(count(Increment, 2, None, most), number("1", 5, 3));
        assert_eq!(count(Increment, 1, Some((40, 8)), None), number("40", 0, 8));
        assert_eq!(count(Increment, 1, None, None), Err(Error::NotFound));
        assert_eq!(
            count(Increment, 1, None, Some(b"x")),
            Err(Error::NotNumeric)
        );
    }

    #[test]
    fn a_touch_changes_the_expiry_and_a_deletion_may_want_a_token() {
        let there = present(b"old");
        let touch = Change::Touch { expiry_unix: 99 };
        assert_eq!(stored(&touch, Some(&there)), Ok((b"old".to_vec(), 5, 99)));
        assert_eq!(stored(&touch, None), Err(Error::NotFound));
        let delete = |cas, there| Change::Delete { cas }.apply(there).map(|(_, told)| told);
        assert_eq!(delete(77, Some(&there)), Ok(Told::Deleted));
        assert_eq!(delete(78, Some(&there)), Err(Error::Exists));
        assert_eq!(delete(77, None), Err(Error::NotFound));
    }
}
