//! Commands about the connection and the server.

use super::dispatch::Request;
use super::{Flow, reply};
use crate::stats;
use farcache_base::time::ALWAYS_PAST;
use farcache_proto::binary::{Opcode, Status, decode_u32};

/// Carries out one of them.
pub(super) fn run(request: Request<'_, '_>, opcode: Opcode) -> Flow {
    match opcode.loud() {
        Opcode::Quit => quit(request, opcode),
        Opcode::Flush => flush(request, opcode),
        Opcode::Version => version(request),
        Opcode::Verbosity => verbosity(request, opcode),
        Opcode::Stat => stat(request),
        _ => request.success(opcode, 0),
    }
}

fn quit(request: Request<'_, '_>, opcode: Opcode) -> Flow {
    let bytes = request.input.len();
    request.success(opcode, 0);
    Flow::Close { bytes }
}

fn version(request: Request<'_, '_>) -> Flow {
    reply::success(
        &request.head.header,
        0,
        request.context.version().as_bytes(),
        request.replies,
    );
    Flow::one(request.head.head_len())
}

fn flush(request: Request<'_, '_>, opcode: Opcode) -> Flow {
    let context = request.context;
    if !context.service.options.flush {
        return request.error(Status::AuthenticationError);
    }
    let delay_seconds = decode_u32(request.head.extras).unwrap_or(0);
    let at = context.clock.expiry(i64::from(delay_seconds));
    context.counters.cmd_flush.bump();
    context.host.void_moves();
    context.store.flush_all((at > ALWAYS_PAST).then_some(at));
    request.success(opcode, 0)
}

fn verbosity(request: Request<'_, '_>, opcode: Opcode) -> Flow {
    let level = decode_u32(request.head.extras).unwrap_or(0);
    request.context.host.set_verbosity(level);
    request.success(opcode, 0)
}

fn stat(request: Request<'_, '_>) -> Flow {
    let Request {
        head,
        context,
        replies,
        ..
    } = request;
    let buffer = replies.buffer();
    if !stats::report_packets(head.key, head.header.opaque, context, buffer) {
        reply::error(&head.header, Status::NotFound, replies);
    }
    Flow::one(head.head_len())
}
