//! Non-blocking operations, as RDMA-Memcached names them; `include/libmemcached-1.0/request.h`
//! tells what they do.

use crate::arguments::{bytes, code, context};
use crate::context::Context;
use crate::failure::code_of;
use crate::memory;
use crate::store::lend;
use farcache_base::limits::VALUE_BYTES_MAX;
use farcache_client::{
    Completion, Error, Operation, ReceiveBytes, Reply, Request, Store, StoreMode, Value,
};
use farcache_libmemcached_abi::{Handle, Return};
use std::borrow::Cow;
use std::ffi::{c_char, c_uint, c_void};
use std::ptr::{NonNull, null_mut};

/// `memcached_request_st`: the header's fields, then what C does not see.
#[repr(C)]
pub struct NonBlocking {
    completed: c_uint,
    response: u64,
    value: *mut c_void,
    value_length: usize,
    flags: u32,
    /// Whether gets allocate their room.
    allocates: bool,
    /// Room of the value, as it was given.
    room: usize,
    /// The application gave room without a length: it promises enough for whatever value is there.
    is_unbounded: bool,
    /// What is under way.
    under_way: Option<Request>,
}

impl NonBlocking {
    /// Begins anew; a request that is under way cannot.
    fn begin(&mut self) -> Result<(), Return> {
        match self.under_way {
            Some(_) => Err(Return::IN_PROGRESS),
            None => {
                self.completed = 0;
                self.response = Return::IN_PROGRESS.0.into();
                Ok(())
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.under_way.as_ref().is_none_or(Request::test)
    }

    /// Waits, and tells how it ended.
    fn finish(&mut self) -> Return {
        if let Some(request) = self.under_way.take() {
            let Completion {
                outcome,
                lent,
                unused,
            } = request.complete();
            drop((lent, unused));
            let code = match outcome {
                Ok(Reply::Value { value, flags, .. }) => self.got(value, flags),
                Ok(_) => Return::SUCCESS,
                Err(error) => self.failed(&error),
            };
            self.completed = 1;
            self.response = code.0.into();
        }
        Return(self.response as c_uint)
    }

    fn got(&mut self, value: ReceiveBytes, flags: u32) -> Return {
        self.flags = flags;
        self.value_length = value.len();
        if self.allocates {
            self.value = memory::hand_over(value.into_vec()).0.cast();
        }
        Return::SUCCESS
    }

    fn failed(&mut self, error: &Error) -> Return {
        if let Error::BufferTooSmall { value_bytes } = error {
            self.value_length = *value_bytes;
        }
        code_of(error)
    }

    /// Room for the value to get.
    fn receive(&mut self) -> ReceiveBytes {
        if self.allocates {
            self.value = null_mut();
        }
        let room = match self.is_unbounded {
            true => VALUE_BYTES_MAX,
            false => self.room,
        };
        match NonNull::new(self.value.cast()) {
            // SAFETY: the application lends the room until the request is complete, and `finish`
            // and the request's end wait for that. Nothing is written behind the end of the value,
            // for which it has promised room.
            Some(start) => unsafe { ReceiveBytes::from_foreign(start, room, None) },
            None => ReceiveBytes::default(),
        }
    }
}

impl Drop for NonBlocking {
    fn drop(&mut self) {
        // The network must have let go of the application's memory.
        self.finish();
    }
}

impl Context<'_> {
    /// The key's server and the key as it goes there.
    fn prepare<'k>(&mut self, key: &'k [u8]) -> Result<(usize, Cow<'k, [u8]>), Return> {
        self.begin()?;
        self.check_key(key)?;
        if self.is_encrypted() {
            let what = "Operation not allowed while encyrption is enabled";
            return Err(self.fail(Return::NOT_SUPPORTED, what));
        }
        self.rebuild_when_due();
        Ok((self.server_of_key(key), self.full_key(key)))
    }

    fn launch(
        &mut self,
        of: &mut NonBlocking,
        operation: Operation<'_>,
        server: usize,
        key: &[u8],
    ) -> Result<(), Return> {
        self.settle_unseen();
        if let Some(client) = self.redundant(key)? {
            // Carried out before this returns.
            of.under_way = Some(client.submit(operation));
            return Ok(());
        }
        self.admit(server)?;
        let client = self.client()?;
        of.under_way = Some(client.submit_batched(operation, self.delivery(server)));
        Ok(())
    }

    fn start_set(
        &mut self,
        of: &mut NonBlocking,
        key: &[u8],
        expiration: libc::time_t,
        flags: u32,
        is_copied: bool,
    ) -> Result<(), Return> {
        of.begin()?;
        let (server, key) = self.prepare(key)?;
        // SAFETY: the application lends the value until the request is complete, and `finish` and
        // the request's end wait for that.
        let value = unsafe {
            let value = bytes(of.value.cast(), of.room);
            if is_copied {
                Value::Copied(value)
            } else {
                lend(value)
            }
        };
        let expiry_s = self.expiry_s(expiration);
        let store = Store {
            mode: StoreMode::Set,
            key: &key,
            value,
            flags,
            expiry_s,
            cas: 0,
        };
        self.launch(of, Operation::Store(store), server, &key)
    }

    fn start_get(&mut self, of: &mut NonBlocking, key: &[u8]) -> Result<(), Return> {
        of.begin()?;
        let (server, key) = self.prepare(key)?;
        let into = of.receive();
        self.launch(of, Operation::Get { key: &key, into }, server, &key)
    }
}

/// How a call that begins something ends; a request that did not begin is complete with the
/// failure.
fn begun(of: &mut NonBlocking, outcome: Result<(), Return>) -> Return {
    if let Err(why) = outcome
        && of.under_way.is_none()
    {
        of.completed = 1;
        of.response = why.0.into();
    }
    code(outcome)
}

/// # Safety
/// As C's contract says of `memcached_iset`.
unsafe fn set(
    handle: *mut Handle,
    key: &[u8],
    request: *mut NonBlocking,
    expiration: libc::time_t,
    flags: u32,
    is_copied: bool,
) -> Return {
    // SAFETY: as the caller promises.
    let (context, request) = unsafe { (context(handle), request.as_mut()) };
    let (Some(mut context), Some(request)) = (context, request) else {
        return Return::INVALID_ARGUMENTS;
    };
    let outcome = context.start_set(request, key, expiration, flags, is_copied);
    begun(request, outcome)
}

/// # Safety
/// As C's contract says of `memcached_iget`.
unsafe fn get(handle: *mut Handle, key: &[u8], request: *mut NonBlocking) -> Return {
    // SAFETY: as the caller promises.
    let (context, request) = unsafe { (context(handle), request.as_mut()) };
    let (Some(mut context), Some(request)) = (context, request) else {
        return Return::INVALID_ARGUMENTS;
    };
    let outcome = context.start_get(request, key);
    begun(request, outcome)
}

export! {
    /// Makes a request.
    fn memcached_request_create(
        _handle: *mut Handle,
        value: *mut c_void,
        value_length: usize,
        flags: u32,
    ) -> *mut NonBlocking {
        Box::into_raw(Box::new(NonBlocking {
            completed: 1,
            response: Return::SUCCESS.0.into(),
            value,
            value_length,
            flags,
            allocates: value.is_null(),
            room: value_length,
            is_unbounded: !value.is_null() && value_length == 0,
            under_way: None,
        }))
    }

    /// Begins to store the request's value, which is the library's until the request is complete.
    fn memcached_iset(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        request: *mut NonBlocking,
        expiration: libc::time_t,
        flags: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { set(handle, bytes(key, key_length), request, expiration, flags, false) }
    }

    /// Begins to store the request's value, which the caller may reuse.
    fn memcached_bset(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        request: *mut NonBlocking,
        expiration: libc::time_t,
        flags: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { set(handle, bytes(key, key_length), request, expiration, flags, true) }
    }

    /// Begins to get a value.
    fn memcached_iget(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        request: *mut NonBlocking,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { get(handle, bytes(key, key_length), request) }
    }

    /// Begins to get a value.
    fn memcached_bget(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        request: *mut NonBlocking,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { get(handle, bytes(key, key_length), request) }
    }

    /// Whether a request is complete, and how it ended.
    fn memcached_test(_handle: *mut Handle, request: *mut NonBlocking) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        match unsafe { request.as_mut() } {
            None => Return::INVALID_ARGUMENTS,
            Some(request) if request.is_complete() => request.finish(),
            Some(_) => Return::IN_PROGRESS,
        }
    }

    /// Waits for a request.
    fn memcached_wait(_handle: *mut Handle, request: *mut NonBlocking) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { request.as_mut() }.map_or(Return::INVALID_ARGUMENTS, NonBlocking::finish)
    }

    /// Frees a request, complete or not.
    fn memcached_request_free(_handle: *mut Handle, request: *mut NonBlocking) {
        if !request.is_null() {
            // SAFETY: C's contract, as it stands at the top of the crate.
            drop(unsafe { Box::from_raw(request) });
        }
    }
}
