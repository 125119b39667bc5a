//! Memory that is registered once, for as long as the network lives.

use super::worker::check;
use crate::error::Error;
use farcache_ucx_sys::raw::*;
use farcache_ucx_sys::{Context, InUse};
use std::any::Any;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A registration, ended when dropped.
#[derive(Debug)]
pub(super) struct Region {
    context: Context,
    handle: ucp_mem_h,
    addresses: Range<usize>,
    /// Keeps the memory; dropped after the registration has ended.
    memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the handle is only read from, and UCX locks what the context's threads share.
unsafe impl Send for Region {}
// SAFETY: as for Send.
unsafe impl Sync for Region {}

impl Region {
    /// Registers memory.
    pub fn new(
        context: &Context,
        start: NonNull<u8>,
        bytes: usize,
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Result<Region, Error> {
        let params = ucp_mem_map_params_t {
            field_mask: UCP_MEM_MAP_PARAM_FIELD_ADDRESS
                | UCP_MEM_MAP_PARAM_FIELD_LENGTH
                | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
            address: start.as_ptr().cast(),
            length: bytes,
            flags: UCP_MEM_MAP_NONBLOCK,
            prot: 0,
            memory_type: UCS_MEMORY_TYPE_HOST,
        };
        let mut handle = ptr::null_mut();
        let library = context.library();
        let _in_use = InUse::begin().ok_or(Error::Cancelled)?;
        // SAFETY: the context is open and both places outlive the call. Of the memory UCX wants
        // only that the system knows it, which answers with an error where it does not: registering
        // pins pages and reads nothing.
        let status =
            unsafe { (library.functions().ucp_mem_map)(context.handle(), &params, &mut handle) };
        check(library, "ucp_mem_map", status)?;
        let first = start.as_ptr().addr();
        Ok(Region {
            context: context.clone(),
            handle,
            addresses: first..first + bytes,
            memory,
        })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let Some(_in_use) = InUse::begin() else {
            // The network may still write there.
            std::mem::forget(Arc::clone(&self.memory));
            return;
        };
        let unmap = self.context.library().functions().ucp_mem_unmap;
        // SAFETY: mapped by `new`, ended once; ports hold the regions, so no operation is left.
        unsafe { unmap(self.context.handle(), self.handle) };
    }
}

/// All regions, as a port knows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Regions {
    list: Vec<Arc<Region>>,
    /// Registrations that end as soon as UCX holds nothing of the port's.
    retired: Vec<Arc<Region>>,
}

impl Regions {
    pub fn add(&mut self, region: Region) {
        self.list.push(Arc::new(region));
    }

    /// Nothing more is sent from or received into memory that begins here.
    pub fn retire(&mut self, start: NonNull<u8>) {
        let first = start.as_ptr().addr();
        let begins_here = |region: &Arc<Region>| region.addresses.start == first;
        if let Some(index) = self.list.iter().position(begins_here) {
            self.retired.push(self.list.swap_remove(index));
        }
    }

    /// Ends what was retired, once `is_idle` says that UCX holds nothing that may name it.
    pub fn end_retired(&mut self, is_idle: impl FnOnce() -> bool) {
        if !self.retired.is_empty() && is_idle() {
            self.retired.clear();
        }
    }

    /// The registration of the memory that this lies in.
    pub fn find(&self, bytes: &[u8]) -> Option<ucp_mem_h> {
        let Range { start, end } = bytes.as_ptr_range();
        let has = |region: &&Arc<Region>| {
            region.addresses.start <= start.addr() && end.addr() <= region.addresses.end
        };
        self.list.iter().find(has).map(|region| region.handle)
    }
}
