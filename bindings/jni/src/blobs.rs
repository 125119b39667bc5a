//! The native methods of a client's blobs: `NativeBlobs.java` says what they take.

use crate::boundary::{c_text, guarded, refused, unsigned};
use crate::client::{Client, Failure};
use farcache_capi::{
    BlobSettings, BlobsHandle, Status, farcache_blob_expire, farcache_blob_remove,
    farcache_blobs_free, farcache_blobs_new,
};
use jni::JNIEnv;
use jni::objects::{JClass, JString};
use jni::sys::{jint, jlong};
use std::ptr::null_mut;

/// What Java calls the outcome of a call: 0 or more, or a status, negated.
pub fn told(status: Status, success: i64) -> jlong {
    match status {
        Status::Ok => success,
        status => refused(Failure::last(status)),
    }
}

/// Bytes of an array that are copied at a time: they stay in the cache.
pub const PIECE_BYTES: usize = 256 << 10;

/// `NativeBlobs.open`: blobs of a client.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_open<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    client: jlong,
    chunk_bytes: jint,
    window_bytes: jlong,
    in_flight_bytes_max: jlong,
    patience_ms: jlong,
) -> jlong {
    guarded(&mut env, 0, |_| {
        let settings = BlobSettings {
            chunk_bytes: unsigned(chunk_bytes),
            window_bytes: usize::try_from(window_bytes).unwrap_or(0),
            in_flight_bytes_max: usize::try_from(in_flight_bytes_max).unwrap_or(0),
            patience_ms: u64::try_from(patience_ms).unwrap_or(0),
        };
        let mut blobs: *mut BlobsHandle = null_mut();
        // SAFETY: Java uses the client only while it is open.
        let status = unsafe { farcache_blobs_new(Client::of(client).raw, &settings, &mut blobs) };
        Ok(told(status, blobs as i64))
    })
}

/// `NativeBlobs.free`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_free<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    blobs: jlong,
) {
    guarded(&mut env, (), |_| {
        // SAFETY: Java frees it once, and does not use it again.
        unsafe { farcache_blobs_free(blobs as *mut BlobsHandle) };
        Ok(())
    });
}

/// `NativeBlobs.remove`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_remove<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    blobs: jlong,
    name: JString<'local>,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let name = c_text(env, &name)?;
        // SAFETY: Java uses the handle only while it is open.
        let status = unsafe { farcache_blob_remove(blobs as *const BlobsHandle, name.as_ptr()) };
        Ok(told(status, 0))
    })
}

/// `NativeBlobs.expire`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_expire<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    blobs: jlong,
    name: JString<'local>,
    expiry_s: jint,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let name = c_text(env, &name)?;
        let expiry_s = u32::try_from(expiry_s).unwrap_or(0);
        // SAFETY: Java uses the handle only while it is open.
        let status =
            unsafe { farcache_blob_expire(blobs as *const BlobsHandle, name.as_ptr(), expiry_s) };
        Ok(told(status, 0))
    })
}
