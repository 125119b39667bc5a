//! Beginning to get many values together.

use crate::arguments::bytes;
use crate::beginning::Beginning;
use crate::call::Call;
use crate::client::ClientHandle;
use crate::request::{Pending, Request, Submitted};
use crate::status::{Failure, Status, status_of};
use farcache_client::Values;
use std::ffi::c_void;
use std::sync::atomic::Ordering;

/// Multi-gets that may be under way at once: the client takes 8192.
const MULTI_GETS_MAX: usize = 8000;

/// Keys of one multi-get.
const KEYS_MAX: usize = 1 << 16;

/// Bytes in memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slice {
    /// The first one.
    pub start: *const c_void,
    /// How many.
    pub bytes: usize,
}

/// Begins to get up to 65,536 values, which the library keeps: farcache_result_item has them in the
/// order of the keys. The request ends with FARCACHE_STATUS_OK, whatever became of each key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_get_many(
    client: *const ClientHandle,
    keys: *const Slice,
    count: usize,
    call: *const Call,
    request: *mut *mut Request,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe { get_many(Beginning::new(client, call, request), keys, count) })
}

/// # Safety
/// C's contract, as it stands at the top of the crate.
unsafe fn get_many(
    beginning: Result<Beginning<'_>, Failure>,
    keys: *const Slice,
    count: usize,
) -> Result<Status, Failure> {
    let beginning = beginning?;
    if count > KEYS_MAX || (keys.is_null() && count > 0) {
        return Err(Failure::arguments("more than 65,536 keys, or none there"));
    }
    // SAFETY: as the caller promises.
    let (keys, delivery) = unsafe {
        let keys = (0..count).map(|index| keys.add(index).read());
        let keys = keys.map(|key| bytes(key.start, key.bytes));
        let keys = keys.collect::<Result<Vec<&[u8]>, Failure>>()?;
        (keys, beginning.call.delivery()?)
    };
    let client = beginning.client;
    if client.multi_gets.fetch_add(1, Ordering::Relaxed) >= MULTI_GETS_MAX {
        client.multi_gets.fetch_sub(1, Ordering::Relaxed);
        return Err(Failure::new(Status::Busy, "8000 multi-gets are under way"));
    }
    let submitted = client
        .client
        .submit_get_many(&keys, Values::new(), delivery);
    let pending = Pending {
        submitted: Submitted::Many(submitted),
        _registered: None,
    };
    Ok(beginning.hand_over(pending, false))
}
