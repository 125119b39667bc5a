//! Why something could not be done with a blob.

use crate::WriteId;
use crate::manifest::Fault;
use std::fmt;

/// Why something could not be done with a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no blob of this name.
    NotFound(Box<str>),
    /// The name is empty, longer than [`NAME_BYTES_MAX`](crate::NAME_BYTES_MAX), or has spaces or
    /// control characters.
    InvalidName(Box<str>),
    /// The settings cannot work; why.
    InvalidSettings(&'static str),
    /// A chunk is not there, though the manifest still has it: evicted, or lost with its server.
    MissingChunk {
        /// The blob's name.
        name: Box<str>,
        /// Whose chunk it is.
        write: WriteId,
        /// Which one, from 0.
        index: u64,
    },
    /// A chunk is not what was written.
    DamagedChunk {
        /// The blob's name.
        name: Box<str>,
        /// Whose chunk it is.
        write: WriteId,
        /// Which one, from 0.
        index: u64,
        /// What is wrong with it.
        damage: Damage,
    },
    /// What stands in the manifest's place is none.
    DamagedManifest {
        /// The blob's name.
        name: Box<str>,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The blob was overwritten or removed after it had been opened, and its chunks are gone.
    Replaced(Box<str>),
    /// A request failed.
    Request {
        /// The blob's name.
        name: Box<str>,
        /// Which chunk, from 0; `None` for the manifest.
        chunk: Option<u64>,
        /// How it ended.
        error: farcache_client::Error,
    },
    /// The system gives no random bytes for the id of a write; why.
    NoRandomBytes(Box<str>),
}

impl Error {
    /// Whether the request that failed may have been carried out.
    pub(crate) fn may_have_happened(&self) -> bool {
        use farcache_client::Error::{ConnectionLost, Protocol, Timeout};
        matches!(
            self,
            Error::Request {
                error: Timeout | ConnectionLost(_) | Protocol(_),
                ..
            }
        )
    }
}

/// What is wrong with a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Its length.
    Length {
        /// Bytes that it should have.
        expected: usize,
        /// Bytes that it has.
        found: usize,
    },
    /// Its checksum.
    Checksum,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Length { expected, found } => {
                write!(formatter, "it has {found} bytes, not {expected}")
            }
            Damage::Checksum => formatter.write_str("its checksum is wrong"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound(name) => write!(formatter, "{name}: there is no such blob"),
            Error::InvalidName(name) => write!(
                formatter,
                "{name:?}: names have 1 to 200 bytes, without spaces and control characters"
            ),
            Error::InvalidSettings(why) => formatter.write_str(why),
            Error::MissingChunk { name, write, index } => {
                write!(formatter, "{name}: chunk {index} of write {write} is gone")
            }
            Error::DamagedChunk {
                name,
                write,
                index,
                damage,
            } => write!(
                formatter,
                "{name}: chunk {index} of write {write} is damaged: {damage}"
            ),
            Error::DamagedManifest { name, fault } => {
                write!(formatter, "{name}: the manifest is damaged: {fault}")
            }
            Error::Replaced(name) => write!(
                formatter,
                "{name}: it was overwritten or removed after it had been opened"
            ),
            Error::Request {
                name,
                chunk: Some(index),
                error,
            } => write!(formatter, "{name}: chunk {index}: {error}"),
            Error::Request { name, error, .. } => {
                write!(formatter, "{name}: the manifest: {error}")
            }
            Error::NoRandomBytes(why) => write!(formatter, "no random bytes: {why}"),
        }
    }
}

impl std::error::Error for Error {}
