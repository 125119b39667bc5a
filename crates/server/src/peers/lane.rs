//! Which way a request takes to a peer.

use farcache_peers::frame::Kind;

/// What a connection is for. A server answers a connection's questions in their order, and a
/// client's request may wait there for a third server: not so what it is asked about moving keys.
/// So nobody waits in a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Clients' requests.
    Requests,
    /// Moving keys.
    Moves,
    /// Parts of values that this server stores and reads for clients: they wait for nobody.
    Parts,
}

impl Lane {
    /// That of such frames.
    pub fn of(kind: Kind) -> Lane {
        match kind {
            Kind::Request => Lane::Requests,
            Kind::OnBehalf => Lane::Parts,
            _ => Lane::Moves,
        }
    }
}

/// What carries a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Over the connection.
    Connection,
    /// Over the fabric.
    Fabric,
}
