//! Keys, arrays and buffers of Java's.

use jni::JNIEnv;
use jni::errors::Result;
use jni::objects::{JByteArray, JByteBuffer};
use jni::sys::{jint, jsize};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The longest key, in bytes: memcached's limit.
const KEY_BYTES_MAX: usize = 250;

/// A key, copied out of its array.
pub struct Key {
    bytes: [i8; KEY_BYTES_MAX],
    length: usize,
}

impl Key {
    /// Reads a key.
    ///
    /// # Errors
    /// It is longer than any key may be, which Java has looked at before; or no array.
    pub fn of(env: &JNIEnv, array: &JByteArray) -> jni::errors::Result<Self> {
        let mut key = Key {
            bytes: [0; KEY_BYTES_MAX],
            length: 0,
        };
        key.length = usize::try_from(env.get_array_length(array)?).unwrap_or(0);
        let room = key.bytes.get_mut(..key.length);
        let too_long = jni::errors::Error::JavaException;
        env.get_byte_array_region(array, 0, room.ok_or(too_long)?)?;
        Ok(key)
    }

    /// Where it begins.
    pub fn start(&self) -> *const c_void {
        self.bytes.as_ptr().cast()
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.length
    }
}

/// Memory that an operation is lent, or reads while it begins.
#[derive(Clone, Copy)]
pub struct Memory {
    /// The first byte; null where there is none.
    pub start: *mut c_void,
    /// How many there are.
    pub bytes: usize,
}

impl Memory {
    /// No memory.
    pub const NONE: Memory = Memory {
        start: null_mut(),
        bytes: 0,
    };

    /// A vector's.
    pub fn of_vector(vector: &mut [u8]) -> Self {
        Memory {
            start: vector.as_mut_ptr().cast(),
            bytes: vector.len(),
        }
    }

    /// A part of a direct buffer, which Java has checked to lie in it.
    ///
    /// # Errors
    /// It is no direct buffer.
    pub fn of_buffer(
        env: &JNIEnv,
        buffer: &JByteBuffer,
        offset: usize,
        bytes: usize,
    ) -> jni::errors::Result<Self> {
        let start = env.get_direct_buffer_address(buffer)?;
        Ok(Memory {
            start: start.wrapping_add(offset).cast(),
            bytes,
        })
    }
}

/// Copies a part of an array, which Java has checked to lie in it. Nothing is prepared before it is
/// written.
pub fn copy_out(env: &JNIEnv, array: &JByteArray, offset: jsize, length: usize) -> Vec<u8> {
    let mut copy = Vec::<u8>::with_capacity(length);
    let raw = env.get_raw();
    // SAFETY: the interface's function exists since JNI 1.1, the array is one of Java's with so
    // many bytes behind the offset, and the vector has room for them; they are written before the
    // length says so. Were the part not in the array, an exception would be left pending, and
    // nothing be written: the length stays 0 then.
    unsafe {
        let region = (**raw).GetByteArrayRegion.expect("JNI 1.1");
        let bytes = jsize::try_from(length).expect("the length of a part of an array");
        region(raw, array.as_raw(), offset, bytes, copy.as_mut_ptr().cast());
        if !env.exception_check().unwrap_or(true) {
            copy.set_len(length);
        }
    }
    copy
}

/// Copies bytes into an array.
pub fn copy_in(env: &JNIEnv, array: &JByteArray, at: jint, bytes: &[u8]) -> Result<()> {
    // SAFETY: bytes without a sign are bytes with one, of the same length.
    let signed = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<i8>(), bytes.len()) };
    env.set_byte_array_region(array, at, signed)
}
