//! The native methods of a writer of a blob: `NativeBlobs.java` says what they take.

use crate::blobs::{PIECE_BYTES, told};
use crate::boundary::{c_text, guarded, unsigned};
use crate::memory::{Memory, copy_out};
use farcache_capi::{
    BlobWriter, BlobsHandle, Status, farcache_blob_close, farcache_blob_create,
    farcache_blob_flush, farcache_blob_publish, farcache_blob_write, farcache_blob_writer_free,
};
use jni::JNIEnv;
use jni::objects::{JByteArray, JByteBuffer, JClass, JString};
use jni::sys::{jint, jlong};
use std::ptr::null_mut;

/// `NativeBlobs.create`: a writer.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_create<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    blobs: jlong,
    name: JString<'local>,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let name = c_text(env, &name)?;
        let mut writer: *mut BlobWriter = null_mut();
        // SAFETY: Java uses the handle only while it is open.
        let status = unsafe {
            farcache_blob_create(blobs as *const BlobsHandle, name.as_ptr(), &mut writer)
        };
        Ok(told(status, writer as i64))
    })
}

/// `NativeBlobs.write`: a part of an array.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_write<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    writer: jlong,
    array: JByteArray<'local>,
    offset: jint,
    bytes: jint,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let (start, bytes) = (unsigned(offset), unsigned(bytes));
        for begin in (0..bytes).step_by(PIECE_BYTES) {
            let length = PIECE_BYTES.min(bytes - begin);
            let at = jint::try_from(start + begin).expect("within an array");
            let piece = copy_out(env, &array, at, length);
            // SAFETY: Java uses the writer only while it is open, in one thread at a time; the
            // piece is copied before this returns.
            let status = unsafe {
                let writer = writer as *mut BlobWriter;
                farcache_blob_write(writer, piece.as_ptr().cast(), piece.len())
            };
            if status != Status::Ok {
                return Ok(told(status, 0));
            }
        }
        Ok(0)
    })
}

/// `NativeBlobs.writeDirect`: a part of a direct buffer.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_writeDirect<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    writer: jlong,
    buffer: JByteBuffer<'local>,
    offset: jint,
    bytes: jint,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let memory = Memory::of_buffer(env, &buffer, unsigned(offset), unsigned(bytes))?;
        // SAFETY: as in `write`; the caller keeps the buffer.
        let status =
            unsafe { farcache_blob_write(writer as *mut BlobWriter, memory.start, memory.bytes) };
        Ok(told(status, 0))
    })
}

/// `NativeBlobs.flush`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_flush<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    writer: jlong,
) -> jlong {
    guarded(&mut env, 0, |_| {
        // SAFETY: as in `write`.
        let status = unsafe { farcache_blob_flush(writer as *mut BlobWriter) };
        Ok(told(status, 0))
    })
}

/// `NativeBlobs.publish`: what has been written so far is there.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_publish<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    writer: jlong,
) -> jlong {
    guarded(&mut env, 0, |_| {
        // SAFETY: as in `write`.
        let status = unsafe { farcache_blob_publish(writer as *mut BlobWriter) };
        Ok(told(status, 0))
    })
}

/// `NativeBlobs.closeWriter`: stores the rest and the manifest.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_closeWriter<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    writer: jlong,
) -> jlong {
    guarded(&mut env, 0, |_| {
        // SAFETY: as in `write`.
        let status = unsafe { farcache_blob_close(writer as *mut BlobWriter) };
        Ok(told(status, 0))
    })
}

/// `NativeBlobs.freeWriter`: one that was not closed removes what it has stored.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_freeWriter<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    writer: jlong,
) {
    guarded(&mut env, (), |_| {
        // SAFETY: Java frees it once, and does not use it again.
        unsafe { farcache_blob_writer_free(writer as *mut BlobWriter) };
        Ok(())
    });
}
