//! `set`, `add`, `replace`, `append`, `prepend` and `cas`.

use super::Tokens;
use super::reject::Reject;
use super::request::is_quiet;
use crate::number::{parse_client_flags, parse_exptime, parse_i32, parse_u64};
use farcache_base::limits::KEY_BYTES_MAX;

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
    /// Parses what follows the command's name. Tokens behind the last one needed are passed over,
    /// but for a `noreply` at the end, as in memcached.
    ///
    /// # Errors
    /// memcached's answer. The value is read as the next command where the line does not tell its
    /// length, and thrown away where it does.
    pub(super) fn parse(verb: StoreVerb, mut tokens: Tokens<'a>) -> Result<Self, Reject> {
        let mut take = || tokens.next().ok_or(Reject::BAD_FORMAT);
        let (key, flags, exptime, length) = (take()?, take()?, take()?, take()?);
        let value_bytes = parse_value_bytes(length).ok_or(Reject::BAD_FORMAT)?;
        let quiet = is_quiet(tokens);
        let malformed = Reject::BAD_FORMAT
            .unless(quiet)
            .skipping(value_bytes + VALUE_END_BYTES);
        let compare_cas = match verb {
            StoreVerb::CompareAndSwap => {
                let cas = tokens.next().and_then(parse_u64);
                Some(cas.ok_or(malformed)?)
            }
            _ => None,
        };
        if key.len() > KEY_BYTES_MAX {
            return Err(malformed);
        }
        Ok(Store {
            verb,
            key,
            flags: parse_client_flags(flags).ok_or(malformed)?,
            exptime: parse_exptime(exptime).ok_or(malformed)?,
            value_bytes,
            compare_cas,
            quiet,
        })
    }
}

/// Bytes of the line ending behind each value.
const VALUE_END_BYTES: usize = 2;

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
    fn the_value_of_a_malformed_line_is_thrown_away_where_its_length_is_told() {
        let long = [&[b'k'; 251][..], b" 0 0 3 noreply"].concat();
        for (verb, line, quiet) in [
            (StoreVerb::Set, &b"key x 0 3"[..], false),
            (StoreVerb::Set, b"key 0 x 3 noreply", true),
            (StoreVerb::Set, &long, true),
            (StoreVerb::CompareAndSwap, b"key 0 0 3", false),
            (StoreVerb::CompareAndSwap, b"key 0 0 3 noreply", true),
            (StoreVerb::CompareAndSwap, b"key 0 0 3 +1", false),
        ] {
            let refusal = Reject::BAD_FORMAT.unless(quiet).skipping(5);
            assert_eq!(parse(verb, line), Err(refusal), "{line:?}");
        }
    }

    #[test]
    fn a_line_that_tells_no_length_is_refused_loudly() {
        for line in [
            &b"key 0 0"[..],
            b"key 0 0 x noreply",
            b"key 0 0 -1 noreply",
            b"key 0 0 noreply",
            b"key 0 0 2147483647",
        ] {
            assert_eq!(
                parse(StoreVerb::Set, line),
                Err(Reject::BAD_FORMAT),
                "{line:?}"
            );
        }
    }

    #[test]
    fn more_tokens_are_passed_over() {
        let store = parse(StoreVerb::Set, b"key 0 0 1 noreply x").unwrap();
        assert!(!store.quiet);
        let store = parse(StoreVerb::Set, b"key 0 0 1 x noreply").unwrap();
        assert!(store.quiet);
    }
}
