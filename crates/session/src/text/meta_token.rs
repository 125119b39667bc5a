//! Tokens that the answers of several meta commands have in common.

use super::Context;
use super::run::Run;
use farcache_base::time::{NEVER, Seconds};
use farcache_proto::base64::{DecodedKey, decode_key, push_encoded};
use farcache_proto::meta::{FlagError, Flags, OPAQUE_BYTES_MAX};
use farcache_proto::number;
use farcache_proto::text::Reject;

/// Appends ` <letter><number>`.
#[inline]
pub(super) fn push_number<N: itoa::Integer>(buffer: &mut Vec<u8>, letter: u8, value: N) {
    buffer.extend_from_slice(&[b' ', letter]);
    number::push(buffer, value);
}

/// Appends ` <token>`.
#[inline]
pub(super) fn push_token(buffer: &mut Vec<u8>, token: &[u8]) {
    buffer.push(b' ');
    buffer.extend_from_slice(token);
}

/// Appends ` k<key>`, as base64 and with ` b` if it is binary.
#[inline]
pub(super) fn push_key(buffer: &mut Vec<u8>, key: &[u8], is_binary: bool) {
    buffer.extend_from_slice(b" k");
    if is_binary {
        push_encoded(buffer, key);
        buffer.extend_from_slice(b" b");
    } else {
        buffer.extend_from_slice(key);
    }
}

/// Appends ` t<seconds left>`, or ` t-1` for what never expires.
#[inline]
pub(super) fn push_ttl(buffer: &mut Vec<u8>, expiry: Seconds, context: &Context<'_>) {
    match expiry {
        NEVER => buffer.extend_from_slice(b" t-1"),
        _ => push_number(buffer, b't', expiry.saturating_sub(context.clock.now)),
    }
}

/// The key of a meta command: as sent, or decoded from base64.
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack for one command, and must not allocate"
)]
pub(super) enum MetaKey<'i> {
    Plain(&'i [u8]),
    Decoded(DecodedKey),
}

impl MetaKey<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            MetaKey::Plain(key) => key,
            MetaKey::Decoded(key) => key.as_bytes(),
        }
    }

    pub(super) fn is_binary(&self) -> bool {
        matches!(self, MetaKey::Decoded(_))
    }
}

/// The key as the flags say it is to be read.
///
/// # Errors
/// It is not base64, or the opaque token is too long: the line to answer.
pub(super) fn checked<'i>(key: &'i [u8], flags: &Flags<'_>) -> Result<MetaKey<'i>, &'static str> {
    let key = match flags.has(b'b') {
        false => MetaKey::Plain(key),
        true => MetaKey::Decoded(decode_key(key).ok_or(FlagError::BadKey.message())?),
    };
    match flags.opaque.len() <= OPAQUE_BYTES_MAX {
        true => Ok(key),
        false => Err("CLIENT_ERROR opaque token too long"),
    }
}

impl Run<'_, '_> {
    /// Answers a malformed meta command; quiet ones are answered too.
    pub(super) fn reject_meta(&mut self, message: &'static str) {
        self.reject(Reject::loud(message));
    }

    /// Appends the opaque and the key, as far as the flags ask for them, and ends the line.
    pub(super) fn end_with_opaque_and_key(&mut self, key: &MetaKey<'_>, flags: &Flags<'_>) {
        let buffer = self.replies.buffer();
        for token in flags.tokens() {
            match token[0] {
                b'O' => push_token(buffer, token),
                b'k' => push_key(buffer, key.bytes(), key.is_binary()),
                _ => {}
            }
        }
        buffer.extend_from_slice(b"\r\n");
    }
}
