//! The handle, and what it knows of its servers.

use crate::arguments::{bytes, reference, reference_mut, text};
use crate::options::Options;
use crate::registrations::Registrations;
use crate::status::{Failure, Status, status_of};
use farcache_client::Client;
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A client of one or several servers; any number of threads may use it at the same time.
pub struct ClientHandle {
    pub(crate) state: Arc<ClientState>,
    /// Keeps the progress thread, which so has ended once the client is freed.
    _owner: Client,
}

/// What requests and buffers keep of their client.
pub struct ClientState {
    pub client: Client,
    pub registrations: Registrations,
    /// Multi-gets under way.
    pub multi_gets: AtomicUsize,
}

fn create(servers: &str, options: Option<&Options>) -> Result<ClientHandle, Failure> {
    let options = match options {
        Some(options) => options.with_environment(),
        None => Options::default().with_environment(),
    }?;
    let config = options.config(servers)?;
    let client = Client::new(&config).map_err(|error| Failure::from(&error))?;
    let state = ClientState {
        client: client.without_progress_thread(),
        registrations: Registrations::default(),
        multi_gets: AtomicUsize::new(0),
    };
    Ok(ClientHandle {
        state: Arc::new(state),
        _owner: client,
    })
}

/// Makes a client of these servers, separated by commas: "host", "host:port", "[IPv6]:port", or the
/// path of a unix socket. Nothing is connected before the first operation. options may be null. To
/// be freed with farcache_client_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_client_new(
    servers: *const c_char,
    options: *const Options,
    client: *mut *mut ClientHandle,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((text(servers)?, options.as_ref(), reference_mut(client)?)) };
    status_of(arguments().and_then(|(servers, options, place)| {
        *place = std::ptr::null_mut();
        *place = Box::into_raw(Box::new(create(servers, options)?));
        Ok(Status::Ok)
    }))
}

/// Frees a client, and ends its progress thread; where that is inside of a callback, this waits for
/// it. Requests and buffers stay valid and keep what they need; requests then move on only while
/// they are tested or waited for. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_client_free(client: *mut ClientHandle) {
    if !client.is_null() {
        // SAFETY: C's contract; made by `farcache_client_new`.
        drop(unsafe { Box::from_raw(client) });
    }
}

/// Sends what has been submitted, takes in what has arrived, and calls the callbacks of what is
/// complete. Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_progress(client: *const ClientHandle) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    status_of(unsafe { reference(client) }.map(|client| {
        client.state.client.progress();
        Status::Ok
    }))
}

/// How many servers there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_servers(client: *const ClientHandle) -> usize {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let client = unsafe { client.as_ref() };
    client.map_or(0, |client| client.state.client.servers().len())
}

/// The number of the server on which a key lives, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_server_of_key(
    client: *const ClientHandle,
    key: *const c_void,
    key_bytes: usize,
    server: *mut usize,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe {
        Ok((
            reference(client)?,
            bytes(key, key_bytes)?,
            reference_mut(server)?,
        ))
    };
    status_of(arguments().and_then(|(client, key, place)| {
        let none = || Failure::new(Status::NoServers, "there are no servers");
        *place = client.state.client.server_of_key(key).ok_or_else(none)?;
        Ok(Status::Ok)
    }))
}

/// The number of the server of this name, as it was given to farcache_client_new: host:port, with
/// the port also where it was left out, or the path of a unix socket. Numbers follow the list and
/// change with it; names do not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_server_named(
    client: *const ClientHandle,
    name: *const c_char,
    server: *mut usize,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe { Ok((reference(client)?, text(name)?, reference_mut(server)?)) };
    status_of(arguments().and_then(|(client, name, place)| {
        let message = format!("there is no server of the name {name}");
        let found = client.state.client.server_named(name);
        *place = found.ok_or_else(|| Failure::new(Status::InvalidArguments, &message))?;
        Ok(Status::Ok)
    }))
}

/// Writes the name of a server; nothing for a number that none has. As with snprintf the text is
/// cut off to fit into room_bytes, zero byte included, and its whole length is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_server_name(
    client: *const ClientHandle,
    server: usize,
    room: *mut c_char,
    room_bytes: usize,
) -> usize {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let client = unsafe { client.as_ref() };
    let servers = client.map(|client| client.state.client.servers());
    let named = servers.as_ref().and_then(|servers| servers.get(server));
    let name = named.map(ToString::to_string).unwrap_or_default();
    // SAFETY: C's contract, as it stands at the top of the crate.
    unsafe { write_cut_off(&name, room, room_bytes) }
}

/// Writes a text and a zero byte into C's memory, cut off to fit; returns the text's length.
///
/// # Safety
/// The room is null or has that many bytes.
unsafe fn write_cut_off(text: &str, room: *mut c_char, room_bytes: usize) -> usize {
    if !room.is_null() && room_bytes > 0 {
        let fitting = text.len().min(room_bytes - 1);
        // SAFETY: the caller's promise: the room has `room_bytes` bytes, and `fitting` is less.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), room.cast(), fitting);
            room.add(fitting).write(0);
        }
    }
    text.len()
}

/// Writes by which networks of the fabric a server is reached now; nothing where it is reached by a
/// socket or not at all. As with snprintf the text is cut off to fit into room_bytes, zero byte
/// included, and its whole length is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_lanes(
    client: *const ClientHandle,
    server: usize,
    room: *mut c_char,
    room_bytes: usize,
) -> usize {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let Some(client) = (unsafe { client.as_ref() }) else {
        return 0;
    };
    let client = &client.state.client;
    let lanes = match server < client.servers().len() {
        true => client.lanes(server).unwrap_or_default(),
        false => String::new(),
    };
    // SAFETY: C's contract, as it stands at the top of the crate.
    unsafe { write_cut_off(&lanes, room, room_bytes) }
}
