//! The boundary between Java and Rust: panics, failures, texts and numbers.

use crate::client::Failure;
use jni::JNIEnv;
use jni::errors::Result;
use jni::objects::JString;
use jni::sys::jint;
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Why the last call of this thread failed.
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a native method; a panic becomes an exception of Java's, as does an error of the machine's
/// that has left none pending.
pub fn guarded<T>(
    env: &mut JNIEnv,
    otherwise: T,
    method: impl FnOnce(&mut JNIEnv) -> Result<T>,
) -> T {
    match catch_unwind(AssertUnwindSafe(|| method(env))) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            if !env.exception_check().unwrap_or(true) {
                let _ = env.throw_new("java/lang/IllegalStateException", error.to_string());
            }
            otherwise
        }
        Err(_) => {
            let _ = env.throw_new("java/lang/IllegalStateException", "a panic in farcache_jni");
            otherwise
        }
    }
}

/// The number that Java is told of a failure; its message is kept for `Native.message`.
pub fn refused(failure: Failure) -> i64 {
    MESSAGE.set(failure.message);
    -(failure.status as i64)
}

/// Keeps the reason of a failure of which Java is told the number.
pub fn keep_message(message: String) {
    MESSAGE.set(message);
}

/// Why the last call of this thread failed; told once.
pub fn take_message() -> String {
    MESSAGE.take()
}

/// A number that Java has checked not to be negative.
pub fn unsigned(number: jint) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// A text of Java's for C, up to the first zero character.
pub fn c_text(env: &mut JNIEnv, text: &JString) -> Result<CString> {
    let text: String = env.get_string(text)?.into();
    let text = text.split('\0').next().unwrap_or_default();
    Ok(CString::new(text).expect("cut off before the first zero"))
}
