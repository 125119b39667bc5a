//! UCX's statuses in the fabric's words.

use crate::error::Error;
use farcache_ucx_sys::Library;
use farcache_ucx_sys::raw::*;

/// The error that a status stands for; `operation` is what failed.
pub(super) fn error_of(library: &Library, operation: &str, status: ucs_status_t) -> Error {
    let reason = format!("{operation}: {}", library.status_text(status));
    match status {
        UCS_ERR_CANCELED => Error::Cancelled,
        UCS_ERR_UNREACHABLE | UCS_ERR_INVALID_ADDR => Error::Unreachable(reason),
        UCS_ERR_CONNECTION_RESET
        | UCS_ERR_ENDPOINT_TIMEOUT
        | UCS_ERR_NOT_CONNECTED
        | UCS_ERR_REJECTED
        | UCS_ERR_TIMED_OUT => Error::PeerLost(reason),
        _ => Error::System(reason),
    }
}
