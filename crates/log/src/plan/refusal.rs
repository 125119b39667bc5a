//! Why a store is not opened over some devices.

use std::error::Error;
use std::fmt;
use std::io;

/// Why what lies on a device is of no use to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is something else's: a file system, data, as this says.
    Foreign(String),
    /// A store's, in another version of the format.
    OtherVersion(u32),
    /// A store's, but neither copy of its superblock is whole.
    Damaged,
    /// Another store's than what is on the other devices.
    OtherStore,
    /// The store's, but the store went on without the device and changed what lies on it.
    FellBehind,
    /// The store's, but this device and another one each went on without the other.
    Diverged,
}

impl fmt::Display for Unusable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Foreign(what) => write!(out, "it holds {what}"),
            Unusable::OtherVersion(version) => write!(
                out,
                "it holds a store in version {version} of the format, which this program does not read"
            ),
            Unusable::Damaged => out.write_str("it holds a store whose superblock is damaged"),
            Unusable::OtherStore => {
                out.write_str("it holds data of a different store than the other devices")
            }
            Unusable::FellBehind => {
                out.write_str("it fell behind: the store went on without it and changed its items")
            }
            Unusable::Diverged => out.write_str(
                "this device and another one each went on without the other, so that their data contradict each other",
            ),
        }
    }
}

/// Why a store is not opened; the inner error of an [`io::Error`] of kind `InvalidInput`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TierRefusal {
    /// What lies on a device is neither the store's nor to be overwritten without permission
    /// (`TierConfig::may_format`).
    Device {
        /// Its name.
        device: String,
        /// What lies there.
        why: Unusable,
    },
    /// Not all devices of the store are there, and going on without them is not permitted
    /// (`TierConfig::allow_missing`).
    Missing {
        /// Devices that are missing.
        missing: usize,
        /// Devices of the store.
        of: usize,
    },
    /// A device has become smaller, and going on without what lay at its end is not permitted
    /// (`TierConfig::allow_missing`).
    Shrunk {
        /// Its name.
        device: String,
        /// Its size, in bytes.
        bytes: u64,
        /// The size that the store knows.
        bytes_before: u64,
    },
}

impl fmt::Display for TierRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TierRefusal::Device { device, why } => write!(out, "{device} cannot be used: {why}"),
            TierRefusal::Missing { missing, of } => write!(
                out,
                "{missing} of the {of} devices that the store lies on are missing: \
                 their items would be lost, and older versions of other items could come back"
            ),
            TierRefusal::Shrunk {
                device,
                bytes,
                bytes_before,
            } => write!(
                out,
                "{device} had {bytes_before} bytes and has {bytes} now: the items at its end \
                 would be lost, and older versions of other items could come back"
            ),
        }
    }
}

impl Error for TierRefusal {}

impl From<TierRefusal> for io::Error {
    fn from(refusal: TierRefusal) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, refusal)
    }
}
