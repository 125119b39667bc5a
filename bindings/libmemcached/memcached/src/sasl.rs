//! Setting names and passwords; `credentials` reads them.

use crate::arguments::{code, context, text};
use crate::context::Context;
use crate::credentials::*;
use farcache_client::Credentials;
use farcache_libmemcached_abi::{Behavior, Handle, Return};
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::mem::{offset_of, transmute};
use std::ptr::null_mut;

/// Callbacks of a list that this library makes, its end included.
const OWN_CALLBACKS: usize = 4;

/// The callback for a name that this library set: its context is the name.
unsafe extern "C" fn own_name(
    context: *mut c_void,
    _id: c_int,
    name: *mut *const c_char,
    length: *mut c_uint,
) -> c_int {
    if context.is_null() || name.is_null() {
        return SASL_BADPARAM;
    }
    // SAFETY: the context is a text of this library, the places are SASL's.
    unsafe {
        name.write(context.cast());
        let text = CStr::from_ptr(context.cast());
        crate::arguments::tell(length, text.count_bytes() as c_uint);
    }
    SASL_OK
}

/// The callback for a password that this library set: its context is the secret.
unsafe extern "C" fn own_password(
    _connection: *mut c_void,
    context: *mut c_void,
    _id: c_int,
    secret: *mut *mut Secret,
) -> c_int {
    if secret.is_null() {
        return SASL_BADPARAM;
    }
    // SAFETY: the place is SASL's.
    unsafe { secret.write(context.cast()) };
    SASL_OK
}

impl Context<'_> {
    fn set_sasl(&mut self, name: &CStr, password: &CStr) -> Result<(), Return> {
        self.set_behavior(Behavior::BINARY_PROTOCOL, 1)?;
        self.destroy_sasl();
        let name = name.to_owned().into_raw().cast();
        let secret = make_secret(password.to_bytes());
        if secret.is_null() {
            return Err(self.fail(Return::MEMORY_ALLOCATION_FAILURE, ""));
        }
        let callback = |id, function, context| SaslCallback {
            id,
            function,
            context,
        };
        // SAFETY: SASL casts its callbacks back to the type that their number stands for.
        let (own_name, own_password) = unsafe {
            (
                transmute::<NameFunction, unsafe extern "C" fn() -> c_int>(own_name),
                transmute::<PasswordFunction, unsafe extern "C" fn() -> c_int>(own_password),
            )
        };
        let list: [SaslCallback; OWN_CALLBACKS] = [
            callback(USER, Some(own_name), name),
            callback(AUTHNAME, Some(own_name), name),
            callback(PASS, Some(own_password), secret.cast()),
            callback(LIST_END, None, null_mut()),
        ];
        self.handle.sasl.callbacks = Box::into_raw(Box::new(list)).cast();
        self.handle.sasl.is_allocated = true;
        Ok(())
    }

    /// Forgets name and password; frees them where this library made them.
    pub(crate) fn destroy_sasl(&mut self) {
        let list = std::mem::replace(&mut self.handle.sasl.callbacks, null_mut());
        if std::mem::replace(&mut self.handle.sasl.is_allocated, false) && !list.is_null() {
            // SAFETY: `set_sasl` made all three, and nothing else points to them.
            unsafe {
                let list = Box::from_raw(list.cast::<[SaslCallback; OWN_CALLBACKS]>());
                drop(std::ffi::CString::from_raw(list[0].context.cast()));
                libc::free(list[2].context);
            }
        }
    }

    /// Takes over another handle's name and password, or the application's callbacks.
    pub(crate) fn copy_sasl(&mut self, from: &Context<'_>) -> Result<(), Return> {
        if !from.handle.sasl.is_allocated {
            self.handle.sasl = from.handle.sasl;
            return Ok(());
        }
        let Some(Credentials { user, password }) = from.credentials() else {
            return Ok(());
        };
        let text = |text: String| std::ffi::CString::new(text).map_err(|_| Return::FAILURE);
        self.set_sasl(&text(user)?, &text(password)?)
    }
}

/// A secret in C's memory; null where there is none.
fn make_secret(password: &[u8]) -> *mut Secret {
    // SAFETY: calloc takes any numbers; the memory has room for the length, the password and a zero
    // byte.
    unsafe {
        let secret: *mut Secret = libc::calloc(1, size_of::<Secret>() + password.len() + 1).cast();
        if !secret.is_null() {
            (*secret).length = password.len() as c_ulong;
            let data = secret.cast::<u8>().add(offset_of!(Secret, data));
            std::ptr::copy_nonoverlapping(password.as_ptr(), data, password.len());
        }
        secret
    }
}

export! {
    /// Sets the application's SASL callbacks, which must stay where they are.
    fn memcached_set_sasl_callbacks(handle: *mut Handle, callbacks: *const c_void) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(handle) = unsafe { handle.as_mut() } {
            handle.sasl.callbacks = callbacks.cast_mut();
            handle.sasl.is_allocated = false;
        }
    }

    /// The SASL callbacks that are set.
    fn memcached_get_sasl_callbacks(handle: *mut Handle) -> *mut c_void {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { handle.as_ref() }.map_or(null_mut(), |handle| handle.sasl.callbacks)
    }

    /// Sets name and password, and the binary protocol, which they need.
    fn memcached_set_sasl_auth_data(
        handle: *mut Handle,
        name: *const c_char,
        password: *const c_char,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let (Some(mut context), Some(name), Some(password)) =
            (unsafe { (context(handle), text(name), text(password)) })
        else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.set_sasl(name, password))
    }

    /// Forgets name and password.
    fn memcached_destroy_sasl_auth_data(handle: *mut Handle) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        context.destroy_sasl();
        Return::SUCCESS
    }
}
