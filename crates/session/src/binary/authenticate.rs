//! SASL: who has to authenticate, and how that goes.

use super::dispatch::Request;
use super::{Flow, State, reply};
use crate::arriving::WAIT_IN_INPUT_BYTES_MAX;
use crate::auth::{Auth, MECHANISMS, plain};
use farcache_proto::binary::{Opcode, Status};

/// Longest name of a mechanism, in bytes. Source: memcached 1.6.
const MECHANISM_BYTES_MAX: usize = 32;

/// Whether a command is open to this client.
pub(super) fn may_use(state: &State, opcode: u8, auth: Auth) -> bool {
    match auth {
        Auth::Open => true,
        Auth::Sasl => state.is_authenticated || needs_no_authentication(opcode),
        // Users of the text protocol cannot authenticate in this one, but may come by the fabric.
        Auth::Text => state.is_authenticated,
    }
}

fn needs_no_authentication(opcode: u8) -> bool {
    matches!(
        Opcode::from_byte(opcode),
        Some(Opcode::SaslList | Opcode::SaslAuth | Opcode::SaslStep | Opcode::Version)
    )
}

/// Lists the mechanisms.
pub(super) fn list(request: Request<'_, '_>) -> Flow {
    if request.context.service.auth != Auth::Sasl {
        return request.error(Status::UnknownCommand);
    }
    reply::success(
        &request.head.header,
        0,
        MECHANISMS.as_bytes(),
        request.replies,
    );
    Flow::one(request.head.head_len())
}

/// Authenticates the client. PLAIN is done in one step, so there is never a second one.
pub(super) fn run(request: Request<'_, '_>, opcode: Opcode, state: &mut State) -> Flow {
    if request.context.service.auth != Auth::Sasl {
        return refuse(request, Status::UnknownCommand, state);
    }
    if request.head.key.len() > MECHANISM_BYTES_MAX {
        return refuse(request, Status::InvalidArguments, state);
    }
    if request.head.value_len > WAIT_IN_INPUT_BYTES_MAX {
        return refuse(request, Status::OutOfMemory, state);
    }
    let Some(message) = request.value() else {
        return Flow::NeedInput;
    };
    let is_user = |name: &[u8], password: &[u8]| request.context.host.is_user(name, password);
    // As in memcached, whoever begins anew has not authenticated until that succeeds.
    state.is_authenticated = opcode == Opcode::SaslAuth
        && request.head.key == MECHANISMS.as_bytes()
        && plain(is_user, message);
    finish(request, state.is_authenticated)
}

/// Answers with an error and throws the value away.
fn refuse(request: Request<'_, '_>, status: Status, state: &mut State) -> Flow {
    state.swallow_bytes = request.head.value_len;
    request.error(status)
}

fn finish(request: Request<'_, '_>, passed: bool) -> Flow {
    let Request {
        head,
        context,
        replies,
        ..
    } = request;
    context.counters.auth_cmds.bump();
    if passed {
        reply::success(&head.header, 0, b"Authenticated", replies);
    } else {
        context.note_failed_login();
        reply::error(&head.header, Status::AuthenticationError, replies);
    }
    Flow::one(head.head_len() + head.value_len)
}
