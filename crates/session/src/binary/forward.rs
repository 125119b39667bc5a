//! Packets for keys that another server owns.

use super::dispatch::Request;
use super::{Context, Flow, State, get, reply};
use crate::Replies;
use crate::arriving::WAIT_IN_INPUT_BYTES_MAX;
use crate::forward::ForeignValue;
use crate::moving::Need;
use crate::others::{Failure, Peer};
use farcache_proto::binary::{Header, Opcode, Status};
use farcache_store::{BATCH_MAX, Suspended};

/// The server that decides on the key of a command for an item, where that is another one.
#[inline]
pub(super) fn foreign_owner(request: &Request<'_, '_>, command: Opcode) -> Option<Peer> {
    if !request.context.may_forward() || !is_for_item(request, command) {
        return None;
    }
    request.context.owner_elsewhere(request.head.key)
}

/// Brings what a command needs of the item that its key has, where that moves to this server.
///
/// # Errors
/// [`Suspended`], where that must be waited for.
#[inline]
pub(super) fn bring(request: &Request<'_, '_>, command: Opcode) -> Result<(), Suspended> {
    let context = request.context;
    if !context.may_forward() {
        return Ok(());
    }
    if matches!(command, Opcode::SetVersioned | Opcode::DeleteVersioned) {
        return context.bring(request.head.key, Need::Nothing);
    }
    if !is_for_item(request, command) {
        return Ok(());
    }
    let has_condition = request.head.header.cas != 0;
    let need = match command {
        Opcode::Set if !has_condition => Need::Nothing,
        Opcode::Get | Opcode::GetK => Need::ToRead,
        _ => Need::ToChange,
    };
    let brought = context.bring(request.head.key, need);
    if brought == Err(Suspended::OnPeer) && need == Need::ToRead {
        look_ahead(&request.input[request.head.head_len()..], context);
    }
    brought
}

/// Whether this is a well-formed command for one item.
fn is_for_item(request: &Request<'_, '_>, command: Opcode) -> bool {
    let is_for_item = matches!(
        command,
        Opcode::Get
            | Opcode::GetK
            | Opcode::Set
            | Opcode::Add
            | Opcode::Replace
            | Opcode::Append
            | Opcode::Prepend
            | Opcode::Delete
            | Opcode::Increment
            | Opcode::Decrement
            | Opcode::Touch
            | Opcode::Gat
            | Opcode::GatK
    );
    is_for_item && request.is_well_formed(command)
}

/// Passes a packet on, and the reply back.
///
/// # Errors
/// [`Suspended`], where the owner has not answered yet.
pub(super) fn run(
    request: Request<'_, '_>,
    opcode: Opcode,
    owner: Peer,
    state: &mut State,
) -> Result<Flow, Suspended> {
    let head = request.head;
    let Some(packet) = request.input.get(..head.head_len() + head.value_len) else {
        return Ok(match head.value_len {
            ..=WAIT_IN_INPUT_BYTES_MAX => Flow::NeedInput,
            _ => begin(request, Some(owner), state),
        });
    };
    let Some(answer) = request.context.ask(owner, packet) else {
        if matches!(opcode.loud(), Opcode::Get | Opcode::GetK) {
            look_ahead(&request.input[packet.len()..], request.context);
        }
        return Err(Suspended::OnPeer);
    };
    let reply_bytes = push_answer(&head.header, answer, request.replies);
    Ok(Flow::one_with_copy(packet.len(), reply_bytes))
}

/// Has a value stored at several servers, or read from them, and passes on what has come of it.
///
/// # Errors
/// [`Suspended`], where that is not known yet.
pub(super) fn spread(request: Request<'_, '_>, state: &mut State) -> Result<Flow, Suspended> {
    let head = request.head;
    let Some(packet) = request.input.get(..head.head_len() + head.value_len) else {
        return Ok(match head.value_len {
            ..=WAIT_IN_INPUT_BYTES_MAX => Flow::NeedInput,
            _ => begin(request, None, state),
        });
    };
    let answer = request
        .context
        .spread(packet, &[])
        .ok_or(Suspended::OnPeer)?;
    let reply_bytes = push_answer(&head.header, answer, request.replies);
    Ok(Flow::one_with_copy(packet.len(), reply_bytes))
}

/// Makes room for a value that will arrive in pieces.
fn begin(request: Request<'_, '_>, owner: Option<Peer>, state: &mut State) -> Flow {
    let head = request.head;
    let bytes = &request.input[..head.head_len()];
    match ForeignValue::begin(owner, bytes, head.value_len, request.context) {
        Ok(value) => state.foreign = Some(Box::new((head.header, value))),
        Err(failure) => {
            state.swallow_bytes = head.value_len;
            refuse(&head.header, failure, request.replies);
        }
    }
    Flow::one(head.head_len())
}

/// Passes an arriving value on that is complete, if there is one.
///
/// # Errors
/// [`Suspended`], where the owner has not answered yet.
pub(super) fn ask_arrived(
    state: &mut State,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<(), Suspended> {
    let Some(foreign) = state
        .foreign
        .as_ref()
        .filter(|foreign| foreign.1.is_complete())
    else {
        return Ok(());
    };
    let answer = foreign.1.ask(context).ok_or(Suspended::OnPeer)?;
    push_answer(&foreign.0, answer, replies);
    state.foreign = None;
    Ok(())
}

/// Passes a reply back; returns its length.
pub(super) fn push_answer(
    request: &Header,
    answer: Result<Vec<u8>, Failure>,
    replies: &mut Replies,
) -> usize {
    match answer {
        Ok(reply) => {
            replies.buffer().extend_from_slice(&reply);
            reply.len()
        }
        Err(failure) => {
            refuse(request, failure, replies);
            0
        }
    }
}

/// Answers that another server's reply is not to be had; quiet requests are told too.
pub(super) fn refuse(request: &Header, failure: Failure, replies: &mut Replies) {
    let status = match failure {
        Failure::NotDurable => Status::NotDurable,
        Failure::NoPeers => Status::NotSupported,
        _ => Status::TemporaryFailure,
    };
    reply::error_text(request, status, failure.text(), replies);
}

/// A key is asked for elsewhere: the keys of the gets that follow are asked for at the same time.
fn look_ahead(mut rest: &[u8], context: &Context<'_>) {
    for _ in 1..BATCH_MAX {
        let Some(head) = get::next_get(rest) else {
            return;
        };
        let (packet, later) = rest.split_at(head.head_len());
        match context.owner_elsewhere(head.key) {
            // Whether it is there already does not matter yet.
            Some(owner) => _ = context.ask(owner, packet),
            None => context.begin_to_bring(head.key),
        }
        rest = later;
    }
}
