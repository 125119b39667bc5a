//! Registered memory.

use crate::arguments::{reference, reference_mut};
use crate::client::{ClientHandle, ClientState};
use crate::status::{Failure, Status, status_of};
use farcache_client::LentMemory;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Memory of the caller that is registered with the network.
pub struct Buffer {
    client: Arc<ClientState>,
    registered: Arc<Registered>,
}

/// A share is held by each request that uses the memory.
pub struct Registered(Arc<LentMemory>);

impl ClientState {
    fn buffers(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Registered>>> {
        let locked = self.registered.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    fn register(self: &Arc<Self>, memory: LentMemory) -> Result<Buffer, Failure> {
        let memory = Arc::new(memory);
        let done = self.client.register(&memory);
        done.map_err(|error| Failure::from(&error))?;
        let registered = Arc::new(Registered(memory));
        let mut buffers = self.buffers();
        buffers.push(Arc::clone(&registered));
        self.registered_count
            .store(buffers.len(), Ordering::Release);
        Ok(Buffer {
            client: Arc::clone(self),
            registered,
        })
    }

    /// The registration that these bytes lie in.
    pub fn registration(&self, bytes: &[u8]) -> Option<Arc<Registered>> {
        if self.registered_count.load(Ordering::Acquire) == 0 || bytes.is_empty() {
            return None;
        }
        let buffers = self.buffers();
        let found = buffers
            .iter()
            .find(|registered| registered.0.contains(bytes));
        found.cloned()
    }

    /// Takes a buffer out of the list, unless a request uses it.
    fn unregister(&self, registered: &Arc<Registered>) -> Result<(), Failure> {
        let mut buffers = self.buffers();
        // The list's and the buffer's own; requests get theirs under the same lock.
        if Arc::strong_count(registered) > 2 {
            let message = "a request that is not complete uses the buffer";
            return Err(Failure::new(Status::Busy, message));
        }
        buffers.retain(|other| !Arc::ptr_eq(other, registered));
        self.registered_count
            .store(buffers.len(), Ordering::Release);
        drop(buffers);
        self.client.unregister(&registered.0);
        Ok(())
    }
}

/// Registers memory of the caller's with the network, once, so that values above eager-bytes-max
/// are sent from there and received into it without being registered each time; over sockets it
/// changes nothing. Values and rooms of operations of this client that lie in it then use it by
/// themselves. The memory must stay as it is until farcache_buffer_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_buffer_register(
    client: *const ClientHandle,
    memory: *mut c_void,
    memory_bytes: usize,
    buffer: *mut *mut Buffer,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(client)?, reference_mut(buffer)?)) };
    status_of(arguments().and_then(|(client, place)| {
        *place = std::ptr::null_mut();
        let empty = || Failure::arguments("a buffer without memory");
        let start = NonNull::new(memory.cast()).filter(|_| memory_bytes > 0);
        // SAFETY: C's contract: the memory stays until `farcache_buffer_free`.
        let memory = unsafe { LentMemory::new(start.ok_or_else(empty)?, memory_bytes) };
        *place = Box::into_raw(Box::new(client.state.register(memory)?));
        Ok(Status::Ok)
    }))
}

/// Ends a registration; the memory stays the caller's. FARCACHE_STATUS_BUSY, and nothing changed,
/// while a request that uses it is not complete. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_buffer_free(buffer: *mut Buffer) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let Some(borrowed) = (unsafe { buffer.as_ref() }) else {
        return Status::Ok;
    };
    status_of(borrowed.client.unregister(&borrowed.registered).map(|()| {
        // SAFETY: C's contract; made by `farcache_buffer_register`.
        drop(unsafe { Box::from_raw(buffer) });
        Status::Ok
    }))
}
