//! The other end of a connection.

/// The other end of one connection, as its port numbers it. A number is not used again before the
/// loss or the close of the peer has been carried through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer(pub u32);
