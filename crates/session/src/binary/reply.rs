//! Responses: what all of them have in common.

use super::Context;
use crate::Replies;
use farcache_base::version::Version;
use farcache_proto::binary::{
    HEADER_BYTES, Header, MAGIC_RESPONSE, ONLY_PROMISED, Status, encode_head,
};
use farcache_store::Item;

/// The header of a response to `request`.
pub(super) fn header(request: &Header, status: Status, cas: u64) -> Header {
    let Header { opcode, opaque, .. } = *request;
    Header {
        magic: MAGIC_RESPONSE,
        opcode,
        opaque,
        status: status as u16,
        cas,
        ..Header::default()
    }
}

/// Success, with a value that may be empty.
pub(super) fn success(request: &Header, cas: u64, value: &[u8], replies: &mut Replies) {
    let buffer = replies.buffer();
    encode_head(
        header(request, Status::Success, cas),
        &[],
        &[],
        value.len(),
        buffer,
    );
    buffer.extend_from_slice(value);
}

/// Success without a value, unless the request is a quiet one.
pub(super) fn success_unless_quiet(request: &Header, quiet: bool, cas: u64, replies: &mut Replies) {
    if !quiet {
        success(request, cas, &[], replies);
    }
}

/// What is said of a version, by the status and its text; the version is the CAS token.
pub(super) fn version(
    request: &Header,
    status: Status,
    version: Option<Version>,
    replies: &mut Replies,
) {
    token(request, status, version.map_or(0, Version::bits), replies);
}

/// That a promise is in the way of a version, and whether something newer is as well; `current` is
/// what a newer one must exceed.
pub(super) fn promised(request: &Header, current: Version, has_newer: bool, replies: &mut Replies) {
    let header = Header {
        data_type: if has_newer { 0 } else { ONLY_PROMISED },
        ..header(request, Status::Promised, current.bits())
    };
    status_text(header, Status::Promised, replies);
}

/// A status with its text and a CAS token.
pub(super) fn token(request: &Header, status: Status, cas: u64, replies: &mut Replies) {
    status_text(header(request, status, cas), status, replies);
}

fn status_text(header: Header, status: Status, replies: &mut Replies) {
    let (text, buffer) = (status.text(), replies.buffer());
    encode_head(header, &[], &[], text.len(), buffer);
    buffer.extend_from_slice(text.as_bytes());
}

/// An error, with memcached's text for it.
pub(super) fn error(request: &Header, status: Status, replies: &mut Replies) {
    error_text(request, status, status.text(), replies);
}

/// An error with a text of its own.
pub(super) fn error_text(request: &Header, status: Status, text: &str, replies: &mut Replies) {
    let buffer = replies.buffer();
    encode_head(header(request, status, 0), &[], &[], text.len(), buffer);
    buffer.extend_from_slice(text.as_bytes());
}

/// A value found, with its flags as extras and, if wanted, its key.
pub(super) fn value(
    request: &Header,
    key: &[u8],
    item: &Item<'_>,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    let mut header = header(request, Status::Success, cas_of(item, context));
    let packet = replies.buffer().len();
    let flags = item.flags().to_be_bytes();
    let value_len = item.value().len();
    if key.is_empty() {
        // What is asked for most: header and flags are written in one go.
        header.extras_len = flags.len() as u8;
        header.body_len = (flags.len() + value_len) as u32;
        let mut head = [0; HEADER_BYTES + 4];
        head[..HEADER_BYTES].copy_from_slice(&header.encode());
        head[HEADER_BYTES..].copy_from_slice(&flags);
        replies.buffer().extend_from_slice(&head);
    } else {
        encode_head(header, &flags, key, value_len, replies.buffer());
    }
    replies.push_value_of(packet, item);
}

/// The item's CAS token; 0 where CAS is off.
pub(super) fn cas_of(item: &Item<'_>, context: &Context<'_>) -> u64 {
    if context.service.options.cas {
        item.cas()
    } else {
        0
    }
}

/// The token as a client may see it: 0 where CAS is off.
pub(super) fn visible_cas(cas: u64, context: &Context<'_>) -> u64 {
    if context.service.options.cas { cas } else { 0 }
}

/// The token that a request demands of the present item, if any.
pub(super) fn wanted_cas(request: &Header, context: &Context<'_>) -> Option<u64> {
    (request.cas != 0 && context.service.options.cas).then_some(request.cas)
}
