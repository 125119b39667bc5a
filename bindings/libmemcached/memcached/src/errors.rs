//! What went wrong: kept with the handle, and with the server where it was one.

use crate::arguments::context;
use crate::context::Context;
use crate::instance::Instance;
use crate::record::Record;
use farcache_libmemcached_abi::{Handle, Return};
use std::ffi::{CStr, c_char, c_int};

impl Context<'_> {
    /// Remembers a failure, unless it is a server's ordinary answer; returns its code.
    pub(crate) fn fail(&mut self, code: Return, what: &str) -> Return {
        self.remember(code, 0, what);
        code
    }

    /// Remembers a failure of a server; returns its code.
    pub(crate) fn fail_at(&mut self, server: usize, code: Return, what: &str) -> Return {
        self.fail_with_at(server, code, 0, what)
    }

    /// Remembers a failure of a server with the system's error number, or 0; returns its code.
    pub(crate) fn fail_with_at(
        &mut self,
        server: usize,
        code: Return,
        errno: c_int,
        what: &str,
    ) -> Return {
        // The application's functions, called in between, may have removed it.
        let Some(failed) = self.state.servers.get(server) else {
            return self.fail(code, what);
        };
        let what = match what {
            "" => format!(" {}", failed.address_text()),
            what => format!("{what},  {}", failed.address_text()),
        };
        if self.remember(code, errno, &what) {
            self.state.servers[server].error = self.state.errors.last().cloned();
        }
        code
    }

    /// Remembers a failure of the system.
    pub(crate) fn fail_with(&mut self, code: Return, error: &std::io::Error, what: &str) -> Return {
        self.remember(code, error.raw_os_error().unwrap_or(0), what);
        code
    }

    fn remember(&mut self, code: Return, errno: c_int, what: &str) -> bool {
        if !code.is_fatal() && code != Return::CLIENT_ERROR {
            return false;
        }
        let record = Record::new(self.handle, code, errno, what);
        let errors = &mut self.state.errors;
        if errors.last().is_some_and(|last| !last.is_with(&record)) {
            errors.clear();
        }
        errors.push(record);
        true
    }
}

fn last_message(context: Option<Context<'_>>) -> *const c_char {
    let Some(context) = context else {
        return Return::INVALID_ARGUMENTS.text().as_ptr();
    };
    let last = context.state.errors.last();
    last.map_or(Return::SUCCESS.text().as_ptr(), |last| {
        last.message.as_ptr()
    })
}

export! {
    /// The last error as a text; valid until the next call.
    fn memcached_error(handle: *const Handle) -> *const c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        last_message(unsafe { context(handle) })
    }

    /// As `memcached_error`.
    fn memcached_last_error_message(handle: *const Handle) -> *const c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        last_message(unsafe { context(handle) })
    }

    /// Prints all errors that are remembered to standard error.
    fn memcached_error_print(handle: *const Handle) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(context) = (unsafe { context(handle) }) else { return };
        let of_servers = context.state.servers.iter().filter_map(|server| server.error.as_ref());
        for record in context.state.errors.iter().rev().chain(of_servers) {
            let name = record.code.text().to_string_lossy();
            eprintln!("\t{name} {}", record.message.to_string_lossy());
        }
    }

    /// The code of the last error.
    fn memcached_last_error(handle: *const Handle) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        context.state.errors.last().map_or(Return::SUCCESS, |last| last.code)
    }

    /// The system's error number of the last error, or 0.
    fn memcached_last_error_errno(handle: *const Handle) -> c_int {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let context = unsafe { context(handle) };
        let last = context.and_then(|context| context.state.errors.last().cloned());
        last.map_or(0, |last| last.errno)
    }

    /// A server's last error as a text.
    fn memcached_server_error(server: *const Instance) -> *const c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(server) = (unsafe { server.as_ref() }) else {
            return std::ptr::null();
        };
        let text: &CStr = match &server.error {
            Some(error) => &error.message,
            None => Return::SUCCESS.text(),
        };
        text.as_ptr()
    }

    /// The code of a server's last error.
    fn memcached_server_error_return(server: *const Instance) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(server) = (unsafe { server.as_ref() }) else {
            return Return::INVALID_ARGUMENTS;
        };
        server.error.as_ref().map_or(Return::SUCCESS, |error| error.code)
    }
}
