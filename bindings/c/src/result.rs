//! Looking at what a complete request has brought.

use crate::arguments::{reference, reference_mut};
use crate::outcome::{Brought, Item, NOTHING, Outcome};
use crate::request::Request;
use crate::status::{Failure, Status, status_of};
use std::ffi::c_char;

/// How a request ended, and in *result what it brought. FARCACHE_STATUS_IN_PROGRESS where it is not
/// known to be complete, which farcache_test, farcache_wait and callbacks find out. result may be
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_request_result(
    request: *const Request,
    result: *mut Outcome,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(request)?, result.as_mut())) };
    status_of(arguments().map(|(request, place)| {
        let look = |brought: &Brought| (brought.status, brought.outcome);
        let (status, outcome) = request.look(look).unwrap_or((Status::InProgress, NOTHING));
        if let Some(place) = place {
            *place = outcome;
        }
        status
    }))
}

/// One of the items that a complete multi-get or farcache_statistics has brought, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_result_item(
    request: *const Request,
    index: usize,
    item: *mut Item,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(request)?, reference_mut(item)?)) };
    status_of(arguments().and_then(|(request, place)| {
        let none = || Failure::arguments("there is no such item");
        let found = request.look(|brought| brought.item(index)).flatten();
        *place = found.ok_or_else(none)?;
        Ok(Status::Ok)
    }))
}

/// Why a complete request failed, for people; empty where it did not. Valid until the request is
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_request_message(request: *const Request) -> *const c_char {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let request = unsafe { request.as_ref() };
    let message = request.and_then(|request| request.look(|brought| brought.message.as_ptr()));
    message.unwrap_or(c"".as_ptr())
}
