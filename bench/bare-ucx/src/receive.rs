//! Messages that arrive.

use farcache_ucx_sys::raw::*;
use farcache_ucx_sys::{Error, Library};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::rc::Rc;
use std::slice;

/// UCX's function for receiving a rendezvous, as errors name it.
const OPERATION: &str = "ucp_am_recv_data_nbx";

/// The body of a message. Valid until the handler returns.
#[derive(Debug)]
pub enum Body<'a> {
    /// It came with the header. Empty where the message has no body.
    Eager(&'a [u8]),
    /// It is still with the sender, who waits for it to be received or given up.
    Rendezvous(Rendezvous<'a>),
}

/// A large body that the sender offers. Dropping it gives it up: the sender is told that it was
/// sent.
#[derive(Debug)]
pub struct Rendezvous<'a> {
    library: &'static Library,
    worker: ucp_worker_h,
    data: *mut c_void,
    bytes: usize,
    /// Set when UCX's descriptor has been used up.
    taken: &'a Cell<bool>,
}

impl Rendezvous<'_> {
    /// The body's length in bytes. The sender says so: check it before reserving memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Receives the body into the start of the buffer, without a copy where the network can do
    /// that, and gives the buffer to `done`, cut to the body's length.
    ///
    /// `done` may be called before this returns. Over shared memory it is never called when the
    /// sender is killed in the middle; the buffer is then lost.
    ///
    /// # Errors
    /// Told to `done`: `UCS_ERR_MESSAGE_TRUNCATED` for a buffer that is shorter than the body,
    /// which gives the body up (UCX 1.13 itself would end the process), or what befell the
    /// connection.
    pub fn receive(self, buffer: Vec<u8>, done: impl FnOnce(Result<Vec<u8>, Error>) + 'static) {
        let Rendezvous {
            library,
            worker,
            data,
            bytes,
            taken,
        } = self;
        if buffer.len() < bytes {
            return done(
                library
                    .check(OPERATION, UCS_ERR_MESSAGE_TRUNCATED)
                    .map(|()| buffer),
            );
        }
        let mut receive = Box::new(Receiving {
            library,
            buffer,
            bytes,
            done: Box::new(done),
        });
        let place = receive.buffer.as_mut_ptr();
        let receive = Box::into_raw(receive);
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
            cb: ucp_request_cb_t {
                recv_am: Some(on_received),
            },
            user_data: receive.cast(),
            ..ucp_request_param_t::NONE
        };
        taken.set(true);
        let start = library.functions().ucp_am_recv_data_nbx;
        // SAFETY: the descriptor is valid until the handler returns and used once, as this consumes
        // it; the buffer has room and stays in the box, which is taken back below or by the
        // callback.
        let request = unsafe { start(worker, data, place.cast(), bytes, &param) };
        if !UCS_PTR_IS_PTR(request) {
            // SAFETY: done in place or failed, so UCX has let go of it and will not call back.
            unsafe { *Box::from_raw(receive) }.finish(UCS_PTR_STATUS(request));
        }
    }
}

/// What must stay in place until a body has been received.
struct Receiving {
    library: &'static Library,
    buffer: Vec<u8>,
    bytes: usize,
    done: Box<dyn FnOnce(Result<Vec<u8>, Error>)>,
}

impl Receiving {
    fn finish(self, status: ucs_status_t) {
        let Receiving {
            library,
            mut buffer,
            bytes,
            done,
        } = self;
        let result = library.check(OPERATION, status);
        done(result.map(|()| {
            buffer.truncate(bytes);
            buffer
        }));
    }
}

unsafe extern "C" fn on_received(
    request: *mut c_void,
    status: ucs_status_t,
    _length: usize,
    user_data: *mut c_void,
) {
    // SAFETY: made by `receive`, and called once.
    let receive = unsafe { Box::from_raw(user_data.cast::<Receiving>()) };
    // SAFETY: a request that UCX has completed is ours to give back.
    unsafe { (receive.library.functions().ucp_request_free)(request) };
    receive.finish(status);
}

/// A handler as the application gives it: header and body.
type Function = dyn Fn(&[u8], Body<'_>);

/// What is called for each message of a number.
pub(crate) struct Handler {
    library: &'static Library,
    worker: ucp_worker_h,
    function: Box<Function>,
}

impl Handler {
    pub(crate) fn new(
        library: &'static Library,
        worker: ucp_worker_h,
        function: impl Fn(&[u8], Body<'_>) + 'static,
    ) -> Handler {
        Handler {
            library,
            worker,
            function: Box::new(function),
        }
    }

    /// Called by UCX; `arg` is a handler in an [`Rc`].
    pub(crate) unsafe extern "C" fn receive(
        arg: *mut c_void,
        header: *const c_void,
        header_bytes: usize,
        data: *mut c_void,
        data_bytes: usize,
        param: *const ucp_am_recv_param_t,
    ) -> ucs_status_t {
        let handler = arg.cast_const().cast::<Handler>();
        // A share of its own: the handler may drop its worker, and with it itself.
        // SAFETY: the worker holds a share for as long as this is registered.
        let handler = unsafe {
            Rc::increment_strong_count(handler);
            Rc::from_raw(handler)
        };
        // SAFETY: UCX keeps header and parameters in place until this returns.
        let (header, param) = unsafe { (bytes_at(header, header_bytes), &*param) };
        if param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV == 0 {
            // SAFETY: eager data is in place until this returns.
            let body = unsafe { bytes_at(data, data_bytes) };
            (handler.function)(header, Body::Eager(body));
            return UCS_OK;
        }
        let taken = Cell::new(false);
        (handler.function)(header, handler.rendezvous(data, data_bytes, &taken));
        if taken.get() { UCS_INPROGRESS } else { UCS_OK }
    }

    fn rendezvous<'a>(&self, data: *mut c_void, bytes: usize, taken: &'a Cell<bool>) -> Body<'a> {
        let (library, worker) = (self.library, self.worker);
        Body::Rendezvous(Rendezvous {
            library,
            worker,
            data,
            bytes,
            taken,
        })
    }
}

/// The bytes at a place that UCX names, which may be null when there are none.
///
/// # Safety
/// So many bytes are there, and stay as they are for the lifetime chosen.
unsafe fn bytes_at<'a>(place: *const c_void, bytes: usize) -> &'a [u8] {
    let place = if bytes == 0 {
        NonNull::dangling().as_ptr()
    } else {
        place.cast_mut().cast()
    };
    // SAFETY: the caller's promise; no bytes are anywhere.
    unsafe { slice::from_raw_parts(place, bytes) }
}

/// The handler of a worker that has ended: gives messages up.
pub(crate) unsafe extern "C" fn ignore_message(
    _arg: *mut c_void,
    _header: *const c_void,
    _header_bytes: usize,
    _data: *mut c_void,
    _data_bytes: usize,
    _param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    UCS_OK
}
