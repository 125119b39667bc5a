//! Where one of several parts of a blob is read to.

use crate::boundary::unsigned;
use crate::memory::{Memory, copy_in};
use farcache_capi::BlobPart;
use jni::JNIEnv;
use jni::errors::Result;
use jni::objects::{JByteArray, JByteBuffer};
use jni::sys::jint;

/// Where a part of a blob goes.
pub enum Room<'local> {
    Direct(Memory),
    /// Bytes that are copied into an array from a place on.
    Copied(Vec<u8>, JByteArray<'local>, jint),
}

impl<'local> Room<'local> {
    /// A direct buffer, or an array from a place on where there is none.
    pub fn of(
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

    /// The part of the blob from this offset on, that goes here.
    pub fn part(&mut self, offset: u64) -> BlobPart {
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

    /// Gives Java what has been read.
    pub fn hand_over(&self, env: &JNIEnv) -> Result<()> {
        match self {
            Room::Direct(_) => Ok(()),
            Room::Copied(bytes, array, start) => copy_in(env, array, *start, bytes),
        }
    }
}
