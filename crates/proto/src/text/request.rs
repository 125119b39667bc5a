//! From a command line to a request.

use super::reject::Reject;
use super::store::{Store, StoreVerb, parse_value_bytes};
use super::{Admin, Tokens, admin};
use crate::meta::{FlagError, Flags, PlainRead, TOKENS_MAX};
use crate::number::{parse_i64, parse_u64};
use farcache_base::limits::KEY_BYTES_MAX;

/// A command, borrowed from its line. Keys are as sent: a meta command's may be base64.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// `get` and `gets`. The keys' lengths have not been checked.
    Get {
        /// At least one key.
        keys: Tokens<'a>,
        /// Return CAS tokens.
        with_cas: bool,
    },
    /// `gat` and `gats`. The keys' lengths have not been checked.
    GetAndTouch {
        /// Expiry, as the client gave it.
        exptime: i64,
        /// The keys; none at all is no error.
        keys: Tokens<'a>,
        /// Return CAS tokens.
        with_cas: bool,
    },
    /// The storage commands.
    Store(Store<'a>),
    /// `delete`
    Delete {
        /// The key.
        key: &'a [u8],
        /// No reply is wanted.
        quiet: bool,
    },
    /// `incr` and `decr`
    Arithmetic {
        /// The key.
        key: &'a [u8],
        /// Amount.
        delta: u64,
        /// Subtract.
        decrement: bool,
        /// No reply is wanted.
        quiet: bool,
    },
    /// `touch`
    Touch {
        /// The key.
        key: &'a [u8],
        /// Expiry, as the client gave it.
        exptime: i64,
        /// No reply is wanted.
        quiet: bool,
    },
    /// `mg` without side effects. The key's length has not been checked.
    PlainRead(PlainRead<'a>),
    /// Any other `mg`.
    MetaGet(&'a [u8], Flags<'a>),
    /// `ms`. The value follows, even where the flags are refused.
    MetaSet {
        /// The key.
        key: &'a [u8],
        /// Bytes of the value, without its line ending.
        value_bytes: usize,
        /// The flags, or why they are refused.
        flags: Result<Flags<'a>, FlagError>,
    },
    /// `md`
    MetaDelete(&'a [u8], Flags<'a>),
    /// `ma`
    MetaArithmetic(&'a [u8], Flags<'a>),
    /// `mn`
    MetaNoop,
    /// `me`
    MetaDebug {
        /// The key.
        key: &'a [u8],
        /// The key is base64.
        is_base64: bool,
    },
    /// `stats` with its arguments.
    Stats(Tokens<'a>),
    /// `version`
    Version,
    /// `quit`
    Quit,
    /// What operators ask for.
    Admin(Admin<'a>),
}

/// Parses a command line without its line ending.
///
/// # Errors
/// The answer memcached gives to it.
#[inline]
pub fn parse(line: &[u8]) -> Result<Request<'_>, Reject> {
    let mut tokens = Tokens::new(line);
    let name = tokens.next().ok_or(Reject::ERROR)?;
    match name {
        b"get" => parse_get(tokens, false),
        b"gets" => parse_get(tokens, true),
        b"mg" => match PlainRead::parse(tokens) {
            Some(read) => Ok(Request::PlainRead(read)),
            None => parse_meta_get(tokens),
        },
        b"set" => store(StoreVerb::Set, tokens),
        b"ms" => parse_meta_set(tokens),
        _ => parse_rarer(name, tokens),
    }
}

fn parse_rarer<'a>(name: &[u8], tokens: Tokens<'a>) -> Result<Request<'a>, Reject> {
    match name {
        b"add" => store(StoreVerb::Add, tokens),
        b"replace" => store(StoreVerb::Replace, tokens),
        b"append" => store(StoreVerb::Append, tokens),
        b"prepend" => store(StoreVerb::Prepend, tokens),
        b"cas" => store(StoreVerb::CompareAndSwap, tokens),
        b"gat" => parse_get_and_touch(tokens, false),
        b"gats" => parse_get_and_touch(tokens, true),
        b"bget" => parse_get(tokens, false),
        b"delete" => parse_delete(tokens),
        b"incr" => parse_arithmetic(tokens, false),
        b"decr" => parse_arithmetic(tokens, true),
        b"touch" => parse_touch(tokens),
        b"md" => meta_other(tokens).map(|(key, flags)| Request::MetaDelete(key, flags)),
        b"ma" => meta_other(tokens).map(|(key, flags)| Request::MetaArithmetic(key, flags)),
        b"mn" => Ok(Request::MetaNoop),
        b"me" => parse_meta_debug(tokens),
        b"stats" => Ok(Request::Stats(tokens)),
        b"version" => Ok(Request::Version),
        b"quit" => Ok(Request::Quit),
        _ => admin::parse(name, tokens).map(Request::Admin),
    }
}

fn store(verb: StoreVerb, tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    Store::parse(verb, tokens).map(Request::Store)
}

fn parse_get(keys: Tokens<'_>, with_cas: bool) -> Result<Request<'_>, Reject> {
    match keys.clone().next() {
        Some(_) => Ok(Request::Get { keys, with_cas }),
        None => Err(Reject::ERROR),
    }
}

fn parse_get_and_touch(mut tokens: Tokens<'_>, with_cas: bool) -> Result<Request<'_>, Reject> {
    let exptime = tokens.next().ok_or(Reject::ERROR)?;
    let exptime = parse_i64(exptime).ok_or(BAD_EXPTIME)?;
    Ok(Request::GetAndTouch {
        exptime,
        keys: tokens,
        with_cas,
    })
}

const BAD_EXPTIME: Reject = Reject::loud("CLIENT_ERROR invalid exptime argument");

/// Whether the last of these tokens asks for no reply.
pub(super) fn is_quiet(tokens: Tokens<'_>) -> bool {
    tokens.last_token() == Some(b"noreply")
}

/// The key, if it is not too long.
pub(super) fn checked_key(key: &[u8], quiet: bool) -> Result<&[u8], Reject> {
    match key.len() <= KEY_BYTES_MAX {
        true => Ok(key),
        false => Err(Reject::BAD_FORMAT.unless(quiet)),
    }
}

/// Fails unless there are from `least` to `most` tokens.
pub(super) fn want_tokens(tokens: Tokens<'_>, least: usize, most: usize) -> Result<(), Reject> {
    match (least..=most).contains(&tokens.take(most + 1).count()) {
        true => Ok(()),
        false => Err(Reject::ERROR),
    }
}

/// Key, argument and whether no reply is wanted, of `<command> <key> <argument> [noreply]`.
fn key_and_argument(mut tokens: Tokens<'_>) -> Result<(&[u8], &[u8], bool), Reject> {
    want_tokens(tokens, 2, 3)?;
    let quiet = is_quiet(tokens);
    let key = checked_key(tokens.next().unwrap_or_default(), quiet)?;
    Ok((key, tokens.next().unwrap_or_default(), quiet))
}

fn parse_arithmetic(tokens: Tokens<'_>, decrement: bool) -> Result<Request<'_>, Reject> {
    let (key, delta, quiet) = key_and_argument(tokens)?;
    let refusal = Reject {
        message: "CLIENT_ERROR invalid numeric delta argument",
        quiet,
    };
    Ok(Request::Arithmetic {
        key,
        delta: parse_u64(delta).ok_or(refusal)?,
        decrement,
        quiet,
    })
}

fn parse_touch(tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let (key, exptime, quiet) = key_and_argument(tokens)?;
    let exptime = parse_i64(exptime).ok_or(BAD_EXPTIME.unless(quiet))?;
    Ok(Request::Touch {
        key,
        exptime,
        quiet,
    })
}

/// `delete <key> [0] [noreply]`: old clients send a delay of 0.
fn parse_delete(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    want_tokens(tokens, 1, 3)?;
    let quiet = is_quiet(tokens) && tokens.count() > 1;
    let key = tokens.next().unwrap_or_default();
    let refusal = Reject {
        message: "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]",
        quiet,
    };
    match (tokens.next(), tokens.next()) {
        (None, _) | (Some(b"0" | b"noreply"), None) | (Some(b"0"), Some(b"noreply")) => {}
        _ => return Err(refusal),
    }
    Ok(Request::Delete {
        key: checked_key(key, quiet)?,
        quiet,
    })
}

/// The key of a meta command, which must be there and not too long.
fn meta_key<'a>(tokens: &mut Tokens<'a>) -> Result<&'a [u8], Reject> {
    checked_key(tokens.next().ok_or(Reject::ERROR)?, false)
}

fn too_many_flags(tokens: Tokens<'_>) -> bool {
    tokens.take(TOKENS_MAX).count() > TOKENS_MAX - 1
}

fn parse_meta_get(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let all = tokens;
    let key = meta_key(&mut tokens)?;
    if too_many_flags(all) {
        return Err(Reject::loud("CLIENT_ERROR options flags are too long"));
    }
    let flags = Flags::parse(tokens).map_err(|error| Reject::loud(error.message()))?;
    Ok(Request::MetaGet(key, flags))
}

fn parse_meta_set(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let all = tokens;
    let key = meta_key(&mut tokens)?;
    let value_bytes = tokens.next().ok_or(Reject::BAD_FORMAT)?;
    if too_many_flags(all) {
        return Err(Reject::loud("CLIENT_ERROR options flags too long"));
    }
    let value_bytes = parse_value_bytes(value_bytes).ok_or(Reject::BAD_FORMAT)?;
    Ok(Request::MetaSet {
        key,
        value_bytes,
        flags: Flags::parse(tokens),
    })
}

/// Key and flags of `md` and `ma`.
fn meta_other(mut tokens: Tokens<'_>) -> Result<(&[u8], Flags<'_>), Reject> {
    let all = tokens;
    let key = meta_key(&mut tokens)?;
    if too_many_flags(all) {
        return Err(Reject::loud("CLIENT_ERROR options flags too long"));
    }
    let refusal = Reject::loud("CLIENT_ERROR invalid or duplicate flag");
    Ok((key, Flags::parse(tokens).map_err(|_| refusal)?))
}

fn parse_meta_debug(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let key = checked_key(tokens.next().ok_or(Reject::BAD_FORMAT)?, false)?;
    Ok(Request::MetaDebug {
        key,
        is_base64: tokens.next() == Some(b"b"),
    })
}
