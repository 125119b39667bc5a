//! How calls end.

use farcache_client::Error;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

/// How a call or an operation ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what was asked.
    Ok = 0,
    /// The operation is not complete.
    InProgress = 1,
    /// There is no such key.
    NotFound = 2,
    /// The condition for storing did not hold: appending to a key that is absent, say.
    NotStored = 3,
    /// The key is there already, or its item has another CAS token.
    Exists = 4,
    /// The value is larger than the server takes.
    TooLarge = 5,
    /// The server has no memory for it.
    OutOfMemory = 6,
    /// The value to count with is not a number.
    NotNumeric = 7,
    /// The value does not fit into the room that was given for it, which is unchanged.
    BufferTooSmall = 8,
    /// The key is empty or longer than 250 bytes.
    InvalidKey = 9,
    /// The call makes no sense.
    InvalidArguments = 10,
    /// No answer in time. Whether it was carried out is unknown.
    Timeout = 11,
    /// The server has failed lately and is not tried again yet. Nothing was sent.
    ServerDead = 12,
    /// The server could not be connected to. Nothing was sent.
    Connect = 13,
    /// The connection ended before the answer. Whether it was carried out is unknown.
    ConnectionLost = 14,
    /// The server wants other credentials, or any.
    AuthFailed = 15,
    /// The fabric was demanded and is not to be had.
    FabricUnavailable = 16,
    /// The server does not know this operation.
    Unsupported = 17,
    /// The server answers what the protocol does not allow.
    Protocol = 18,
    /// The server refused in a way that has no name here.
    Server = 19,
    /// The client has no servers.
    NoServers = 20,
    /// The client's settings cannot work.
    Configuration = 21,
    /// Something else still needs it, or too much is under way.
    Busy = 22,
    /// A chunk of a blob is gone: evicted, or lost with its server.
    MissingChunk = 23,
    /// A chunk or the manifest of a blob is not what was written.
    Damaged = 24,
    /// The blob was overwritten or removed after it had been opened.
    Replaced = 25,
}

const TEXTS: [&CStr; 26] = [
    c"done",
    c"in progress",
    c"not found",
    c"not stored",
    c"the key exists, or its item has changed",
    c"the value is larger than the server takes",
    c"the server has no memory for it",
    c"the value is not a number",
    c"the buffer is too small",
    c"a key has 1 to 250 bytes",
    c"invalid arguments",
    c"no answer in time",
    c"the server failed lately and is not tried again yet",
    c"cannot connect",
    c"the connection ended",
    c"authentication failed",
    c"no fabric",
    c"the server does not know this operation",
    c"protocol violated",
    c"the server refused",
    c"there are no servers",
    c"the settings cannot work",
    c"busy",
    c"a chunk is gone",
    c"a chunk is damaged",
    c"the blob was overwritten or removed",
];

impl From<&Error> for Status {
    fn from(error: &Error) -> Self {
        match error {
            Error::NotFound => Status::NotFound,
            Error::NotStored => Status::NotStored,
            Error::Exists => Status::Exists,
            Error::TooLarge => Status::TooLarge,
            Error::OutOfMemory => Status::OutOfMemory,
            Error::NotNumeric => Status::NotNumeric,
            Error::BufferTooSmall { .. } => Status::BufferTooSmall,
            Error::InvalidKey => Status::InvalidKey,
            Error::InvalidArguments(_) => Status::InvalidArguments,
            Error::Timeout => Status::Timeout,
            Error::ServerDead => Status::ServerDead,
            Error::Connect(_) => Status::Connect,
            Error::ConnectionLost(_) => Status::ConnectionLost,
            Error::AuthFailed(_) => Status::AuthFailed,
            Error::FabricUnavailable(_) => Status::FabricUnavailable,
            Error::Unsupported => Status::Unsupported,
            Error::Protocol(_) => Status::Protocol,
            Error::Server { .. } => Status::Server,
            Error::NoServers => Status::NoServers,
            Error::Configuration(_) => Status::Configuration,
        }
    }
}

/// Why a call could not do what was asked.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: Status,
    pub message: CString,
}

impl Failure {
    pub fn new(status: Status, message: &str) -> Self {
        Failure {
            status,
            message: c_text(message),
        }
    }

    /// The call makes no sense.
    pub fn arguments(message: &str) -> Self {
        Failure::new(Status::InvalidArguments, message)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Failure::new(error.into(), &error.to_string())
    }
}

/// A text as C has it: up to the first zero byte.
pub fn c_text(text: impl AsRef<[u8]>) -> CString {
    let text = text.as_ref().split(|byte| *byte == 0).next();
    CString::new(text.unwrap_or_default()).expect("cut off before the first zero byte")
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// The status of a call; its message is kept for [`farcache_message`].
pub fn status_of(outcome: Result<Status, Failure>) -> Status {
    outcome.unwrap_or_else(|Failure { status, message }| {
        MESSAGE.set(message);
        status
    })
}

/// What went wrong in the last call of this thread that failed, for people. Valid until the next
/// call that fails. How an operation failed is told by farcache_request_message.
#[unsafe(no_mangle)]
pub extern "C" fn farcache_message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// What a status means, in general.
#[unsafe(no_mangle)]
pub extern "C" fn farcache_status_text(status: c_int) -> *const c_char {
    let text = usize::try_from(status)
        .ok()
        .and_then(|status| TEXTS.get(status));
    text.map_or(c"unknown status".as_ptr(), |text| text.as_ptr())
}

/// The library's version: "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn farcache_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
