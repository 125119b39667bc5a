//! Other servers of the cluster, and why their replies are not there.

use std::fmt;

/// Bytes that large values which arrive for other servers may take at a time, beside the memory for
/// items.
pub const FORWARDED_BYTES_MAX: u64 = 64 << 20;

/// Another server of the cluster, by its name in the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer(pub u32);

/// Why another server's reply is not there, and will not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection to the owner can be had, or it has ended.
    Unreachable,
    /// The owner has not answered in time.
    Late,
    /// The asked server does not own the key in its map.
    OtherMap,
    /// As much is on its way to other servers as may be.
    TooMuch,
    /// The reply is longer than is passed on.
    TooLarge,
    /// What was to be changed will not become durable.
    NotDurable,
    /// Over this transport nothing is forwarded.
    NotForwarded,
    /// The cluster's map does not list the server that was asked.
    NoPlace,
    /// The server that was asked has not heard of its cluster for so long that others may own its
    /// keys.
    CutOff,
    /// Nobody listens where the owner is: its process has ended.
    NobodyThere,
    /// The server has no others to which it could give parts of a value.
    NoPeers,
}

impl Failure {
    /// What a client is told.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Failure::Unreachable | Failure::NobodyThere => {
                "the server that owns this key cannot be reached"
            }
            Failure::Late => "the server that owns this key has not answered in time",
            Failure::OtherMap => "the servers' maps of the cluster differ on this key",
            Failure::TooMuch => "too much is being forwarded to other servers",
            Failure::TooLarge => "the reply is too large to be forwarded",
            Failure::NotDurable => "not durable: no SSD is in service",
            Failure::NotForwarded => "another server owns this key: ask over a stream socket",
            Failure::NoPlace => "this server has no place in the cluster's map",
            Failure::CutOff => "this server is cut off from its cluster",
            Failure::NoPeers => {
                "this server does not code for clients: it has no peers (--cluster-self) here"
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}
