//! What goes wrong on a fabric.

use std::fmt;

/// Why something did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The network library is not on this machine, or does not work here; its own words.
    Unavailable(String),
    /// No network reaches the other end.
    Unreachable(String),
    /// The other end is gone.
    PeerLost(String),
    /// The operation was given up because this end closed the connection.
    Cancelled,
    /// What arrived is not what the protocol says; which rule it breaks.
    Malformed(&'static str),
    /// The operating system or the network library refused for another reason.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable(reason) => {
                write!(formatter, "the fabric is not available: {reason}")
            }
            Error::Unreachable(reason) => {
                write!(formatter, "the other end cannot be reached: {reason}")
            }
            Error::PeerLost(reason) => write!(formatter, "the other end is gone: {reason}"),
            Error::Cancelled => formatter.write_str("the connection was closed by this end"),
            Error::Malformed(rule) => write!(formatter, "malformed message: {rule}"),
            Error::System(reason) => formatter.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}
