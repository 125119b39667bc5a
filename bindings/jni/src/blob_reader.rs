//! The native methods of a reader of a blob: `NativeBlobs.java` says what they take.

use crate::blob_room::Room;
use crate::blobs::{PIECE_BYTES, told};
use crate::boundary::{c_text, guarded, unsigned};
use crate::memory::{Memory, copy_in};
use farcache_capi::{
    BlobPart, BlobReader, BlobsHandle, Status, farcache_blob_length, farcache_blob_open,
    farcache_blob_read, farcache_blob_read_parts, farcache_blob_reader_free, farcache_blob_servers,
    farcache_blob_unbuffer,
};
use jni::JNIEnv;
use jni::objects::{JByteArray, JByteBuffer, JClass, JIntArray, JLongArray, JObjectArray, JString};
use jni::sys::{jint, jlong};
use std::ptr::null_mut;

/// `NativeBlobs.openReader`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_openReader<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    blobs: jlong,
    name: JString<'local>,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let name = c_text(env, &name)?;
        let mut reader: *mut BlobReader = null_mut();
        // SAFETY: Java uses the handle only while it is open.
        let status =
            unsafe { farcache_blob_open(blobs as *const BlobsHandle, name.as_ptr(), &mut reader) };
        Ok(told(status, reader as i64))
    })
}

/// `NativeBlobs.length`, in bytes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_length<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    reader: jlong,
) -> jlong {
    guarded(&mut env, 0, |_| {
        // SAFETY: as in `read`.
        let bytes = unsafe { farcache_blob_length(reader as *const BlobReader) };
        Ok(jlong::try_from(bytes).unwrap_or(jlong::MAX))
    })
}

/// `NativeBlobs.servers`: how many bytes of a stretch each server has.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_servers<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    reader: jlong,
    offset: jlong,
    bytes: jlong,
    room: JLongArray<'local>,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let mut told = vec![0u64; unsigned(env.get_array_length(&room)?)];
        let (offset, bytes) = (offset.cast_unsigned(), bytes.cast_unsigned());
        // SAFETY: as in `read`; the numbers are this call's.
        let status = unsafe {
            let reader = reader as *const BlobReader;
            farcache_blob_servers(reader, offset, bytes, told.as_mut_ptr(), told.len())
        };
        let told: Vec<jlong> = told.into_iter().map(u64::cast_signed).collect();
        env.set_long_array_region(&room, 0, &told)?;
        Ok(self::told(status, 0))
    })
}

/// Reads into this memory; how many bytes.
///
/// # Safety
/// The memory is there, and nobody else uses it meanwhile; Java uses the reader only while it is
/// open, in one thread at a time.
unsafe fn read(reader: jlong, offset: jlong, memory: Memory) -> std::result::Result<usize, jlong> {
    let reader = reader as *mut BlobReader;
    let (offset, mut read) = (offset.cast_unsigned(), 0);
    // SAFETY: as the caller promises.
    let status =
        unsafe { farcache_blob_read(reader, offset, memory.start, memory.bytes, &mut read) };
    match status {
        Status::Ok => Ok(read),
        status => Err(told(status, 0)),
    }
}

/// `NativeBlobs.read`: into a part of an array; how many bytes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_read<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    reader: jlong,
    offset: jlong,
    array: JByteArray<'local>,
    start: jint,
    bytes: jint,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let wanted = unsigned(bytes);
        let mut room = vec![0u8; wanted.min(PIECE_BYTES)];
        let mut done = 0;
        while done < wanted {
            let length = room.len().min(wanted - done);
            let memory = Memory::of_vector(&mut room[..length]);
            let from = offset + done as i64;
            // SAFETY: the room is this call's; as Java promises.
            let read = match unsafe { read(reader, from, memory) } {
                Ok(read) => read,
                Err(status) => return Ok(status),
            };
            if read == 0 {
                break;
            }
            let at = jint::try_from(unsigned(start) + done).expect("within an array");
            copy_in(env, &array, at, &room[..read])?;
            done += read;
        }
        Ok(done as i64)
    })
}

/// `NativeBlobs.readDirect`: into a part of a direct buffer; how many bytes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_readDirect<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    reader: jlong,
    offset: jlong,
    buffer: JByteBuffer<'local>,
    start: jint,
    bytes: jint,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let memory = Memory::of_buffer(env, &buffer, unsigned(start), unsigned(bytes))?;
        // SAFETY: the caller keeps the buffer, and Java promises the rest.
        let read = unsafe { read(reader, offset, memory) };
        Ok(read.map_or_else(|status| status, |read| read as i64))
    })
}

/// `NativeBlobs.readAll`: into direct buffers and, where there is none, into arrays; how many
/// bytes.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_readAll<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    reader: jlong,
    positions: JLongArray<'local>,
    directs: JObjectArray<'local>,
    arrays: JObjectArray<'local>,
    starts_and_lengths: JIntArray<'local>,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let count = unsigned(env.get_array_length(&positions)?);
        let mut offsets = vec![0i64; count];
        env.get_long_array_region(&positions, 0, &mut offsets)?;
        let mut places = vec![0i32; 2 * count];
        env.get_int_array_region(&starts_and_lengths, 0, &mut places)?;
        let mut rooms = Vec::with_capacity(count);
        for (index, place) in (0..).zip(places.chunks_exact(2)) {
            let direct = env.get_object_array_element(&directs, index)?;
            let array = env.get_object_array_element(&arrays, index)?;
            rooms.push(Room::of(
                env,
                direct.into(),
                array.into(),
                [place[0], place[1]],
            )?);
        }
        let part = |(room, offset): (&mut Room, &i64)| room.part(offset.cast_unsigned());
        let parts: Vec<BlobPart> = rooms.iter_mut().zip(&offsets).map(part).collect();
        let mut read = 0;
        // SAFETY: Java uses the reader only while it is open, in one thread at a time; its buffers
        // are kept by the caller, and Java promises that they do not overlap.
        let status = unsafe {
            let reader = reader as *mut BlobReader;
            farcache_blob_read_parts(reader, parts.as_ptr(), parts.len(), &mut read)
        };
        if status != Status::Ok {
            return Ok(told(status, 0));
        }
        for room in &rooms {
            room.hand_over(env)?;
        }
        Ok(jlong::try_from(read).unwrap_or(jlong::MAX))
    })
}

/// `NativeBlobs.unbuffer`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_unbuffer<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    reader: jlong,
) -> jlong {
    guarded(&mut env, 0, |_| {
        // SAFETY: as in `read`.
        Ok(told(
            unsafe { farcache_blob_unbuffer(reader as *mut BlobReader) },
            0,
        ))
    })
}

/// `NativeBlobs.freeReader`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_NativeBlobs_freeReader<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    reader: jlong,
) {
    guarded(&mut env, (), |_| {
        // SAFETY: Java frees it once, and does not use it again.
        unsafe { farcache_blob_reader_free(reader as *mut BlobReader) };
        Ok(())
    });
}
