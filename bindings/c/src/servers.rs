//! Beginning an operation on one server, named by its number in the client's list, counted from 0.

use crate::arguments::text;
use crate::beginning::Beginning;
use crate::call::Call;
use crate::client::ClientHandle;
use crate::request::Request;
use crate::status::{Failure, Status, status_of};
use farcache_client::{Delivery, Operation, Route};
use std::ffi::c_char;

fn ask(
    beginning: Result<Beginning<'_>, Failure>,
    server: usize,
    operation: Operation<'_>,
) -> Result<Status, Failure> {
    let beginning = beginning?;
    let delivery = Delivery {
        route: Route::Server(server),
        timeout: beginning.call.timeout(),
    };
    Ok(beginning.submit(operation, delivery))
}

/// Begins to drop every item of a server, now or so many seconds later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_flush_server(
    client: *const ClientHandle,
    server: usize,
    delay_s: u32,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let beginning = unsafe { Beginning::new(client, call, request) };
    status_of(ask(beginning, server, Operation::Flush { delay_s }))
}

/// Begins to ask a server for its version: the request's value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_server_version(
    client: *const ClientHandle,
    server: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let beginning = unsafe { Beginning::new(client, call, request) };
    status_of(ask(beginning, server, Operation::Version))
}

/// Begins to ask a server to answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_noop(
    client: *const ClientHandle,
    server: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let beginning = unsafe { Beginning::new(client, call, request) };
    status_of(ask(beginning, server, Operation::Noop))
}

/// Begins to ask a server for statistics: the general ones, or those of a group ("settings",
/// "fabric", ...) that is not null. farcache_result_item has them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_statistics(
    client: *const ClientHandle,
    server: usize,
    group: *const c_char,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let (beginning, group) = unsafe {
        let group = if group.is_null() { Ok("") } else { text(group) };
        (Beginning::new(client, call, request), group)
    };
    status_of(group.and_then(|group| {
        let group = group.as_bytes();
        ask(beginning, server, Operation::Statistics { group })
    }))
}
