//! Sending without a copy or an allocation of our own. The safe interface of `ucx-sys` takes
//! ownership of every header and body, which costs a tenth of a small message: too much for a
//! limit. Everything sent here lives for ever instead, so nothing can be freed too early.

use farcache_bare_ucx::{Address, Endpoint};
use farcache_ucx_sys::Library;
use farcache_ucx_sys::raw::*;
use std::ffi::c_void;
use std::io;

/// The address that the other process of the measurement has told through its pipe.
///
/// It is UCX that made it, in a process of this same program that this one has started, or that has
/// started this one.
pub(super) fn partner_address(bytes: Vec<u8>) -> Address {
    // SAFETY: the pipe between the two processes of a measurement carries nothing but an address
    // and a line end, and whoever reads it checks that it came whole.
    unsafe { Address::from_bytes(bytes) }
}

/// The way to the other process.
pub(super) struct Outlet {
    endpoint: Endpoint,
    library: &'static Library,
}

impl Outlet {
    pub(super) fn new(endpoint: Endpoint, library: &'static Library) -> Self {
        Outlet { endpoint, library }
    }

    /// The networks in use.
    pub(super) fn lanes(&self) -> io::Result<Vec<String>> {
        self.endpoint.lanes()
    }

    /// Sends a message. That it was sent is not told: the reply tells.
    pub(super) fn send(
        &self,
        number: u16,
        header: &'static [u8],
        body: &'static [u8],
    ) -> io::Result<()> {
        if let Some(status) = self.endpoint.failure() {
            return Err(self.error(status));
        }
        let functions = self.library.functions();
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
            cb: ucp_request_cb_t {
                send: Some(give_back),
            },
            user_data: std::ptr::from_ref(self.library).cast_mut().cast(),
            ..ucp_request_param_t::NONE
        };
        // SAFETY: the endpoint is open and can only be on its worker's thread; header and body are
        // never freed.
        let request = unsafe {
            (functions.ucp_am_send_nbx)(
                self.endpoint.handle(),
                number.into(),
                header.as_ptr().cast(),
                header.len(),
                body.as_ptr().cast(),
                body.len(),
                &param,
            )
        };
        if UCS_PTR_IS_ERR(request) {
            return Err(self.error(UCS_PTR_STATUS(request)));
        }
        Ok(())
    }

    fn error(&self, status: ucs_status_t) -> io::Error {
        io::Error::other(format!(
            "the other process is gone: {}",
            self.library.status_text(status)
        ))
    }
}

unsafe extern "C" fn give_back(request: *mut c_void, _: ucs_status_t, library: *mut c_void) {
    // SAFETY: the library that `send` named, which is never unloaded.
    let library = unsafe { &*library.cast::<Library>() };
    // SAFETY: a request that UCX has completed is ours to give back.
    unsafe { (library.functions().ucp_request_free)(request) };
}
