//! What a call to UCX failed with.

use crate::raw::ucs_status_t;
use std::fmt;

/// A call to UCX that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// UCX's function, or what of ours stood in its way.
    pub operation: &'static str,
    /// The code that it gave.
    pub status: ucs_status_t,
    /// UCX's text for the code.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {} ({:?})",
            self.operation, self.message, self.status
        )
    }
}

impl std::error::Error for Error {}
