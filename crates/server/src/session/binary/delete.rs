//! Delete.

use super::dispatch::Request;
use super::{Flow, reply};
use farcache_proto::binary::{Opcode, Status};
use farcache_store::{DeleteOptions, DeleteOutcome};

/// Removes the item, if it has the token asked for.
pub(super) fn run(request: Request<'_, '_>, opcode: Opcode) -> Flow {
    let (key, context) = (request.head.key, request.context);
    let compare_cas = reply::wanted_cas(&request.head.header, context);
    let options = DeleteOptions {
        compare_cas,
        ..DeleteOptions::default()
    };
    let outcome = context.store.delete(key, &options);
    if context.store.needs_reads() {
        return Flow::NeedInput;
    }
    context.shared.detail.delete(key);
    match outcome {
        DeleteOutcome::Deleted => {
            context.counters.delete_hits.bump();
            context.shared.watch.deleted(key);
            request.success(opcode, 0)
        }
        DeleteOutcome::Exists => request.error(Status::Exists),
        DeleteOutcome::NotFound => {
            context.counters.delete_misses.bump();
            request.error(Status::NotFound)
        }
    }
}
