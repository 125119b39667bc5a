//! Beginning to store a value.

use crate::arguments::bytes;
use crate::beginning::Beginning;
use crate::call::Call;
use crate::client::ClientHandle;
use crate::request::Request;
use crate::status::{Failure, Status, status_of};
use farcache_client::{Operation, SendBytes, Store, StoreMode, Value};
use std::ffi::c_void;
use std::ptr::NonNull;

/// # Safety
/// C's contract, as it stands at the top of the crate.
unsafe fn store(
    beginning: Result<Beginning<'_>, Failure>,
    mode: StoreMode,
    key: Result<&[u8], Failure>,
    value: Result<&[u8], Failure>,
    expiry_s: u32,
) -> Result<Status, Failure> {
    let (beginning, key, bytes) = (beginning?, key?, value?);
    let call = beginning.call;
    let lends = call.copies_value == 0 && !bytes.is_empty();
    let (value, registered) = match lends {
        false => (Value::Copied(bytes), None),
        true => {
            let start = NonNull::from(bytes).cast();
            // SAFETY: as the caller promises: the value stays as it is until the request is
            // complete.
            let lent = unsafe { SendBytes::from_foreign(start, bytes.len(), None) };
            (Value::Lent(lent), beginning.client.registrations.of(bytes))
        }
    };
    let store = Store {
        mode,
        key,
        value,
        flags: call.flags,
        expiry_s,
        cas: call.cas,
    };
    // SAFETY: as the caller promises.
    let delivery = unsafe { call.delivery()? };
    Ok(beginning.submit_lent(Operation::Store(store), delivery, lends, registered))
}

/// Begins to store a value in any case. Its memory is lent to the request until that is complete,
/// unless the call says that it is copied; so it is with the next four. The expiry is as with
/// farcache_get_and_touch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_set(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    value: *const c_void,
    value_bytes: usize,
    expiry_s: u32,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let beginning = Beginning::new(client, call, request);
        let (key, value) = (bytes(key, key_bytes), bytes(value, value_bytes));
        store(beginning, StoreMode::Set, key, value, expiry_s)
    })
}

/// Begins to store a value where the key is absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_add(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    value: *const c_void,
    value_bytes: usize,
    expiry_s: u32,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let beginning = Beginning::new(client, call, request);
        let (key, value) = (bytes(key, key_bytes), bytes(value, value_bytes));
        store(beginning, StoreMode::Add, key, value, expiry_s)
    })
}

/// Begins to store a value where the key is present.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_replace(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    value: *const c_void,
    value_bytes: usize,
    expiry_s: u32,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let beginning = Beginning::new(client, call, request);
        let (key, value) = (bytes(key, key_bytes), bytes(value, value_bytes));
        store(beginning, StoreMode::Replace, key, value, expiry_s)
    })
}

/// Begins to put a value behind the one that is there, which keeps its flags and its expiry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_append(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    value: *const c_void,
    value_bytes: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let beginning = Beginning::new(client, call, request);
        let (key, value) = (bytes(key, key_bytes), bytes(value, value_bytes));
        store(beginning, StoreMode::Append, key, value, 0)
    })
}

/// Begins to put a value in front of the one that is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_prepend(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    value: *const c_void,
    value_bytes: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let beginning = Beginning::new(client, call, request);
        let (key, value) = (bytes(key, key_bytes), bytes(value, value_bytes));
        store(beginning, StoreMode::Prepend, key, value, 0)
    })
}
