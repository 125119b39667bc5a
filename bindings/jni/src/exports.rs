//! The native methods of a client as such. `Native.java` says what they take.

use crate::boundary::{c_text, guarded, refused, take_message, unsigned};
use crate::client::{Client, unregister};
use crate::machine;
use crate::memory::{Key, Memory};
use farcache_capi::{Status, farcache_status_text, farcache_version};
use jni::JNIEnv;
use jni::objects::{JByteArray, JByteBuffer, JClass, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong, jstring};
use std::ptr::null_mut;

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
        let claimed = unsafe { Client::of(handle) }.claim(id.cast_unsigned());
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
        let message = take_message();
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
        let servers = unsafe { Client::of(handle) }.servers();
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
        let server = unsafe { Client::of(handle) }.server_of_key(&key);
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
        let name = unsafe { Client::of(handle) }.server_name(unsigned(server));
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
        let lanes = unsafe { Client::of(handle) }.lanes(unsigned(server));
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
        let registered = unsafe { Client::of(handle).register(memory) };
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
