//! Fetching the values that were asked for, one by one.

use crate::arguments::{context, list, tell};
use crate::batch::Found;
use crate::context::Context;
use crate::{memory, result};
use farcache_libmemcached_abi::{ExecuteFunction, Handle, ResultStructure, Return, flags};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

/// Values of at least so many bytes are handed over in the memory that they were received in; a
/// smaller one is copied into the memory of the value before.
const HANDED_OVER_BYTES_MIN: usize = 4 << 10;

impl Context<'_> {
    /// Fills a result with the next value; false where there is none.
    fn fetch_next(&mut self, into: &mut ResultStructure) -> Result<bool, Return> {
        while let Some(mut batch) = self.state.batches.pop_front() {
            if let Err(code) = self.arrive(&mut batch) {
                self.state.fetch_failure.get_or_insert(code);
            }
            let Some(found) = batch.take_next() else {
                continue;
            };
            let tells_cas = batch.tells_cas;
            self.state.batches.push_front(batch);
            self.fill(into, found, tells_cas)?;
            return Ok(true);
        }
        match self.state.fetch_failure.take() {
            Some(code) => Err(code),
            None => Ok(false),
        }
    }

    fn fill(
        &mut self,
        into: &mut ResultStructure,
        found: Found,
        tells_cas: bool,
    ) -> Result<(), Return> {
        let key = found.key.get(self.namespace().len()..);
        let key = key.unwrap_or(&found.key);
        let value = self.readable(found.value)?;
        if value.len() >= HANDED_OVER_BYTES_MIN && memory::is_c(self.handle) {
            result::adopt(into, key, value);
        } else {
            result::fill(into, key, &value)?;
        }
        into.item_flags = found.flags;
        into.item_cas = if tells_cas { found.cas } else { 0 };
        into.count += 1;
        Ok(())
    }

    /// The next value; null, and what is told says why, where there is none.
    ///
    /// # Safety
    /// The result is null or one of this library, and belongs to nobody else.
    unsafe fn fetch(
        &mut self,
        into: *mut ResultStructure,
        error: &mut Return,
    ) -> *mut ResultStructure {
        // SAFETY: as the caller promises; a result that is made is this function's own.
        unsafe {
            let into = if into.is_null() {
                result::create(self.raw())
            } else {
                into
            };
            let Some(given) = into.as_mut() else {
                *error = Return::MEMORY_ALLOCATION_FAILURE;
                return null_mut();
            };
            match self.fetch_next(given) {
                Ok(true) => {
                    *error = Return::SUCCESS;
                    return into;
                }
                Ok(false) => {
                    *error = if given.count > 0 {
                        Return::END
                    } else {
                        Return::NOTFOUND
                    }
                }
                Err(Return::FAILURE) if given.count == 0 => *error = Return::NOTFOUND,
                Err(code) => *error = code,
            }
            if result::is_allocated(given) {
                result::clear(given);
                memory::release(self.raw(), into.cast());
            } else {
                given.count = 0;
                result::reset(given);
            }
            null_mut()
        }
    }

    /// Calls the functions with each value that waits.
    ///
    /// # Safety
    /// The functions take the argument.
    unsafe fn fetch_execute(
        &mut self,
        functions: &[Option<ExecuteFunction>],
        argument: *mut c_void,
    ) -> Return {
        if self.handle.has(flags::USE_UDP) {
            return Return::NOT_SUPPORTED;
        }
        let mut failed = false;
        let mut error = Return::SUCCESS;
        let raw = self.raw();
        // SAFETY: the handle's own result is nobody else's while the handle is in use; the rest is
        // as the caller promises.
        unsafe {
            loop {
                let into = self.fetch(&raw mut (*raw).result, &mut error);
                if into.is_null() {
                    break;
                }
                for function in functions.iter().flatten() {
                    let outcome = function(raw, into, argument);
                    if outcome.is_failure() {
                        failed = true;
                        self.fail(outcome, "");
                        break;
                    }
                }
            }
        }
        match (failed, error.is_success()) {
            (true, _) => Return::SOME_ERRORS,
            (false, true) => Return::SUCCESS,
            (false, false) => error,
        }
    }
}

export! {
    /// The next value, which the caller frees, with its key: room for 250 bytes, no zero byte
    /// behind it.
    fn memcached_fetch(
        handle: *mut Handle,
        key: *mut c_char,
        key_length: *mut usize,
        length: *mut usize,
        flags: *mut u32,
        error: *mut Return,
    ) -> *mut c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let own = if handle.is_null() { null_mut() } else { unsafe { &raw mut (*handle).result } };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let result = unsafe { memcached_fetch_result(handle, own, error) };
        // SAFETY: it is the handle's own result, or null.
        let Some(result) = (unsafe { result.as_mut() }) else {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe {
                tell(length, 0);
                tell(key_length, 0);
                tell(flags, 0);
                tell(key, 0);
            }
            return null_mut();
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe {
            tell(length, result::length(&result.value));
            tell(flags, result.item_flags);
        }
        if !key.is_null() {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe {
                std::ptr::copy_nonoverlapping(result.item_key.as_ptr(), key, result.key_length);
                tell(key_length, result.key_length);
            }
        }
        result::take(result)
    }

    /// The next value in a result: the one that is given, or a new one, which the caller frees.
    fn memcached_fetch_result(
        handle: *mut Handle,
        result: *mut ResultStructure,
        error: *mut Return,
    ) -> *mut ResultStructure {
        let mut why = Return::INVALID_ARGUMENTS;
        // SAFETY: C's contract, as it stands at the top of the crate.
        let fetched = match unsafe { context(handle) } {
            Some(context) if context.handle.has(flags::USE_UDP) => {
                why = Return::NOT_SUPPORTED;
                null_mut()
            }
            // SAFETY: C's contract, as it stands at the top of the crate.
            Some(mut context) => unsafe { context.fetch(result, &mut why) },
            None => null_mut(),
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { tell(error, why) };
        fetched
    }

    /// Calls the functions with each value that waits.
    fn memcached_fetch_execute(
        handle: *mut Handle,
        functions: *mut Option<ExecuteFunction>,
        argument: *mut c_void,
        count: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { context.fetch_execute(list(functions, count), argument) }
    }
}
