//! Beginning to get a value.

use crate::arguments::bytes;
use crate::beginning::Beginning;
use crate::call::Call;
use crate::client::ClientHandle;
use crate::registrations::Registered;
use crate::request::Request;
use crate::status::{Failure, Status, status_of};
use farcache_client::{Operation, ReceiveBytes};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

impl Beginning<'_> {
    /// Room for a value to get, if any is given.
    ///
    /// # Safety
    /// C's contract: the room stays until the request is freed.
    unsafe fn room(
        &self,
        room: *mut c_void,
        room_bytes: usize,
    ) -> (ReceiveBytes, Option<Arc<Registered>>) {
        let Some(start) = NonNull::new(room.cast::<u8>()) else {
            return (ReceiveBytes::default(), None);
        };
        // SAFETY: as the caller promises; nobody but the network touches it meanwhile.
        let (memory, into) = unsafe {
            let memory = std::slice::from_raw_parts(start.as_ptr(), room_bytes);
            (memory, ReceiveBytes::from_foreign(start, room_bytes, None))
        };
        (into, self.client.registrations.of(memory))
    }
}

/// # Safety
/// C's contract, as it stands at the top of the crate.
unsafe fn get(
    beginning: Result<Beginning<'_>, Failure>,
    key: Result<&[u8], Failure>,
    (room, room_bytes): (*mut c_void, usize),
    expiry_s: Option<u32>,
) -> Result<Status, Failure> {
    let (beginning, key) = (beginning?, key?);
    // SAFETY: as the caller promises.
    let (delivery, (into, registered)) =
        unsafe { (beginning.call.delivery()?, beginning.room(room, room_bytes)) };
    let operation = match expiry_s {
        None => Operation::Get { key, into },
        Some(expiry_s) => Operation::GetAndTouch {
            key,
            expiry_s,
            into,
        },
    };
    Ok(beginning.submit_lent(operation, delivery, !room.is_null(), registered))
}

/// Begins to get a value into room of so many bytes, which is lent to the request until that is
/// complete; a null room has the library keep the value. call may be null, here and everywhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_get(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    room: *mut c_void,
    room_bytes: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let beginning = Beginning::new(client, call, request);
        get(beginning, bytes(key, key_bytes), (room, room_bytes), None)
    })
}

/// Begins to get a value, as farcache_get does, and gives the item a new expiry: seconds up to 30
/// days, above that seconds since 1970, 0 for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_get_and_touch(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    expiry_s: u32,
    room: *mut c_void,
    room_bytes: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe {
        let beginning = Beginning::new(client, call, request);
        let room = (room, room_bytes);
        get(beginning, bytes(key, key_bytes), room, Some(expiry_s))
    })
}
