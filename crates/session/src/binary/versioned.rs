//! *Delete if newer*, and reads that tell the version; *store if newer* is with the other stores.

use super::dispatch::Request;
use super::{Flow, reply, store};
use arrayvec::ArrayVec;
use farcache_base::version::Version;
use farcache_proto::binary::{
    FRONT_BYTES_MAX, Status, VersionedGetExtras, decode_u32, encode_head, encode_u32,
};
use farcache_store::{Access, Interrupt, Item, Newest, Suspended, VersionedDelete};

/// Puts a tombstone of the packet's version in place of the item, if that is newer.
pub(super) fn delete(request: Request<'_, '_>) -> Result<Flow, Suspended> {
    let (head, context) = (request.head, request.context);
    let Some(version) = request.version() else {
        return Ok(request.malformed());
    };
    let keep_s = decode_u32(head.extras).unwrap_or_default();
    let keep_until = context.clock.expiry(i64::from(keep_s));
    let is_promised = request.is_promised();
    let deleted = context
        .store
        .delete_if_newer(head.key, version, keep_until, is_promised);
    let outcome = match deleted {
        Ok(outcome) => outcome,
        Err(Interrupt::Suspended(suspended)) => return Err(suspended),
        Err(Interrupt::Failed(error)) => {
            store::refuse(&head.header, error, context, request.replies);
            return Ok(Flow::one(head.head_len()));
        }
    };
    context.service.detail.delete(head.key);
    let (status, told) = match outcome {
        VersionedDelete::Deleted { was_present: true } => {
            context.counters.delete_hits.bump();
            context.show_deleted(head.key);
            (Status::Success, version)
        }
        VersionedDelete::Deleted { was_present: false } => {
            context.counters.delete_misses.bump();
            (Status::NotFound, version)
        }
        VersionedDelete::Older { current } => (Status::Exists, current),
        VersionedDelete::Unsure { current } => (Status::InDoubt, current),
        VersionedDelete::Promised { current } => (Status::Promised, current),
    };
    reply::version(&head.header, status, Some(told), request.replies);
    Ok(Flow::one(head.head_len()))
}

/// Promises to take nothing older than the packet's version, if it has one. Then tells value and
/// version, or up to so many bytes of the value, of which the first may go with the head; or the
/// version of a tombstone; or up to which version the server has forgotten keys that it does not
/// hold.
pub(super) fn get(request: Request<'_, '_>) -> Result<Flow, Suspended> {
    let (head, context) = (request.head, request.context);
    if let Some(version) = request.version()
        && let Err(promised) = context.store.promise(head.key, version)
    {
        let (status, told) = (Status::Promised, Some(promised));
        reply::version(&head.header, status, told, request.replies);
        return Ok(Flow::one(head.head_len()));
    }
    // A peer that lacks something may look, without a trace, at what clients are not shown.
    let is_for_peer = context.forward.is_some_and(|forward| forward.is_for_peer());
    let access = if is_for_peer {
        Access::Peek
    } else {
        Access::Use
    };
    let found = context.store.get(head.key, access)?;
    // What was stored by an ordinary request has no version, and no part in this.
    let item = found.and_then(|item| item.version().map(|version| (item, version)));
    let item = item.filter(|(_, version)| is_for_peer || !context.store.is_unconfirmed(*version));
    context.counters.cmd_get.bump();
    context.service.detail.get(head.key, item.is_some());
    match item {
        Some((item, version)) => {
            context.counters.get_hits.bump();
            answer(request, &item, version);
        }
        None => {
            context.counters.get_misses.bump();
            let (status, version) = match context.store.newest_hidden(head.key) {
                Newest::Tombstone(version) => (Status::Deleted, Some(version)),
                Newest::Forgotten(version) => (Status::NotFound, version),
            };
            reply::version(&head.header, status, version, request.replies);
        }
    }
    Ok(Flow::one(head.head_len()))
}

fn answer(request: Request<'_, '_>, item: &Item<'_>, version: Version) {
    let (head, replies) = (request.head, request.replies);
    let wanted = VersionedGetExtras::decode(head.extras).unwrap_or_default();
    let header = reply::header(&head.header, Status::Success, version.bits());
    let value = item.value();
    let value_len = value.len().min(wanted.bytes_max as usize);
    let (front, rest) = value[..value_len].split_at(value_len.min(wanted.front_bytes.into()));
    let mut extras = ArrayVec::<u8, { 4 + FRONT_BYTES_MAX }>::new();
    extras.extend(encode_u32(item.flags()));
    extras.extend(front.iter().copied());
    let packet = replies.buffer().len();
    encode_head(header, &extras, &[], rest.len(), replies.buffer());
    if value_len == value.len() {
        replies.push_rest_of(packet, item, front.len());
    } else {
        replies.buffer().extend_from_slice(rest);
    }
}
