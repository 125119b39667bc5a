//! UCX's progress engine of one port.

use super::errors::error_of;
use super::named;
use crate::error::Error;
use farcache_ucx_sys::raw::*;
use farcache_ucx_sys::{Context, InUse, Library};
use std::ffi::c_void;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;

/// A worker. Everything that UCX was given pointers to must be dropped after it.
#[derive(Debug)]
pub(super) struct Worker {
    context: Context,
    /// The library's, without the way there.
    functions: &'static Functions,
    handle: ucp_worker_h,
    descriptor: RawFd,
    header_bytes_max: usize,
    address: Vec<u8>,
    is_abandoned: bool,
}

// SAFETY: the worker may be used by any thread, one at a time (`UCS_THREAD_MODE_SERIALIZED`).
unsafe impl Send for Worker {}

/// What UCX answers when asked to be armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Armed {
    Yes,
    No,
}

impl Worker {
    pub fn new(context: &Context) -> Result<Worker, Error> {
        let library = context.library();
        // SAFETY: all fields are numbers and pointers: zero is valid.
        let mut params: ucp_worker_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
        let mut handle = ptr::null_mut();
        let create = library.functions().ucp_worker_create;
        let _in_use = InUse::begin().ok_or(Error::Cancelled)?;
        // SAFETY: the context lives as long as the worker, which holds it; the rest outlives the
        // call.
        let status = unsafe { create(context.handle(), &params, &mut handle) };
        check(library, "ucp_worker_create", status)?;
        let mut worker = Worker {
            context: context.clone(),
            functions: library.functions(),
            handle,
            descriptor: -1,
            header_bytes_max: 0,
            address: Vec::new(),
            is_abandoned: false,
        };
        named::open_to_group();
        worker.descriptor = worker.read_descriptor()?;
        worker.header_bytes_max = worker.read_header_bytes_max()?;
        worker.address = worker.read_address()?;
        Ok(worker)
    }

    pub fn library(&self) -> &'static Library {
        self.context.library()
    }

    #[inline]
    pub fn functions(&self) -> &'static Functions {
        self.functions
    }

    /// Valid while this lives.
    pub fn handle(&self) -> ucp_worker_h {
        self.handle
    }

    /// Longest header of a message, in bytes.
    pub fn header_bytes_max(&self) -> usize {
        self.header_bytes_max
    }

    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Readable when an armed worker has something to do.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: UCX closes it with the worker, which is borrowed for as long.
        unsafe { BorrowedFd::borrow_raw(self.descriptor) }
    }

    /// Does what there is to do, once; whether there was anything.
    #[inline]
    pub fn progress(&mut self) -> bool {
        // SAFETY: the worker is valid, one thread uses it, and this is not inside of UCX: callbacks
        // have no way to it.
        unsafe { (self.functions().ucp_worker_progress)(self.handle) != 0 }
    }

    /// Asks to be woken.
    pub fn arm(&mut self) -> Armed {
        // SAFETY: as for `progress`.
        let status = unsafe { (self.functions().ucp_worker_arm)(self.handle) };
        // A transport that cannot wake answers with an error: then there is no sleep.
        if status == UCS_OK {
            Armed::Yes
        } else {
            Armed::No
        }
    }

    /// Has a function called for each message of this number.
    ///
    /// # Safety
    /// The argument stays valid for the function for as long as the worker lives.
    pub unsafe fn on_message(
        &mut self,
        number: u16,
        function: ucp_am_recv_callback_t,
        argument: *mut c_void,
    ) -> Result<(), Error> {
        let param = ucp_am_handler_param_t {
            field_mask: UCP_AM_HANDLER_PARAM_FIELD_ID
                | UCP_AM_HANDLER_PARAM_FIELD_FLAGS
                | UCP_AM_HANDLER_PARAM_FIELD_CB
                | UCP_AM_HANDLER_PARAM_FIELD_ARG,
            id: number.into(),
            flags: UCP_AM_FLAG_WHOLE_MSG,
            cb: function,
            arg: argument,
        };
        let set = self.functions().ucp_worker_set_am_recv_handler;
        // SAFETY: the parameters outlive the call; what they point at is the caller's promise.
        let status = unsafe { set(self.handle, &param) };
        check(self.library(), "ucp_worker_set_am_recv_handler", status)
    }

    /// Leaves the worker to the system when this is dropped, as the process ends its port: it has
    /// operations that UCX has neither completed nor cancelled, and UCX 1.13 has ended a process
    /// when such a worker was destroyed (`ucp_ep_destroy_base`, "Assertion
    /// `ucs_hlist_is_empty(...proto_reqs)' failed").
    pub fn abandon(&mut self) {
        self.is_abandoned = true;
    }

    fn read_address(&self) -> Result<Vec<u8>, Error> {
        let (mut address, mut bytes) = (ptr::null_mut(), 0);
        let functions = self.functions();
        // SAFETY: the worker is valid, and both places outlive the call.
        let status =
            unsafe { (functions.ucp_worker_get_address)(self.handle, &mut address, &mut bytes) };
        check(self.library(), "ucp_worker_get_address", status)?;
        // SAFETY: UCX gave so many bytes, which it does not touch until they are released, once.
        unsafe {
            let copy = std::slice::from_raw_parts(address.cast::<u8>(), bytes).to_vec();
            (functions.ucp_worker_release_address)(self.handle, address);
            Ok(copy)
        }
    }

    fn read_descriptor(&self) -> Result<RawFd, Error> {
        let mut descriptor = -1;
        let get = self.functions().ucp_worker_get_efd;
        // SAFETY: the worker is valid, and the place outlives the call.
        let status = unsafe { get(self.handle, &mut descriptor) };
        check(self.library(), "ucp_worker_get_efd", status)?;
        Ok(descriptor)
    }

    fn read_header_bytes_max(&self) -> Result<usize, Error> {
        // SAFETY: all fields are numbers and pointers: zero is valid.
        let mut attr: ucp_worker_attr_t = unsafe { std::mem::zeroed() };
        attr.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
        // SAFETY: the worker is valid, and the place outlives the call.
        let status = unsafe { (self.functions().ucp_worker_query)(self.handle, &mut attr) };
        check(self.library(), "ucp_worker_query", status)?;
        Ok(attr.max_am_header)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.is_abandoned {
            // It is never moved again, so it calls nobody; its context must not end under it.
            std::mem::forget(self.context.clone());
            return;
        }
        let Some(_in_use) = InUse::begin() else {
            // The end of the process takes it.
            return;
        };
        // SAFETY: given up once; its endpoints end with it, and what it was given pointers to is
        // dropped later.
        unsafe { (self.functions().ucp_worker_destroy)(self.handle) };
    }
}

/// Ok for success, otherwise an error that names the function.
pub(super) fn check(library: &Library, operation: &str, status: ucs_status_t) -> Result<(), Error> {
    if status.is_error() {
        Err(error_of(library, operation, status))
    } else {
        Ok(())
    }
}
