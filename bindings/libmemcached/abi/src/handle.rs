//! A handle and what it is made of.

use crate::{Distribution, Hashkit, KEY_ROOM_BYTES, Opaque, Return};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `memcached_malloc_fn`.
pub type MallocFunction =
    unsafe extern "C" fn(*const Handle, size: usize, context: *mut c_void) -> *mut c_void;
/// `memcached_free_fn`.
pub type FreeFunction = unsafe extern "C" fn(*const Handle, *mut c_void, context: *mut c_void);
/// `memcached_realloc_fn`.
pub type ReallocFunction = unsafe extern "C" fn(
    *const Handle,
    *mut c_void,
    size: usize,
    context: *mut c_void,
) -> *mut c_void;
/// `memcached_calloc_fn`.
pub type CallocFunction = unsafe extern "C" fn(
    *const Handle,
    count: usize,
    size: usize,
    context: *mut c_void,
) -> *mut c_void;
/// `memcached_clone_fn`.
pub type CloneFunction = unsafe extern "C" fn(to: *mut Handle, from: *const Handle) -> Return;
/// `memcached_cleanup_fn`.
pub type CleanupFunction = unsafe extern "C" fn(*const Handle) -> Return;
/// `memcached_trigger_key_fn`: makes a value for a key that no server has.
pub type MissFunction = unsafe extern "C" fn(
    *const Handle,
    key: *const c_char,
    key_length: usize,
    *mut ResultStructure,
) -> Return;
/// `memcached_trigger_delete_key_fn`: told of every key that was deleted.
pub type DeleteFunction =
    unsafe extern "C" fn(*const Handle, key: *const c_char, key_length: usize) -> Return;
/// `memcached_execute_fn`: called with each value.
pub type ExecuteFunction =
    unsafe extern "C" fn(*const Handle, *mut ResultStructure, context: *mut c_void) -> Return;

/// Bits of [`Handle::state`].
pub mod state {
    /// `is_purging`.
    pub const IS_PURGING: u8 = 1;
    /// `is_processing_input`.
    pub const IS_PROCESSING_INPUT: u8 = 1 << 1;
    /// `is_time_for_rebuild`.
    pub const IS_TIME_FOR_REBUILD: u8 = 1 << 2;
    /// `is_parsing`.
    pub const IS_PARSING: u8 = 1 << 3;
}

/// Bits of [`Handle::flags`].
pub mod flags {
    /// `auto_eject_hosts`.
    pub const AUTO_EJECT_HOSTS: u16 = 1;
    /// `binary_protocol`.
    pub const BINARY_PROTOCOL: u16 = 1 << 1;
    /// `buffer_requests`.
    pub const BUFFER_REQUESTS: u16 = 1 << 2;
    /// `hash_with_namespace`.
    pub const HASH_WITH_NAMESPACE: u16 = 1 << 3;
    /// `no_block`.
    pub const NO_BLOCK: u16 = 1 << 4;
    /// `reply`.
    pub const REPLY: u16 = 1 << 5;
    /// `randomize_replica_read`.
    pub const RANDOMIZE_REPLICA_READ: u16 = 1 << 6;
    /// `support_cas`.
    pub const SUPPORT_CAS: u16 = 1 << 7;
    /// `tcp_nodelay`.
    pub const TCP_NODELAY: u16 = 1 << 8;
    /// `use_sort_hosts`.
    pub const USE_SORT_HOSTS: u16 = 1 << 9;
    /// `use_udp`.
    pub const USE_UDP: u16 = 1 << 10;
    /// `verify_key`.
    pub const VERIFY_KEY: u16 = 1 << 11;
    /// `tcp_keepalive`.
    pub const TCP_KEEPALIVE: u16 = 1 << 12;
    /// `is_aes`.
    pub const IS_AES: u16 = 1 << 13;
    /// `is_fetching_version`.
    pub const IS_FETCHING_VERSION: u16 = 1 << 14;
}

/// `memcached_string_st`: bytes that grow. The text goes from `string` to before `end`; its room is
/// `current_size`.
#[repr(C)]
#[derive(Debug)]
pub struct StringStructure {
    /// Behind the last byte.
    pub end: *mut c_char,
    /// The first byte.
    pub string: *mut c_char,
    /// Room in bytes.
    pub current_size: usize,
    /// Whose allocators are used.
    pub root: *mut Handle,
    /// Bits 0 and 1: `is_allocated`, `is_initialized`.
    pub options: u8,
}

/// `memcached_result_st`: a value with all that belongs to it.
#[repr(C)]
#[derive(Debug)]
pub struct ResultStructure {
    /// The application's own number.
    pub item_flags: u32,
    /// Its expiry.
    pub item_expiration: libc::time_t,
    /// Length of its key.
    pub key_length: usize,
    /// Its CAS token.
    pub item_cas: u64,
    /// The handle that it belongs to.
    pub root: *mut Handle,
    /// The value.
    pub value: StringStructure,
    /// The number that counting brought.
    pub numeric_value: u64,
    /// How many values have been fetched with it.
    pub count: u64,
    /// The key, ended by a zero byte.
    pub item_key: [c_char; KEY_ROOM_BYTES],
    /// Bits 0 and 1: `is_allocated`, `is_initialized`.
    pub options: u8,
}

/// `memcached_allocator_t`: the application's own memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Allocators {
    /// As `calloc`.
    pub calloc: Option<CallocFunction>,
    /// As `free`.
    pub free: Option<FreeFunction>,
    /// As `malloc`.
    pub malloc: Option<MallocFunction>,
    /// As `realloc`.
    pub realloc: Option<ReallocFunction>,
    /// The functions' last argument.
    pub context: *mut c_void,
}

/// `memcached_callback_st`: what is called with each value.
#[repr(C)]
#[derive(Debug)]
pub struct CallbackList {
    /// The functions.
    pub callback: *mut ExecuteFunction,
    /// The last argument of each function.
    pub context: *mut c_void,
    /// How many there are.
    pub number_of_callback: u32,
}

/// `memcached_sasl_st`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sasl {
    /// `sasl_callback_t`s, ended by one with the number 0.
    pub callbacks: *mut c_void,
    /// Whether the callbacks are the library's.
    pub is_allocated: bool,
}

/// `ketama` of a handle.
#[repr(C)]
#[derive(Debug)]
pub struct Ketama {
    /// Whether weights count.
    pub weighted: bool,
    /// Room for points.
    pub continuum_count: u32,
    /// Points.
    pub continuum_points_counter: u32,
    /// When a removed server comes back.
    pub next_distribution_rebuild: libc::time_t,
    /// In libmemcached the points; here all that the library keeps for this handle.
    pub continuum: *mut Opaque,
}

/// `configure` of a handle.
#[repr(C)]
#[derive(Debug)]
pub struct Configure {
    /// Handles that a pool begins with.
    pub initial_pool_size: u32,
    /// Handles that it may grow to.
    pub max_pool_size: u32,
    /// Which settings of a pool the handle has.
    pub version: i32,
    /// The file named by `--CONFIGURE-FILE`.
    pub filename: *mut Opaque,
}

/// `memcached_st`: a client. Its first fields are what `memcached_behavior_set` sets.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Handle {
    /// Of [`state`].
    pub state: u8,
    /// Of [`flags`].
    pub flags: [u8; 2],
    pub distribution: Distribution,
    pub hashkit: Hashkit,
    pub server_version: c_uint,
    pub number_of_hosts: u32,
    pub servers: *mut Opaque,
    pub last_disconnected_server: *mut Opaque,
    pub snd_timeout: i32,
    pub rcv_timeout: i32,
    pub server_failure_limit: u32,
    pub server_timeout_limit: u32,
    pub io_msg_watermark: u32,
    pub io_bytes_watermark: u32,
    pub io_key_prefetch: u32,
    pub tcp_keepidle: u32,
    pub poll_timeout: i32,
    pub connect_timeout: i32,
    pub retry_timeout: i32,
    pub dead_timeout: i32,
    pub send_size: c_int,
    pub recv_size: c_int,
    pub user_data: *mut c_void,
    pub query_id: u64,
    pub number_of_replicas: u32,
    pub result: ResultStructure,
    pub ketama: Ketama,
    pub virtual_bucket: *mut Opaque,
    pub allocators: Allocators,
    pub on_clone: Option<CloneFunction>,
    pub on_cleanup: Option<CleanupFunction>,
    pub get_key_failure: Option<MissFunction>,
    pub delete_trigger: Option<DeleteFunction>,
    pub callbacks: *mut CallbackList,
    pub sasl: Sasl,
    pub error_messages: *mut Opaque,
    pub namespace: *mut Opaque,
    pub configure: Configure,
    /// Bit 0: `is_allocated`.
    pub options: u8,
}

impl Handle {
    /// Whether this one of [`flags`] is set.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        u16::from_le_bytes(self.flags) & flag != 0
    }

    /// Sets or clears one of [`flags`].
    pub fn set(&mut self, flag: u16, value: bool) {
        let old = u16::from_le_bytes(self.flags);
        let new = if value { old | flag } else { old & !flag };
        self.flags = new.to_le_bytes();
    }
}
