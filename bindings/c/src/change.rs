//! Beginning to change an item that is there: its expiry, its number, or that it is there.

use crate::arguments::bytes;
use crate::beginning::Beginning;
use crate::call::Call;
use crate::client::ClientHandle;
use crate::request::Request;
use crate::status::{Failure, Status, status_of};
use farcache_client::{Direction, Initial, Operation};
use std::ffi::c_void;

/// Begins to give an item a new expiry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_touch(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    expiry_s: u32,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        Beginning::new(client, call, request).and_then(|beginning| {
            let (key, delivery) = (bytes(key, key_bytes)?, beginning.call.delivery()?);
            Ok(beginning.submit(Operation::Touch { key, expiry_s }, delivery))
        })
    })
}

/// Begins to remove an item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_delete(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        Beginning::new(client, call, request).and_then(|beginning| {
            let (key, delivery) = (bytes(key, key_bytes)?, beginning.call.delivery()?);
            let cas = beginning.call.cas;
            Ok(beginning.submit(Operation::Delete { key, cas }, delivery))
        })
    })
}

/// # Safety
/// C's contract, as it stands at the top of the crate.
unsafe fn count(
    beginning: Result<Beginning<'_>, Failure>,
    direction: Direction,
    key: Result<&[u8], Failure>,
    delta: u64,
    (initial, expiry_s): (*const u64, u32),
) -> Result<Status, Failure> {
    let (beginning, key) = (beginning?, key?);
    // SAFETY: as the caller promises.
    let (initial, delivery) = unsafe { (initial.as_ref(), beginning.call.delivery()?) };
    let operation = Operation::Arithmetic {
        direction,
        key,
        delta,
        initial: initial.map(|&number| Initial { number, expiry_s }),
    };
    Ok(beginning.submit(operation, delivery))
}

/// Begins to add to a decimal number. Where the key is absent, *initial is stored with the expiry;
/// with a null initial the request ends with FARCACHE_STATUS_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_increment(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    delta: u64,
    initial: *const u64,
    expiry_s: u32,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let (beginning, key) = (Beginning::new(client, call, request), bytes(key, key_bytes));
        count(
            beginning,
            Direction::Increment,
            key,
            delta,
            (initial, expiry_s),
        )
    })
}

/// Begins to subtract from a decimal number, down to 0; otherwise as farcache_increment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_decrement(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    delta: u64,
    initial: *const u64,
    expiry_s: u32,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let (beginning, key) = (Beginning::new(client, call, request), bytes(key, key_bytes));
        count(
            beginning,
            Direction::Decrement,
            key,
            delta,
            (initial, expiry_s),
        )
    })
}
