//! Questions to single servers, each with a handle of its own.

use crate::library::{self, ServerFunction, tell};
use farcache_libmemcached_abi::{Handle, Return, ServerStructure};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

/// A handle with one server, which ends with this value.
struct Asker(*mut Handle);

impl Asker {
    /// # Safety
    /// The texts end with a zero byte or are null.
    unsafe fn new(host: *const c_char, port: u16) -> Result<Self, Return> {
        // SAFETY: as the caller promises.
        unsafe {
            let handle = library::memcached_create(null_mut());
            if handle.is_null() {
                return Err(Return::MEMORY_ALLOCATION_FAILURE);
            }
            let asker = Asker(handle);
            match library::memcached_server_add(handle, host, port) {
                code if code.is_success() => Ok(asker),
                code => Err(code),
            }
        }
    }

    /// # Safety
    /// As [`Asker::new`].
    unsafe fn authenticated(
        host: *const c_char,
        port: u16,
        name: *const c_char,
        password: *const c_char,
    ) -> Result<Self, Return> {
        // SAFETY: as the caller promises.
        unsafe {
            let asker = Self::new(host, port)?;
            if name.is_null() || *name == 0 {
                return Ok(asker);
            }
            match library::memcached_set_sasl_auth_data(asker.0, name, password) {
                code if code.is_success() => Ok(asker),
                code => Err(code),
            }
        }
    }

    fn ping(&self) -> Return {
        // SAFETY: the handle is this value's own.
        self.plainly(unsafe { library::memcached_version(self.0) })
    }

    /// What became of the one server, where the handle says no more than that there were errors.
    fn plainly(&self, code: Return) -> Return {
        if code != Return::SOME_ERRORS {
            return code;
        }
        // SAFETY: the handle is this value's own.
        unsafe {
            let server = library::memcached_server_instance_by_position(self.0, 0);
            library::memcached_server_error_return(server)
        }
    }

    fn pid(&self) -> (libc::pid_t, Return) {
        let mut error = Return::SUCCESS;
        // SAFETY: the handle is this value's own, and has one server.
        unsafe {
            let statistics = library::memcached_stat(self.0, null_mut(), &mut error);
            let pid = statistics.as_ref().map_or(-1, |statistics| statistics.pid);
            library::memcached_stat_free(self.0, statistics);
            (
                if error.is_success() { pid } else { -1 },
                self.plainly(error),
            )
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own.
        unsafe { library::memcached_free(self.0) };
    }
}

fn answered(outcome: Result<Return, Return>) -> (bool, Return) {
    let code = outcome.unwrap_or_else(|code| code);
    (code.is_success(), code)
}

/// Whether the server answers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libmemcached_util_ping(
    host: *const c_char,
    port: u16,
    error: *mut Return,
) -> bool {
    // SAFETY: C's contract.
    unsafe { libmemcached_util_ping2(host, port, null(), null(), error) }
}

/// Whether the server answers to this name and password.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libmemcached_util_ping2(
    host: *const c_char,
    port: u16,
    name: *const c_char,
    password: *const c_char,
    error: *mut Return,
) -> bool {
    // SAFETY: C's contract.
    unsafe {
        let asker = Asker::authenticated(host, port, name, password);
        let (is_there, code) = answered(asker.map(|asker| asker.ping()));
        tell(error, code);
        is_there
    }
}

/// Drops every item of the server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libmemcached_util_flush(
    host: *const c_char,
    port: u16,
    error: *mut Return,
) -> bool {
    // SAFETY: C's contract.
    unsafe {
        let asker = Asker::new(host, port);
        let (is_done, code) = answered(asker.map(|asker| library::memcached_flush(asker.0, 0)));
        tell(error, code);
        is_done
    }
}

/// The server's process; -1 where it does not say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libmemcached_util_getpid(
    host: *const c_char,
    port: u16,
    error: *mut Return,
) -> libc::pid_t {
    // SAFETY: C's contract.
    unsafe { libmemcached_util_getpid2(host, port, null(), null(), error) }
}

/// The server's process, asked with name and password; -1 where it does not say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libmemcached_util_getpid2(
    host: *const c_char,
    port: u16,
    name: *const c_char,
    password: *const c_char,
    error: *mut Return,
) -> libc::pid_t {
    // SAFETY: C's contract.
    unsafe {
        let asker = Asker::authenticated(host, port, name, password);
        let (pid, code) = asker.map_or_else(|code| (-1, code), |asker| asker.pid());
        tell(error, code);
        pid
    }
}

/// Looks whether a server is at least of the version in the context; clears it where not.
unsafe extern "C" fn compare(
    _handle: *const Handle,
    server: *const ServerStructure,
    context: *mut c_void,
) -> Return {
    // SAFETY: the server is libmemcached's, the context is what `libmemcached_util_version_check`
    // passes.
    unsafe {
        let wanted = &mut *context.cast::<Option<[u8; 3]>>();
        let version = [
            library::memcached_server_major_version(server),
            library::memcached_server_minor_version(server),
            library::memcached_server_micro_version(server),
        ];
        if wanted.is_some_and(|wanted| version[0] == u8::MAX || version < wanted) {
            *wanted = None;
        }
    }
    Return::SUCCESS
}

/// Whether every server is at least of this version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libmemcached_util_version_check(
    handle: *mut Handle,
    major: u8,
    minor: u8,
    micro: u8,
) -> bool {
    // SAFETY: C's contract.
    unsafe {
        if library::memcached_version(handle) != Return::SUCCESS {
            return false;
        }
        let mut wanted = Some([major, minor, micro]);
        let functions: [ServerFunction; 1] = [compare];
        let context = (&raw mut wanted).cast();
        library::memcached_server_cursor(handle, functions.as_ptr(), context, 1);
        wanted.is_some()
    }
}
