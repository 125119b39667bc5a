//! The native methods: from Java's arguments to operations. `Native.java` says what they take.

use crate::carry_out::{Manner, submit, wait};
use crate::client::{Client, Failure, unregister};
use crate::finished::Shape;
use crate::machine;
use crate::memory::{Key, Memory, copy_out};
use crate::operation::{Operation, ServerOperation, StoreMode};
use farcache_capi::{Call, Status, farcache_status_text, farcache_version};
use jni::JNIEnv;
use jni::errors::Result;
use jni::objects::{JByteArray, JByteBuffer, JClass, JLongArray, JObject, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong, jobject, jstring};
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// A value in an array up to this size is copied as the operation begins; a larger one that is
/// sent while Java goes on is copied beforehand. The client copies values below its own limit,
/// which is the same by default, in any case.
const COPIED_BYTES_MAX: usize = 8 << 10;

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

/// The client that a handle stands for.
///
/// # Safety
/// Java counts its users, and closes it after the last one.
unsafe fn client<'a>(handle: jlong) -> &'a Client {
    // SAFETY: as the caller promises; made by `open`.
    unsafe { &*(handle as *const Client) }
}

/// The number that Java is told of a failure; its message is kept for `Native.message`.
pub fn refused(failure: Failure) -> i64 {
    MESSAGE.set(failure.message);
    -(failure.status as i64)
}

/// A number that Java has checked not to be negative.
pub fn unsigned(number: jint) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// What all operations are given.
struct Asked<'a, 'local> {
    handle: jlong,
    pending: JObject<'local>,
    timeout_us: jlong,
    outcome: &'a JLongArray<'local>,
}

impl Asked<'_, '_> {
    fn call(&self) -> Call {
        Call {
            timeout_us: u64::try_from(self.timeout_us).unwrap_or(0),
            ..Call::USUAL
        }
    }

    /// An operation without anything special.
    fn plainly(&self, shape: Shape) -> Manner {
        Manner {
            call: self.call(),
            shape,
            counts: false,
            value: Vec::new(),
        }
    }

    /// Carries an operation out. Java's numbers of the outcome are status, length of the value, CAS
    /// token, flags or number; of an operation that has only begun they are status and its number.
    ///
    /// # Safety
    /// As [`Operation::begin`]: what is lent stays as Java has promised.
    unsafe fn carry_out(
        &self,
        env: &mut JNIEnv,
        operation: &Operation<'_>,
        manner: Manner,
        items: Option<&JLongArray>,
    ) -> Result<jobject> {
        // SAFETY: Java uses it only while it is open.
        let client = unsafe { client(self.handle) };
        if !self.pending.is_null() {
            let pending = env.new_global_ref(&self.pending)?;
            // SAFETY: as the caller promises.
            let begun = unsafe { submit(client, operation, manner, pending) };
            let numbers = match begun {
                Ok(id) => [Status::Ok as i64, id.cast_signed()],
                Err(failure) => [-refused(failure), 0],
            };
            env.set_long_array_region(self.outcome, 0, &numbers)?;
            return Ok(null_mut());
        }
        // SAFETY: as the caller promises.
        let finished = match unsafe { wait(client, operation, &manner) } {
            Ok(finished) => finished,
            Err(failure) => {
                let numbers = [-refused(failure), 0, 0, 0];
                env.set_long_array_region(self.outcome, 0, &numbers)?;
                return Ok(null_mut());
            }
        };
        if finished.status != Status::Ok {
            MESSAGE.set(finished.message());
        }
        env.set_long_array_region(self.outcome, 0, &finished.numbers(manner.counts))?;
        let brought = finished.bring(env, manner.shape)?;
        if let Some(items) = items.filter(|_| !brought.items.is_null()) {
            let count = env.get_array_length(items)?;
            let mut numbers = vec![0; unsigned(count)];
            env.get_long_array_region(&brought.items, 0, &mut numbers)?;
            env.set_long_array_region(items, 0, &numbers)?;
        }
        Ok(brought.value.into_raw())
    }
}

/// `Native.open`: a handle, or less than 0 and a message.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_open<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    servers: JString<'local>,
    options: JObjectArray<'local>,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let servers = c_text(env, &servers)?;
        let count = env.get_array_length(&options)?;
        let mut texts = Vec::new();
        for index in 0..count {
            let text = JString::from(env.get_object_array_element(&options, index)?);
            texts.push(c_text(env, &text)?);
        }
        let (pairs, _) = texts.as_chunks();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|[name, value]| (name.as_c_str(), value.as_c_str()))
            .collect();
        Ok(match Client::open(&servers, &pairs) {
            Ok(client) => Box::into_raw(client) as jlong,
            Err(failure) => refused(failure),
        })
    })
}

/// A text of Java's for C, up to the first zero character.
pub fn c_text(env: &mut JNIEnv, text: &JString) -> Result<CString> {
    let text: String = env.get_string(text)?.into();
    let text = text.split('\0').next().unwrap_or_default();
    Ok(CString::new(text).expect("cut off before the first zero"))
}

/// `Native.close`: gives everything up that is under way, and frees the client.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_close<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
) {
    guarded(&mut env, (), |env| {
        // SAFETY: Java closes it once, after its last user.
        let client = unsafe { Box::from_raw(handle as *mut Client) };
        // SAFETY: the same; it is dropped here.
        let given_up = unsafe { client.close() };
        for pending in given_up {
            machine::tell_closed(env, &pending);
        }
        Ok(())
    });
}

/// `Native.giveUp`: whether the operation was under way.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_giveUp<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    id: jlong,
) -> jboolean {
    guarded(&mut env, 0, |_| {
        // SAFETY: Java uses it only while it is open.
        let claimed = unsafe { client(handle) }.claim(id.cast_unsigned());
        let was_under_way = claimed.is_some();
        if let Some(submission) = claimed {
            submission.give_up();
        }
        Ok(was_under_way.into())
    })
}

/// `Native.message`: why the last call of this thread failed.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_message<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
) -> jstring {
    guarded(&mut env, null_mut(), |env| {
        let message = MESSAGE.take();
        Ok(env.new_string(message)?.into_raw())
    })
}

/// `Native.statusText`: what a status means in general.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_statusText<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    status: jint,
) -> jstring {
    guarded(&mut env, null_mut(), |env| {
        // SAFETY: the library's text stays.
        let text = unsafe { crate::finished::text(farcache_status_text(status)) };
        Ok(env.new_string(text)?.into_raw())
    })
}

/// `Native.version`: libfarcache's.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_version<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
) -> jstring {
    guarded(&mut env, null_mut(), |env| {
        // SAFETY: the library's text stays.
        let text = unsafe { crate::finished::text(farcache_version()) };
        Ok(env.new_string(text)?.into_raw())
    })
}

/// `Native.servers`: how many there are.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_servers<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
) -> jint {
    guarded(&mut env, 0, |_| {
        // SAFETY: Java uses it only while it is open.
        let servers = unsafe { client(handle) }.servers();
        Ok(jint::try_from(servers).unwrap_or(jint::MAX))
    })
}

/// `Native.serverOfKey`: the server's number, or less than 0 and a message.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_serverOfKey<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    key: JByteArray<'local>,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let key = Key::of(env, &key)?;
        // SAFETY: Java uses it only while it is open.
        let server = unsafe { client(handle) }.server_of_key(&key);
        Ok(server.map_or_else(refused, |server| server as jlong))
    })
}

/// `Native.serverName`: how a server was given, or nothing.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_serverName<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    server: jint,
) -> jstring {
    guarded(&mut env, null_mut(), |env| {
        // SAFETY: Java uses it only while it is open.
        let name = unsafe { client(handle) }.server_name(unsigned(server));
        Ok(env.new_string(name)?.into_raw())
    })
}

/// `Native.lanes`: the fabric's networks towards a server, or nothing.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_lanes<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    server: jint,
) -> jstring {
    guarded(&mut env, null_mut(), |env| {
        // SAFETY: Java uses it only while it is open.
        let lanes = unsafe { client(handle) }.lanes(unsigned(server));
        Ok(env.new_string(lanes)?.into_raw())
    })
}

/// `Native.register`: a handle of the registration, or less than 0 and a message.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_register<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    handle: jlong,
    buffer: JByteBuffer<'local>,
    bytes: jint,
) -> jlong {
    guarded(&mut env, 0, |env| {
        let memory = Memory::of_buffer(env, &buffer, 0, unsigned(bytes))?;
        // SAFETY: Java uses it only while it is open, and keeps the buffer until `unregister`.
        let registered = unsafe { client(handle).register(memory) };
        Ok(registered.map_or_else(refused, |buffer| buffer as jlong))
    })
}

/// `Native.unregister`: whether no operation uses it any more.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_farcache_client_Native_unregister<'local>(
    mut env: JNIEnv<'local>,
    _class: JClass<'local>,
    registration: jlong,
) -> jboolean {
    guarded(&mut env, 0, |_| {
        // SAFETY: Java ends each registration once.
        let status = unsafe { unregister(registration as *mut _) };
        Ok((status == Status::Ok).into())
    })
}

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
    timeout_us: jlong,
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
            timeout_us,
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
    timeout_us: jlong,
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
            timeout_us,
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
    timeout_us: jlong,
    outcome: JLongArray<'local>,
) {
    guarded(&mut env, (), |env| {
        let key = Key::of(env, &key)?;
        let asked = Asked {
            handle,
            pending,
            timeout_us,
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
    timeout_us: jlong,
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
            timeout_us,
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
    timeout_us: jlong,
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
            timeout_us,
            outcome: &outcome,
        };
        // SAFETY: nothing is lent.
        unsafe { asked.carry_out(env, &operation, asked.plainly(shape), None) }
    })
}
