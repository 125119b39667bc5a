//! `set`, `add`, `replace`, `append`, `prepend` and `cas`.

use super::Tokens;
use super::reject::Reject;
use super::request::{checked_key, is_quiet};
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
        let all = tokens;
        let with_cas = verb == StoreVerb::CompareAndSwap;
        let mut take = || tokens.next().ok_or(Reject::ERROR);
        let (key, flags, exptime, value_bytes) = (take()?, take()?, take()?, take()?);
        let compare_cas = if with_cas { Some(take()?) } else { None };
        let quiet = match tokens.next() {
            None => is_quiet(all),
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
