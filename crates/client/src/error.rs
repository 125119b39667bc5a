//! How an operation can fail.

use std::{fmt, io};

/// Why an operation did not do what was asked. The distinctions are libmemcached's return codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no such key (`MEMCACHED_NOTFOUND`).
    NotFound,
    /// The condition for storing did not hold: appending to a key that is absent, say
    /// (`MEMCACHED_NOTSTORED`).
    NotStored,
    /// The key is there already, or its item has another CAS token (`MEMCACHED_DATA_EXISTS`).
    Exists,
    /// The value is larger than the server takes (`MEMCACHED_E2BIG`).
    TooLarge,
    /// The server has no memory for it (`MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE`).
    OutOfMemory,
    /// The value to count with is not a number (`MEMCACHED_CLIENT_ERROR`).
    NotNumeric,
    /// The value does not fit into the memory that was given for it; its length in bytes. The
    /// memory is unchanged.
    BufferTooSmall {
        /// Length of the value.
        value_bytes: usize,
    },
    /// The key is empty or longer than 250 bytes (`MEMCACHED_BAD_KEY_PROVIDED`).
    InvalidKey,
    /// The call makes no sense; what is wrong with it (`MEMCACHED_INVALID_ARGUMENTS`).
    InvalidArguments(&'static str),
    /// No answer in time (`MEMCACHED_TIMEOUT`). Whether it was carried out is unknown.
    Timeout,
    /// The server has failed lately and is not tried again yet
    /// (`MEMCACHED_SERVER_TEMPORARILY_DISABLED`). Nothing was sent.
    ServerDead,
    /// The server could not be connected to; why (`MEMCACHED_CONNECTION_FAILURE`, or
    /// `MEMCACHED_TIMEOUT` where it did not answer in time). Nothing was sent.
    Connect(ConnectError),
    /// The connection ended before the answer; why (`MEMCACHED_CONNECTION_FAILURE`). Whether the
    /// operation was carried out is unknown.
    ConnectionLost(Box<str>),
    /// The server wants other credentials, or any (`MEMCACHED_AUTH_FAILURE`).
    AuthFailed(Box<str>),
    /// [`Transport::Fabric`](crate::Transport::Fabric) was demanded and is not to be had; why.
    FabricUnavailable(Box<str>),
    /// The server does not know this operation (`MEMCACHED_NOT_SUPPORTED`).
    Unsupported,
    /// The server answers what the protocol does not allow (`MEMCACHED_PROTOCOL_ERROR`).
    Protocol(&'static str),
    /// The server refused in a way that has no name here (`MEMCACHED_SERVER_ERROR`).
    Server {
        /// The status of its reply.
        status: u16,
        /// What it says.
        message: Box<str>,
    },
    /// The client has no servers (`MEMCACHED_NO_SERVERS`).
    NoServers,
    /// The client's settings cannot work; why.
    Configuration(Box<str>),
}

/// Why a server could not be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError {
    /// How far the attempt came.
    pub stage: ConnectStage,
    /// The system's error number, where the system said why.
    pub errno: Option<i32>,
    reason: Box<str>,
}

/// How far an attempt to connect came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectStage {
    /// The server's name has no address.
    NoAddress,
    /// No address took the connection.
    Refused,
    /// No address took the connection in time.
    Unreachable,
    /// The connection was made, and then ended before the server could be used.
    Ended,
    /// The connection was made, and the server did not answer in time.
    Silent,
}

impl ConnectError {
    pub(crate) fn new(stage: ConnectStage, reason: impl Into<Box<str>>) -> Self {
        ConnectError {
            stage,
            errno: None,
            reason: reason.into(),
        }
    }

    /// What the system said.
    pub(crate) fn of(stage: ConnectStage, error: &io::Error) -> Self {
        ConnectError {
            errno: error.raw_os_error(),
            ..Self::new(stage, error.to_string())
        }
    }

    /// Whether the server took the connection.
    #[must_use]
    pub fn was_reached(&self) -> bool {
        matches!(self.stage, ConnectStage::Ended | ConnectStage::Silent)
    }
}

/// A refusal for this reason.
impl From<&str> for ConnectError {
    fn from(reason: &str) -> Self {
        Self::new(ConnectStage::Refused, reason)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl Error {
    /// Whether the operation failed because the server could not be reached or did not answer,
    /// rather than by the server's own decision.
    #[must_use]
    pub fn is_connection(&self) -> bool {
        matches!(
            self,
            Error::Timeout
                | Error::ServerDead
                | Error::Connect(_)
                | Error::ConnectionLost(_)
                | Error::AuthFailed(_)
                | Error::FabricUnavailable(_)
                | Error::Protocol(_)
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Error::NotFound => "not found",
            Error::NotStored => "not stored",
            Error::Exists => "the key exists, or its item has changed",
            Error::TooLarge => "the value is larger than the server takes",
            Error::OutOfMemory => "the server has no memory for it",
            Error::NotNumeric => "the value is not a number",
            Error::BufferTooSmall { value_bytes } => {
                return write!(formatter, "the buffer is too small for {value_bytes} bytes");
            }
            Error::InvalidKey => "a key has 1 to 250 bytes",
            Error::InvalidArguments(what) => what,
            Error::Timeout => "no answer in time",
            Error::ServerDead => "the server failed lately and is not tried again yet",
            Error::Connect(why) => return write!(formatter, "cannot connect: {why}"),
            Error::ConnectionLost(why) => return write!(formatter, "the connection ended: {why}"),
            Error::AuthFailed(why) => return write!(formatter, "authentication failed: {why}"),
            Error::FabricUnavailable(why) => return write!(formatter, "no fabric: {why}"),
            Error::Unsupported => "the server does not know this operation",
            Error::Protocol(rule) => return write!(formatter, "protocol violated: {rule}"),
            Error::Server { status, message } => {
                return write!(formatter, "the server refused ({status:#x}): {message}");
            }
            Error::NoServers => "there are no servers",
            Error::Configuration(why) => why,
        };
        formatter.write_str(text)
    }
}

impl std::error::Error for Error {}
