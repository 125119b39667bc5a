//! Memory that C sees: from the application's allocators where it has set some, else from C's.

use crate::arguments::{context, tell};
use farcache_libmemcached_abi::{Allocators, Handle, Return};
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_char, c_void};

/// Declared in the structures' crate; spelled out here once each.
type Malloc = unsafe extern "C" fn(*const Handle, usize, *mut c_void) -> *mut c_void;
type Free = unsafe extern "C" fn(*const Handle, *mut c_void, *mut c_void);
type Realloc = unsafe extern "C" fn(*const Handle, *mut c_void, usize, *mut c_void) -> *mut c_void;
type Calloc = unsafe extern "C" fn(*const Handle, usize, usize, *mut c_void) -> *mut c_void;

/// All memory of this library comes from C's `malloc`, so that a value can be handed to the
/// application, which frees it, in the memory that it was received in.
struct FromC;

/// What `malloc` aligns everything to, in bytes.
const MALLOC_ALIGNMENT: usize = align_of::<libc::max_align_t>();

// SAFETY: these are C's allocators, which keep to what `GlobalAlloc` asks for; greater alignments
// than `malloc`'s come from `aligned_alloc`, whose memory `free` takes as well. `realloc` keeps no
// greater alignment, so such memory is moved by hand.
unsafe impl GlobalAlloc for FromC {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises; the size is rounded up to what `aligned_alloc` wants.
        unsafe {
            if layout.align() <= MALLOC_ALIGNMENT {
                libc::malloc(layout.size()).cast()
            } else {
                let size = layout.size().next_multiple_of(layout.align());
                libc::aligned_alloc(layout.align(), size).cast()
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises; the new memory is as large as the layout says.
        unsafe {
            if layout.align() <= MALLOC_ALIGNMENT {
                return libc::calloc(1, layout.size()).cast();
            }
            let memory = self.alloc(layout);
            if !memory.is_null() {
                memory.write_bytes(0, layout.size());
            }
            memory
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: as the caller promises.
        unsafe { libc::free(memory.cast()) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises; no more is copied than there is in either.
        unsafe {
            if layout.align() <= MALLOC_ALIGNMENT {
                return libc::realloc(memory.cast(), size).cast();
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(memory, moved, size.min(layout.size()));
                self.dealloc(memory, layout);
            }
            moved
        }
    }
}

#[global_allocator]
static ALLOCATOR: FromC = FromC;

/// Whether memory for the application comes from C's own functions.
pub(crate) fn is_c(handle: &Handle) -> bool {
    let allocators = &handle.allocators;
    let is_ours =
        |given: Option<Free>| given.is_none_or(|given| std::ptr::fn_addr_eq(given, free as Free));
    is_ours(allocators.free)
}

/// A value with a zero byte behind it in memory that C's `free` takes, and how much memory that is.
pub(crate) fn hand_over(mut value: Vec<u8>) -> (*mut c_char, usize) {
    value.reserve_exact(1);
    value.push(0);
    let mut value = std::mem::ManuallyDrop::new(value);
    (value.as_mut_ptr().cast(), value.capacity())
}

unsafe extern "C" fn malloc(_: *const Handle, size: usize, _: *mut c_void) -> *mut c_void {
    // SAFETY: malloc takes any size.
    unsafe { libc::malloc(size) }
}

unsafe extern "C" fn free(_: *const Handle, memory: *mut c_void, _: *mut c_void) {
    // SAFETY: whoever frees passes what `malloc` and its like gave, or null.
    unsafe { libc::free(memory) };
}

unsafe extern "C" fn realloc(
    _: *const Handle,
    memory: *mut c_void,
    size: usize,
    _: *mut c_void,
) -> *mut c_void {
    // SAFETY: whoever calls passes what `malloc` and its like gave, or null.
    unsafe { libc::realloc(memory, size) }
}

unsafe extern "C" fn calloc(
    _: *const Handle,
    count: usize,
    size: usize,
    _: *mut c_void,
) -> *mut c_void {
    // SAFETY: calloc takes any numbers.
    unsafe { libc::calloc(count, size) }
}

/// C's own functions.
pub(crate) fn default_allocators() -> Allocators {
    Allocators {
        calloc: Some(calloc),
        free: Some(free),
        malloc: Some(malloc),
        realloc: Some(realloc),
        context: std::ptr::null_mut(),
    }
}

/// The allocators of a handle, with C's in place of what is missing.
///
/// # Safety
/// The handle is null or has been created.
unsafe fn allocators(handle: *const Handle) -> Allocators {
    // SAFETY: as the caller promises.
    let given = unsafe { handle.as_ref() }.map(|handle| handle.allocators);
    given.unwrap_or_else(default_allocators)
}

/// New memory, uninitialised; null where there is none.
///
/// # Safety
/// The handle is null or has been created; its allocators do what C's do.
pub(crate) unsafe fn allocate(handle: *const Handle, bytes: usize) -> *mut c_void {
    // SAFETY: as the caller promises.
    unsafe {
        let given = allocators(handle);
        given.malloc.unwrap_or(malloc)(handle, bytes, given.context)
    }
}

/// Makes memory larger or smaller where it is, or moves it; null, and the old unchanged, where
/// there is none.
///
/// # Safety
/// As [`allocate`]; `memory` came from the same allocators, or is null.
pub(crate) unsafe fn reallocate(
    handle: *const Handle,
    memory: *mut c_void,
    bytes: usize,
) -> *mut c_void {
    // SAFETY: as the caller promises.
    unsafe {
        let given = allocators(handle);
        given.realloc.unwrap_or(realloc)(handle, memory, bytes, given.context)
    }
}

/// Gives memory back.
///
/// # Safety
/// As [`reallocate`]; the memory is not used again.
pub(crate) unsafe fn release(handle: *const Handle, memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    // SAFETY: as the caller promises.
    unsafe {
        let given = allocators(handle);
        given.free.unwrap_or(free)(handle, memory, given.context);
    }
}

export! {
    /// Sets the functions that memory for the application comes from; all of them, or none for C's.
    fn memcached_set_memory_allocators(
        handle: *mut Handle,
        malloc: Option<Malloc>,
        free: Option<Free>,
        realloc: Option<Realloc>,
        calloc: Option<Calloc>,
        user_context: *mut c_void,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        let given = [malloc.is_some(), free.is_some(), realloc.is_some(), calloc.is_some()];
        context.handle.allocators = match given.iter().filter(|given| **given).count() {
            0 => default_allocators(),
            4 => Allocators { calloc, free, malloc, realloc, context: user_context },
            _ => {
                let what = "NULL parameter provided for one or more allocators";
                return context.fail(Return::INVALID_ARGUMENTS, what);
            }
        };
        Return::SUCCESS
    }

    /// Tells which functions memory comes from.
    fn memcached_get_memory_allocators(
        handle: *const Handle,
        malloc: *mut Option<Malloc>,
        free: *mut Option<Free>,
        realloc: *mut Option<Realloc>,
        calloc: *mut Option<Calloc>,
    ) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(handle) = unsafe { handle.as_ref() } {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe {
                tell(malloc, handle.allocators.malloc);
                tell(free, handle.allocators.free);
                tell(realloc, handle.allocators.realloc);
                tell(calloc, handle.allocators.calloc);
            }
        }
    }

    /// The allocators' last argument.
    fn memcached_get_memory_allocators_context(handle: *const Handle) -> *mut c_void {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { handle.as_ref() }.map_or(std::ptr::null_mut(), |handle| handle.allocators.context)
    }
}
