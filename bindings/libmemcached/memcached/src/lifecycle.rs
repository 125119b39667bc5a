//! Handles: made, copied, emptied, freed.

use crate::arguments::context;
use crate::context::{Context, State};
use crate::{hash, memory, result};
use farcache_libmemcached_abi::{Distribution, Handle, Return, flags};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Bit of [`Handle::options`]: this library allocated the handle.
const IS_ALLOCATED: u8 = 1;

/// `MEMCACHED_DEFAULT_TIMEOUT`, in milliseconds.
const POLL_TIMEOUT_MS: i32 = 5000;
/// `MEMCACHED_DEFAULT_CONNECT_TIMEOUT`, in milliseconds.
const CONNECT_TIMEOUT_MS: i32 = 4000;
/// `MEMCACHED_SERVER_FAILURE_RETRY_TIMEOUT`, in seconds.
const RETRY_TIMEOUT_S: i32 = 2;
/// `MEMCACHED_SERVER_FAILURE_LIMIT`.
const FAILURE_LIMIT: u32 = 5;
/// Defaults of `MEMCACHED_BEHAVIOR_IO_MSG_WATERMARK` and `..._IO_BYTES_WATERMARK`.
const MESSAGES_WATERMARK: u32 = 500;
const BYTES_WATERMARK: u32 = 65 * 1024;

/// Fills a handle that may never have been set, and gives it a state.
///
/// # Safety
/// The handle can be written.
unsafe fn fill(handle: *mut Handle, options: u8) {
    // SAFETY: as the caller promises.
    unsafe {
        fill_fields(handle, options);
        (*handle).ketama.continuum = Box::into_raw(Box::<State>::default()).cast();
    }
}

/// Fills the fields of a handle that may never have been set.
///
/// # Safety
/// The handle can be written.
unsafe fn fill_fields(handle: *mut Handle, options: u8) {
    // SAFETY: as the caller promises. All zero is a valid handle: numbers, null pointers and no
    // functions.
    unsafe {
        handle.write_bytes(0, 1);
        (*handle).options = options;
        hash::create(&raw mut (*handle).hashkit);
        result::initialize(&raw mut (*handle).result, handle, 0);
        set_defaults(&mut *handle);
    }
}

fn set_defaults(handle: &mut Handle) {
    handle.set(flags::REPLY, true);
    handle.distribution = Distribution::MODULA;
    handle.server_failure_limit = FAILURE_LIMIT;
    handle.query_id = 1;
    handle.io_msg_watermark = MESSAGES_WATERMARK;
    handle.io_bytes_watermark = BYTES_WATERMARK;
    handle.poll_timeout = POLL_TIMEOUT_MS;
    handle.connect_timeout = CONNECT_TIMEOUT_MS;
    handle.retry_timeout = RETRY_TIMEOUT_S;
    handle.send_size = -1;
    handle.recv_size = -1;
    handle.allocators = memory::default_allocators();
    handle.configure.initial_pool_size = 1;
    handle.configure.max_pool_size = 1;
    handle.configure.version = -1;
}

/// Ends everything that a handle has, but for its own memory and its state's.
fn empty(context: &mut Context<'_>) {
    context.disconnect();
    result::clear(&mut context.handle.result);
    if let Some(cleanup) = context.handle.on_cleanup {
        // SAFETY: the application's function takes its own handle.
        unsafe { cleanup(context.raw()) };
    }
    context.destroy_sasl();
    hash::free(&mut context.handle.hashkit);
    context.handle.number_of_hosts = 0;
    context.handle.servers = null_mut();
    *context.state = State::default();
}

/// Makes a handle, in the application's memory where it gave some.
///
/// # Safety
/// The handle is null or can be written.
pub(crate) unsafe fn create(handle: *mut Handle) -> *mut Handle {
    // SAFETY: as the caller promises; malloc takes any size.
    unsafe {
        let (handle, options) = if handle.is_null() {
            let memory = libc::malloc(size_of::<Handle>());
            (memory.cast::<Handle>(), IS_ALLOCATED)
        } else {
            (handle, 0)
        };
        if !handle.is_null() {
            fill(handle, options);
        }
        handle
    }
}

/// Frees a handle that `create` made, or empties it where the memory is the application's.
///
/// # Safety
/// The handle is null or was created.
pub(crate) unsafe fn destroy(handle: *mut Handle) {
    // SAFETY: as the caller promises. The state came from `fill`; nothing points to it any more.
    unsafe {
        let Some(mut context) = context(handle) else {
            return;
        };
        empty(&mut context);
        let state = std::mem::replace(&mut (*handle).ketama.continuum, null_mut());
        drop(Box::from_raw(state.cast::<State>()));
        if (*handle).options & IS_ALLOCATED != 0 {
            // To the application's allocator if it has set one since, as libmemcached does.
            memory::release(handle, handle.cast());
        }
    }
}

/// Copies what a handle is set to; servers and callbacks follow in `copy`.
fn copy_settings(to: &mut Handle, from: &Handle) {
    to.flags = from.flags;
    to.send_size = from.send_size;
    to.recv_size = from.recv_size;
    to.poll_timeout = from.poll_timeout;
    to.connect_timeout = from.connect_timeout;
    to.retry_timeout = from.retry_timeout;
    to.dead_timeout = from.dead_timeout;
    to.distribution = from.distribution;
    hash::clone(&mut to.hashkit, &from.hashkit);
    to.user_data = from.user_data;
    to.snd_timeout = from.snd_timeout;
    to.rcv_timeout = from.rcv_timeout;
    to.on_clone = from.on_clone;
    to.on_cleanup = from.on_cleanup;
    to.allocators = from.allocators;
    to.get_key_failure = from.get_key_failure;
    to.delete_trigger = from.delete_trigger;
    to.server_failure_limit = from.server_failure_limit;
    to.server_timeout_limit = from.server_timeout_limit;
    to.io_msg_watermark = from.io_msg_watermark;
    to.io_bytes_watermark = from.io_bytes_watermark;
    to.io_key_prefetch = from.io_key_prefetch;
    to.number_of_replicas = from.number_of_replicas;
    to.tcp_keepidle = from.tcp_keepidle;
    to.configure.version = from.configure.version;
}

fn copy(to: &mut Context<'_>, from: &mut Context<'_>) -> Result<(), Return> {
    copy_settings(to.handle, from.handle);
    to.push_servers_of(from);
    to.state.namespace = from.state.namespace.clone();
    to.state.file = from.state.file.clone();
    to.state.transport = from.state.transport;
    to.state.has_progress_thread = from.state.has_progress_thread;
    to.state.prefers_meta = from.state.prefers_meta;
    to.state.redundancy = from.state.redundancy.clone();
    to.copy_sasl(from)?;
    to.run_distribution();
    if let Some(on_clone) = from.handle.on_clone {
        // SAFETY: the application's function takes the two handles.
        unsafe { on_clone(to.raw(), from.raw()) };
    }
    Ok(())
}

/// Sets everything back to how it was made, servers and error messages included, but for the name
/// of the configuration file.
pub(crate) fn renew(context: &mut Context<'_>) {
    let (options, query) = (context.handle.options, context.handle.query_id);
    let (file, state) = (context.state.file.take(), context.handle.ketama.continuum);
    empty(context);
    let handle = context.raw();
    // SAFETY: the handle is the application's or this library's memory.
    unsafe { fill_fields(handle, options) };
    context.handle.ketama.continuum = state;
    context.handle.query_id = query;
    context.state.file = file;
}

export! {
    /// Makes a handle, in the application's memory where it gave some.
    fn memcached_create(handle: *mut Handle) -> *mut Handle {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { create(handle) }
    }

    /// Frees a handle with its connections.
    fn memcached_free(handle: *mut Handle) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { destroy(handle) };
    }

    /// A copy of a handle: settings and servers, no connections. Null where `to` is allocated
    /// already.
    fn memcached_clone(to: *mut Handle, from: *const Handle) -> *mut Handle {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut from) = (unsafe { context(from) }) else {
            // SAFETY: C's contract, as it stands at the top of the crate.
            return unsafe { create(to) };
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        if unsafe { to.as_ref() }.is_some_and(|to| to.options & IS_ALLOCATED != 0) {
            return null_mut();
        }
        // SAFETY: C's contract, as it stands at the top of the crate.
        let copied = unsafe { create(to) };
        // SAFETY: it was made just now, and nobody else knows of it.
        let Some(mut made) = (unsafe { context(copied) }) else {
            return null_mut();
        };
        if copy(&mut made, &mut from).is_err() {
            // SAFETY: as above; it is used no more.
            unsafe { destroy(copied) };
            return null_mut();
        }
        copied
    }

    /// The application's own pointer.
    fn memcached_get_user_data(handle: *const Handle) -> *mut c_void {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { handle.as_ref() }.map_or(null_mut(), |handle| handle.user_data)
    }

    /// Sets the application's own pointer; returns the one before.
    fn memcached_set_user_data(handle: *mut Handle, data: *mut c_void) -> *mut c_void {
        // SAFETY: C's contract, as it stands at the top of the crate.
        match unsafe { handle.as_mut() } {
            Some(handle) => std::mem::replace(&mut handle.user_data, data),
            None => null_mut(),
        }
    }

    /// The number of the next query.
    fn memcached_query_id(handle: *const Handle) -> u64 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { handle.as_ref() }.map_or(0, |handle| handle.query_id)
    }
}
