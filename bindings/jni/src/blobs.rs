//! The native methods of blobs: `NativeBlobs.java` says what they take.

use crate::client::{Client, Failure};
use crate::exports::{c_text, guarded, refused, unsigned};
use crate::memory::{Memory, copy_out};
use farcache_capi::{
    BlobPart, BlobReader, BlobSettings, BlobWriter, BlobsHandle, Status, farcache_blob_close,
    farcache_blob_create, farcache_blob_expire, farcache_blob_flush, farcache_blob_length,
    farcache_blob_open, farcache_blob_publish, farcache_blob_read, farcache_blob_read_parts,
    farcache_blob_reader_free, farcache_blob_remove, farcache_blob_servers, farcache_blob_write,
    farcache_blob_writer_free, farcache_blobs_free, farcache_blobs_new,
};
use jni::JNIEnv;
use jni::errors::Result;
use jni::objects::{JByteArray, JByteBuffer, JClass, JIntArray, JLongArray, JObjectArray, JString};
use jni::sys::{jint, jlong};
use std::ptr::null_mut;

/// An array is copied in pieces of this many bytes, which stay in the cache.
const PIECE_BYTES: usize = 256 << 10;

/// What Java calls the outcome of a call: 0 or more, or a status, negated.
fn told(status: Status, success: i64) -> jlong {
    match status {
        Status::Ok => success,
        status => refused(Failure::last(status)),
    }
}

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
        let status = unsafe {
            let client = &*(client as *const Client);
            farcache_blobs_new(client.raw, &settings, &mut blobs)
        };
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
        // SAFETY: as in `create`.
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

/// Copies bytes into an array.
fn copy_in(env: &JNIEnv, array: &JByteArray, at: jint, bytes: &[u8]) -> Result<()> {
    // SAFETY: bytes without a sign are bytes with one, of the same length.
    let signed = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<i8>(), bytes.len()) };
    env.set_byte_array_region(array, at, signed)
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

/// Where a part of a blob goes.
enum Room<'local> {
    Direct(Memory),
    /// Bytes that are copied into an array from a place on.
    Copied(Vec<u8>, JByteArray<'local>, jint),
}

impl<'local> Room<'local> {
    fn of(
        env: &JNIEnv<'local>,
        direct: JByteBuffer<'local>,
        array: JByteArray<'local>,
        [start, length]: [jint; 2],
    ) -> Result<Self> {
        if direct.is_null() {
            return Ok(Room::Copied(vec![0; unsigned(length)], array, start));
        }
        let memory = Memory::of_buffer(env, &direct, unsigned(start), unsigned(length))?;
        Ok(Room::Direct(memory))
    }

    fn part(&mut self, offset: u64) -> BlobPart {
        let memory = match self {
            Room::Direct(memory) => *memory,
            Room::Copied(bytes, ..) => Memory::of_vector(bytes),
        };
        BlobPart {
            offset,
            room: memory.start,
            room_bytes: memory.bytes,
        }
    }

    fn hand_over(&self, env: &JNIEnv) -> Result<()> {
        match self {
            Room::Direct(_) => Ok(()),
            Room::Copied(bytes, array, start) => copy_in(env, array, *start, bytes),
        }
    }
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
        // SAFETY: as in `create`.
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
        // SAFETY: as in `create`.
        let status =
            unsafe { farcache_blob_expire(blobs as *const BlobsHandle, name.as_ptr(), expiry_s) };
        Ok(told(status, 0))
    })
}
