//! Why the server does not start.

/// Exit status of memcached for a malformed value (`EX_USAGE` of `sysexits.h`).
pub(super) const BAD_VALUE: u8 = 64;

/// Exit status of memcached for an unknown option.
pub(super) const UNKNOWN: u8 = 1;

/// Why the server does not start, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub message: String,
    /// Exit status.
    pub status: u8,
}

impl Refusal {
    pub(super) fn bad_value(message: impl Into<String>) -> Self {
        Refusal {
            message: message.into(),
            status: BAD_VALUE,
        }
    }
}

/// Exit status for what the command line parser refused.
pub fn status_of(error: &clap::Error) -> u8 {
    match error.kind() {
        clap::error::ErrorKind::UnknownArgument => UNKNOWN,
        _ => BAD_VALUE,
    }
}
