//! Beginning an operation through the C interface.

use crate::memory::{Key, Memory};
use farcache_capi::{
    Call, ClientHandle, Request, Slice, Status, farcache_add, farcache_append, farcache_decrement,
    farcache_delete, farcache_flush_server, farcache_get, farcache_get_and_touch,
    farcache_get_many, farcache_increment, farcache_noop, farcache_prepend, farcache_replace,
    farcache_server_version, farcache_set, farcache_statistics, farcache_touch,
};
use std::ffi::CString;
use std::ptr::{null, null_mut};

/// What is to be done.
pub enum Operation<'a> {
    /// Get into room, or into the library's memory where that is null.
    Get {
        key: &'a Key,
        /// A new expiry in seconds.
        touch: Option<u32>,
        room: Memory,
    },
    /// Get several.
    GetMany(&'a [Key]),
    /// Store in one of the five ways.
    Store {
        mode: StoreMode,
        key: &'a Key,
        value: Memory,
        expiry_s: u32,
    },
    /// Give a new expiry.
    Touch { key: &'a Key, expiry_s: u32 },
    /// Remove.
    Delete(&'a Key),
    /// Count up or down.
    Count {
        key: &'a Key,
        down: bool,
        delta: u64,
        initial: Option<u64>,
        expiry_s: u32,
    },
    /// Ask or tell one server.
    Server {
        server: usize,
        what: ServerOperation,
    },
}

/// What is asked of one server.
pub enum ServerOperation {
    /// Its version.
    Version,
    /// An answer.
    Noop,
    /// To drop everything, so many seconds later.
    Flush(u32),
    /// Statistics, of a group or the general ones.
    Statistics(Option<CString>),
}

/// In which case a value is stored. The numbers are Java's.
#[derive(Clone, Copy)]
pub enum StoreMode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

impl StoreMode {
    /// By Java's number.
    pub fn of(number: i32) -> Self {
        match number {
            0 => StoreMode::Set,
            1 => StoreMode::Add,
            2 => StoreMode::Replace,
            3 => StoreMode::Append,
            _ => StoreMode::Prepend,
        }
    }
}

/// A request that has not begun says why in `farcache_message`, and is null.
pub type Begun = (Status, *mut Request);

impl Operation<'_> {
    /// Begins it.
    ///
    /// # Safety
    /// The client is open, and the memory that the operation and the call name is there; what is
    /// lent stays until the request is complete.
    pub unsafe fn begin(&self, client: *const ClientHandle, call: &Call) -> Begun {
        let mut request = null_mut();
        // SAFETY: as the caller promises; keys are there during the call.
        let status = unsafe { self.begin_at(client, call, &mut request) };
        (status, request)
    }

    /// # Safety
    /// As [`Operation::begin`].
    unsafe fn begin_at(
        &self,
        client: *const ClientHandle,
        call: &Call,
        place: &mut *mut Request,
    ) -> Status {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Operation::Get { key, touch, room } => {
                    let (start, bytes) = (key.start(), key.bytes());
                    let (room, room_bytes) = (room.start, room.bytes);
                    match *touch {
                        None => farcache_get(client, start, bytes, room, room_bytes, call, place),
                        Some(expiry_s) => farcache_get_and_touch(
                            client, start, bytes, expiry_s, room, room_bytes, call, place,
                        ),
                    }
                }
                Operation::GetMany(keys) => {
                    let slice = |key: &Key| Slice {
                        start: key.start(),
                        bytes: key.bytes(),
                    };
                    let slices: Vec<_> = keys.iter().map(slice).collect();
                    farcache_get_many(client, slices.as_ptr(), slices.len(), call, place)
                }
                Operation::Store { .. } => self.store(client, call, place),
                Operation::Touch { key, expiry_s } => {
                    farcache_touch(client, key.start(), key.bytes(), *expiry_s, call, place)
                }
                Operation::Delete(key) => {
                    farcache_delete(client, key.start(), key.bytes(), call, place)
                }
                Operation::Count { .. } => self.count(client, call, place),
                Operation::Server { server, what } => what.begin(client, *server, call, place),
            }
        }
    }

    /// # Safety
    /// As [`Operation::begin`].
    unsafe fn store(
        &self,
        client: *const ClientHandle,
        call: &Call,
        place: &mut *mut Request,
    ) -> Status {
        let Operation::Store {
            mode,
            key,
            value,
            expiry_s,
        } = self
        else {
            unreachable!("called for stores");
        };
        let (start, bytes, expiry_s) = (key.start(), key.bytes(), *expiry_s);
        let (value, length) = (value.start.cast_const(), value.bytes);
        // SAFETY: as the caller promises.
        unsafe {
            match mode {
                StoreMode::Set => {
                    farcache_set(client, start, bytes, value, length, expiry_s, call, place)
                }
                StoreMode::Add => {
                    farcache_add(client, start, bytes, value, length, expiry_s, call, place)
                }
                StoreMode::Replace => {
                    farcache_replace(client, start, bytes, value, length, expiry_s, call, place)
                }
                StoreMode::Append => {
                    farcache_append(client, start, bytes, value, length, call, place)
                }
                StoreMode::Prepend => {
                    farcache_prepend(client, start, bytes, value, length, call, place)
                }
            }
        }
    }

    /// # Safety
    /// As [`Operation::begin`].
    unsafe fn count(
        &self,
        client: *const ClientHandle,
        call: &Call,
        place: &mut *mut Request,
    ) -> Status {
        let Operation::Count {
            key,
            down,
            delta,
            initial,
            expiry_s,
        } = self
        else {
            unreachable!("called for counting");
        };
        let (start, bytes, expiry_s) = (key.start(), key.bytes(), *expiry_s);
        let initial = initial.as_ref().map_or(null(), std::ptr::from_ref);
        // SAFETY: as the caller promises.
        unsafe {
            if *down {
                farcache_decrement(client, start, bytes, *delta, initial, expiry_s, call, place)
            } else {
                farcache_increment(client, start, bytes, *delta, initial, expiry_s, call, place)
            }
        }
    }
}

impl ServerOperation {
    /// # Safety
    /// As [`Operation::begin`].
    unsafe fn begin(
        &self,
        client: *const ClientHandle,
        server: usize,
        call: &Call,
        place: &mut *mut Request,
    ) -> Status {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                ServerOperation::Version => farcache_server_version(client, server, call, place),
                ServerOperation::Noop => farcache_noop(client, server, call, place),
                ServerOperation::Flush(delay_s) => {
                    farcache_flush_server(client, server, *delay_s, call, place)
                }
                ServerOperation::Statistics(group) => {
                    let group = group.as_ref().map_or(null(), |group| group.as_ptr());
                    farcache_statistics(client, server, group, call, place)
                }
            }
        }
    }
}
