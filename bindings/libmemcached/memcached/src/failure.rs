//! What the client's errors are to libmemcached.

use farcache_client::{ConnectStage, Error};
use farcache_libmemcached_abi::Return;

/// Whether there was no connection, rather than none any more, or no answer.
pub(crate) fn is_about_connecting(error: &Error) -> bool {
    match error {
        Error::Connect(why) => !why.was_reached(),
        Error::AuthFailed(_) | Error::FabricUnavailable(_) | Error::ServerDead => true,
        _ => false,
    }
}

/// The return code of a failure that is the same whatever was asked.
pub(crate) fn code_of(error: &Error) -> Return {
    match error {
        Error::NotFound => Return::NOTFOUND,
        Error::NotStored => Return::NOTSTORED,
        Error::Exists => Return::DATA_EXISTS,
        Error::TooLarge => Return::E2BIG,
        Error::OutOfMemory => Return::SERVER_MEMORY_ALLOCATION_FAILURE,
        Error::NotNumeric => Return::CLIENT_ERROR,
        Error::InvalidKey => Return::BAD_KEY_PROVIDED,
        Error::BufferTooSmall { .. } => Return::E2BIG,
        Error::InvalidArguments(_) => Return::INVALID_ARGUMENTS,
        Error::Timeout => Return::TIMEOUT,
        Error::ServerDead => Return::SERVER_TEMPORARILY_DISABLED,
        Error::Connect(why) => match why.stage {
            ConnectStage::NoAddress => Return::HOST_LOOKUP_FAILURE,
            ConnectStage::Unreachable | ConnectStage::Silent => Return::TIMEOUT,
            ConnectStage::Refused | ConnectStage::Ended => match why.errno {
                None
                | Some(libc::ECONNREFUSED | libc::ECONNRESET | libc::ENOTCONN | libc::EPIPE) => {
                    Return::CONNECTION_FAILURE
                }
                Some(libc::ENOMEM) => Return::MEMORY_ALLOCATION_FAILURE,
                Some(libc::EINVAL) => Return::INVALID_ARGUMENTS,
                Some(_) => Return::ERRNO,
            },
        },
        Error::ConnectionLost(_) | Error::FabricUnavailable(_) => Return::CONNECTION_FAILURE,
        Error::AuthFailed(_) => Return::AUTH_FAILURE,
        Error::Unsupported | Error::Protocol(_) => Return::PROTOCOL_ERROR,
        Error::Server { .. } => Return::SERVER_ERROR,
        Error::NoServers => Return::NO_SERVERS,
        Error::Configuration(_) => Return::INVALID_ARGUMENTS,
    }
}
