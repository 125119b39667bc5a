//! Servers as lists of them are handed around.

use crate::{HOST_ROOM_BYTES, Handle, Opaque};
use std::ffi::{c_char, c_uint};

/// `memcached_connection_t`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection(pub c_uint);

impl Connection {
    /// TCP.
    pub const TCP: Self = Self(0);
    /// UDP.
    pub const UDP: Self = Self(1);
    /// A unix socket.
    pub const UNIX_SOCKET: Self = Self(2);
}

/// `memcached_server_state_t`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerState(pub c_uint);

impl ServerState {
    /// Not connected, its address not looked up.
    pub const NEW: Self = Self(0);
}

/// `io_wait_count` of a server.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct IoWaitCount {
    /// Waits for reading.
    pub read: u32,
    /// Waits for writing.
    pub write: u32,
    /// Waits that took too long.
    pub timeouts: u32,
    /// Bytes read.
    pub bytes_read: usize,
}

/// `memcached_server_st`: an entry of a list of servers; the first one's `number_of_hosts` is the
/// list's length.
#[repr(C)]
#[derive(Debug)]
pub struct ServerStructure {
    /// Bits 0 to 3: `is_allocated`, `is_initialized`, `is_shutting_down`, `is_dead`.
    pub options: u8,
    /// Length of the list, in its first entry.
    pub number_of_hosts: u32,
    /// Answers that are due.
    pub cursor_active: u32,
    /// The port; 0 of a unix socket.
    pub port: u16,
    /// Bytes sent since the last were read.
    pub io_bytes_sent: u32,
    /// Of UDP.
    pub request_id: u32,
    /// Failures in a row.
    pub server_failure_counter: u32,
    /// The query that failed last.
    pub server_failure_counter_query_id: u64,
    /// Timeouts in a row.
    pub server_timeout_counter: u32,
    /// The query that took too long last.
    pub server_timeout_counter_query_id: u64,
    /// At least 1.
    pub weight: u32,
    /// Number of the server among those that its handle has had.
    pub version: u32,
    /// How far the connection is.
    pub state: ServerState,
    /// How often was waited.
    pub io_wait_count: IoWaitCount,
    /// Version of the server's program; 255 while it is unknown.
    pub major_version: u8,
    /// Its third number.
    pub micro_version: u8,
    /// Its second number.
    pub minor_version: u8,
    /// What it is connected by.
    pub kind: Connection,
    /// Not before this time, in seconds since 1970.
    pub next_retry: libc::time_t,
    /// The handle that it belongs to.
    pub root: *mut Handle,
    /// The server's limit.
    pub limit_maxbytes: u64,
    /// Its errors.
    pub error_messages: *mut Opaque,
    /// Its name, or the path of its socket.
    pub hostname: [c_char; HOST_ROOM_BYTES],
}
