//! What UCX reports while it is at work: its callbacks only take notes, here.

use super::endpoint::EndpointId;
use farcache_ucx_sys::Library;
use farcache_ucx_sys::raw::*;
use std::ffi::c_void;
use std::ptr::NonNull;

/// What has been reported and has not been looked at.
#[derive(Debug)]
struct Notes {
    library: &'static Library,
    sends: Vec<(u32, ucs_status_t)>,
    receives: Vec<(u32, ucs_status_t)>,
    failures: Vec<(EndpointId, ucs_status_t)>,
}

/// The notes. UCX holds pointers to them: they must be dropped after the worker.
#[derive(Debug)]
pub(super) struct Finished {
    notes: NonNull<Notes>,
}

// SAFETY: the notes are its own, and tickets are used from within its worker only, which one thread
// uses at a time.
unsafe impl Send for Finished {}

/// What an operation under way is known by to UCX. It stays in place until it is dropped, which
/// must be after the operation or the worker has ended.
#[derive(Debug)]
pub(super) struct Ticket {
    told: NonNull<Told>,
}

// SAFETY: as for `Finished`.
unsafe impl Send for Ticket {}

#[derive(Debug)]
struct Told {
    notes: NonNull<Notes>,
    index: u32,
}

impl Finished {
    pub fn new(library: &'static Library) -> Finished {
        let notes = Box::new(Notes {
            library,
            sends: Vec::new(),
            receives: Vec::new(),
            failures: Vec::new(),
        });
        Finished {
            notes: NonNull::from(Box::leak(notes)),
        }
    }

    /// A ticket for the operation of this number.
    pub fn ticket(&self, index: u32) -> Ticket {
        let notes = self.notes;
        let told = Box::new(Told { notes, index });
        Ticket {
            told: NonNull::from(Box::leak(told)),
        }
    }

    /// The argument of [`note_failure`].
    pub fn failure_argument(&self) -> *mut c_void {
        self.notes.as_ptr().cast()
    }

    fn notes(&mut self) -> &mut Notes {
        // SAFETY: callbacks write to it only from within calls into UCX, none of which is made
        // while the result is borrowed: nothing that takes it calls UCX.
        unsafe { self.notes.as_mut() }
    }

    /// Whether nothing was reported.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        let notes = self.notes();
        notes.sends.is_empty() && notes.receives.is_empty() && notes.failures.is_empty()
    }

    /// Sends that have ended, by number, in order; exchanged for an empty list.
    pub fn take_sends(&mut self, list: &mut Vec<(u32, ucs_status_t)>) {
        std::mem::swap(&mut self.notes().sends, list);
    }

    /// As [`Finished::take_sends`], of receptions.
    pub fn take_receives(&mut self, list: &mut Vec<(u32, ucs_status_t)>) {
        std::mem::swap(&mut self.notes().receives, list);
    }

    /// Endpoints that have failed.
    pub fn take_failures(&mut self) -> Vec<(EndpointId, ucs_status_t)> {
        std::mem::take(&mut self.notes().failures)
    }
}

impl Drop for Finished {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and UCX's worker, which might have written to it, is gone.
        drop(unsafe { Box::from_raw(self.notes.as_ptr()) });
    }
}

impl Ticket {
    /// The argument of [`note_send`] or [`note_receive`].
    pub fn argument(&self) -> *mut c_void {
        self.told.as_ptr().cast()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // SAFETY: made by `Finished::ticket`; UCX does not look at it any more.
        drop(unsafe { Box::from_raw(self.told.as_ptr()) });
    }
}

/// Called by UCX when a send has ended; `ticket` is a [`Ticket::argument`].
pub(super) unsafe extern "C" fn note_send(
    request: *mut c_void,
    status: ucs_status_t,
    ticket: *mut c_void,
) {
    // SAFETY: ticket and notes outlive the operation; this is the port's thread, inside of UCX.
    unsafe {
        let told = &*ticket.cast::<Told>();
        let notes = &mut *told.notes.as_ptr();
        notes.sends.push((told.index, status));
        // A request that UCX has completed is ours to give back.
        (notes.library.functions().ucp_request_free)(request);
    }
}

/// Called by UCX when a reception has ended; `ticket` is a [`Ticket::argument`].
pub(super) unsafe extern "C" fn note_receive(
    request: *mut c_void,
    status: ucs_status_t,
    _bytes: usize,
    ticket: *mut c_void,
) {
    // SAFETY: as for `note_send`.
    unsafe {
        let told = &*ticket.cast::<Told>();
        let notes = &mut *told.notes.as_ptr();
        notes.receives.push((told.index, status));
        (notes.library.functions().ucp_request_free)(request);
    }
}

/// Called by UCX when an endpoint fails, which must not be closed from here.
pub(super) unsafe extern "C" fn note_failure(
    notes: *mut c_void,
    endpoint: ucp_ep_h,
    status: ucs_status_t,
) {
    // SAFETY: a `failure_argument`, which outlives the worker; this is the port's thread, inside of
    // UCX.
    unsafe {
        (*notes.cast::<Notes>())
            .failures
            .push((EndpointId::of(endpoint), status))
    };
}
