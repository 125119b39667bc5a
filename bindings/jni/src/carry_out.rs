//! Waiting for an operation, or having its end told.

use crate::client::{Client, Failure, Submission, Ticket};
use crate::finished::{Finished, Shape};
use crate::machine;
use crate::operation::Operation;
use farcache_capi::{Call, Request, Status, farcache_wait};
use jni::objects::GlobalRef;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How an operation is to be carried out.
pub struct Manner {
    pub call: Call,
    /// What Java gets of the value.
    pub shape: Shape,
    /// Whether the operation counts: Java wants the number, not the flags.
    pub counts: bool,
    /// A value that was copied out of an array, to be kept until the operation has ended.
    pub value: Vec<u8>,
}

/// Waits until an operation has ended.
///
/// # Errors
/// It could not begin.
///
/// # Safety
/// As [`Operation::begin`]; memory that is lent stays during the call.
pub unsafe fn wait(
    client: &Client,
    operation: &Operation<'_>,
    manner: &Manner,
) -> Result<Finished, Failure> {
    // SAFETY: as the caller promises.
    let (status, request) = unsafe { operation.begin(client.raw, &manner.call) };
    if status != Status::Ok {
        return Err(Failure::last(status));
    }
    // SAFETY: the request is this thread's alone, and complete after the wait.
    unsafe {
        farcache_wait(request);
        Ok(Finished::of(request))
    }
}

/// Begins an operation whose end Java's `Pending` is told; its number.
///
/// # Errors
/// It could not begin.
///
/// # Safety
/// As [`Operation::begin`]; `Pending` keeps memory that is lent.
pub unsafe fn submit(
    client: &Client,
    operation: &Operation<'_>,
    manner: Manner,
    pending: GlobalRef,
) -> Result<u64, Failure> {
    // Held until the submission is in place, where the callback looks for it.
    let mut under_way = client.under_way();
    let id = under_way.next_id();
    let ticket = Box::new(Ticket { client, id });
    let call = Call {
        callback: Some(ended),
        argument: std::ptr::from_ref(&*ticket).cast_mut().cast(),
        ..manner.call
    };
    // SAFETY: as the caller promises. The ticket stays until the request is freed.
    let (status, request) = unsafe { operation.begin(client.raw, &call) };
    if status != Status::Ok {
        return Err(Failure::last(status));
    }
    under_way.insert(Submission {
        request,
        ticket,
        pending,
        shape: manner.shape,
        counts: manner.counts,
        _value: manner.value,
    });
    Ok(id)
}

/// What the C interface calls when an operation has ended.
unsafe extern "C" fn ended(request: *mut Request, argument: *mut c_void) {
    let told = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the ticket stays until the request is freed, which waits for this; the client
        // until this has returned, or closes it itself, after the last look at it.
        let submission = unsafe {
            let ticket = &*argument.cast::<Ticket>();
            (*ticket.client).claim(ticket.id)
        };
        // Otherwise another thread is just giving it up.
        if let Some(submission) = submission {
            // SAFETY: it is complete, and whoever has claimed it frees it.
            let finished = unsafe { Finished::of(request) };
            machine::tell(&submission, &finished);
        }
    }));
    // A panic has been reported; it must not unwind into C.
    drop(told);
}
