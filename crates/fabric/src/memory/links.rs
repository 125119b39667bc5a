//! The connections of a port.

use super::wire::End;
use crate::error::Error;
use crate::port::Peer;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A connection as one end knows it.
#[derive(Debug)]
pub(super) struct Link {
    pub end: End,
    pub session: u32,
    pub key: u64,
    pub is_lost: bool,
    /// Messages on their way.
    pub unsent: Arc<AtomicUsize>,
}

impl Link {
    /// What befalls operations with this peer now.
    pub fn error(&self) -> Error {
        if self.is_lost {
            lost()
        } else {
            Error::Cancelled
        }
    }
}

/// What befalls operations with a peer that is gone.
pub(super) fn lost() -> Error {
    Error::PeerLost("it closed the connection, or died".into())
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Links {
    last_peer: u32,
    by_peer: BTreeMap<Peer, Link>,
    peers: HashMap<End, Peer>,
}

impl Links {
    /// A new connection.
    pub fn add(&mut self, end: End) -> Peer {
        self.last_peer += 1;
        let peer = Peer(self.last_peer);
        let link = Link {
            end,
            session: 0,
            key: 0,
            is_lost: false,
            unsent: Arc::default(),
        };
        self.by_peer.insert(peer, link);
        self.peers.insert(end, peer);
        peer
    }

    /// Who is at the other end, perhaps heard of for the first time.
    pub fn sender(&mut self, end: End) -> Peer {
        match self.find(end) {
            Some(peer) => peer,
            None => self.add(end),
        }
    }

    /// Who is at the other end.
    pub fn find(&self, end: End) -> Option<Peer> {
        self.peers.get(&end).copied()
    }

    pub fn get(&self, peer: Peer) -> Option<&Link> {
        self.by_peer.get(&peer)
    }

    pub fn get_mut(&mut self, peer: Peer) -> Option<&mut Link> {
        self.by_peer.get_mut(&peer)
    }

    pub fn remove(&mut self, peer: Peer) -> Option<Link> {
        let link = self.by_peer.remove(&peer)?;
        self.peers.remove(&link.end);
        Some(link)
    }

    /// Whether a session has this key.
    pub fn know(&self, key: u64) -> bool {
        self.by_peer.values().any(|link| link.key == key)
    }

    /// Our ends of the connections that are not lost.
    pub fn open_ends(&self) -> Vec<End> {
        let open = self.by_peer.values().filter(|link| !link.is_lost);
        open.map(|link| link.end).collect()
    }
}
