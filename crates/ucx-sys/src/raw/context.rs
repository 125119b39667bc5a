//! Configuration and context: UCX's resources of one process.

use crate::raw::layout::{constants, handles, layouts};
use std::ffi::{c_char, c_int, c_void};

handles! {
    /// A set of transports and devices, opened by `ucp_init_version`.
    ucp_context_h -> ucp_context;
    /// Settings read from the environment, until released.
    ucp_config_h -> ucp_config_t;
}

/// How many threads may enter at once; the values of C's enumeration.
pub type ucs_thread_mode_t = u32;

/// Bytes of a name in an attribute structure, with its closing zero.
pub const ENTITY_NAME_BYTES: usize = 32;

constants! {
    /// [`ucp_params_t::features`] is set.
    UCP_PARAM_FIELD_FEATURES: u64 = 1 << 0;
    /// [`ucp_params_t::request_size`] is set.
    UCP_PARAM_FIELD_REQUEST_SIZE: u64 = 1 << 1;
    /// [`ucp_params_t::mt_workers_shared`] is set.
    UCP_PARAM_FIELD_MT_WORKERS_SHARED: u64 = 1 << 5;
    /// [`ucp_params_t::estimated_num_eps`] is set.
    UCP_PARAM_FIELD_ESTIMATED_NUM_EPS: u64 = 1 << 6;
    /// [`ucp_params_t::name`] is set.
    UCP_PARAM_FIELD_NAME: u64 = 1 << 8;
    /// One-sided reads and writes will be used.
    UCP_FEATURE_RMA: u64 = 1 << 1;
    /// Workers will sleep on a file descriptor. Transports that cannot wake a sleeper are left out.
    UCP_FEATURE_WAKEUP: u64 = 1 << 4;
    /// Active messages will be used.
    UCP_FEATURE_AM: u64 = 1 << 6;
    /// [`ucp_context_attr_t::request_size`] is asked for.
    UCP_ATTR_FIELD_REQUEST_SIZE: u64 = 1 << 0;
    /// [`ucp_context_attr_t::thread_mode`] is asked for.
    UCP_ATTR_FIELD_THREAD_MODE: u64 = 1 << 1;
    /// [`ucp_context_attr_t::memory_types`] is asked for.
    UCP_ATTR_FIELD_MEMORY_TYPES: u64 = 1 << 2;
    /// [`ucp_context_attr_t::name`] is asked for.
    UCP_ATTR_FIELD_NAME: u64 = 1 << 3;
    /// One thread only.
    UCS_THREAD_MODE_SINGLE: ucs_thread_mode_t = 0;
    /// Any thread, one at a time.
    UCS_THREAD_MODE_SERIALIZED: ucs_thread_mode_t = 1;
    /// Any thread at any time; UCX locks.
    UCS_THREAD_MODE_MULTI: ucs_thread_mode_t = 2;
}

/// Prepares a fresh request, or cleans up a finished one.
pub type ucp_request_callback_t = Option<unsafe extern "C" fn(request: *mut c_void)>;

/// What a context is opened with.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 8 | `features` |
/// | 16 | 8 | `request_size` |
/// | 24 | 8 | `request_init` |
/// | 32 | 8 | `request_cleanup` |
/// | 40 | 8 | `tag_sender_mask` |
/// | 48 | 4 | `mt_workers_shared` |
/// | 52 | 4 | (padding) |
/// | 56 | 8 | `estimated_num_eps` |
/// | 64 | 8 | `estimated_num_ppn` |
/// | 72 | 8 | `name` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_params_t {
    /// Which fields are set: `UCP_PARAM_FIELD_*`.
    pub field_mask: u64,
    /// What will be used: `UCP_FEATURE_*`.
    pub features: u64,
    /// Bytes to keep in each request for the application.
    pub request_size: usize,
    /// Called on each new request.
    pub request_init: ucp_request_callback_t,
    /// Called on each request that is given up.
    pub request_cleanup: ucp_request_callback_t,
    /// Bits of a tag that name its sender; tags are not used here.
    pub tag_sender_mask: u64,
    /// Not 0 where workers of several threads share the context.
    pub mt_workers_shared: c_int,
    /// Endpoints expected, for UCX's choice of transports.
    pub estimated_num_eps: usize,
    /// Peers expected on this host.
    pub estimated_num_ppn: usize,
    /// A name for logs and traces.
    pub name: *const c_char,
}

/// What a context says of itself.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 8 | `request_size` |
/// | 16 | 4 | `thread_mode` |
/// | 20 | 4 | (padding) |
/// | 24 | 8 | `memory_types` |
/// | 32 | 32 | `name` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_context_attr_t {
    /// Which fields are asked for: `UCP_ATTR_FIELD_*`.
    pub field_mask: u64,
    /// Bytes of UCX's own part of a request.
    pub request_size: usize,
    /// Threads that may use the context.
    pub thread_mode: ucs_thread_mode_t,
    /// A bit for each kind of memory that can be sent from.
    pub memory_types: u64,
    /// The context's name, ended by a zero.
    pub name: [c_char; ENTITY_NAME_BYTES],
}

layouts! {
    ucp_params_t, 80 bytes: {
        field_mask at 0, features at 8, request_size at 16, request_init at 24,
        request_cleanup at 32, tag_sender_mask at 40, mt_workers_shared at 48,
        estimated_num_eps at 56, estimated_num_ppn at 64, name at 72,
    }
    ucp_context_attr_t, 64 bytes: {
        field_mask at 0, request_size at 8, thread_mode at 16, memory_types at 24, name at 32,
    }
}
