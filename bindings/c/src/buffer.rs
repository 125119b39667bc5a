//! Registered memory.

use crate::arguments::{reference, reference_mut};
use crate::client::{ClientHandle, ClientState};
use crate::registrations::Registered;
use crate::status::{Failure, Status, status_of};
use farcache_client::LentMemory;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory of the caller that is registered with the network.
pub struct Buffer {
    client: Arc<ClientState>,
    registered: Arc<Registered>,
}

impl Buffer {
    fn register(client: &Arc<ClientState>, memory: LentMemory) -> Result<Buffer, Failure> {
        let memory = Arc::new(memory);
        let done = client.client.register(&memory);
        done.map_err(|error| Failure::from(&error))?;
        Ok(Buffer {
            client: Arc::clone(client),
            registered: client.registrations.add(memory),
        })
    }

    /// Ends the registration, unless a request uses it.
    fn unregister(&self) -> Result<(), Failure> {
        self.client.registrations.remove(&self.registered)?;
        self.client.client.unregister(self.registered.memory());
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
        *place = Box::into_raw(Box::new(Buffer::register(&client.state, memory)?));
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
    status_of(borrowed.unregister().map(|()| {
        // SAFETY: C's contract; made by `farcache_buffer_register`.
        drop(unsafe { Box::from_raw(buffer) });
        Status::Ok
    }))
}
