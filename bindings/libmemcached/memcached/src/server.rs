//! A handle's servers.

use crate::arguments::{bytes, code, context, list, tell, text};
use crate::context::Context;
use crate::distribution::is_consistent;
use crate::instance::{Instance, is_valid_name};
use farcache_libmemcached_abi::{Connection, DEFAULT_PORT, Handle, Return};
use std::ffi::{CStr, c_char, c_void};

/// `memcached_server_fn`: called with each server.
type ServerFunction =
    unsafe extern "C" fn(*const Handle, *const Instance, context: *mut c_void) -> Return;

impl Context<'_> {
    fn push(&mut self, hostname: &CStr, port: u16, weight: u32, kind: Connection) {
        self.handle.server_version = self.handle.server_version.wrapping_add(1);
        let version = self.handle.server_version;
        let server = Instance::new(hostname, port, weight.max(1), kind, version);
        self.state.servers.push(Box::new(server));
    }

    /// Adds a server of a list or of another handle: without a look at the distribution.
    pub(crate) fn push_weighted(
        &mut self,
        hostname: &CStr,
        port: u16,
        weight: u32,
        kind: Connection,
    ) {
        self.push(hostname, port, weight, kind);
        if weight > 1 {
            self.handle.ketama.weighted = true;
        }
    }

    pub(crate) fn push_servers_of(&mut self, other: &Context<'_>) {
        for server in &other.state.servers {
            self.push_weighted(&server.hostname, server.port, server.weight, server.kind);
        }
    }

    pub(crate) fn add_host(
        &mut self,
        host: Option<&CStr>,
        port: u16,
        weight: u32,
    ) -> Result<(), Return> {
        let host = host.filter(|host| !host.is_empty()).unwrap_or(c"localhost");
        if !is_valid_name(host) {
            return Err(self.fail(Return::INVALID_ARGUMENTS, "Invalid hostname provided"));
        }
        let port = if port == 0 { DEFAULT_PORT } else { port };
        let kind = match host.to_bytes()[0] {
            b'/' => Connection::UNIX_SOCKET,
            _ => Connection::TCP,
        };
        self.add(host, port, weight, kind);
        Ok(())
    }

    pub(crate) fn add_socket(&mut self, path: Option<&CStr>, weight: u32) -> Result<(), Return> {
        let Some(path) = path.filter(|path| !path.is_empty() && is_valid_name(path)) else {
            let what = "Invalid filename for socket provided";
            return Err(self.fail(Return::INVALID_ARGUMENTS, what));
        };
        self.add(path, 0, weight, Connection::UNIX_SOCKET);
        Ok(())
    }

    fn add(&mut self, name: &CStr, port: u16, weight: u32, kind: Connection) {
        self.push(name, port, weight, kind);
        if weight > 1 && is_consistent(self.handle.distribution) {
            self.handle.ketama.weighted = true;
        }
        self.run_distribution();
    }

    pub(crate) fn remove_servers(&mut self) {
        self.state.servers.clear();
        self.state.ring = None;
        self.state.last_disconnected = None;
        self.handle.last_disconnected_server = std::ptr::null_mut();
        self.servers_changed();
    }
}

fn known(server: *const Instance) -> Option<&'static Instance> {
    // SAFETY: the exported functions that call this have it from C, which has it from this library.
    unsafe { server.as_ref() }
}

export! {
    /// Adds a server.
    fn memcached_server_add(handle: *mut Handle, host: *const c_char, port: u16) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        code(context.add_host(unsafe { text(host) }, port, 0))
    }

    /// Adds a server with a weight.
    fn memcached_server_add_with_weight(
        handle: *mut Handle,
        host: *const c_char,
        port: u16,
        weight: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        code(context.add_host(unsafe { text(host) }, port, weight))
    }

    /// Adds a server at a unix socket.
    fn memcached_server_add_unix_socket(handle: *mut Handle, path: *const c_char) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::FAILURE;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        code(context.add_socket(unsafe { text(path) }, 0))
    }

    /// Adds a server at a unix socket with a weight.
    fn memcached_server_add_unix_socket_with_weight(
        handle: *mut Handle,
        path: *const c_char,
        weight: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::FAILURE;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        code(context.add_socket(unsafe { text(path) }, weight))
    }

    /// libmemcached has given UDP up: MEMCACHED_DEPRECATED.
    fn memcached_server_add_udp(handle: *mut Handle, _host: *const c_char, _port: u16) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        context.fail(Return::DEPRECATED, "")
    }

    /// libmemcached has given UDP up: MEMCACHED_DEPRECATED.
    fn memcached_server_add_udp_with_weight(
        handle: *mut Handle,
        _host: *const c_char,
        _port: u16,
        _weight: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        context.fail(Return::DEPRECATED, "")
    }

    /// Adds the servers of another handle.
    fn memcached_push(to: *mut Handle, from: *const Handle) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(from) = (unsafe { context(from) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut to) = (unsafe { context(to) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        if !from.state.servers.is_empty() {
            to.push_servers_of(&from);
            to.run_distribution();
        }
        Return::SUCCESS
    }

    /// Removes all servers.
    fn memcached_servers_reset(handle: *mut Handle) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(mut context) = unsafe { context(handle) } {
            context.remove_servers();
        }
    }

    /// Forgets which server was lost last.
    fn memcached_reset_last_disconnected_server(handle: *mut Handle) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(context) = unsafe { context(handle) } {
            context.handle.last_disconnected_server = std::ptr::null_mut();
            context.state.last_disconnected = None;
        }
    }

    /// The server that was lost last, or null.
    fn memcached_server_get_last_disconnect(handle: *const Handle) -> *const Instance {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let last = unsafe { handle.as_ref() }.map(|handle| handle.last_disconnected_server);
        last.map_or(std::ptr::null(), |last| last.cast_const().cast())
    }

    /// How many servers there are.
    fn memcached_server_count(handle: *const Handle) -> u32 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { handle.as_ref() }.map_or(0, |handle| handle.number_of_hosts)
    }

    /// The server with this index; null where there is none.
    fn memcached_server_instance_by_position(handle: *const Handle, index: u32) -> *const Instance {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(context) = (unsafe { context(handle) }) else {
            return std::ptr::null();
        };
        let server = context.state.servers.get(index as usize);
        server.map_or(std::ptr::null(), |server| &raw const **server)
    }

    /// The server on which a key lives.
    fn memcached_server_by_key(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        error: *mut Return,
    ) -> *const Instance {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, Return::INVALID_ARGUMENTS) };
            return std::ptr::null();
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let key = unsafe { bytes(key, key_length) };
        let is_empty = context.state.servers.is_empty();
        let checked = if is_empty { Err(Return::NO_SERVERS) } else { context.check_key(key) };
        if let Err(why) = checked {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, why) };
            return std::ptr::null();
        }
        let server = context.server_of_key(key);
        context.state.servers.get(server).map_or(std::ptr::null(), |server| &raw const **server)
    }

    /// Calls the functions with each server.
    fn memcached_server_cursor(
        handle: *const Handle,
        functions: *const Option<ServerFunction>,
        argument: *mut c_void,
        count: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        if context.state.servers.is_empty() {
            return Return::NO_SERVERS;
        }
        // SAFETY: C's contract, as it stands at the top of the crate.
        let functions = unsafe { list(functions, count) };
        let mut failed = false;
        for server in 0..context.state.servers.len() {
            for function in functions.iter().flatten() {
                // An earlier function may have removed it.
                let Some(server) = context.state.servers.get(server) else { break };
                // SAFETY: C's contract, as it stands at the top of the crate.
                failed |= unsafe { function(handle, &raw const **server, argument) }.is_failure();
            }
        }
        if failed { Return::SOME_ERRORS } else { Return::SUCCESS }
    }

    /// Answers of this server that are due: none between two calls.
    fn memcached_server_response_count(_server: *const Instance) -> u32 {
        0
    }

    /// The server's name, or the path of its socket.
    fn memcached_server_name(server: *const Instance) -> *const c_char {
        known(server).map_or(std::ptr::null(), |server| server.hostname.as_ptr())
    }

    /// The server's port.
    fn memcached_server_port(server: *const Instance) -> u16 {
        known(server).map_or(0, |server| server.port)
    }

    /// The port of this end of the connection, which this library does not tell: 0, as without a
    /// connection.
    fn memcached_server_srcport(_server: *const Instance) -> u16 {
        0
    }

    /// Does not use the server before this time.
    fn memcached_instance_next_retry(server: *const Instance, time: libc::time_t) {
        if let Some(server) = known(server) {
            server.next_retry.set(time);
        }
    }

    /// TCP, UDP or SOCKET.
    fn memcached_server_type(server: *const Instance) -> *const c_char {
        let kind = known(server).map(|server| server.kind);
        match kind {
            Some(Connection::TCP) => c"TCP",
            Some(Connection::UDP) => c"UDP",
            Some(Connection::UNIX_SOCKET) => c"SOCKET",
            _ => c"UNKNOWN",
        }
        .as_ptr()
    }

    /// First number of the server's version; 255 while it is unknown.
    fn memcached_server_major_version(server: *const Instance) -> u8 {
        known(server).map_or(u8::MAX, |server| server.program[0])
    }

    /// Second number of the server's version.
    fn memcached_server_minor_version(server: *const Instance) -> u8 {
        known(server).map_or(u8::MAX, |server| server.program[1])
    }

    /// Third number of the server's version.
    fn memcached_server_micro_version(server: *const Instance) -> u8 {
        known(server).map_or(u8::MAX, |server| server.program[2])
    }
}
