//! The way to one other worker.

use crate::address::Address;
use crate::send;
use crate::worker::Shared;
use farcache_ucx_sys::raw::*;
use farcache_ucx_sys::{Error, Library};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::io;
use std::ptr;
use std::rc::Rc;

/// A connection's local end.
///
/// UCX tells when the peer is gone, through [`Endpoint::failure`]: promptly over TCP, only after
/// its keep-alive interval elsewhere (20 s unless set otherwise). Whoever needs to know sooner
/// watches a TCP connection beside it. A peer that ends in good order looks the same as one that
/// died.
///
/// Dropping it closes it at once and cancels what is outstanding; [`Endpoint::close`] sends that
/// first. Either is begun by the worker's next progress.
pub struct Endpoint {
    worker: Rc<Shared>,
    handle: ucp_ep_h,
    state: Rc<State>,
    close_flags: u32,
}

/// What UCX's error callback writes to.
struct State {
    failure: Cell<Option<ucs_status_t>>,
}

impl Endpoint {
    pub(crate) fn open(worker: &Rc<Shared>, address: &Address) -> Result<Endpoint, Error> {
        let state = Rc::new(State {
            failure: Cell::new(None),
        });
        // SAFETY: all fields are numbers, nullable functions and pointers: zero is valid.
        let mut params: ucp_ep_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
            | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE
            | UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.address = address.as_bytes().as_ptr().cast();
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = Some(note_failure);
        params.err_handler.arg = Rc::as_ptr(&state).cast_mut().cast();
        let mut handle = ptr::null_mut();
        let create = worker.functions().ucp_ep_create;
        // SAFETY: an address is complete by its type's promise; the state is held by the endpoint,
        // and after that by its close.
        let status = worker.inside(|| unsafe { create(worker.handle(), &params, &mut handle) });
        worker.library().check("ucp_ep_create", status)?;
        Ok(Endpoint {
            worker: worker.clone(),
            handle,
            state,
            close_flags: UCP_EP_CLOSE_FLAG_FORCE,
        })
    }

    /// For calls through [`Library::functions`] from this thread, while the endpoint lives.
    pub fn handle(&self) -> ucp_ep_h {
        self.handle
    }

    /// Why the connection is gone, if it is. Nothing can be sent any more: drop it.
    pub fn failure(&self) -> Option<ucs_status_t> {
        self.state.failure.get()
    }

    /// Sends a message with this number, and calls `done` when header and body have been sent, or
    /// cannot be.
    ///
    /// `done` may be called before this returns. It may never be called when the peer is killed
    /// while it fetches a large body over shared memory: count what is outstanding, cap it, and
    /// give it up after closing. Whether the body goes with the header or by rendezvous is UCX's
    /// choice.
    ///
    /// # Errors
    /// Told to `done`: `UCS_ERR_INVALID_PARAM` for a header longer than
    /// [`Worker::header_bytes_max`](crate::Worker::header_bytes_max), the failure of a connection
    /// that is gone, `UCS_ERR_CANCELED` after closing.
    pub fn send(
        &self,
        number: u16,
        header: Vec<u8>,
        body: Vec<u8>,
        done: impl FnOnce(Result<(), Error>) + 'static,
    ) {
        let refusal = match self.failure() {
            None if header.len() > self.worker.header_bytes_max() => Some(UCS_ERR_INVALID_PARAM),
            failure => failure,
        };
        if let Some(status) = refusal {
            let library = self.worker.library();
            return done(Err(library.error(send::OPERATION, status)));
        }
        let send = send::Sending::new(self.worker.library(), header, body, done);
        // SAFETY: the endpoint is open, and this is its worker's thread.
        self.worker
            .inside(|| unsafe { send.start(self.handle, number) });
    }

    /// Closes the connection after what was sent has gone out.
    pub fn close(mut self) {
        self.close_flags = 0;
    }

    /// The transports and devices that carry this connection, a line each as UCX describes them;
    /// settled once a message has come back. Meant for logs: UCX does not promise the form.
    ///
    /// # Errors
    /// The operating system's, where it is out of memory.
    pub fn lanes(&self) -> io::Result<Vec<String>> {
        let text = self.describe()?;
        let lanes = text
            .lines()
            .filter_map(|line| line.find("lane[").map(|start| &line[start..]));
        Ok(lanes
            .map(|lane| lane.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect())
    }

    fn describe(&self) -> io::Result<String> {
        let (mut text, mut bytes): (*mut c_char, usize) = (ptr::null_mut(), 0);
        // SAFETY: both places outlive the stream, which is closed below.
        let stream = unsafe { libc::open_memstream(&mut text, &mut bytes) };
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: endpoint and stream are open; closing the stream completes the text, which ends
        // in zero and is ours to free.
        unsafe {
            (self.worker.functions().ucp_ep_print_info)(self.handle, stream);
            let closed = libc::fclose(stream);
            let copy = (closed == 0).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            libc::free(text.cast());
            copy.ok_or_else(io::Error::last_os_error)
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.worker.close_later(Closing {
            handle: self.handle,
            flags: self.close_flags,
            state: self.state.clone(),
        });
    }
}

/// Only takes a note: this runs inside progress, where the endpoint must not be closed.
unsafe extern "C" fn note_failure(arg: *mut c_void, _: ucp_ep_h, status: ucs_status_t) {
    // SAFETY: the endpoint, or its close, holds the state for as long as UCX knows the endpoint.
    let state = unsafe { &*arg.cast::<State>() };
    state.failure.set(Some(status));
}

/// An endpoint to close.
pub(crate) struct Closing {
    handle: ucp_ep_h,
    flags: u32,
    state: Rc<State>,
}

/// What a close under way holds until UCX has let go of the endpoint.
struct Closed {
    library: &'static Library,
    count: Rc<Cell<usize>>,
    _state: Rc<State>,
}

impl Closing {
    /// Begins the close; `count` is taken down when it is complete.
    pub(crate) fn begin(self, library: &'static Library, count: &Rc<Cell<usize>>) {
        let closed = Box::new(Closed {
            library,
            count: count.clone(),
            _state: self.state,
        });
        let closed = Box::into_raw(closed);
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK
                | UCP_OP_ATTR_FIELD_USER_DATA
                | UCP_OP_ATTR_FIELD_FLAGS,
            flags: self.flags,
            cb: ucp_request_cb_t {
                send: Some(on_closed),
            },
            user_data: closed.cast(),
            ..ucp_request_param_t::NONE
        };
        // SAFETY: the endpoint is open and closed here only; the parameters outlive the call.
        let request = unsafe { (library.functions().ucp_ep_close_nbx)(self.handle, &param) };
        if !UCS_PTR_IS_PTR(request) {
            // SAFETY: done in place, or failed, which gives the endpoint up as well: no callback
            // will follow.
            unsafe { *Box::from_raw(closed) }.count_down();
        }
    }
}

impl Closed {
    fn count_down(self) {
        self.count.set(self.count.get() - 1);
    }
}

unsafe extern "C" fn on_closed(request: *mut c_void, _: ucs_status_t, user_data: *mut c_void) {
    // SAFETY: made by `begin`, and called once.
    let closed = unsafe { Box::from_raw(user_data.cast::<Closed>()) };
    // SAFETY: a request that UCX has completed is ours to give back.
    unsafe { (closed.library.functions().ucp_request_free)(request) };
    closed.count_down();
}
