//! Where a worker is.

/// A worker's address, to be carried to a peer by other means and given to
/// [`Worker::connect`](crate::Worker::connect) there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    bytes: Vec<u8>,
}

impl Address {
    /// An address as it came from a peer.
    ///
    /// # Safety
    /// The bytes are those of [`Address::as_bytes`] in a process that is trusted, unaltered and
    /// complete. UCX reads an address by the lengths that stand in it and never learns how long it
    /// is, so a malformed one makes it read beyond the end.
    pub unsafe fn from_bytes(bytes: Vec<u8>) -> Address {
        Address { bytes }
    }

    pub(crate) fn copy_of(bytes: &[u8]) -> Address {
        Address {
            bytes: bytes.to_vec(),
        }
    }

    /// The bytes to carry over; some hundred to some thousand of them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
