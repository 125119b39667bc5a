//! A server of a handle, as C sees it and with what is remembered of it.

use crate::health::Health;
use crate::record::Record;
use farcache_libmemcached_abi::{Connection, HOST_ROOM_BYTES};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};

/// What libmemcached's own tools read from a server without asking: memcping looks for name and
/// port where they are in libmemcached 1.1.4. The rest is room.
#[repr(C)]
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    _before_port: [u8; 16],
    port: u16,
    _before_weight: [u8; 46],
    weight: u32,
    _before_hostname: [u8; 16508],
    hostname: [c_char; HOST_ROOM_BYTES],
}

const _: () = {
    assert!(std::mem::offset_of!(Shown, port) == 16);
    assert!(std::mem::offset_of!(Shown, weight) == 64);
    assert!(std::mem::offset_of!(Shown, hostname) == 16576);
};

impl Shown {
    fn new(name: &CStr, port: u16, weight: u32) -> Self {
        let mut hostname = [0; HOST_ROOM_BYTES];
        for (place, &byte) in hostname.iter_mut().zip(name.to_bytes()) {
            *place = byte.cast_signed();
        }
        Shown {
            _before_port: [0; 16],
            port,
            _before_weight: [0; 46],
            weight,
            _before_hostname: [0; 16508],
            hostname,
        }
    }
}

/// `memcached_instance_st`: a server of a handle. C passes pointers to it around.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Instance {
    shown: Shown,
    pub(crate) hostname: CString,
    pub(crate) port: u16,
    pub(crate) kind: Connection,
    pub(crate) weight: u32,
    /// Counts the servers that the handle has had.
    pub(crate) version: u32,
    /// Major, minor, micro; 255 while they are unknown.
    pub(crate) program: [u8; 3],
    /// Seconds since 1970 before which the server is not used. C may set it through a pointer to
    /// `const`.
    pub(crate) next_retry: Cell<libc::time_t>,
    pub(crate) health: Health,
    pub(crate) error: Option<Record>,
}

pub(crate) const PROGRAM_UNKNOWN: [u8; 3] = [u8::MAX; 3];

impl Instance {
    /// A server that has not been asked yet.
    pub(crate) fn new(
        hostname: &CStr,
        port: u16,
        weight: u32,
        kind: Connection,
        version: u32,
    ) -> Instance {
        Instance {
            shown: Shown::new(hostname, port, weight),
            hostname: hostname.into(),
            port,
            kind,
            weight,
            version,
            program: PROGRAM_UNKNOWN,
            next_retry: Cell::new(0),
            health: Health::default(),
            error: None,
        }
    }

    /// As error messages name it.
    pub(crate) fn address_text(&self) -> String {
        let host = self.hostname.to_string_lossy();
        match self.kind {
            Connection::UNIX_SOCKET => format!("socket: {host}"),
            _ => format!("host: {host}:{}", self.port),
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now_s() -> libc::time_t {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as libc::time_t)
}

/// Whether a host's name can be one.
pub(crate) fn is_valid_name(name: &CStr) -> bool {
    name.count_bytes() < HOST_ROOM_BYTES
}
