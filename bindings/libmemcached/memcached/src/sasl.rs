//! Names and passwords. libmemcached passes Cyrus SASL's callbacks on to that library; here they
//! are called once, for name and password, and the client speaks the mechanism PLAIN itself.

use crate::arguments::{code, context, text};
use crate::context::Context;
use farcache_client::Credentials;
use farcache_libmemcached_abi::{Behavior, Handle, Return};
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::mem::{offset_of, transmute};
use std::ptr::null_mut;

/// `sasl_callback_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SaslCallback {
    id: c_ulong,
    function: Option<unsafe extern "C" fn() -> c_int>,
    context: *mut c_void,
}

/// `sasl_secret_t`; the text goes on behind it.
#[repr(C)]
struct Secret {
    length: c_ulong,
    data: [u8; 1],
}

const LIST_END: c_ulong = 0;
const USER: c_ulong = 0x4001;
const AUTHNAME: c_ulong = 0x4002;
const PASS: c_ulong = 0x4004;
const SASL_OK: c_int = 0;
const SASL_BADPARAM: c_int = -7;
/// Callbacks of a list that this library makes, its end included.
const OWN_CALLBACKS: usize = 4;

type NameFunction =
    unsafe extern "C" fn(*mut c_void, c_int, *mut *const c_char, *mut c_uint) -> c_int;
type PasswordFunction =
    unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *mut *mut Secret) -> c_int;

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

/// The callbacks of a list, without its end.
///
/// # Safety
/// The list is null or ends with a callback of the number 0.
unsafe fn listed<'a>(list: *const SaslCallback) -> &'a [SaslCallback] {
    if list.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe {
        let mut count = 0;
        while (*list.add(count)).id != LIST_END {
            count += 1;
        }
        std::slice::from_raw_parts(list, count)
    }
}

/// Asks for the name.
fn name(callback: &SaslCallback) -> Option<String> {
    let (mut start, mut length) = (std::ptr::null(), c_uint::MAX);
    // SAFETY: SASL's callbacks for names have this type; what they say is a text, of the length
    // that they may say.
    unsafe {
        let function: NameFunction = transmute(callback.function?);
        let outcome = function(
            callback.context,
            callback.id as c_int,
            &mut start,
            &mut length,
        );
        let name = (outcome == SASL_OK).then(|| text(start)).flatten()?;
        Some(name.to_string_lossy().into_owned())
    }
}

/// Asks for the password.
fn password(callback: &SaslCallback) -> Option<String> {
    let mut secret = null_mut();
    // Applications' functions look whether there is a connection, and at nothing of it.
    let mut connection = 0_usize;
    // SAFETY: SASL's callbacks for passwords have this type; the secret has as many bytes as it
    // says.
    unsafe {
        let function: PasswordFunction = transmute(callback.function?);
        let connection = (&raw mut connection).cast();
        let outcome = function(
            connection,
            callback.context,
            callback.id as c_int,
            &mut secret,
        );
        let length = (outcome == SASL_OK)
            .then_some(secret.as_ref())
            .flatten()?
            .length;
        let data = secret.cast::<c_char>().add(offset_of!(Secret, data));
        let bytes = crate::arguments::bytes(data, length as usize);
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl Context<'_> {
    fn sasl_callbacks(&self) -> &[SaslCallback] {
        // SAFETY: the list is the application's, which says how it ends, or this library's.
        unsafe { listed(self.handle.sasl.callbacks.cast()) }
    }

    /// Name and password, where callbacks are set that tell both.
    pub(crate) fn credentials(&self) -> Option<Credentials> {
        let callbacks = self.sasl_callbacks();
        let of = |id| callbacks.iter().find(move |callback| callback.id == id);
        let user = of(AUTHNAME).or_else(|| of(USER)).and_then(name)?;
        let password = of(PASS).and_then(password)?;
        Some(Credentials { user, password })
    }

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
