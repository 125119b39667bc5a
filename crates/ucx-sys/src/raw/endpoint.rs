//! Endpoints: the way from a worker to another.

use crate::raw::layout::{constants, handles, layouts};
use crate::raw::status::ucs_status_t;
use crate::raw::worker::ucp_address_t;
use std::ffi::{c_char, c_uint, c_void};

handles! {
    /// A connection's local end, from `ucp_ep_create`.
    ucp_ep_h -> ucp_ep;
    /// A connection request of a listener; not used here, but part of [`ucp_ep_params_t`].
    ucp_conn_request_h -> ucp_conn_request;
}

/// What happens when the peer is gone; the values of C's enumeration.
pub type ucp_err_handling_mode_t = u32;

constants! {
    /// [`ucp_ep_params_t::address`] is set.
    UCP_EP_PARAM_FIELD_REMOTE_ADDRESS: u64 = 1 << 0;
    /// [`ucp_ep_params_t::err_mode`] is set.
    UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE: u64 = 1 << 1;
    /// [`ucp_ep_params_t::err_handler`] is set.
    UCP_EP_PARAM_FIELD_ERR_HANDLER: u64 = 1 << 2;
    /// [`ucp_ep_params_t::user_data`] is set.
    UCP_EP_PARAM_FIELD_USER_DATA: u64 = 1 << 3;
    /// [`ucp_ep_params_t::flags`] is set.
    UCP_EP_PARAM_FIELD_FLAGS: u64 = 1 << 5;
    /// [`ucp_ep_params_t::name`] is set.
    UCP_EP_PARAM_FIELD_NAME: u64 = 1 << 7;
    /// A dead peer goes unnoticed.
    UCP_ERR_HANDLING_MODE_NONE: ucp_err_handling_mode_t = 0;
    /// A dead peer is reported. Only transports that can notice are chosen; shared memory is one of
    /// them only with `UCX_POSIX_ERROR_HANDLING=y` (see [`crate::Context::new`]).
    UCP_ERR_HANDLING_MODE_PEER: ucp_err_handling_mode_t = 1;
    /// Close at once and cancel what is outstanding, for a peer that is gone. Without it, closing
    /// first waits until all was sent.
    UCP_EP_CLOSE_FLAG_FORCE: u32 = 1 << 0;
}

/// Called from progress when the peer is gone. It may only make a note: the endpoint is closed
/// later, outside of progress. A peer that exits in good order is reported in the same way.
pub type ucp_err_handler_cb_t =
    Option<unsafe extern "C" fn(arg: *mut c_void, ep: ucp_ep_h, status: ucs_status_t)>;

/// The function called when the peer is gone, and its argument.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `cb` |
/// | 8 | 8 | `arg` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_err_handler_t {
    /// The function.
    pub cb: ucp_err_handler_cb_t,
    /// Its first argument.
    pub arg: *mut c_void,
}

/// A socket address; not used here, but part of [`ucp_ep_params_t`].
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `addr` |
/// | 8 | 4 | `addrlen` |
/// | 12 | 4 | (padding) |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucs_sock_addr_t {
    /// The address.
    pub addr: *const libc::sockaddr,
    /// Its length in bytes.
    pub addrlen: libc::socklen_t,
}

/// What an endpoint is made with.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 8 | `address` |
/// | 16 | 4 | `err_mode` |
/// | 20 | 4 | (padding) |
/// | 24 | 16 | `err_handler` |
/// | 40 | 8 | `user_data` |
/// | 48 | 4 | `flags` |
/// | 52 | 4 | (padding) |
/// | 56 | 16 | `sockaddr` |
/// | 72 | 8 | `conn_request` |
/// | 80 | 8 | `name` |
/// | 88 | 16 | `local_sockaddr` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_ep_params_t {
    /// Which fields are set: `UCP_EP_PARAM_FIELD_*`.
    pub field_mask: u64,
    /// The other worker. UCX reads it without knowing its length: it must be whole.
    pub address: *const ucp_address_t,
    /// `UCP_ERR_HANDLING_MODE_*`.
    pub err_mode: ucp_err_handling_mode_t,
    /// Called when the peer is gone.
    pub err_handler: ucp_err_handler_t,
    /// Of the application.
    pub user_data: *mut c_void,
    /// `UCP_EP_PARAMS_FLAGS_*`.
    pub flags: c_uint,
    /// The peer's socket address, instead of `address`.
    pub sockaddr: ucs_sock_addr_t,
    /// A listener's connection request, instead of `address`.
    pub conn_request: ucp_conn_request_h,
    /// A name for logs and traces.
    pub name: *const c_char,
    /// The local address to connect from, with `sockaddr`.
    pub local_sockaddr: ucs_sock_addr_t,
}

layouts! {
    ucp_err_handler_t, 16 bytes: { cb at 0, arg at 8 }
    ucs_sock_addr_t, 16 bytes: { addr at 0, addrlen at 8 }
    ucp_ep_params_t, 104 bytes: {
        field_mask at 0, address at 8, err_mode at 16, err_handler at 24, user_data at 40,
        flags at 48, sockaddr at 56, conn_request at 72, name at 80, local_sockaddr at 88,
    }
}
