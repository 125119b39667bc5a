//! How one operation is to be carried out.

use crate::arguments::bytes;
use crate::request::{Callback, Calling};
use crate::status::Failure;
use farcache_client::{Delivery, Route};
use std::ffi::c_void;
use std::time::Duration;

/// How one operation is to be carried out, where it is not as usual. Begin with FARCACHE_CALL_INIT,
/// which changes nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Call {
    /// Called when the operation is complete, with the argument below. May be null.
    pub callback: Callback,
    /// For the callback.
    pub argument: *mut c_void,
    /// How long the operation may take, in microseconds; 0 for the client's timeout-ms.
    pub timeout_us: u64,
    /// The key that chooses the server, in place of the operation's own. May be null.
    pub group: *const c_void,
    /// Its length in bytes.
    pub group_bytes: usize,
    /// Stores and deletes only where the item has this CAS token; 0 for no such condition.
    pub cas: u64,
    /// The application's number to store with a value.
    pub flags: u32,
    /// Not 0: a value to store is copied, and the caller may use its memory again at once.
    pub copies_value: u32,
}

impl Call {
    /// Nothing special.
    pub const USUAL: Call = Call {
        callback: None,
        argument: std::ptr::null_mut(),
        timeout_us: 0,
        group: std::ptr::null(),
        group_bytes: 0,
        cas: 0,
        flags: 0,
        copies_value: 0,
    };

    /// What is called when the operation is complete.
    pub fn callback(&self) -> Calling {
        Calling::new(self.callback, self.argument)
    }

    /// Where it goes and how long it may take.
    ///
    /// # Safety
    /// C's contract: the group's bytes are there.
    pub unsafe fn delivery(&self) -> Result<Delivery<'_>, Failure> {
        // SAFETY: as the caller promises.
        let group = unsafe { bytes(self.group, self.group_bytes)? };
        Ok(Delivery {
            route: match group {
                [] => Route::Key,
                group => Route::Group(group),
            },
            timeout: self.timeout(),
        })
    }

    /// How long it may take, where that is not as usual.
    pub fn timeout(&self) -> Option<Duration> {
        (self.timeout_us > 0).then(|| Duration::from_micros(self.timeout_us))
    }
}
