//! Beginning an operation on a key.

use crate::arguments::{bytes, reference, reference_mut};
use crate::buffer::Registered;
use crate::call::Call;
use crate::client::{ClientHandle, ClientState};
use crate::request::{Pending, Request, Submitted};
use crate::status::{Failure, Status, status_of};
use farcache_client::{
    Delivery, Direction, Initial, Operation, ReceiveBytes, SendBytes, Store, StoreMode, Value,
    Values,
};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
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

/// What every call that begins an operation is given.
pub struct Beginning<'a> {
    pub client: &'a Arc<ClientState>,
    pub call: &'a Call,
    place: &'a mut *mut Request,
}

impl<'a> Beginning<'a> {
    /// # Safety
    /// C's contract, as it stands at the top of the crate.
    pub unsafe fn new(
        client: *const ClientHandle,
        call: *const Call,
        request: *mut *mut Request,
    ) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        unsafe {
            let place = reference_mut(request)?;
            *place = null_mut();
            Ok(Beginning {
                client: &reference(client)?.state,
                call: call.as_ref().unwrap_or(&Call::USUAL),
                place,
            })
        }
    }

    /// Submits an operation that borrows nothing of the caller's for longer.
    pub fn submit(self, operation: Operation<'_>, delivery: Delivery<'_>) -> Status {
        self.submit_lent(operation, delivery, false, None)
    }

    fn submit_lent(
        self,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
        lends: bool,
        registered: Option<Arc<Registered>>,
    ) -> Status {
        let request = self.client.client.submit_to(operation, delivery);
        let pending = Pending {
            submitted: Submitted::One(request),
            _registered: registered,
        };
        self.hand_over(pending, lends)
    }

    fn hand_over(self, pending: Pending, lends: bool) -> Status {
        let request = Request::begin(self.client, pending, self.call, lends);
        // C has its share, in place, before a callback may use it.
        *self.place = Arc::into_raw(Arc::clone(&request)).cast_mut();
        request.arm();
        Status::Ok
    }

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
        (into, self.client.registration(memory))
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

/// Begins to get a value into room of so many bytes, which is lent to the request until that is complete; a null room has
/// the library keep the value. call may be null, here and everywhere.
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

/// The same, giving the item a new expiry: seconds up to 30 days, above that seconds since 1970, 0 for ever.
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

/// Begins to get up to 65,536 values, which the library keeps: farcache_result_item has them in the order of the keys. The
/// request ends with FARCACHE_STATUS_OK, whatever became of each key.
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
            // SAFETY: as the caller promises: the value stays as it is until the request is complete.
            let lent = unsafe { SendBytes::from_foreign(start, bytes.len(), None) };
            (Value::Lent(lent), beginning.client.registration(bytes))
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

/// Begins to store a value in any case. Its memory is lent to the request until that is complete, unless the call says that
/// it is copied; so it is with the next four. The expiry is as with farcache_get_and_touch.
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

/// Begins to add to a decimal number. Where the key is absent, *initial is stored with the expiry; with a null initial the
/// request ends with FARCACHE_STATUS_NOT_FOUND.
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
