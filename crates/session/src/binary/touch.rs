//! Touch and get-and-touch.

use super::dispatch::Request;
use super::{Context, Flow, get, reply};
use farcache_proto::binary::{Opcode, Status, decode_u32, encode_head};
use farcache_store::{Access, Item, Suspended, settled};

/// Gives the item its new expiry and returns what the command returns.
pub(super) fn run(request: Request<'_, '_>, opcode: Opcode) -> Result<Flow, Suspended> {
    let (key, context) = (request.head.key, request.context);
    let expiry = context.clock.expiry(i64::from(
        decode_u32(request.head.extras).unwrap_or_default(),
    ));
    let touched = settled(context.store.touch(key, expiry, Access::Use))?;
    let Ok(found) = touched else {
        return Ok(request.error(Status::OutOfMemory));
    };
    count(key, found.is_some(), context);
    Ok(match found {
        Some(item) => hit(request, opcode, &item),
        None => miss(request, opcode),
    })
}

fn count(key: &[u8], hit: bool, context: &Context<'_>) {
    context.counters.cmd_touch.bump();
    if hit {
        context.counters.touch_hits.bump()
    } else {
        context.counters.touch_misses.bump()
    }
    context.service.detail.get(key, hit);
}

fn hit(request: Request<'_, '_>, opcode: Opcode, item: &Item<'_>) -> Flow {
    let Request {
        head,
        context,
        replies,
        ..
    } = request;
    match opcode.loud() {
        Opcode::Touch => {
            let header = reply::header(&head.header, Status::Success, reply::cas_of(item, context));
            encode_head(
                header,
                &item.flags().to_be_bytes(),
                &[],
                0,
                replies.buffer(),
            );
        }
        Opcode::GatK => reply::value(&head.header, head.key, item, context, replies),
        _ => reply::value(&head.header, &[], item, context, replies),
    }
    Flow::one_with_copy(head.head_len(), item.value().len())
}

fn miss(request: Request<'_, '_>, opcode: Opcode) -> Flow {
    match opcode {
        Opcode::GatQ | Opcode::GatKQ => {}
        Opcode::GatK => get::miss_with_key(&request.head.header, request.head.key, request.replies),
        _ => return request.error(Status::NotFound),
    }
    Flow::one(request.head.head_len())
}
