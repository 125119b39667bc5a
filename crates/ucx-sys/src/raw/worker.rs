//! Workers: one thread's progress engine and its address.

use crate::raw::context::{ENTITY_NAME_BYTES, ucs_thread_mode_t};
use crate::raw::layout::{constants, handles, layouts};
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

handles! {
    /// A progress engine, from `ucp_worker_create`.
    ucp_worker_h -> ucp_worker;
    /// A worker's address, to be freed by `ucp_worker_release_address` where UCX made it.
    ucp_address_h -> ucp_address_t;
}

constants! {
    /// [`ucp_worker_params_t::thread_mode`] is set.
    UCP_WORKER_PARAM_FIELD_THREAD_MODE: u64 = 1 << 0;
    /// [`ucp_worker_params_t::events`] is set; without it every event wakes.
    UCP_WORKER_PARAM_FIELD_EVENTS: u64 = 1 << 2;
    /// [`ucp_worker_params_t::event_fd`] is set.
    UCP_WORKER_PARAM_FIELD_EVENT_FD: u64 = 1 << 4;
    /// [`ucp_worker_params_t::name`] is set.
    UCP_WORKER_PARAM_FIELD_NAME: u64 = 1 << 6;
    /// [`ucp_worker_attr_t::thread_mode`] is asked for.
    UCP_WORKER_ATTR_FIELD_THREAD_MODE: u64 = 1 << 0;
    /// [`ucp_worker_attr_t::address`] is asked for.
    UCP_WORKER_ATTR_FIELD_ADDRESS: u64 = 1 << 1;
    /// [`ucp_worker_attr_t::max_am_header`] is asked for.
    UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER: u64 = 1 << 3;
    /// [`ucp_worker_attr_t::name`] is asked for.
    UCP_WORKER_ATTR_FIELD_NAME: u64 = 1 << 4;
    /// Wake when something was sent.
    UCP_WAKEUP_TX: u32 = 1 << 10;
    /// Wake when something arrived.
    UCP_WAKEUP_RX: u32 = 1 << 11;
}

/// A set of processors, a bit each.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucs_cpu_set_t {
    /// Processor n is bit n % 64 of word n / 64.
    pub ucs_bits: [c_ulong; 1024 / c_ulong::BITS as usize],
}

/// What a worker is made with.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 4 | `thread_mode` |
/// | 12 | 4 | (padding) |
/// | 16 | 128 | `cpu_mask` |
/// | 144 | 4 | `events` |
/// | 148 | 4 | (padding) |
/// | 152 | 8 | `user_data` |
/// | 160 | 4 | `event_fd` |
/// | 164 | 4 | (padding) |
/// | 168 | 8 | `flags` |
/// | 176 | 8 | `name` |
/// | 184 | 8 | `am_alignment` |
/// | 192 | 8 | `client_id` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_worker_params_t {
    /// Which fields are set: `UCP_WORKER_PARAM_FIELD_*`.
    pub field_mask: u64,
    /// Threads that will use the worker: `UCS_THREAD_MODE_*`.
    pub thread_mode: ucs_thread_mode_t,
    /// Processors that it will run on.
    pub cpu_mask: ucs_cpu_set_t,
    /// What wakes it: `UCP_WAKEUP_*`.
    pub events: c_uint,
    /// Of the application, for `event_fd`.
    pub user_data: *mut c_void,
    /// An epoll descriptor of the application's that UCX adds its own to.
    pub event_fd: c_int,
    /// `UCP_WORKER_FLAG_*`.
    pub flags: u64,
    /// A name for logs and traces.
    pub name: *const c_char,
    /// Alignment of eager data given to handlers, in bytes.
    pub am_alignment: usize,
    /// Told to servers connected by socket address.
    pub client_id: u64,
}

/// What a worker says of itself.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 4 | `thread_mode` |
/// | 12 | 4 | `address_flags` |
/// | 16 | 8 | `address` |
/// | 24 | 8 | `address_length` |
/// | 32 | 8 | `max_am_header` |
/// | 40 | 32 | `name` |
/// | 72 | 8 | `max_debug_string` |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_worker_attr_t {
    /// Which fields are asked for: `UCP_WORKER_ATTR_FIELD_*`.
    pub field_mask: u64,
    /// Threads that may use the worker.
    pub thread_mode: ucs_thread_mode_t,
    /// Given, not asked for: which addresses to include.
    pub address_flags: u32,
    /// The address, to be released by the caller.
    pub address: ucp_address_h,
    /// The address's length in bytes.
    pub address_length: usize,
    /// Longest header of an active message, in bytes.
    pub max_am_header: usize,
    /// The worker's name, ended by a zero.
    pub name: [c_char; ENTITY_NAME_BYTES],
    /// Longest text that describes a request, in bytes.
    pub max_debug_string: usize,
}

layouts! {
    ucs_cpu_set_t, 128 bytes: { ucs_bits at 0 }
    ucp_worker_params_t, 200 bytes: {
        field_mask at 0, thread_mode at 8, cpu_mask at 16, events at 144, user_data at 152,
        event_fd at 160, flags at 168, name at 176, am_alignment at 184, client_id at 192,
    }
    ucp_worker_attr_t, 80 bytes: {
        field_mask at 0, thread_mode at 8, address_flags at 12, address at 16,
        address_length at 24, max_am_header at 32, name at 40, max_debug_string at 72,
    }
}
