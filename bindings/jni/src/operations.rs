//! The native methods that are operations on keys and servers. `Native.java` says what they take.

use crate::asked::Asked;
use crate::boundary::{c_text, guarded, unsigned};
use crate::finished::Shape;
use crate::memory::{Key, Memory, copy_out};
use crate::operation::{Operation, ServerOperation, StoreMode};
use jni::JNIEnv;
use jni::objects::{JByteArray, JByteBuffer, JClass, JLongArray, JObject, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong, jobject};
use std::ptr::null_mut;

/// A value in an array up to this size is copied as the operation begins; a larger one that is
/// sent while Java goes on is copied beforehand. The client copies values below its own limit,
/// which is the same by default, in any case.
const COPIED_BYTES_MAX: usize = 8 << 10;

/// `Native.get`: an array, or null where there is room or no value.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_get<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    pending: JObject<'local>,
    key: JByteArray<'local>,
    touch: jlong,
    room: JByteBuffer<'local>,
    offset: jint,
    bytes: jint,
    outcome: JLongArray<'local>,
) -> jobject {
    guarded(&mut env, null_mut(), |env| {
        let key = Key::of(env, &key)?;
        let (room, shape) = match room.is_null() {
            true => (Memory::NONE, Shape::Array),
            false => {
                let (offset, bytes) = (unsigned(offset), unsigned(bytes));
                (Memory::of_buffer(env, &room, offset, bytes)?, Shape::None)
            }
        };
        let asked = Asked {
            handle,
            pending,
            outcome: &outcome,
        };
        let operation = Operation::Get {
            key: &key,
            touch: u32::try_from(touch).ok(),
            room,
        };
        // SAFETY: Java keeps the buffer, and nobody uses it meanwhile.
        unsafe { asked.carry_out(env, &operation, asked.plainly(shape), None) }
    })
}

/// `Native.getMany`: an array for each key, null where it is absent.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_getMany<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    pending: JObject<'local>,
    keys: JObjectArray<'local>,
    outcome: JLongArray<'local>,
    items: JLongArray<'local>,
) -> jobject {
    guarded(&mut env, null_mut(), |env| {
        let count = env.get_array_length(&keys)?;
        let mut copies = Vec::with_capacity(unsigned(count));
        for index in 0..count {
            let key = JByteArray::from(env.get_object_array_element(&keys, index)?);
            copies.push(Key::of(env, &key)?);
            env.delete_local_ref(key)?;
        }
        let asked = Asked {
            handle,
            pending,
            outcome: &outcome,
        };
        let operation = Operation::GetMany(&copies);
        let manner = asked.plainly(Shape::Arrays);
        // SAFETY: nothing is lent.
        unsafe { asked.carry_out(env, &operation, manner, Some(&items)) }
    })
}

/// `Native.store`: from an array or, where there is one, from a direct buffer.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_store<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    pending: JObject<'local>,
    mode: jint,
    key: JByteArray<'local>,
    array: JByteArray<'local>,
    buffer: JByteBuffer<'local>,
    offset: jint,
    bytes: jint,
    expiry_s: jint,
    flags: jint,
    cas: jlong,
    outcome: JLongArray<'local>,
) {
    guarded(&mut env, (), |env| {
        let key = Key::of(env, &key)?;
        let asked = Asked {
            handle,
            pending,
            outcome: &outcome,
        };
        let mut manner = asked.plainly(Shape::None);
        manner.call.flags = flags.cast_unsigned();
        manner.call.cas = cas.cast_unsigned();
        let value = match buffer.is_null() {
            false => Memory::of_buffer(env, &buffer, unsigned(offset), unsigned(bytes))?,
            true => {
                manner.value = copy_out(env, &array, offset, unsigned(bytes));
                manner.call.copies_value = u32::from(manner.value.len() <= COPIED_BYTES_MAX);
                Memory::of_vector(&mut manner.value)
            }
        };
        let operation = Operation::Store {
            mode: StoreMode::of(mode),
            key: &key,
            value,
            expiry_s: expiry_s.cast_unsigned(),
        };
        // SAFETY: Java keeps the buffer, and a copy of the array is kept until it is stored.
        unsafe { asked.carry_out(env, &operation, manner, None)? };
        Ok(())
    });
}

/// `Native.change`: an operation on a key without a value.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_change<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    pending: JObject<'local>,
    kind: jint,
    key: JByteArray<'local>,
    delta: jlong,
    initial: jlong,
    has_initial: jboolean,
    expiry_s: jint,
    cas: jlong,
    outcome: JLongArray<'local>,
) {
    guarded(&mut env, (), |env| {
        let key = &Key::of(env, &key)?;
        let expiry_s = expiry_s.cast_unsigned();
        let operation = match kind {
            0 => Operation::Touch { key, expiry_s },
            1 => Operation::Delete(key),
            _ => Operation::Count {
                key,
                down: kind == 3,
                delta: delta.cast_unsigned(),
                initial: (has_initial != 0).then(|| initial.cast_unsigned()),
                expiry_s,
            },
        };
        let asked = Asked {
            handle,
            pending,
            outcome: &outcome,
        };
        let mut manner = asked.plainly(Shape::None);
        manner.counts = kind >= 2;
        manner.call.cas = cas.cast_unsigned();
        // SAFETY: nothing is lent.
        unsafe { asked.carry_out(env, &operation, manner, None)? };
        Ok(())
    });
}

/// `Native.ask`: what one server is asked or told; texts.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_ask<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    pending: JObject<'local>,
    kind: jint,
    server: jint,
    group: JString<'local>,
    delay_s: jint,
    outcome: JLongArray<'local>,
) -> jobject {
    guarded(&mut env, null_mut(), |env| {
        let (what, shape) = match kind {
            0 => (ServerOperation::Version, Shape::Text),
            1 => (ServerOperation::Noop, Shape::None),
            2 => (ServerOperation::Flush(delay_s.cast_unsigned()), Shape::None),
            _ if group.is_null() => (ServerOperation::Statistics(None), Shape::Texts),
            _ => {
                let group = Some(c_text(env, &group)?);
                (ServerOperation::Statistics(group), Shape::Texts)
            }
        };
        let server = unsigned(server);
        let operation = Operation::Server { server, what };
        let asked = Asked {
            handle,
            pending,
            outcome: &outcome,
        };
        // SAFETY: nothing is lent.
        unsafe { asked.carry_out(env, &operation, asked.plainly(shape), None) }
    })
}
