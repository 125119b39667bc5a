//! Set, add, replace, append and prepend, and *store if newer*.

use super::dispatch::{PROMISED, Request};
use super::{Context, Flow, Pending, State, reply, versioned};
use crate::Replies;
use crate::arriving::{Arriving, Promise, WAIT_IN_INPUT_BYTES_MAX};
use crate::others::Failure;
use crate::replies::ChangeError;
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::binary::{
    Head, Header, MAGIC_REQUEST, Opcode, Placed, SetExtras, Status, keeping,
};
use farcache_store::{
    Access, Reservation, SetMode, SetOptions, SetOutcome, StoreError, Suspended, Uncommitted,
    settled,
};

/// Stores the value if it is there, else waits for it or lets it stream into the store.
pub(super) fn run(
    request: Request<'_, '_>,
    opcode: Opcode,
    state: &mut State,
) -> Result<Flow, Suspended> {
    let head = request.head;
    let is_long = head.value_len > WAIT_IN_INPUT_BYTES_MAX;
    if request.value().is_none() && !is_long {
        return Ok(Flow::NeedInput);
    }
    let options = options(&request, opcode);
    let whole = request.input[head.head_len()..].get(..head.value_len);
    match whole.filter(|_| front(&head).is_empty()) {
        Some(value) => store(&head, value, &options, request.context, request.replies),
        None => begin(request, options, state),
    }
}

/// The short way for a set, add or replace that is all of the input, with a value that is there
/// whole: it does what the long way does. False where the input is anything else, or something must
/// be waited for: then nothing has happened.
pub(super) fn run_solo(
    state: &State,
    input: &[u8],
    context: &Context<'_>,
    replies: &mut Replies,
) -> bool {
    let Some((opcode, head)) = solo_store(input) else {
        return false;
    };
    if !state.may_run_solo(opcode as u8, head.key, context, replies) {
        return false;
    }
    let mark = replies.mark();
    let request = Request {
        head,
        input,
        context,
        replies: &mut *replies,
    };
    let options = options(&request, opcode);
    let value = &input[head.head_len()..];
    let is_done = store(&head, value, &options, context, replies).is_ok();
    if !is_done {
        // It is carried out again, by whoever begins the wait.
        context.store.forget_reads();
        replies.roll_back(mark);
    }
    is_done
}

/// Command and head of a packet that stores a value and is all of the input.
fn solo_store(input: &[u8]) -> Option<(Opcode, Head<'_>)> {
    let [MAGIC_REQUEST, opcode, ..] = *input else {
        return None;
    };
    let opcode = Opcode::from_byte(opcode)?;
    let head = Head::decode(input).ok()??;
    let stores = matches!(opcode, Opcode::Set | Opcode::Add | Opcode::Replace);
    let is_whole = head.head_len() + head.value_len == input.len();
    let is_well_formed =
        head.extras.len() == SetExtras::BYTES && (1..=KEY_BYTES_MAX).contains(&head.key.len());
    (stores && is_whole && is_well_formed).then_some((opcode, head))
}

/// Stores a value that is there whole.
fn store(
    head: &Head<'_>,
    value: &[u8],
    options: &SetOptions,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<Flow, Suspended> {
    let joined_bytes = joined_bytes(head.key, options, context)?;
    let outcome = settled(context.store.set(head.key, value, options))?;
    context.service.detail.set(head.key);
    context.show_stored(head.key, outcome, head.value_len);
    finish(&head.header, Some(head.key), outcome, context, replies);
    let bytes = head.head_len() + head.value_len;
    Ok(Flow::one_with_copy(bytes, joined_bytes + value.len()))
}

/// Length of the value that appending or prepending will copy.
fn joined_bytes(
    key: &[u8],
    options: &SetOptions,
    context: &Context<'_>,
) -> Result<usize, Suspended> {
    let item = match options.mode {
        SetMode::Append | SetMode::Prepend => context.store.get(key, Access::Peek)?,
        _ => None,
    };
    Ok(item.map_or(0, |item| item.value().len()))
}

/// Makes room for a value that will arrive in pieces.
fn begin(
    request: Request<'_, '_>,
    options: SetOptions,
    state: &mut State,
) -> Result<Flow, Suspended> {
    let Request {
        head,
        context,
        replies,
        ..
    } = request;
    let value_bytes = front(&head).len() + head.value_len;
    let begun = settled(Arriving::begin(head.key, value_bytes, options, context))?;
    context.service.detail.set(head.key);
    match begun {
        Ok(mut value) => {
            value.placed = placed(&head);
            value.take(front(&head));
            state.pending = Some(Box::new(Pending {
                header: head.header,
                value,
            }));
        }
        Err(error) => {
            state.swallow_bytes = head.value_len;
            finish(&head.header, Some(head.key), Err(error), context, replies);
        }
    }
    Ok(Flow::one(head.head_len()))
}

/// Makes room for a value that is with its sender; none where that is refused, which is answered.
///
/// # Errors
/// [`Suspended`], where that must wait.
pub(super) fn expect(
    request: Request<'_, '_>,
    opcode: Opcode,
) -> Result<Option<(Reservation, Promise)>, Suspended> {
    let options = options(&request, opcode);
    let (head, context) = (request.head, request.context);
    let value_bytes = front(&head).len() + head.value_len;
    let begun = settled(Arriving::begin(head.key, value_bytes, options, context))?;
    context.service.detail.set(head.key);
    Ok(match begun {
        Ok(mut value) => {
            value.placed = placed(&head);
            let (mut room, promise) = value.split();
            room.write_front(front(&head));
            Some((room, promise))
        }
        Err(error) => {
            finish(
                &head.header,
                Some(head.key),
                Err(error),
                context,
                request.replies,
            );
            None
        }
    })
}

/// Stores a value whose place has been filled; gives the place back where something must be waited
/// for first.
pub(super) fn commit(
    header: &Header,
    reservation: Reservation,
    promise: &Promise,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<(), Uncommitted> {
    if refuse_left(header, reservation.key(), promise.placed, context, replies) {
        return Ok(());
    }
    let outcome = context.store.commit(reservation, &promise.options)?;
    finish_arrived(header, outcome, context, replies);
    Ok(())
}

/// Stores an arriving value that is complete, if there is one.
///
/// # Errors
/// [`Suspended`], where that must wait.
pub(super) fn commit_arrived(
    state: &mut State,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<(), Suspended> {
    let is_complete = |pending: &mut Box<Pending>| pending.value.is_complete();
    let Some(pending) = state.pending.take_if(is_complete) else {
        return Ok(());
    };
    let Pending { header, value } = *pending;
    if refuse_left(&header, value.key(), value.placed, context, replies) {
        return Ok(());
    }
    match value.commit(context) {
        Ok(committed) => {
            state.has_changed = true;
            finish_arrived(&header, committed.outcome, context, replies);
            Ok(())
        }
        Err((suspended, value)) => {
            state.pending = Some(Box::new(Pending { header, value }));
            Err(suspended)
        }
    }
}

/// Refuses a value whose key has become others' since it began to arrive: it must not be stored.
/// Whether it has.
fn refuse_left(
    header: &Header,
    key: &[u8],
    placed: Option<Placed>,
    context: &Context<'_>,
    replies: &mut Replies,
) -> bool {
    if is_versioned(header) {
        let is_elsewhere = placed.is_some_and(|placed| !context.is_placed(key, placed));
        if is_elsewhere {
            reply::error(header, Status::OtherOwners, replies);
        }
        return is_elsewhere;
    }
    let has_left = context.has_left(key);
    if has_left {
        super::forward::refuse(header, Failure::OtherMap, replies);
    }
    has_left
}

/// By which owners the client has placed a version that is to be stored, where it says so.
fn placed(head: &Head<'_>) -> Option<Placed> {
    match is_versioned(&head.header) {
        true => versioned::placed(head),
        false => None,
    }
}

/// Whether whoever sends this places keys itself: its copies are not their owners' alone.
fn is_versioned(header: &Header) -> bool {
    header.opcode == Opcode::SetVersioned as u8
}

/// The beginning of the value, where it came with the head of a *store if newer*.
fn front<'a>(head: &Head<'a>) -> &'a [u8] {
    let behind = versioned::own_extras(head).get(SetExtras::BYTES..);
    let front = behind.filter(|_| is_versioned(&head.header));
    front.unwrap_or_default()
}

fn options(request: &Request<'_, '_>, opcode: Opcode) -> SetOptions {
    let context = request.context;
    let extras = match opcode {
        Opcode::SetVersioned => {
            let own = versioned::own_extras(&request.head);
            &own[..own.len().min(SetExtras::BYTES)]
        }
        _ => request.head.extras,
    };
    let extras = SetExtras::decode(extras).unwrap_or_default();
    let version = match opcode {
        Opcode::SetVersioned => request.version(),
        _ => None,
    };
    let compare_cas = match version {
        Some(_) => None,
        None => reply::wanted_cas(&request.head.header, context),
    };
    let mode = match opcode.loud() {
        Opcode::Append => SetMode::Append,
        Opcode::Prepend => SetMode::Prepend,
        // With a token, all that counts is that the item has it.
        _ if compare_cas.is_some() => SetMode::Set,
        Opcode::Add => SetMode::Add,
        Opcode::Replace => SetMode::Replace,
        _ => SetMode::Set,
    };
    SetOptions {
        mode,
        flags: extras.flags,
        expiry: context.clock.expiry(i64::from(extras.expiration)),
        compare_cas,
        cas_wanted: context.service.options.cas && !opcode.is_quiet(),
        version,
        is_promised: version.is_some() && request.is_promised(),
        keeping: keeping(&request.head.header),
        ..SetOptions::default()
    }
}

/// Counts and answers a value that has come in pieces.
fn finish_arrived(
    header: &Header,
    outcome: Result<SetOutcome, StoreError>,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    let mark = replies.mark();
    finish(header, None, outcome, context, replies);
    replies.note_change(mark, ChangeError::Packet(*header));
}

/// Counts and answers; `key` is there if the value was never taken, or taken whole.
fn finish(
    header: &Header,
    key: Option<&[u8]>,
    outcome: Result<SetOutcome, StoreError>,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    let Some(opcode) = Opcode::from_byte(header.opcode) else {
        return;
    };
    match outcome {
        Ok(outcome) => {
            context.counters.cmd_set.bump();
            count_cas(header, opcode, outcome, context);
            answer(header, opcode, outcome, context, replies);
        }
        Err(error) => {
            if let (Opcode::Set, Some(key)) = (opcode.loud(), key) {
                // The client meant to replace what is there: better nothing than something old.
                context.store.discard(key);
            }
            refuse(header, error, context, replies);
        }
    }
}

fn answer(
    header: &Header,
    opcode: Opcode,
    outcome: SetOutcome,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    let status = match (outcome, opcode.loud()) {
        (SetOutcome::Stored { .. }, Opcode::SetVersioned) => {
            return reply::success(header, header.cas & !PROMISED, &[], replies);
        }
        (SetOutcome::Older { current }, _) => {
            return reply::version(header, Status::Exists, Some(current), replies);
        }
        (SetOutcome::Unsure { current }, _) => {
            return reply::version(header, Status::InDoubt, Some(current), replies);
        }
        (SetOutcome::Promised { current, has_newer }, _) => {
            return reply::promised(header, current, has_newer, replies);
        }
        (SetOutcome::Stored { cas }, _) => {
            let cas = reply::visible_cas(cas, context);
            return reply::success_unless_quiet(header, opcode.is_quiet(), cas, replies);
        }
        (SetOutcome::Exists, _) | (SetOutcome::NotStored, Opcode::Add) => Status::Exists,
        (SetOutcome::NotFound | SetOutcome::NotStored, Opcode::Append | Opcode::Prepend) => {
            Status::NotStored
        }
        (SetOutcome::NotFound, _) | (SetOutcome::NotStored, Opcode::Replace) => Status::NotFound,
        (SetOutcome::NotStored, _) => Status::NotStored,
    };
    reply::error(header, status, replies);
}

/// Only set, add and replace count as compare-and-swap, as in memcached.
fn count_cas(header: &Header, opcode: Opcode, outcome: SetOutcome, context: &Context<'_>) {
    let has_no_condition = matches!(
        opcode.loud(),
        Opcode::Append | Opcode::Prepend | Opcode::SetVersioned
    );
    if has_no_condition || reply::wanted_cas(header, context).is_none() {
        return;
    }
    match outcome {
        SetOutcome::Stored { .. } => context.counters.cas_hits.bump(),
        SetOutcome::Exists => context.counters.cas_badval.bump(),
        SetOutcome::NotFound => context.counters.cas_misses.bump(),
        SetOutcome::NotStored
        | SetOutcome::Older { .. }
        | SetOutcome::Unsure { .. }
        | SetOutcome::Promised { .. } => {}
    }
}

pub(super) fn refuse(
    header: &Header,
    error: StoreError,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    match error {
        StoreError::TooLarge => {
            context.counters.store_too_large.bump();
            reply::error(header, Status::TooLarge, replies);
        }
        StoreError::OutOfMemory => {
            context.counters.store_no_memory.bump();
            reply::error_text(
                header,
                Status::OutOfMemory,
                "Out of memory allocating item",
                replies,
            );
        }
        StoreError::BadKey => reply::error(header, Status::InvalidArguments, replies),
    }
}
