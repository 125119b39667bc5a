//! Behaviors, callbacks and distributions.

use std::ffi::{CStr, c_uint};

/// `memcached_behavior_t`: a setting of a handle.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behavior(pub c_uint);

#[allow(missing_docs)]
impl Behavior {
    pub const NO_BLOCK: Self = Self(0);
    pub const TCP_NODELAY: Self = Self(1);
    pub const HASH: Self = Self(2);
    pub const KETAMA: Self = Self(3);
    pub const SOCKET_SEND_SIZE: Self = Self(4);
    pub const SOCKET_RECV_SIZE: Self = Self(5);
    pub const CACHE_LOOKUPS: Self = Self(6);
    pub const SUPPORT_CAS: Self = Self(7);
    pub const POLL_TIMEOUT: Self = Self(8);
    pub const DISTRIBUTION: Self = Self(9);
    pub const BUFFER_REQUESTS: Self = Self(10);
    pub const USER_DATA: Self = Self(11);
    pub const SORT_HOSTS: Self = Self(12);
    pub const VERIFY_KEY: Self = Self(13);
    pub const CONNECT_TIMEOUT: Self = Self(14);
    pub const RETRY_TIMEOUT: Self = Self(15);
    pub const KETAMA_WEIGHTED: Self = Self(16);
    pub const KETAMA_HASH: Self = Self(17);
    pub const BINARY_PROTOCOL: Self = Self(18);
    pub const SND_TIMEOUT: Self = Self(19);
    pub const RCV_TIMEOUT: Self = Self(20);
    pub const SERVER_FAILURE_LIMIT: Self = Self(21);
    pub const IO_MSG_WATERMARK: Self = Self(22);
    pub const IO_BYTES_WATERMARK: Self = Self(23);
    pub const IO_KEY_PREFETCH: Self = Self(24);
    pub const HASH_WITH_PREFIX_KEY: Self = Self(25);
    pub const NOREPLY: Self = Self(26);
    pub const USE_UDP: Self = Self(27);
    pub const AUTO_EJECT_HOSTS: Self = Self(28);
    pub const NUMBER_OF_REPLICAS: Self = Self(29);
    pub const RANDOMIZE_REPLICA_READ: Self = Self(30);
    pub const CORK: Self = Self(31);
    pub const TCP_KEEPALIVE: Self = Self(32);
    pub const TCP_KEEPIDLE: Self = Self(33);
    pub const LOAD_FROM_FILE: Self = Self(34);
    pub const REMOVE_FAILED_SERVERS: Self = Self(35);
    pub const DEAD_TIMEOUT: Self = Self(36);
    pub const SERVER_TIMEOUT_LIMIT: Self = Self(37);
    pub const MAX: Self = Self(38);
    /// Ours: the number behind the last that libmemcached 1.1.4 knows.
    pub const META_PROTOCOL: Self = Self(38);
}

static BEHAVIOR_NAMES: [&CStr; 38] = [
    c"MEMCACHED_BEHAVIOR_NO_BLOCK",
    c"MEMCACHED_BEHAVIOR_TCP_NODELAY",
    c"MEMCACHED_BEHAVIOR_HASH",
    c"MEMCACHED_BEHAVIOR_KETAMA",
    c"MEMCACHED_BEHAVIOR_SOCKET_SEND_SIZE",
    c"MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE",
    c"MEMCACHED_BEHAVIOR_CACHE_LOOKUPS",
    c"MEMCACHED_BEHAVIOR_SUPPORT_CAS",
    c"MEMCACHED_BEHAVIOR_POLL_TIMEOUT",
    c"MEMCACHED_BEHAVIOR_DISTRIBUTION",
    c"MEMCACHED_BEHAVIOR_BUFFER_REQUESTS",
    c"MEMCACHED_BEHAVIOR_USER_DATA",
    c"MEMCACHED_BEHAVIOR_SORT_HOSTS",
    c"MEMCACHED_BEHAVIOR_VERIFY_KEY",
    c"MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT",
    c"MEMCACHED_BEHAVIOR_RETRY_TIMEOUT",
    c"MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED",
    c"MEMCACHED_BEHAVIOR_KETAMA_HASH",
    c"MEMCACHED_BEHAVIOR_BINARY_PROTOCOL",
    c"MEMCACHED_BEHAVIOR_SND_TIMEOUT",
    c"MEMCACHED_BEHAVIOR_RCV_TIMEOUT",
    c"MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT",
    c"MEMCACHED_BEHAVIOR_IO_MSG_WATERMARK",
    c"MEMCACHED_BEHAVIOR_IO_BYTES_WATERMARK",
    c"MEMCACHED_BEHAVIOR_IO_KEY_PREFETCH",
    c"MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY",
    c"MEMCACHED_BEHAVIOR_NOREPLY",
    c"MEMCACHED_BEHAVIOR_USE_UDP",
    c"MEMCACHED_BEHAVIOR_AUTO_EJECT_HOSTS",
    c"MEMCACHED_BEHAVIOR_NUMBER_OF_REPLICAS",
    c"MEMCACHED_BEHAVIOR_RANDOMIZE_REPLICA_READ",
    c"MEMCACHED_BEHAVIOR_CORK",
    c"MEMCACHED_BEHAVIOR_TCP_KEEPALIVE",
    c"MEMCACHED_BEHAVIOR_TCP_KEEPIDLE",
    c"MEMCACHED_BEHAVIOR_LOAD_FROM_FILE",
    c"MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS",
    c"MEMCACHED_BEHAVIOR_DEAD_TIMEOUT",
    c"MEMCACHED_BEHAVIOR_SERVER_TIMEOUT_LIMIT",
];

impl Behavior {
    /// The name of its constant in C.
    #[must_use]
    pub fn name(self) -> &'static CStr {
        let name = BEHAVIOR_NAMES.get(self.0 as usize).copied();
        name.unwrap_or(c"INVALID memcached_behavior_t")
    }
}

/// `memcached_callback_t`: something that a handle keeps or calls.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback(pub c_uint);

#[allow(missing_docs)]
impl Callback {
    pub const PREFIX_KEY: Self = Self(0);
    pub const USER_DATA: Self = Self(1);
    pub const CLEANUP_FUNCTION: Self = Self(2);
    pub const CLONE_FUNCTION: Self = Self(3);
    pub const GET_FAILURE: Self = Self(7);
    pub const DELETE_TRIGGER: Self = Self(8);
    pub const MAX: Self = Self(9);
}

/// `memcached_server_distribution_t`: how keys are given to servers.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distribution(pub c_uint);

#[allow(missing_docs)]
impl Distribution {
    pub const MODULA: Self = Self(0);
    pub const CONSISTENT: Self = Self(1);
    pub const CONSISTENT_KETAMA: Self = Self(2);
    pub const RANDOM: Self = Self(3);
    pub const CONSISTENT_KETAMA_SPY: Self = Self(4);
    pub const CONSISTENT_WEIGHTED: Self = Self(5);
    pub const VIRTUAL_BUCKET: Self = Self(6);
    pub const CONSISTENT_MAX: Self = Self(7);
}

static DISTRIBUTION_NAMES: [&CStr; 7] = [
    c"MEMCACHED_DISTRIBUTION_MODULA",
    c"MEMCACHED_DISTRIBUTION_CONSISTENT",
    c"MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA",
    c"MEMCACHED_DISTRIBUTION_RANDOM",
    c"MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY",
    c"MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED",
    c"MEMCACHED_DISTRIBUTION_VIRTUAL_BUCKET",
];

impl Distribution {
    /// The name of its constant in C.
    #[must_use]
    pub fn name(self) -> &'static CStr {
        let name = DISTRIBUTION_NAMES.get(self.0 as usize).copied();
        name.unwrap_or(c"INVALID memcached_server_distribution_t")
    }
}
