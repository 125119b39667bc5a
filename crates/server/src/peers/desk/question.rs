//! What a session asks of other servers, and what they answer.

use farcache_peers::frame::Kind;
use farcache_proto::binary::HEADER_BYTES;
use farcache_session::{Failure, Peer};

/// A reply, or why there is none.
pub type Answer = Result<Vec<u8>, Failure>;

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Another server, by such a frame.
    Peer(Peer, Kind),
    /// All owners of a key, by a plan that this server runs.
    Owners,
}

/// What other servers are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Who is asked.
    pub to: To,
    /// The frame's body, or the client's request. Of one to all owners, once it is under way, the
    /// header alone.
    pub body: Vec<u8>,
    /// A mark of the key that it is about.
    pub(super) key_mark: u32,
}

impl Question {
    /// Gives away a request to all owners but for its header.
    pub fn leave_header(&mut self) -> Vec<u8> {
        let header = self.body[..HEADER_BYTES].to_vec();
        std::mem::replace(&mut self.body, header)
    }

    /// Whether this is what a session asks once more.
    pub(super) fn is(&self, to: To, body: &[u8]) -> bool {
        match (self.to, to) {
            // One is under way for a connection, and the same one is made again.
            (To::Owners, To::Owners) => self.body[..HEADER_BYTES] == body[..HEADER_BYTES],
            // The key's owner has answered; by another map that may be another server.
            (To::Peer(_, kind), To::Peer(_, other)) => kind == other && self.body == body,
            _ => false,
        }
    }
}
