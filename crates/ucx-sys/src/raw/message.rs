//! Active messages, and the parameters of every non-blocking operation.

use crate::raw::endpoint::ucp_ep_h;
use crate::raw::layout::{constants, layouts};
use crate::raw::memory::{ucp_mem_h, ucs_memory_type_t};
use crate::raw::status::ucs_status_t;
use std::ffi::{c_uint, c_void};
use std::fmt;

/// How the elements of a buffer are laid out.
pub type ucp_datatype_t = u64;

constants! {
    /// [`ucp_request_param_t::request`] is set.
    UCP_OP_ATTR_FIELD_REQUEST: u32 = 1 << 0;
    /// [`ucp_request_param_t::cb`] is set.
    UCP_OP_ATTR_FIELD_CALLBACK: u32 = 1 << 1;
    /// [`ucp_request_param_t::user_data`] is set.
    UCP_OP_ATTR_FIELD_USER_DATA: u32 = 1 << 2;
    /// [`ucp_request_param_t::datatype`] is set; without it elements are bytes.
    UCP_OP_ATTR_FIELD_DATATYPE: u32 = 1 << 3;
    /// [`ucp_request_param_t::flags`] is set.
    UCP_OP_ATTR_FIELD_FLAGS: u32 = 1 << 4;
    /// [`ucp_request_param_t::memory_type`] is set.
    UCP_OP_ATTR_FIELD_MEMORY_TYPE: u32 = 1 << 6;
    /// [`ucp_request_param_t::recv_info`] is set.
    UCP_OP_ATTR_FIELD_RECV_INFO: u32 = 1 << 7;
    /// [`ucp_request_param_t::memh`] is set.
    UCP_OP_ATTR_FIELD_MEMH: u32 = 1 << 8;
    /// Never complete in place: always return a request and call back.
    UCP_OP_ATTR_FLAG_NO_IMM_CMPL: u32 = 1 << 16;
    /// Complete in place, or do nothing and return `UCS_ERR_NO_RESOURCE`.
    UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL: u32 = 1 << 18;
    /// The buffer holds bytes.
    UCP_DATATYPE_CONTIG: ucp_datatype_t = 0;
    /// The buffer holds [`ucp_dt_iov_t`] elements, gathered into one message.
    UCP_DATATYPE_IOV: ucp_datatype_t = 2;
    /// [`ucp_am_handler_param_t::id`] is set.
    UCP_AM_HANDLER_PARAM_FIELD_ID: u64 = 1 << 0;
    /// [`ucp_am_handler_param_t::flags`] is set.
    UCP_AM_HANDLER_PARAM_FIELD_FLAGS: u64 = 1 << 1;
    /// [`ucp_am_handler_param_t::cb`] is set.
    UCP_AM_HANDLER_PARAM_FIELD_CB: u64 = 1 << 2;
    /// [`ucp_am_handler_param_t::arg`] is set.
    UCP_AM_HANDLER_PARAM_FIELD_ARG: u64 = 1 << 3;
    /// The handler gets whole messages, never parts.
    UCP_AM_FLAG_WHOLE_MSG: u32 = 1 << 0;
    /// The handler may keep eager data by returning `UCS_INPROGRESS`.
    UCP_AM_FLAG_PERSISTENT_DATA: u32 = 1 << 1;
    /// Give the receiver an endpoint to reply by.
    UCP_AM_SEND_FLAG_REPLY: u32 = 1 << 0;
    /// Send the data with the header. Never for large data, where it takes several times longer
    /// than a rendezvous; best left to UCX.
    UCP_AM_SEND_FLAG_EAGER: u32 = 1 << 1;
    /// Send by rendezvous. Best left to UCX.
    UCP_AM_SEND_FLAG_RNDV: u32 = 1 << 2;
    /// [`ucp_am_recv_param_t::reply_ep`] is there.
    UCP_AM_RECV_ATTR_FIELD_REPLY_EP: u64 = 1 << 0;
    /// The data may be kept by returning `UCS_INPROGRESS`.
    UCP_AM_RECV_ATTR_FLAG_DATA: u64 = 1 << 16;
    /// The data is a rendezvous still to be received.
    UCP_AM_RECV_ATTR_FLAG_RNDV: u64 = 1 << 17;
}

/// One piece of a gathered buffer.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `buffer` |
/// | 8 | 8 | `length` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_dt_iov_t {
    /// The piece's first byte.
    pub buffer: *mut c_void,
    /// Its length in bytes.
    pub length: usize,
}

/// Called when a send, a one-sided operation or a close is complete.
pub type ucp_send_nbx_callback_t = Option<
    unsafe extern "C" fn(request: *mut c_void, status: ucs_status_t, user_data: *mut c_void),
>;

/// Called when the data of an active message was received, with its length in bytes.
pub type ucp_am_recv_data_nbx_callback_t = Option<
    unsafe extern "C" fn(
        request: *mut c_void,
        status: ucs_status_t,
        length: usize,
        user_data: *mut c_void,
    ),
>;

/// Called when an active message arrives, from within progress or, from the same worker, from
/// within the send.
///
/// The header is valid until this returns. So is the data, unless
/// [`ucp_am_recv_param_t::recv_attr`] says that it is a rendezvous or may be kept: then returning
/// `UCS_INPROGRESS` keeps it until `ucp_am_recv_data_nbx` or `ucp_am_data_release`, and a handler
/// that called `ucp_am_recv_data_nbx` itself must return that. `UCS_OK` gives the data up.
pub type ucp_am_recv_callback_t = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        header: *const c_void,
        header_length: usize,
        data: *mut c_void,
        length: usize,
        param: *const ucp_am_recv_param_t,
    ) -> ucs_status_t,
>;

/// The callback of an operation; which one is the operation's to say.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ucp_request_cb_t {
    /// Of sends, one-sided operations, closes and flushes.
    pub send: ucp_send_nbx_callback_t,
    /// Of receiving an active message's data.
    pub recv_am: ucp_am_recv_data_nbx_callback_t,
}

impl fmt::Debug for ucp_request_cb_t {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ucp_request_cb_t")
    }
}

/// Parameters of a non-blocking operation.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 4 | `op_attr_mask` |
/// | 4 | 4 | `flags` |
/// | 8 | 8 | `request` |
/// | 16 | 8 | `cb` |
/// | 24 | 8 | `datatype` |
/// | 32 | 8 | `user_data` |
/// | 40 | 8 | `reply_buffer` |
/// | 48 | 4 | `memory_type` |
/// | 52 | 4 | (padding) |
/// | 56 | 8 | `recv_info` |
/// | 64 | 8 | `memh` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_request_param_t {
    /// Which fields are set: `UCP_OP_ATTR_*`.
    pub op_attr_mask: u32,
    /// The operation's own flags.
    pub flags: u32,
    /// Memory of the application's for the request.
    pub request: *mut c_void,
    /// Called on completion, unless the operation completes in place.
    pub cb: ucp_request_cb_t,
    /// What the buffer's elements are.
    pub datatype: ucp_datatype_t,
    /// The callback's last argument.
    pub user_data: *mut c_void,
    /// Of atomic operations; not used here.
    pub reply_buffer: *mut c_void,
    /// Where the buffer is.
    pub memory_type: ucs_memory_type_t,
    /// Where to write the received length when the operation completes in place.
    pub recv_info: *mut usize,
    /// The buffer's registration, which saves UCX looking it up.
    pub memh: ucp_mem_h,
}

impl ucp_request_param_t {
    /// No field set.
    pub const NONE: ucp_request_param_t = ucp_request_param_t {
        op_attr_mask: 0,
        flags: 0,
        request: std::ptr::null_mut(),
        cb: ucp_request_cb_t { send: None },
        datatype: UCP_DATATYPE_CONTIG,
        user_data: std::ptr::null_mut(),
        reply_buffer: std::ptr::null_mut(),
        memory_type: 0,
        recv_info: std::ptr::null_mut(),
        memh: std::ptr::null_mut(),
    };
}

/// A handler of active messages.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 4 | `id` |
/// | 12 | 4 | `flags` |
/// | 16 | 8 | `cb` |
/// | 24 | 8 | `arg` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_am_handler_param_t {
    /// Which fields are set: `UCP_AM_HANDLER_PARAM_FIELD_*`.
    pub field_mask: u64,
    /// The messages that it is for.
    pub id: c_uint,
    /// `UCP_AM_FLAG_*`.
    pub flags: u32,
    /// The function.
    pub cb: ucp_am_recv_callback_t,
    /// Its first argument.
    pub arg: *mut c_void,
}

/// What a handler is told about its message.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `recv_attr` |
/// | 8 | 8 | `reply_ep` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_am_recv_param_t {
    /// `UCP_AM_RECV_ATTR_*`.
    pub recv_attr: u64,
    /// The endpoint to reply by, where the sender asked for one.
    pub reply_ep: ucp_ep_h,
}

const _: () = assert!(size_of::<ucp_request_cb_t>() == size_of::<fn()>());

layouts! {
    ucp_dt_iov_t, 16 bytes: { buffer at 0, length at 8 }
    ucp_request_param_t, 72 bytes: {
        op_attr_mask at 0, flags at 4, request at 8, cb at 16, datatype at 24, user_data at 32,
        reply_buffer at 40, memory_type at 48, recv_info at 56, memh at 64,
    }
    ucp_am_handler_param_t, 32 bytes: { field_mask at 0, id at 8, flags at 12, cb at 16, arg at 24 }
    ucp_am_recv_param_t, 16 bytes: { recv_attr at 0, reply_ep at 8 }
}
