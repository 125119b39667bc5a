//! An error that is remembered.

use farcache_libmemcached_abi::{Handle, Return};
use std::ffi::{CString, c_int};

/// Where libmemcached names its source file and line.
const AT: &str = "farcache";

/// An error of one query.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) code: Return,
    /// The system's error number, or 0.
    pub(crate) errno: c_int,
    pub(crate) message: CString,
    /// The query that failed.
    query: u64,
}

impl Record {
    /// Of a handle's query that is under way.
    pub(crate) fn new(handle: &Handle, code: Return, errno: c_int, what: &str) -> Record {
        Record {
            code,
            errno,
            message: message(handle, code, errno, what),
            query: handle.query_id,
        }
    }

    /// Whether both are of one query.
    pub(crate) fn is_with(&self, other: &Record) -> bool {
        self.query == other.query
    }
}

/// The text that `memcached_last_error_message` returns, in libmemcached's form.
fn message(handle: *const Handle, code: Return, errno: c_int, what: &str) -> CString {
    let name = code.text().to_string_lossy();
    let text = match (code, errno, what) {
        (Return::CLIENT_ERROR, _, what) => format!("({handle:p}) {what}"),
        (Return::PARSE_ERROR, 0, what) if !what.is_empty() => {
            format!("({handle:p}) {what} -> {AT}")
        }
        (_, 0, "") => format!("({handle:p}) {name} -> {AT}"),
        (_, 0, what) => format!("({handle:p}) {name}, {what} -> {AT}"),
        (_, errno, what) => {
            let system = std::io::Error::from_raw_os_error(errno).to_string();
            let system = system.split(" (os error").next().unwrap_or_default();
            format!("({handle:p}) {name}({system}), {what} -> {AT}")
        }
    };
    let mut bytes = text.into_bytes();
    bytes.retain(|&byte| byte != 0);
    CString::new(bytes).unwrap_or_default()
}
