//! Increment and decrement.

use super::dispatch::Request;
use super::{Context, Flow, reply};
use farcache_proto::binary::{ArithmeticExtras, NO_CREATE, Opcode, Status};
use farcache_store::{ArithmeticOptions, ArithmeticOutcome, StoreError, Suspended, settled};

/// Adds to or subtracts from the number, or creates it.
pub(super) fn run(request: Request<'_, '_>, opcode: Opcode) -> Result<Flow, Suspended> {
    let context = request.context;
    let options = options(&request, opcode);
    let outcome = settled(context.store.arithmetic(request.head.key, &options))?;
    Ok(match outcome {
        Ok(ArithmeticOutcome::Done {
            value,
            cas,
            created,
            ..
        }) => {
            if !created {
                count_hit(options.decrement, context);
            }
            done(request, opcode, value, cas)
        }
        Ok(ArithmeticOutcome::NotFound) => {
            count_miss(options.decrement, context);
            request.error(Status::NotFound)
        }
        Ok(ArithmeticOutcome::NotNumeric) => request.error(Status::NotNumeric),
        Ok(ArithmeticOutcome::Exists) => request.error(Status::Exists),
        Err(error) => refuse(request, error),
    })
}

fn options(request: &Request<'_, '_>, opcode: Opcode) -> ArithmeticOptions {
    let context = request.context;
    let extras = ArithmeticExtras::decode(request.head.extras).unwrap_or_default();
    let expiry = context.clock.expiry(i64::from(extras.expiration));
    ArithmeticOptions {
        delta: extras.delta,
        decrement: opcode.loud() == Opcode::Decrement,
        initial: (extras.expiration != NO_CREATE).then_some((extras.initial, expiry)),
        compare_cas: reply::wanted_cas(&request.head.header, context),
        cas_wanted: context.service.options.cas && !opcode.is_quiet(),
        ..ArithmeticOptions::default()
    }
}

fn done(request: Request<'_, '_>, opcode: Opcode, value: u64, cas: u64) -> Flow {
    if !opcode.is_quiet() {
        let cas = reply::visible_cas(cas, request.context);
        reply::success(
            &request.head.header,
            cas,
            &value.to_be_bytes(),
            request.replies,
        );
    }
    Flow::one(request.head.head_len())
}

fn refuse(request: Request<'_, '_>, error: StoreError) -> Flow {
    match error {
        StoreError::OutOfMemory => {
            request.context.counters.store_no_memory.bump();
            let text = "Out of memory incrementing value";
            reply::error_text(
                &request.head.header,
                Status::OutOfMemory,
                text,
                request.replies,
            );
            Flow::one(request.head.head_len())
        }
        StoreError::TooLarge => request.error(Status::TooLarge),
        StoreError::BadKey => request.error(Status::InvalidArguments),
    }
}

fn count_hit(decrement: bool, context: &Context<'_>) {
    if decrement {
        context.counters.decr_hits.bump()
    } else {
        context.counters.incr_hits.bump()
    }
}

fn count_miss(decrement: bool, context: &Context<'_>) {
    if decrement {
        context.counters.decr_misses.bump()
    } else {
        context.counters.incr_misses.bump()
    }
}
