//! Large bodies that UCX keeps until somebody wants them.

use crate::ucx::endpoint::EndpointId;
use crate::ucx::worker::Worker;
use std::ffi::c_void;

/// A body that UCX keeps for us.
#[derive(Debug)]
pub(in crate::ucx) struct Offered {
    data: *mut c_void,
    /// The endpoint that it came by.
    endpoint: EndpointId,
    bytes: usize,
}

// SAFETY: UCX's descriptor is used with its worker only, which may move between threads.
unsafe impl Send for Offered {}

impl Offered {
    /// # Safety
    /// The descriptor is of a rendezvous of so many bytes, and UCX leaves it to us alone.
    pub unsafe fn new(data: *mut c_void, endpoint: EndpointId, bytes: usize) -> Offered {
        Offered {
            data,
            endpoint,
            bytes,
        }
    }

    pub fn endpoint(&self) -> EndpointId {
        self.endpoint
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// UCX's descriptor, to be used up.
    pub fn into_data(self) -> *mut c_void {
        self.data
    }

    /// Gives the body up.
    pub fn release(self, worker: &mut Worker) {
        let release = worker.functions().ucp_am_data_release;
        // SAFETY: the descriptor is ours, and used once, as this consumes it; the worker is its
        // own and not in progress.
        unsafe { release(worker.handle(), self.data) };
    }
}
