//! A message on its way out.

use farcache_ucx_sys::raw::*;
use farcache_ucx_sys::{Error, Library};
use std::ffi::c_void;

/// UCX's function for sending, as errors name it.
pub(crate) const OPERATION: &str = "ucp_am_send_nbx";

/// What must stay in place until the message has been sent: UCX reads the header and the body where
/// they are.
pub(crate) struct Sending {
    library: &'static Library,
    header: Vec<u8>,
    body: Vec<u8>,
    done: Box<dyn FnOnce(Result<(), Error>)>,
}

impl Sending {
    pub(crate) fn new(
        library: &'static Library,
        header: Vec<u8>,
        body: Vec<u8>,
        done: impl FnOnce(Result<(), Error>) + 'static,
    ) -> Box<Sending> {
        Box::new(Sending {
            library,
            header,
            body,
            done: Box::new(done),
        })
    }

    /// Hands the message to UCX.
    ///
    /// # Safety
    /// The endpoint is open, this is its worker's thread, and the header is no longer than the
    /// worker allows.
    pub(crate) unsafe fn start(self: Box<Self>, endpoint: ucp_ep_h, number: u16) {
        let functions = self.library.functions();
        let (header, header_bytes) = (self.header.as_ptr(), self.header.len());
        let (body, body_bytes) = (self.body.as_ptr(), self.body.len());
        let send = Box::into_raw(self);
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
            cb: ucp_request_cb_t {
                send: Some(on_sent),
            },
            user_data: send.cast(),
            ..ucp_request_param_t::NONE
        };
        // SAFETY: header and body stay in the box, which is taken back below or by the callback.
        let request = unsafe {
            (functions.ucp_am_send_nbx)(
                endpoint,
                number.into(),
                header.cast(),
                header_bytes,
                body.cast(),
                body_bytes,
                &param,
            )
        };
        if !UCS_PTR_IS_PTR(request) {
            // SAFETY: done in place or failed, so UCX has let go of it and will not call back.
            unsafe { *Box::from_raw(send) }.finish(UCS_PTR_STATUS(request));
        }
    }

    fn finish(self, status: ucs_status_t) {
        let result = self.library.check(OPERATION, status);
        (self.done)(result);
    }
}

unsafe extern "C" fn on_sent(request: *mut c_void, status: ucs_status_t, user_data: *mut c_void) {
    // SAFETY: made by `start`, and called once.
    let send = unsafe { Box::from_raw(user_data.cast::<Sending>()) };
    // SAFETY: a request that UCX has completed is ours to give back.
    unsafe { (send.library.functions().ucp_request_free)(request) };
    send.finish(status);
}
