//! What a server tells of itself.

use crate::{Handle, VERSION_ROOM_BYTES};
use std::ffi::{c_char, c_ulong, c_ulonglong, c_void};

/// `memcached_stat_st`: some of a server's general statistics, by memcached's names.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Statistics {
    pub connection_structures: c_ulong,
    pub curr_connections: c_ulong,
    pub curr_items: c_ulong,
    pub pid: libc::pid_t,
    pub pointer_size: c_ulong,
    pub rusage_system_microseconds: c_ulong,
    pub rusage_system_seconds: c_ulong,
    pub rusage_user_microseconds: c_ulong,
    pub rusage_user_seconds: c_ulong,
    pub threads: c_ulong,
    pub time: c_ulong,
    pub total_connections: c_ulong,
    pub total_items: c_ulong,
    pub uptime: c_ulong,
    pub bytes: c_ulonglong,
    pub bytes_read: c_ulonglong,
    pub bytes_written: c_ulonglong,
    pub cmd_get: c_ulonglong,
    pub cmd_set: c_ulonglong,
    pub evictions: c_ulonglong,
    pub get_hits: c_ulonglong,
    pub get_misses: c_ulonglong,
    pub limit_maxbytes: c_ulonglong,
    pub version: [c_char; VERSION_ROOM_BYTES],
    pub future: *mut c_void,
    pub root: *mut Handle,
}

/// `memcached_analysis_st`: the servers' statistics compared.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Analysis {
    pub root: *mut Handle,
    pub average_item_size: u32,
    pub longest_uptime: u32,
    pub least_free_server: u32,
    pub most_consumed_server: u32,
    pub oldest_server: u32,
    pub pool_hit_ratio: f64,
    pub most_used_bytes: u64,
    pub least_remaining_bytes: u64,
}
