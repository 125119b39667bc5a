//! *Delete if newer*, and reads that tell the version; *store if newer* is with the other stores.

use super::dispatch::Request;
use super::{Context, Flow, State, reply, store};
use crate::Replies;
use arrayvec::ArrayVec;
use farcache_base::version::Version;
use farcache_proto::binary::{
    FRONT_BYTES_MAX, Head, Header, INCOMPLETE, Opcode, Placed, SetExtras, Status,
    VersionedGetExtras, decode_u32, encode_head, encode_u32, keeping, split_told,
};
use farcache_store::{
    Access, Interrupt, Item, Newest, Predecessor, Suspended, TombstoneOptions, VersionedDelete,
};

/// Carries out one of these commands.
pub(super) fn run(
    request: Request<'_, '_>,
    opcode: Opcode,
    state: &mut State,
) -> Result<Flow, Suspended> {
    note_complete(&request);
    if lies_elsewhere(&request) {
        state.swallow_bytes = request.head.value_len;
        return Ok(refuse_place(request));
    }
    match opcode {
        Opcode::SetVersioned => store::run(request, opcode, state),
        Opcode::DeleteVersioned => delete(request),
        _ if request.is_about_older() => Ok(get_older(request)),
        _ => get(request),
    }
}

/// Whether the map gives the packet's key to other servers than its client does, which says so.
pub(super) fn lies_elsewhere(request: &Request<'_, '_>) -> bool {
    let head = &request.head;
    placed(head).is_some_and(|placed| !request.context.is_placed(head.key, placed))
}

/// By which owners the client has placed the packet's key, where it says so.
pub(super) fn placed(head: &Head<'_>) -> Option<Placed> {
    split_told(&head.header, head.extras)?.1.placed
}

/// Answers that the map gives the packet's key to other servers.
pub(super) fn refuse_place(request: Request<'_, '_>) -> Flow {
    reply::error(&request.head.header, Status::OtherOwners, request.replies);
    Flow::one(request.head.head_len())
}

/// Takes note of a version that is complete, and answers nothing.
pub(super) fn take_complete(request: &Request<'_, '_>) -> Flow {
    note_complete(request);
    Flow::one(request.head.head_len())
}

/// Counts a use of a part whose value has been read from others, and answers nothing.
pub(super) fn take_use(request: &Request<'_, '_>) -> Flow {
    request.context.store.note_use(request.head.key);
    Flow::one(request.head.head_len())
}

/// Whether a packet of such a command has what it needs besides a key, and nothing that it must not
/// have.
pub(super) fn is_well_formed(request: &Request<'_, '_>, command: Opcode) -> bool {
    let head = &request.head;
    let (cas, has_value) = (head.header.cas, head.value_len > 0);
    let Some((extras, told)) = split_told(&head.header, head.extras) else {
        return false;
    };
    let front_max = SetExtras::BYTES + FRONT_BYTES_MAX;
    let fits = match command {
        Opcode::SetVersioned => {
            (SetExtras::BYTES..=front_max).contains(&extras.len()) && request.version().is_some()
        }
        Opcode::DeleteVersioned => extras.len() == 4 && !has_value && request.version().is_some(),
        Opcode::TellComplete => extras.is_empty() && told.complete != 0,
        _ => {
            let is_promise = || Version::from_bits(cas).is_some();
            let has_extras = VersionedGetExtras::decode(extras).is_some();
            let has_token = is_promise() || cas == 0 && !request.is_about_older();
            has_extras && !has_value && has_token
        }
    };
    fits && (told.complete == 0 || Version::from_bits(told.complete).is_some())
}

/// The extras of a packet about versions, without what it tells of another version.
pub(super) fn own_extras<'a>(head: &Head<'a>) -> &'a [u8] {
    let split = split_told(&head.header, head.extras);
    split.unwrap_or_default().0
}

/// Takes note of the version that a packet says is complete, whatever else it asks for.
pub(super) fn note_complete(request: &Request<'_, '_>) {
    let told = split_told(&request.head.header, request.head.extras);
    if let Some(version) = told.and_then(|(_, told)| Version::from_bits(told.complete)) {
        request.context.store.note_complete(version);
    }
}

/// Puts a tombstone of the packet's version in place of the item, if that is newer.
fn delete(request: Request<'_, '_>) -> Result<Flow, Suspended> {
    let (head, context) = (request.head, request.context);
    let Some(version) = request.version() else {
        return Ok(request.malformed());
    };
    let keep_s = decode_u32(own_extras(&head)).unwrap_or_default();
    let options = TombstoneOptions {
        keep_until: context.clock.expiry(i64::from(keep_s)),
        is_promised: request.is_promised(),
        keeping: keeping(&head.header),
    };
    let deleted = context.store.delete_if_newer(head.key, version, &options);
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
        VersionedDelete::Promised { current, has_newer } => {
            reply::promised(&head.header, current, has_newer, request.replies);
            return Ok(Flow::one(head.head_len()));
        }
    };
    reply::version(&head.header, status, Some(told), request.replies);
    Ok(Flow::one(head.head_len()))
}

/// Promises to take nothing older than the packet's version, if it has one. Then tells value and
/// version, or up to so many bytes of the value, of which the first may go with the head; or the
/// version of a tombstone; or up to which version the server has forgotten keys that it does not
/// hold.
fn get(request: Request<'_, '_>) -> Result<Flow, Suspended> {
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
    let item = item.filter(|(item, version)| {
        is_for_peer || !context.is_unconfirmed(head.key, *version, Some(item.value()))
    });
    context.counters.cmd_get.bump();
    context.service.detail.get(head.key, item.is_some());
    match item {
        Some((item, version)) => {
            context.counters.get_hits.bump();
            answer(request, &item, version);
        }
        None => {
            context.counters.get_misses.bump();
            let (status, token) = match context.store.newest_hidden(head.key) {
                Newest::Tombstone(version) => (Status::Deleted, token(version, context)),
                Newest::Forgotten(version) => {
                    let version = version.or_else(|| context.horizon_all_along(head.key));
                    (Status::NotFound, version.map_or(0, Version::bits))
                }
            };
            reply::token(&head.header, status, token, request.replies);
        }
    }
    Ok(Flow::one(head.head_len()))
}

/// Tells what the key had before the packet's version took its place, where that is kept.
fn get_older(request: Request<'_, '_>) -> Flow {
    let (head, context) = (request.head, request.context);
    let replies = request.replies;
    let wanted = VersionedGetExtras::decode(own_extras(&head)).unwrap_or_default();
    let show = |older: Predecessor<'_>| {
        let value = (!older.is_tombstone).then_some(older.value);
        if context.is_unconfirmed(head.key, older.version, value) {
            return false;
        }
        let token = token(older.version, context);
        if older.is_tombstone {
            reply::token(&head.header, Status::Deleted, token, replies);
            return true;
        }
        let header = reply::header(&head.header, Status::Success, token);
        let rest = push_head(header, older.flags, older.value, wanted, replies);
        replies.buffer().extend_from_slice(rest);
        true
    };
    let successor = Version::from_bits(head.header.cas);
    let is_shown = successor.and_then(|it| context.store.predecessor(head.key, it, show));
    if is_shown != Some(true) {
        let forgotten = context.store.predecessors_forgotten();
        reply::version(&head.header, Status::NotFound, forgotten, replies);
    }
    Flow::one(head.head_len())
}

/// How a version that is held is told.
fn token(version: Version, context: &Context<'_>) -> u64 {
    match context.store.is_incomplete(version) {
        true => version.bits() | INCOMPLETE,
        false => version.bits(),
    }
}

fn answer(request: Request<'_, '_>, item: &Item<'_>, version: Version) {
    let (head, replies) = (request.head, request.replies);
    let wanted = VersionedGetExtras::decode(own_extras(&head)).unwrap_or_default();
    let token = token(version, request.context);
    let header = reply::header(&head.header, Status::Success, token);
    let packet = replies.buffer().len();
    let value = item.value();
    let rest = push_head(header, item.flags(), value, wanted, replies);
    if wanted.bytes_max as usize >= value.len() {
        replies.push_rest_of(packet, item, value.len() - rest.len());
    } else {
        replies.buffer().extend_from_slice(rest);
    }
}

/// Appends an answer up to its value, whose first bytes may go with the head; what is left of it.
fn push_head<'v>(
    header: Header,
    flags: u32,
    value: &'v [u8],
    wanted: VersionedGetExtras,
    replies: &mut Replies,
) -> &'v [u8] {
    let value_len = value.len().min(wanted.bytes_max as usize);
    let (front, rest) = value[..value_len].split_at(value_len.min(wanted.front_bytes.into()));
    let mut extras = ArrayVec::<u8, { 4 + FRONT_BYTES_MAX }>::new();
    extras.extend(encode_u32(flags));
    extras.extend(front.iter().copied());
    encode_head(header, &extras, &[], rest.len(), replies.buffer());
    rest
}
