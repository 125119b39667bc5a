//! What a handle keeps for the application or calls.

use crate::arguments::{code, context, tell, text};
use crate::context::Context;
use farcache_libmemcached_abi::{
    Callback, CleanupFunction, CloneFunction, DeleteFunction, Handle, MissFunction,
    NAMESPACE_ROOM_BYTES, Return, flags,
};
use std::ffi::{CStr, CString, c_void};
use std::mem::transmute;

impl Context<'_> {
    /// Sets what goes before every key; `None` for nothing.
    pub(crate) fn set_namespace(&mut self, namespace: Option<&CStr>) -> Result<(), Return> {
        let Some(namespace) = namespace else {
            self.state.namespace = None;
            return Ok(());
        };
        let bytes = namespace.to_bytes();
        if bytes.is_empty() {
            let what = "Invalid namespace, namespace string had value but length was 0";
            return Err(self.fail(Return::INVALID_ARGUMENTS, what));
        }
        self.check_key_length(bytes)?;
        if !self.is_binary() {
            self.check_key_characters(bytes)?;
        }
        if bytes.len() >= NAMESPACE_ROOM_BYTES {
            return Err(self.fail(Return::KEY_TOO_BIG, ""));
        }
        self.state.namespace = Some(CString::from(namespace));
        Ok(())
    }

    pub(crate) fn check_delete_trigger(&mut self) -> Result<(), Return> {
        if self.handle.has(flags::BUFFER_REQUESTS) {
            let what = "Delete triggers cannot be used if buffering is enabled";
            return Err(self.fail(Return::INVALID_ARGUMENTS, what));
        }
        if !self.handle.has(flags::REPLY) {
            let what = "Delete triggers cannot be used if MEMCACHED_BEHAVIOR_NOREPLY is set";
            return Err(self.fail(Return::INVALID_ARGUMENTS, what));
        }
        Ok(())
    }

    /// # Safety
    /// The data is what the callback takes: a text, anything, or a function of the right type; or
    /// null.
    unsafe fn set_callback(
        &mut self,
        callback: Callback,
        data: *const c_void,
    ) -> Result<(), Return> {
        // SAFETY: as the caller promises; a null pointer is `None` of a function.
        unsafe {
            match callback {
                Callback::PREFIX_KEY => self.set_namespace(text(data.cast()))?,
                Callback::USER_DATA => self.handle.user_data = data.cast_mut(),
                Callback::CLEANUP_FUNCTION => {
                    self.handle.on_cleanup =
                        transmute::<*const c_void, Option<CleanupFunction>>(data)
                }
                Callback::CLONE_FUNCTION => {
                    self.handle.on_clone = transmute::<*const c_void, Option<CloneFunction>>(data)
                }
                Callback::GET_FAILURE => {
                    self.handle.get_key_failure =
                        transmute::<*const c_void, Option<MissFunction>>(data)
                }
                Callback::DELETE_TRIGGER => {
                    if !data.is_null() {
                        self.check_delete_trigger()?;
                    }
                    self.handle.delete_trigger =
                        transmute::<*const c_void, Option<DeleteFunction>>(data);
                }
                Callback::MAX => {
                    return Err(self.fail(Return::INVALID_ARGUMENTS, "Invalid callback supplied"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn callback(&self, callback: Callback) -> *mut c_void {
        let handle = &self.handle;
        match callback {
            Callback::USER_DATA => handle.user_data,
            Callback::CLEANUP_FUNCTION => {
                address(handle.on_cleanup.map(|function| function as *mut c_void))
            }
            Callback::CLONE_FUNCTION => {
                address(handle.on_clone.map(|function| function as *mut c_void))
            }
            Callback::GET_FAILURE => address(
                handle
                    .get_key_failure
                    .map(|function| function as *mut c_void),
            ),
            Callback::DELETE_TRIGGER => address(
                handle
                    .delete_trigger
                    .map(|function| function as *mut c_void),
            ),
            _ => std::ptr::null_mut(),
        }
    }
}

fn address(function: Option<*mut c_void>) -> *mut c_void {
    function.unwrap_or(std::ptr::null_mut())
}

export! {
    /// Sets the namespace, the application's pointer, or a function that is called.
    fn memcached_callback_set(handle: *mut Handle, callback: Callback, data: *const c_void) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        code(unsafe { context.set_callback(callback, data) })
    }

    /// What is set; MEMCACHED_FAILURE where nothing is, except of the namespace.
    fn memcached_callback_get(handle: *mut Handle, callback: Callback, error: *mut Return) -> *mut c_void {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(context) = (unsafe { context(handle) }) else {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, Return::INVALID_ARGUMENTS) };
            return std::ptr::null_mut();
        };
        if callback == Callback::PREFIX_KEY {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, Return::SUCCESS) };
            let namespace = context.state.namespace.as_ref();
            return namespace.map_or(std::ptr::null_mut(), |namespace| namespace.as_ptr().cast_mut().cast());
        }
        let found = context.callback(callback);
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { tell(error, if found.is_null() { Return::FAILURE } else { Return::SUCCESS }) };
        found
    }
}
