//! Texts that describe a libmemcached handle: whatever they say, they are refused or make a handle,
//! always the same way.
#![no_main]

use farcache_fuzz_libhashkit as _;
use farcache_fuzz_libmemcached as _;
use libfuzzer_sys::fuzz_target;
use std::ffi::{c_char, c_uint, c_void};

unsafe extern "C" {
    fn libmemcached_check_configuration(
        text: *const c_char,
        length: usize,
        error: *mut c_char,
        error_room: usize,
    ) -> c_uint;
    fn memcached(text: *const c_char, length: usize) -> *mut c_void;
    fn memcached_free(handle: *mut c_void);
}

/// `MEMCACHED_SUCCESS`.
const SUCCESS: c_uint = 0;

/// Room for the reason of a refusal.
const ERROR_BYTES: usize = 64;

/// Options that name files: what these hold is nobody's input.
const FILES: [&[u8]; 2] = [b"INCLUDE", b"CONFIGURE-FILE"];

fuzz_target!(|text: &[u8]| {
    let upper = text.to_ascii_uppercase();
    let names_a_file = |word: &&[u8]| upper.windows(word.len()).any(|window| window == *word);
    if text.is_empty() || FILES.iter().any(names_a_file) {
        return;
    }
    let first = check(text);
    assert_eq!(first, check(text));
    // SAFETY: the text has as many bytes as its length says; the handle is freed once.
    unsafe {
        let handle = memcached(text.as_ptr().cast(), text.len());
        assert_eq!(handle.is_null(), first.0 != SUCCESS);
        memcached_free(handle);
    }
});

/// How the text is judged, and the reason up to its end.
fn check(text: &[u8]) -> (c_uint, Vec<u8>) {
    let mut error = [b'#'; ERROR_BYTES];
    // SAFETY: both have as many bytes as is said.
    let code = unsafe {
        let place = error.as_mut_ptr().cast();
        libmemcached_check_configuration(text.as_ptr().cast(), text.len(), place, ERROR_BYTES)
    };
    let end = error.iter().position(|&byte| byte == 0);
    let end = end.expect("the reason ends");
    // An address in the message differs from handle to handle.
    let reason = error[..end].rsplit(|&byte| byte == b')').next();
    (code, reason.unwrap_or_default().to_vec())
}
