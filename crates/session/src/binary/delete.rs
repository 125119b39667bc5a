//! Delete.

use super::dispatch::Request;
use super::{Flow, reply};
use farcache_proto::binary::{Opcode, Status};
use farcache_store::{DeleteOptions, DeleteOutcome, Suspended};

/// Removes the item, if it has the token asked for.
pub(super) fn run(request: Request<'_, '_>, opcode: Opcode) -> Result<Flow, Suspended> {
    let (key, context) = (request.head.key, request.context);
    let compare_cas = reply::wanted_cas(&request.head.header, context);
    let options = DeleteOptions {
        compare_cas,
        ..DeleteOptions::default()
    };
    let outcome = context.store.delete(key, &options)?;
    context.service.detail.delete(key);
    Ok(match outcome {
        DeleteOutcome::Deleted => {
            context.counters.delete_hits.bump();
            context.show_deleted(key);
            request.success(opcode, 0)
        }
        DeleteOutcome::Exists => request.error(Status::Exists),
        DeleteOutcome::NotFound => {
            context.counters.delete_misses.bump();
            request.error(Status::NotFound)
        }
    })
}
