//! Name and password, as the application's SASL callbacks tell them. libmemcached passes Cyrus
//! SASL's callbacks on to that library; here they are called once, and the client speaks the
//! mechanism PLAIN itself.

use crate::arguments::text;
use crate::context::Context;
use farcache_client::Credentials;
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::mem::{offset_of, transmute};
use std::ptr::null_mut;

/// `sasl_callback_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct SaslCallback {
    pub(crate) id: c_ulong,
    pub(crate) function: Option<unsafe extern "C" fn() -> c_int>,
    pub(crate) context: *mut c_void,
}

/// `sasl_secret_t`; the text goes on behind it.
#[repr(C)]
pub(crate) struct Secret {
    pub(crate) length: c_ulong,
    pub(crate) data: [u8; 1],
}

pub(crate) const LIST_END: c_ulong = 0;
pub(crate) const USER: c_ulong = 0x4001;
pub(crate) const AUTHNAME: c_ulong = 0x4002;
pub(crate) const PASS: c_ulong = 0x4004;
pub(crate) const SASL_OK: c_int = 0;
pub(crate) const SASL_BADPARAM: c_int = -7;

pub(crate) type NameFunction =
    unsafe extern "C" fn(*mut c_void, c_int, *mut *const c_char, *mut c_uint) -> c_int;
pub(crate) type PasswordFunction =
    unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *mut *mut Secret) -> c_int;

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
}
