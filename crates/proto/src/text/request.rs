//! From a command line to a request.

use super::reject::Reject;
use super::store::{Store, StoreVerb, parse_value_bytes};
use super::{Admin, Tokens, admin};
use crate::meta::{FlagError, Flags, PlainRead, TOKENS_MAX};
use crate::number::{parse_i64, parse_u64};
use farcache_base::limits::KEY_BYTES_MAX;

/// Shortest line, without its ending, that is looked at. Source: memcached `proto_parser.c`,
/// `process_request`.
const NAME_BYTES_MIN: usize = 2;

/// Most tokens behind a meta command's name that memcached tells apart.
/// Source: memcached `mcmc.h`, `MCMC_PARSER_MAX_TOKENS` (which counts the name and the end too).
const TOKENS_SPLIT_MAX: usize = 22;

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
        /// At least one key.
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
    /// A request of HTTP, which a browser may have been made to send: to be hung up on.
    Http,
    /// What operators ask for.
    Admin(Admin<'a>),
}

/// Parses a command line without its line ending.
///
/// # Errors
/// The answer memcached gives to it.
#[inline]
pub fn parse(line: &[u8]) -> Result<Request<'_>, Reject> {
    let name_bytes = line.iter().position(|byte| *byte == b' ');
    let (name, rest) = line.split_at(name_bytes.unwrap_or(line.len()));
    let tokens = Tokens::new(rest);
    match name {
        b"get" => parse_get(tokens, false),
        b"gets" => parse_get(tokens, true),
        b"mg" => match PlainRead::parse(tokens) {
            Some(read) => Ok(Request::PlainRead(read)),
            None => parse_meta_get(tokens),
        },
        b"set" => store(StoreVerb::Set, tokens),
        b"ms" => parse_meta_set(tokens),
        _ => parse_rarer(name, tokens, line),
    }
}

fn parse_rarer<'a>(name: &[u8], tokens: Tokens<'a>, line: &'a [u8]) -> Result<Request<'a>, Reject> {
    match name {
        b"add" => store(StoreVerb::Add, tokens),
        b"replace" => store(StoreVerb::Replace, tokens),
        b"append" => store(StoreVerb::Append, tokens),
        b"prepend" => store(StoreVerb::Prepend, tokens),
        b"cas" => store(StoreVerb::CompareAndSwap, tokens),
        b"gat" => parse_get_and_touch(tokens, false),
        b"gats" => parse_get_and_touch(tokens, true),
        b"delete" => parse_delete(tokens),
        b"incr" => parse_arithmetic(tokens, false),
        b"decr" => parse_arithmetic(tokens, true),
        b"touch" => parse_touch(tokens),
        b"md" => meta_named(tokens).map(|(key, flags)| Request::MetaDelete(key, flags)),
        b"ma" => parse_meta_arithmetic(tokens),
        b"mn" => Ok(Request::MetaNoop),
        b"me" => parse_meta_debug(tokens),
        b"stats" => Ok(Request::Stats(tokens)),
        b"version" => Ok(Request::Version),
        b"quit" => Ok(Request::Quit),
        _ if line.len() < NAME_BYTES_MIN => Err(Reject::BAD_FORMAT),
        _ => parse_other(line),
    }
}

/// Operators' commands, which spaces may come before, and what is none at all.
fn parse_other(line: &[u8]) -> Result<Request<'_>, Reject> {
    let all = Tokens::new(line);
    let quiet = is_quiet(all);
    let mut tokens = all;
    let name = tokens.next().unwrap_or_default();
    match admin::parse(name, tokens, quiet) {
        Some(Ok(admin)) => Ok(Request::Admin(admin)),
        Some(Err(reject)) => Err(reject),
        None if is_http(tokens) => Ok(Request::Http),
        None => Err(Reject::ERROR.unless(quiet)),
    }
}

/// Whether a line whose first token is no command ends as the first line of HTTP does.
fn is_http(behind_first: Tokens<'_>) -> bool {
    let version = behind_first.last_token();
    version.is_some_and(|token| token.starts_with(b"HTTP/"))
}

fn store(verb: StoreVerb, tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    Store::parse(verb, tokens).map(Request::Store)
}

fn parse_get(keys: Tokens<'_>, with_cas: bool) -> Result<Request<'_>, Reject> {
    match keys.clone().next() {
        Some(_) => Ok(Request::Get { keys, with_cas }),
        None => Err(Reject::BAD_FORMAT),
    }
}

fn parse_get_and_touch(mut tokens: Tokens<'_>, with_cas: bool) -> Result<Request<'_>, Reject> {
    want_tokens(tokens, 2)?;
    let exptime = tokens.next().and_then(parse_i64).ok_or(BAD_EXPTIME)?;
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

/// Fails unless there are at least so many tokens. More are passed over, as in memcached.
pub(super) fn want_tokens(tokens: Tokens<'_>, least: usize) -> Result<(), Reject> {
    match tokens.take(least).count() == least {
        true => Ok(()),
        false => Err(Reject::BAD_FORMAT),
    }
}

/// Key, argument and whether no reply is wanted, of `<command> <key> <argument> [noreply]`.
fn key_and_argument(mut tokens: Tokens<'_>) -> Result<(&[u8], &[u8], bool), Reject> {
    want_tokens(tokens, 2)?;
    let quiet = is_quiet(tokens);
    let key = checked_key(tokens.next().unwrap_or_default(), quiet)?;
    Ok((key, tokens.next().unwrap_or_default(), quiet))
}

fn parse_arithmetic(tokens: Tokens<'_>, decrement: bool) -> Result<Request<'_>, Reject> {
    let (key, delta, quiet) = key_and_argument(tokens)?;
    let refusal = Reject::loud("CLIENT_ERROR invalid numeric delta argument").unless(quiet);
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

/// `delete <key> [noreply]`. What else stands behind the key is passed over, as in memcached: old
/// clients send a delay.
fn parse_delete(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let quiet = is_quiet(tokens);
    let key = tokens.next().ok_or(Reject::BAD_FORMAT)?;
    Ok(Request::Delete {
        key: checked_key(key, quiet)?,
        quiet,
    })
}

fn parse_meta_get(tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    meta_named(tokens).map(|(key, flags)| Request::MetaGet(key, flags))
}

fn parse_meta_set(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let all = tokens;
    let key = tokens.next().ok_or(Reject::BAD_FORMAT)?;
    let length = tokens.next().ok_or(Reject::BAD_FORMAT)?;
    Ok(Request::MetaSet {
        key,
        value_bytes: parse_value_bytes(length).ok_or(Reject::BAD_FORMAT)?,
        flags: meta_flags(key, all, tokens)?,
    })
}

fn parse_meta_arithmetic(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let all = tokens;
    let key = tokens.next().ok_or(Reject::BAD_FORMAT)?;
    let refusal = Reject::loud("CLIENT_ERROR invalid or duplicate flag");
    let flags = meta_flags(key, all, tokens)?.map_err(|_| refusal)?;
    Ok(Request::MetaArithmetic(key, flags))
}

/// Key and flags of a command that says what is wrong with them.
fn meta_named(mut tokens: Tokens<'_>) -> Result<(&[u8], Flags<'_>), Reject> {
    let all = tokens;
    let key = tokens.next().ok_or(Reject::BAD_FORMAT)?;
    let flags = meta_flags(key, all, tokens)?;
    Ok((key, flags.map_err(|error| Reject::loud(error.message()))?))
}

/// The flags of a meta command with this key; `all` are the tokens behind the command's name.
///
/// # Errors
/// A flag begins with what is neither letter nor digit: the line is no meta command at all.
fn meta_flags<'a>(
    key: &[u8],
    all: Tokens<'a>,
    flags: Tokens<'a>,
) -> Result<Result<Flags<'a>, FlagError>, Reject> {
    let parsed = match (key.len() > KEY_BYTES_MAX, too_many_flags(all)) {
        (true, _) => Err(FlagError::LongKey),
        (_, true) => Err(FlagError::TooMany),
        _ => Flags::parse(flags),
    };
    match parsed {
        Err(_) if !could_be_flags(all, flags) => Err(Reject::BAD_FORMAT),
        parsed => Ok(parsed),
    }
}

fn too_many_flags(tokens: Tokens<'_>) -> bool {
    tokens.take(TOKENS_MAX).count() > TOKENS_MAX - 1
}

/// Whether all of the flags that memcached looks at begin with a letter or a digit. A letter is
/// what lies between `A` and `z` there.
fn could_be_flags(all: Tokens<'_>, flags: Tokens<'_>) -> bool {
    let before_flags = all.count() - flags.count();
    flags
        .take(TOKENS_SPLIT_MAX - before_flags)
        .all(|token| matches!(token[0], b'A'..=b'z' | b'0'..=b'9'))
}

fn parse_meta_debug(mut tokens: Tokens<'_>) -> Result<Request<'_>, Reject> {
    let all = tokens;
    let key = checked_key(tokens.next().ok_or(Reject::BAD_FORMAT)?, false)?;
    if !could_be_flags(all, tokens) {
        return Err(Reject::BAD_FORMAT);
    }
    Ok(Request::MetaDebug {
        key,
        is_base64: tokens.next() == Some(b"b"),
    })
}
