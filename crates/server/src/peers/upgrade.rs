//! Asking a peer for a session on the fabric, over a connection on which it has let this server in.

use crate::upgrade::registry::Registry;
use farcache_fabric::Grant;
use farcache_fabric::frame::VERSION;
use farcache_peers::frame::{HEAD_BYTES, Head, Kind};
use std::io::{self, Read, Write};

/// Most bytes of a grant.
const GRANT_BYTES_MAX: u32 = 64 << 10;

/// Asks, and waits for the answer: the grant, or none where the peer has no fabric for this server.
///
/// # Errors
/// As the connection's, which is of no use then; also where the peer does not know the question.
pub fn ask(
    connection: &mut (impl Read + Write),
    fabric: &Registry,
    epoch: u64,
) -> io::Result<Option<Grant>> {
    let question = [VERSION, fabric.network as u8];
    let head = Head {
        kind: Kind::Fabric,
        number: 0,
        epoch,
        body_bytes: question.len() as u32,
    };
    connection.write_all(&[&head.encode()[..], &question].concat())?;
    let mut bytes = [0; HEAD_BYTES];
    connection.read_exact(&mut bytes)?;
    let head = Head::decode(&bytes).filter(|head| head.body_bytes <= GRANT_BYTES_MAX);
    let head = head.ok_or_else(|| io::Error::other("it sends nonsense"))?;
    let mut body = vec![0; head.body_bytes as usize];
    connection.read_exact(&mut body)?;
    match head.kind {
        Kind::Reply => {
            let grant = Grant::decode(&body).map_err(io::Error::other)?;
            Ok(Some(grant).filter(|grant| grant.network == fabric.network))
        }
        Kind::NotOwner => Ok(None),
        _ => Err(io::Error::other("it sends nonsense")),
    }
}
