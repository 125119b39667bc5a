//! The functions of `libucp`, found by name in the loaded library.

use crate::raw::{
    ucp_address_h, ucp_address_t, ucp_am_handler_param_t, ucp_config_h, ucp_context_attr_t,
    ucp_context_h, ucp_ep_h, ucp_ep_params_t, ucp_mem_attr_t, ucp_mem_h, ucp_mem_map_params_t,
    ucp_params_t, ucp_request_param_t, ucp_rkey_h, ucp_worker_attr_t, ucp_worker_h,
    ucp_worker_params_t, ucs_status_ptr_t, ucs_status_t,
};
use std::ffi::{c_char, c_uint, c_void};

/// A function that the library does not have, and what the loader said.
#[derive(Debug)]
pub(crate) struct MissingFunction {
    pub name: &'static str,
    pub reason: String,
}

/// What the dynamic loader itself said, which libloading keeps behind "dlopen failed".
pub(crate) fn loader_reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

macro_rules! functions {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)+) => {
        /// UCX's functions, as pointers into the loaded library.
        ///
        /// All but `ucp_worker_signal` are to be called from the worker's thread only (see
        /// [`crate::Worker`]); their arguments must be what UCX's documentation says.
        #[derive(Debug, Clone, Copy)]
        pub struct Functions {
            $($(#[$about])* pub $name: unsafe extern "C" fn($($argument: $type),*) $(-> $result)?,)+
        }

        impl Functions {
            /// Finds all functions.
            ///
            /// # Errors
            /// The first that the library lacks.
            ///
            /// # Safety
            /// The library is UCX's `libucp`, so that what is found under a name has the type
            /// declared here, and stays loaded for as long as the functions are used.
            pub(crate) unsafe fn find(
                library: &libloading::os::unix::Library,
            ) -> Result<Functions, MissingFunction> {
                $(
                    let name = concat!(stringify!($name), "\0").as_bytes();
                    // SAFETY: the caller vouches for the library, the header for the type.
                    let $name = unsafe { library.get(name) }.map_err(|error| MissingFunction {
                        name: stringify!($name),
                        reason: loader_reason(&error),
                    })?;
                )+
                Ok(Functions { $($name: *$name),+ })
            }
        }
    };
}

functions! {
    /// Text for a status; of `libucs`, on which `libucp` depends.
    fn ucs_status_string(status: ucs_status_t) -> *const c_char;
    /// The version of the library itself.
    fn ucp_get_version(major: *mut c_uint, minor: *mut c_uint, release: *mut c_uint);
    /// Reads settings from the environment and UCX's own files.
    fn ucp_config_read(
        prefix: *const c_char,
        file: *const c_char,
        config: *mut ucp_config_h,
    ) -> ucs_status_t;
    /// Changes a setting; the name is without `UCX_`.
    fn ucp_config_modify(
        config: ucp_config_h,
        name: *const c_char,
        value: *const c_char,
    ) -> ucs_status_t;
    /// Frees settings.
    fn ucp_config_release(config: ucp_config_h);
    /// Opens a context, for a caller built against this version of the header.
    fn ucp_init_version(
        major: c_uint,
        minor: c_uint,
        params: *const ucp_params_t,
        config: ucp_config_h,
        context: *mut ucp_context_h,
    ) -> ucs_status_t;
    /// Closes a context that has no workers left.
    fn ucp_cleanup(context: ucp_context_h);
    /// Asks a context about itself.
    fn ucp_context_query(context: ucp_context_h, attr: *mut ucp_context_attr_t) -> ucs_status_t;
    /// Makes a worker.
    fn ucp_worker_create(
        context: ucp_context_h,
        params: *const ucp_worker_params_t,
        worker: *mut ucp_worker_h,
    ) -> ucs_status_t;
    /// Ends a worker; its endpoints end with it, its remote keys must be gone.
    fn ucp_worker_destroy(worker: ucp_worker_h);
    /// Asks a worker about itself.
    fn ucp_worker_query(worker: ucp_worker_h, attr: *mut ucp_worker_attr_t) -> ucs_status_t;
    /// The worker's address, to be released.
    fn ucp_worker_get_address(
        worker: ucp_worker_h,
        address: *mut ucp_address_h,
        bytes: *mut usize,
    ) -> ucs_status_t;
    /// Frees an address.
    fn ucp_worker_release_address(worker: ucp_worker_h, address: *mut ucp_address_t);
    /// Does what there is to do, calling handlers and callbacks; not 0 where something was done.
    fn ucp_worker_progress(worker: ucp_worker_h) -> c_uint;
    /// The descriptor that becomes readable when an armed worker has work. The worker owns it.
    fn ucp_worker_get_efd(worker: ucp_worker_h, descriptor: *mut i32) -> ucs_status_t;
    /// Asks for a wake-up; `UCS_ERR_BUSY` where there is work already.
    fn ucp_worker_arm(worker: ucp_worker_h) -> ucs_status_t;
    /// Makes the descriptor readable, from any thread.
    fn ucp_worker_signal(worker: ucp_worker_h) -> ucs_status_t;
    /// Opens an endpoint. Connecting goes on during progress.
    fn ucp_ep_create(
        worker: ucp_worker_h,
        params: *const ucp_ep_params_t,
        endpoint: *mut ucp_ep_h,
    ) -> ucs_status_t;
    /// Closes an endpoint, which must not be used any more.
    fn ucp_ep_close_nbx(
        endpoint: ucp_ep_h,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    /// Completes when all that was sent before has reached the peer.
    fn ucp_ep_flush_nbx(
        endpoint: ucp_ep_h,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    /// Writes a description of the endpoint and its lanes. The only way to learn them in 1.13:
    /// `ucp_ep_query` names transports from 1.14 on.
    fn ucp_ep_print_info(endpoint: ucp_ep_h, stream: *mut libc::FILE);
    /// Sets the handler of active messages of one number.
    fn ucp_worker_set_am_recv_handler(
        worker: ucp_worker_h,
        param: *const ucp_am_handler_param_t,
    ) -> ucs_status_t;
    /// Sends an active message. Header and data must stay as they are until it completes.
    fn ucp_am_send_nbx(
        endpoint: ucp_ep_h,
        id: c_uint,
        header: *const c_void,
        header_bytes: usize,
        buffer: *const c_void,
        count: usize,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    /// Receives the data of an active message that came as a rendezvous or was kept.
    fn ucp_am_recv_data_nbx(
        worker: ucp_worker_h,
        data: *mut c_void,
        buffer: *mut c_void,
        count: usize,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    /// Gives up data that was kept.
    fn ucp_am_data_release(worker: ucp_worker_h, data: *mut c_void);
    /// Registers memory, or allocates registered memory.
    fn ucp_mem_map(
        context: ucp_context_h,
        params: *const ucp_mem_map_params_t,
        memory: *mut ucp_mem_h,
    ) -> ucs_status_t;
    /// Ends a registration, and frees what was allocated with it.
    fn ucp_mem_unmap(context: ucp_context_h, memory: ucp_mem_h) -> ucs_status_t;
    /// Asks where registered memory is.
    fn ucp_mem_query(memory: ucp_mem_h, attr: *mut ucp_mem_attr_t) -> ucs_status_t;
    /// Packs the right to reach the memory, for a peer; to be released.
    fn ucp_rkey_pack(
        context: ucp_context_h,
        memory: ucp_mem_h,
        packed: *mut *mut c_void,
        bytes: *mut usize,
    ) -> ucs_status_t;
    /// Frees a packed key.
    fn ucp_rkey_buffer_release(packed: *mut c_void);
    /// Makes a packed key usable over an endpoint.
    fn ucp_ep_rkey_unpack(
        endpoint: ucp_ep_h,
        packed: *const c_void,
        key: *mut ucp_rkey_h,
    ) -> ucs_status_t;
    /// Frees a key; before its worker ends.
    fn ucp_rkey_destroy(key: ucp_rkey_h);
    /// Writes to a peer's memory.
    fn ucp_put_nbx(
        endpoint: ucp_ep_h,
        buffer: *const c_void,
        count: usize,
        remote_address: u64,
        key: ucp_rkey_h,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    /// Reads from a peer's memory.
    fn ucp_get_nbx(
        endpoint: ucp_ep_h,
        buffer: *mut c_void,
        count: usize,
        remote_address: u64,
        key: ucp_rkey_h,
        param: *const ucp_request_param_t,
    ) -> ucs_status_ptr_t;
    /// The status of a request, without progress.
    fn ucp_request_check_status(request: *mut c_void) -> ucs_status_t;
    /// Gives a request back; one still going on is freed when it completes.
    fn ucp_request_free(request: *mut c_void);
    /// Asks for a request to end early. It still completes, and its callback is still called.
    fn ucp_request_cancel(worker: ucp_worker_h, request: *mut c_void);
}
