//! `set`, `add`, `replace`, `append`, `prepend` and `cas`.

use super::Tokens;
use super::reject::Reject;
use super::request::checked_key;
use crate::number::{parse_i32, parse_i64, parse_u32, parse_u64};

/// Which of the storage commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreVerb {
    /// `set`
    Set,
    /// `add`
    Add,
    /// `replace`
    Replace,
    /// `append`
    Append,
    /// `prepend`
    Prepend,
    /// `cas`
    CompareAndSwap,
}

/// A storage command's line; the value follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// Which command.
    pub verb: StoreVerb,
    /// The key.
    pub key: &'a [u8],
    /// Client flags.
    pub flags: u32,
    /// Expiry, as the client gave it.
    pub exptime: i64,
    /// Bytes of the value, without its line ending.
    pub value_bytes: usize,
    /// CAS token of a `cas`.
    pub compare_cas: Option<u64>,
    /// No reply is wanted.
    pub quiet: bool,
}

impl<'a> Store<'a> {
    /// Parses what follows the command's name.
    ///
    /// # Errors
    /// memcached's answer; the value is then not skipped but read as the next command, as there.
    pub(super) fn parse(verb: StoreVerb, mut tokens: Tokens<'a>) -> Result<Self, Reject> {
        let with_cas = verb == StoreVerb::CompareAndSwap;
        let mut take = || tokens.next().ok_or(Reject::ERROR);
        let (key, flags, exptime, value_bytes) = (take()?, take()?, take()?, take()?);
        let compare_cas = if with_cas { Some(take()?) } else { None };
        let quiet = match tokens.next() {
            // A line cut short is malformed all the same, but quietly so.
            None => compare_cas.unwrap_or(value_bytes) == b"noreply",
            Some(last) if tokens.next().is_none() => last == b"noreply",
            Some(_) => return Err(Reject::ERROR),
        };
        let malformed = Reject::BAD_FORMAT.unless(quiet);
        Ok(Store {
            verb,
            key: checked_key(key, quiet)?,
            flags: parse_u32(flags).ok_or(malformed)?,
            exptime: parse_i64(exptime).ok_or(malformed)?,
            value_bytes: parse_value_bytes(value_bytes).ok_or(malformed)?,
            compare_cas: compare_cas
                .map(|cas| parse_u64(cas).ok_or(malformed))
                .transpose()?,
            quiet,
        })
    }
}

/// Length of a value: not negative, and with its line ending within 31 bits.
pub(super) fn parse_value_bytes(token: &[u8]) -> Option<usize> {
    parse_i32(token)
        .filter(|bytes| (0..=i32::MAX - 2).contains(bytes))
        .map(|bytes| bytes as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(verb: StoreVerb, line: &[u8]) -> Result<Store<'_>, Reject> {
        Store::parse(verb, Tokens::new(line))
    }

    #[test]
    fn takes_every_field() {
        let store = parse(StoreVerb::CompareAndSwap, b"key 5 -1 30 99 noreply").unwrap();
        assert_eq!(
            (store.key, store.flags, store.exptime),
            (&b"key"[..], 5, -1)
        );
        assert_eq!(
            (store.value_bytes, store.compare_cas, store.quiet),
            (30, Some(99), true)
        );
        let store = parse(StoreVerb::Set, b"key 0 4102444800 0").unwrap();
        assert_eq!((store.exptime, store.value_bytes), (4_102_444_800, 0));
        assert_eq!((store.compare_cas, store.quiet), (None, false));
    }

    #[test]
    fn a_malformed_line_may_ask_for_no_reply() {
        for (verb, line, quiet) in [
            (StoreVerb::Set, &b"key 0 0 noreply"[..], true),
            (StoreVerb::Set, b"key 0 0 x", false),
            (StoreVerb::Set, b"key 0 0 x noreply", true),
            (StoreVerb::CompareAndSwap, b"key 0 0 1 noreply", true),
            (StoreVerb::CompareAndSwap, b"key 0 0 noreply 1", false),
        ] {
            assert_eq!(
                parse(verb, line),
                Err(Reject::BAD_FORMAT.unless(quiet)),
                "{line:?}"
            );
        }
    }

    #[test]
    fn counts_the_words() {
        for (verb, line) in [
            (StoreVerb::Set, &b"key 0 0"[..]),
            (StoreVerb::Set, b"key 0 0 1 noreply x"),
            (StoreVerb::CompareAndSwap, b"key 0 0 1"),
        ] {
            assert_eq!(parse(verb, line), Err(Reject::ERROR), "{line:?}");
        }
    }
}
