//! The way to one other worker.

use super::errors::error_of;
use super::finished::{Finished, note_failure};
use super::worker::{Worker, check};
use crate::error::Error;
use farcache_ucx_sys::raw::*;
use std::ffi::{CStr, c_char};
use std::ptr;

/// Zero bytes that are put behind an address before UCX reads it. It does so by the lengths that
/// stand in it, and never learns how long it is.
const ADDRESS_PADDING_BYTES: usize = 4096;

/// Endpoints that are opened and closed in search of the one that a greeting came by.
const ACCEPT_ATTEMPTS: usize = 16;

/// Which endpoint: to be compared, not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndpointId(usize);

impl EndpointId {
    pub fn of(handle: ucp_ep_h) -> EndpointId {
        EndpointId(handle.addr())
    }
}

/// An open endpoint. It is closed by [`Endpoint::close`], or with its worker.
#[derive(Debug)]
pub(super) struct Endpoint {
    handle: ucp_ep_h,
}

// SAFETY: a handle that is used with its worker only, which may move between threads.
unsafe impl Send for Endpoint {}

impl Endpoint {
    /// Opens an endpoint to the worker with this address.
    ///
    /// UCX trusts what stands in the address: see [`crate::Port::connect`].
    pub fn connect(
        worker: &mut Worker,
        finished: &Finished,
        address: &[u8],
    ) -> Result<Endpoint, Error> {
        let mut padded = Vec::with_capacity(address.len() + ADDRESS_PADDING_BYTES);
        padded.extend_from_slice(address);
        padded.resize(address.len() + ADDRESS_PADDING_BYTES, 0);
        // SAFETY: all fields are numbers, nullable functions and pointers: zero is valid.
        let mut params: ucp_ep_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
            | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE
            | UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.address = padded.as_ptr().cast();
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = Some(note_failure);
        params.err_handler.arg = finished.failure_argument();
        let mut handle = ptr::null_mut();
        let create = worker.functions().ucp_ep_create;
        // SAFETY: the worker is valid and not in progress, the parameters outlive the call, and the
        // callback's argument outlives the worker.
        let status = unsafe { create(worker.handle(), &params, &mut handle) };
        check(worker.library(), "ucp_ep_create", status)?;
        Ok(Endpoint { handle })
    }

    /// Opens the endpoint by which a worker with this address has sent a greeting.
    ///
    /// UCX made that endpoint itself, and hands it to whoever connects to its worker: the oldest
    /// first, where several of them wait for the same worker. An endpoint that was never asked for
    /// in this way is not safe to use: UCX 1.13 frees it when its peer dies, without a word
    /// (`ucp_ep_set_failed`).
    pub fn accept(
        worker: &mut Worker,
        finished: &Finished,
        address: &[u8],
        wanted: EndpointId,
    ) -> Result<Endpoint, Error> {
        for _ in 0..ACCEPT_ATTEMPTS {
            let endpoint = Endpoint::connect(worker, finished, address)?;
            if endpoint.id() == wanted {
                return Ok(endpoint);
            }
            endpoint.close(worker);
        }
        Err(Error::PeerLost(
            "the connection that it greeted by is gone".into(),
        ))
    }

    /// Which it is.
    pub fn id(&self) -> EndpointId {
        EndpointId::of(self.handle)
    }

    /// For sends; valid until this is closed.
    pub fn handle(&self) -> ucp_ep_h {
        self.handle
    }

    /// Sends a message without header and data.
    pub fn send_empty(&self, worker: &mut Worker, number: u16) {
        let functions = worker.functions();
        let param = ucp_request_param_t::NONE;
        let (nothing, none) = (ptr::null(), ptr::null());
        // SAFETY: the endpoint is open and its worker not in progress; no memory is read. UCX frees
        // a request that comes back when it is complete.
        unsafe {
            let send = functions.ucp_am_send_nbx;
            let request = send(self.handle, number.into(), nothing, 0, none, 0, &param);
            if UCS_PTR_IS_PTR(request) {
                (functions.ucp_request_free)(request);
            }
        }
    }

    /// Closes it at once. What is under way is cancelled, here or during progress.
    pub fn close(self, worker: &mut Worker) {
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS,
            flags: UCP_EP_CLOSE_FLAG_FORCE,
            ..ucp_request_param_t::NONE
        };
        let functions = worker.functions();
        // SAFETY: the endpoint is open, and closed once, as this consumes it; a request that comes
        // back is freed by UCX when the close is complete.
        unsafe {
            let request = (functions.ucp_ep_close_nbx)(self.handle, &param);
            if UCS_PTR_IS_PTR(request) {
                (functions.ucp_request_free)(request);
            }
        }
    }

    /// UCX's description of the endpoint, with a line for each lane.
    pub fn describe(&self, worker: &Worker) -> Result<String, Error> {
        let (mut text, mut bytes): (*mut c_char, usize) = (ptr::null_mut(), 0);
        // SAFETY: both places outlive the stream, which is closed below.
        let stream = unsafe { libc::open_memstream(&mut text, &mut bytes) };
        if stream.is_null() {
            return Err(error_of(
                worker.library(),
                "open_memstream",
                UCS_ERR_NO_MEMORY,
            ));
        }
        // SAFETY: endpoint and stream are open; closing the stream completes the text, which ends
        // in zero and is ours to free.
        unsafe {
            (worker.functions().ucp_ep_print_info)(self.handle, stream);
            libc::fclose(stream);
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            libc::free(text.cast());
            Ok(copy)
        }
    }
}
