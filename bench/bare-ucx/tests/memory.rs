//! One-sided access through the raw functions: allocate, share the key, write, read.

mod common;

use common::{SHARED_MEMORY, context, progress_until};
use farcache_bare_ucx::{Endpoint, Worker};
use farcache_ucx_sys::Context;
use farcache_ucx_sys::raw::*;
use std::ffi::c_void;
use std::ptr;

const ARENA_BYTES: usize = 1 << 20;
const PLACE: usize = 4096;

/// Memory that UCX allocated.
struct Arena {
    context: Context,
    handle: ucp_mem_h,
    address: *mut u8,
}

impl Arena {
    fn new(context: &Context) -> Arena {
        let functions = context.library().functions();
        let params = ucp_mem_map_params_t {
            field_mask: UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
            address: ptr::null_mut(),
            length: ARENA_BYTES,
            flags: UCP_MEM_MAP_ALLOCATE,
            prot: 0,
            memory_type: UCS_MEMORY_TYPE_HOST,
        };
        let mut attr = ucp_mem_attr_t {
            field_mask: UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH,
            address: ptr::null_mut(),
            length: 0,
            mem_type: 0,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the context is open, and all places outlive the calls.
        unsafe {
            assert_eq!(
                (functions.ucp_mem_map)(context.handle(), &params, &mut handle),
                UCS_OK
            );
            assert_eq!((functions.ucp_mem_query)(handle, &mut attr), UCS_OK);
        }
        assert!(attr.length >= ARENA_BYTES);
        Arena {
            context: context.clone(),
            handle,
            address: attr.address.cast(),
        }
    }

    /// The key as a peer would get it.
    fn packed_key(&self) -> Vec<u8> {
        let functions = self.context.library().functions();
        let (mut packed, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: context and memory are valid; the key is copied before it is released.
        unsafe {
            let pack = functions.ucp_rkey_pack;
            assert_eq!(
                pack(self.context.handle(), self.handle, &mut packed, &mut bytes),
                UCS_OK
            );
            let copy = std::slice::from_raw_parts(packed.cast::<u8>(), bytes).to_vec();
            (functions.ucp_rkey_buffer_release)(packed);
            copy
        }
    }

    /// Bytes at the place, which no operation is writing to.
    fn read(&self, bytes: usize) -> Vec<u8> {
        // SAFETY: within the arena, and the operations are complete.
        unsafe { std::slice::from_raw_parts(self.address.add(PLACE), bytes).to_vec() }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let unmap = self.context.library().functions().ucp_mem_unmap;
        // SAFETY: mapped by `new`, and nobody reads or writes it any more.
        assert_eq!(unsafe { unmap(self.context.handle(), self.handle) }, UCS_OK);
    }
}

/// Waits for an operation and gives its request back.
fn complete(context: &Context, workers: &[&Worker], request: ucs_status_ptr_t) {
    assert!(!UCS_PTR_IS_ERR(request), "{:?}", UCS_PTR_STATUS(request));
    if request.is_null() {
        return;
    }
    let functions = context.library().functions();
    // SAFETY: the request is one of these workers' and not given back yet.
    let status = || unsafe { (functions.ucp_request_check_status)(request) };
    progress_until(workers, "the operation is complete", || {
        status() != UCS_INPROGRESS
    });
    assert_eq!(status(), UCS_OK);
    // SAFETY: complete, and given back once.
    unsafe { (functions.ucp_request_free)(request) };
}

fn unpack(context: &Context, endpoint: &Endpoint, packed: &[u8]) -> ucp_rkey_h {
    let unpack = context.library().functions().ucp_ep_rkey_unpack;
    let mut key = ptr::null_mut();
    // SAFETY: the key is one that UCX packed, and the places outlive the call.
    let status = unsafe {
        unpack(
            endpoint.handle(),
            packed.as_ptr().cast::<c_void>(),
            &mut key,
        )
    };
    assert_eq!(status, UCS_OK);
    key
}

#[test]
fn what_is_put_into_a_peers_memory_is_there_and_can_be_got() {
    let Some(context) = context(SHARED_MEMORY) else {
        return;
    };
    let functions = context.library().functions();
    let arena = Arena::new(&context);
    let (reader, owner) = (
        Worker::new(&context).unwrap(),
        Worker::new(&context).unwrap(),
    );
    let endpoint = reader.connect(&owner.address().unwrap()).unwrap();
    let key = unpack(&context, &endpoint, &arena.packed_key());
    let workers = [&reader, &owner];
    let (written, mut read) = (b"a value of the peer".to_vec(), vec![0_u8; 19]);
    let remote = arena.address.addr() as u64 + PLACE as u64;
    let param = ucp_request_param_t::NONE;
    // SAFETY: both buffers outlive their operations, which are waited for; the range is the
    // arena's; the key is destroyed after its last use and before the worker.
    unsafe {
        let (buffer, bytes) = (written.as_ptr().cast(), written.len());
        let put = (functions.ucp_put_nbx)(endpoint.handle(), buffer, bytes, remote, key, &param);
        complete(&context, &workers, put);
        complete(
            &context,
            &workers,
            (functions.ucp_ep_flush_nbx)(endpoint.handle(), &param),
        );
        let (buffer, bytes) = (read.as_mut_ptr().cast(), read.len());
        let get = (functions.ucp_get_nbx)(endpoint.handle(), buffer, bytes, remote, key, &param);
        complete(&context, &workers, get);
        (functions.ucp_rkey_destroy)(key);
    }
    assert_eq!(arena.read(written.len()), written);
    assert_eq!(read, written);
}
