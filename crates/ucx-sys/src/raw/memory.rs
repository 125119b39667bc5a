//! Registered memory, and the keys by which others reach it.

use crate::raw::layout::{constants, handles, layouts};
use std::ffi::{c_uint, c_void};

handles! {
    /// A registration of memory, from `ucp_mem_map`.
    ucp_mem_h -> ucp_mem;
    /// The right to reach memory of a peer, from `ucp_ep_rkey_unpack`. To be destroyed before the
    /// endpoint's worker.
    ucp_rkey_h -> ucp_rkey;
}

/// Kind of memory; the values of C's enumeration.
pub type ucs_memory_type_t = u32;

constants! {
    /// [`ucp_mem_map_params_t::address`] is set.
    UCP_MEM_MAP_PARAM_FIELD_ADDRESS: u64 = 1 << 0;
    /// [`ucp_mem_map_params_t::length`] is set.
    UCP_MEM_MAP_PARAM_FIELD_LENGTH: u64 = 1 << 1;
    /// [`ucp_mem_map_params_t::flags`] is set.
    UCP_MEM_MAP_PARAM_FIELD_FLAGS: u64 = 1 << 2;
    /// [`ucp_mem_map_params_t::prot`] is set.
    UCP_MEM_MAP_PARAM_FIELD_PROT: u64 = 1 << 3;
    /// [`ucp_mem_map_params_t::memory_type`] is set.
    UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE: u64 = 1 << 4;
    /// Register without touching the pages.
    UCP_MEM_MAP_NONBLOCK: u32 = 1 << 0;
    /// UCX allocates the memory. Only such memory can be read one-sidedly by a process of the same
    /// host; access to any other is emulated by messages, which needs the owner's progress.
    UCP_MEM_MAP_ALLOCATE: u32 = 1 << 1;
    /// Allocate at exactly the address given.
    UCP_MEM_MAP_FIXED: u32 = 1 << 2;
    /// This process may read.
    UCP_MEM_MAP_PROT_LOCAL_READ: u32 = 1 << 0;
    /// This process may write.
    UCP_MEM_MAP_PROT_LOCAL_WRITE: u32 = 1 << 1;
    /// Peers may read.
    UCP_MEM_MAP_PROT_REMOTE_READ: u32 = 1 << 8;
    /// Peers may write.
    UCP_MEM_MAP_PROT_REMOTE_WRITE: u32 = 1 << 9;
    /// [`ucp_mem_attr_t::address`] is asked for.
    UCP_MEM_ATTR_FIELD_ADDRESS: u64 = 1 << 0;
    /// [`ucp_mem_attr_t::length`] is asked for.
    UCP_MEM_ATTR_FIELD_LENGTH: u64 = 1 << 1;
    /// [`ucp_mem_attr_t::mem_type`] is asked for.
    UCP_MEM_ATTR_FIELD_MEM_TYPE: u64 = 1 << 2;
    /// Ordinary memory.
    UCS_MEMORY_TYPE_HOST: ucs_memory_type_t = 0;
    /// Memory of a GPU.
    UCS_MEMORY_TYPE_CUDA: ucs_memory_type_t = 1;
}

/// Memory to register.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 8 | `address` |
/// | 16 | 8 | `length` |
/// | 24 | 4 | `flags` |
/// | 28 | 4 | `prot` |
/// | 32 | 4 | `memory_type` |
/// | 36 | 4 | (padding) |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_mem_map_params_t {
    /// Which fields are set: `UCP_MEM_MAP_PARAM_FIELD_*`.
    pub field_mask: u64,
    /// Its first byte; null with `UCP_MEM_MAP_ALLOCATE` where any place will do.
    pub address: *mut c_void,
    /// Its length in bytes.
    pub length: usize,
    /// `UCP_MEM_MAP_*`.
    pub flags: c_uint,
    /// `UCP_MEM_MAP_PROT_*`.
    pub prot: c_uint,
    /// `UCS_MEMORY_TYPE_*`.
    pub memory_type: ucs_memory_type_t,
}

/// What a registration says of itself.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | `field_mask` |
/// | 8 | 8 | `address` |
/// | 16 | 8 | `length` |
/// | 24 | 4 | `mem_type` |
/// | 28 | 4 | (padding) |
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ucp_mem_attr_t {
    /// Which fields are asked for: `UCP_MEM_ATTR_FIELD_*`.
    pub field_mask: u64,
    /// The memory's first byte.
    pub address: *mut c_void,
    /// Its length in bytes, which may be more than was asked for.
    pub length: usize,
    /// `UCS_MEMORY_TYPE_*`.
    pub mem_type: ucs_memory_type_t,
}

layouts! {
    ucp_mem_map_params_t, 40 bytes: {
        field_mask at 0, address at 8, length at 16, flags at 24, prot at 28, memory_type at 32,
    }
    ucp_mem_attr_t, 32 bytes: { field_mask at 0, address at 8, length at 16, mem_type at 24 }
}
