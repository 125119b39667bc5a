//! Failures as exceptions. Their classes are Python's own or those of `farcache.exceptions`.

use farcache_client::{ConnectStage, Error};
use pyo3::exceptions::{PyConnectionError, PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The class for what a program must not ask.
pub const ILLEGAL_INPUT: &str = "MemcacheIllegalInputError";

/// An exception of a class of `farcache.exceptions`.
pub fn named(py: Python<'_>, class: &str, message: String) -> PyErr {
    let found = py
        .import("farcache.exceptions")
        .and_then(|module| module.getattr(class))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match found {
        Ok(class) => PyErr::from_type(class, (message,)),
        Err(error) => error,
    }
}

/// How an operation has failed.
pub fn of(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    let class = match error {
        Error::Timeout => return PyTimeoutError::new_err(message),
        Error::ServerDead => return PyConnectionError::new_err(message),
        Error::Connect(why) => {
            return match (why.errno, why.stage) {
                (Some(errno), _) => PyOSError::new_err((errno, message)),
                (None, ConnectStage::Unreachable | ConnectStage::Silent) => {
                    PyTimeoutError::new_err(message)
                }
                (None, _) => PyConnectionError::new_err(message),
            };
        }
        Error::NoServers | Error::Configuration(_) => return PyValueError::new_err(message),
        Error::InvalidKey | Error::InvalidArguments(_) => ILLEGAL_INPUT,
        Error::NotNumeric | Error::AuthFailed(_) => "MemcacheClientError",
        Error::BufferTooSmall { .. } => "BufferTooSmallError",
        Error::ConnectionLost(_) => "MemcacheUnexpectedCloseError",
        Error::FabricUnavailable(_) => "FabricUnavailableError",
        Error::Unsupported => "MemcacheUnknownCommandError",
        Error::Protocol(_) => "MemcacheUnknownError",
        Error::NotFound
        | Error::NotStored
        | Error::Exists
        | Error::TooLarge
        | Error::OutOfMemory
        | Error::Server { .. } => "MemcacheServerError",
    };
    named(py, class, message)
}
