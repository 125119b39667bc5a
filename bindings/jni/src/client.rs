//! A client, and its operations for which nobody waits.

use crate::finished::{Shape, text};
use crate::memory::{Key, Memory};
use farcache_capi::{
    Buffer, ClientHandle, Request, Status, farcache_buffer_free, farcache_buffer_register,
    farcache_client_free, farcache_client_new, farcache_lanes, farcache_message,
    farcache_options_free, farcache_options_new, farcache_options_set, farcache_request_free,
    farcache_server_name, farcache_server_of_key, farcache_servers,
};
use jni::objects::GlobalRef;
use jni::sys::jlong;
use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why a call could not do what was asked.
pub struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    /// The last call of this thread failed so.
    pub fn last(status: Status) -> Self {
        // SAFETY: the text is valid until the next call that fails.
        let message = unsafe { text(farcache_message()) };
        Failure { status, message }
    }
}

/// What Java has a handle of.
pub struct Client {
    pub raw: *mut ClientHandle,
    under_way: Mutex<UnderWay>,
}

// SAFETY: any number of threads may use a client of the C interface.
unsafe impl Send for Client {}
// SAFETY: as for Send.
unsafe impl Sync for Client {}

/// Operations whose end Java is told. Who takes one out of here frees its request.
#[derive(Default)]
pub struct UnderWay {
    last_id: u64,
    submissions: HashMap<u64, Submission>,
}

/// An operation whose end Java is told.
pub struct Submission {
    pub request: *mut Request,
    /// What the callback is given.
    pub ticket: Box<Ticket>,
    /// Java's `Pending`.
    pub pending: GlobalRef,
    pub shape: Shape,
    pub counts: bool,
    /// A value that was copied out of an array, and is lent to the operation.
    pub _value: Vec<u8>,
}

// SAFETY: one thread at a time uses the request: who has taken it out of the list.
unsafe impl Send for Submission {}

/// Which operation the callback is called for.
pub struct Ticket {
    pub client: *const Client,
    pub id: u64,
}

impl UnderWay {
    /// A number that was not given before.
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Puts one in.
    pub fn insert(&mut self, submission: Submission) {
        self.submissions.insert(submission.ticket.id, submission);
    }
}

impl Submission {
    /// Gives it up: nobody is told its end by the C interface any more. Where memory is lent, this
    /// waits for the network to let go of it. What Java waits for is left.
    pub fn give_up(self) -> GlobalRef {
        // SAFETY: it is out of the list, so nobody else frees it. The ticket is there until the
        // callback, should it just be called, has returned.
        unsafe { farcache_request_free(self.request) };
        self.pending
    }
}

impl Client {
    /// The client that a handle stands for.
    ///
    /// # Safety
    /// Java counts its users, and closes it after the last one.
    pub unsafe fn of<'a>(handle: jlong) -> &'a Client {
        // SAFETY: as the caller promises; made by `Native.open`.
        unsafe { &*(handle as *const Client) }
    }

    /// Makes a client with options by name.
    ///
    /// # Errors
    /// An option that does not exist or cannot be, servers that cannot be read.
    pub fn open(servers: &CStr, options: &[(&CStr, &CStr)]) -> Result<Box<Self>, Failure> {
        let made = farcache_options_new();
        let mut raw = null_mut();
        // SAFETY: the options have just been made, and are freed once; texts and places are there.
        let status = unsafe {
            let set = |&(name, value): &(&CStr, &CStr)| {
                farcache_options_set(made, name.as_ptr(), value.as_ptr())
            };
            let refused = options.iter().map(set).find(|status| *status != Status::Ok);
            let new = || farcache_client_new(servers.as_ptr(), made, &mut raw);
            let status = refused.unwrap_or_else(new);
            farcache_options_free(made);
            status
        };
        match status {
            Status::Ok => Ok(Box::new(Client {
                raw,
                under_way: Mutex::default(),
            })),
            status => Err(Failure::last(status)),
        }
    }

    /// The operations under way. The callback is not called by what begins one, so this may be held
    /// meanwhile.
    pub fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        let locked = self.under_way.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an operation out, unless somebody else has.
    pub fn claim(&self, id: u64) -> Option<Submission> {
        self.under_way().submissions.remove(&id)
    }

    /// Gives up everything that is under way, and frees the client. Returns what Java waits for.
    ///
    /// # Safety
    /// Nobody uses it any more but its own callbacks, and it is dropped next.
    pub unsafe fn close(&self) -> Vec<GlobalRef> {
        let submissions = std::mem::take(&mut self.under_way().submissions);
        let given_up = submissions.into_values().map(Submission::give_up).collect();
        // SAFETY: as the caller promises. A callback that another thread is in, and that looks into
        // this client, has returned afterwards; in one of this thread's nobody looks any more.
        unsafe { farcache_client_free(self.raw) };
        given_up
    }

    /// How many servers there are.
    pub fn servers(&self) -> usize {
        // SAFETY: it is open.
        unsafe { farcache_servers(self.raw) }
    }

    /// On which server a key lives.
    ///
    /// # Errors
    /// There are no servers.
    pub fn server_of_key(&self, key: &Key) -> Result<usize, Failure> {
        let mut server = 0;
        // SAFETY: it is open; key and place are there.
        let status =
            unsafe { farcache_server_of_key(self.raw, key.start(), key.bytes(), &mut server) };
        match status {
            Status::Ok => Ok(server),
            status => Err(Failure::last(status)),
        }
    }

    /// A server's name.
    pub fn server_name(&self, server: usize) -> String {
        // SAFETY: it is open, and the room is as long as said.
        text_into(|room| unsafe {
            farcache_server_name(self.raw, server, room.as_mut_ptr().cast(), room.len())
        })
    }

    /// By which networks of the fabric a server is reached.
    pub fn lanes(&self, server: usize) -> String {
        // SAFETY: it is open, and the room is as long as said.
        text_into(|room| unsafe {
            farcache_lanes(self.raw, server, room.as_mut_ptr().cast(), room.len())
        })
    }

    /// Registers memory.
    ///
    /// # Errors
    /// The network does not take it.
    ///
    /// # Safety
    /// The memory stays until [`unregister`].
    pub unsafe fn register(&self, memory: Memory) -> Result<*mut Buffer, Failure> {
        let mut buffer = null_mut();
        // SAFETY: it is open; as the caller promises.
        let status =
            unsafe { farcache_buffer_register(self.raw, memory.start, memory.bytes, &mut buffer) };
        match status {
            Status::Ok => Ok(buffer),
            status => Err(Failure::last(status)),
        }
    }
}

/// Ends a registration, unless an operation uses it.
///
/// # Safety
/// It is one that [`Client::register`] gave, and not ended before.
pub unsafe fn unregister(buffer: *mut Buffer) -> Status {
    // SAFETY: as the caller promises.
    unsafe { farcache_buffer_free(buffer) }
}

// Java has it as a long.
const _: () = assert!(size_of::<*mut Client>() <= size_of::<i64>());

/// What a function writes into the room that it is given, ended by a zero; it returns the length
/// without that, also where the room is too short for all of it.
fn text_into(write: impl FnOnce(&mut [u8]) -> usize) -> String {
    let mut room = [0u8; 512];
    let length = write(&mut room).min(room.len() - 1);
    String::from_utf8_lossy(&room[..length]).into_owned()
}
