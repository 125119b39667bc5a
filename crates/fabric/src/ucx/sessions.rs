//! The sessions that short messages may belong to, by their keys, which are all that such a message
//! says of its session.

use crate::port::Peer;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What the frame of a message says whose key belongs to no session; no session has this number.
pub(super) const NO_SESSION: u32 = u32::MAX;

/// A session, as far as its messages tell of it.
#[derive(Debug)]
struct Known {
    session: u32,
    peer: Peer,
    /// The other end understands short messages.
    takes_short: bool,
}

/// Keys are random numbers already.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// All of a port.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_key: HashMap<u64, Known, BuildHasherDefault<KeyHasher>>,
    /// The key that was last looked for, and its session.
    last: Option<(u64, u32)>,
    /// Peers that have shown that they understand short messages, and are not known to the port
    /// yet.
    pub learned: Vec<Peer>,
}

impl Sessions {
    /// A peer's messages carry this key. Where another peer's do already, they stay that one's:
    /// a client that greets with somebody else's key does not disturb that session.
    pub fn add(&mut self, key: u64, session: u32, peer: Peer) {
        self.by_key.entry(key).or_insert(Known {
            session,
            peer,
            takes_short: false,
        });
    }

    /// A peer has gone.
    pub fn remove(&mut self, key: u64, peer: Peer) {
        if self
            .by_key
            .get(&key)
            .is_some_and(|known| known.peer == peer)
        {
            self.by_key.remove(&key);
            self.last = None;
        }
        self.learned.retain(|learned| *learned != peer);
    }

    /// Whether a session has this key.
    pub fn knows(&self, key: u64) -> bool {
        self.by_key.contains_key(&key)
    }

    /// The session of a key that a short message carries.
    #[inline]
    pub fn find(&mut self, key: u64) -> u32 {
        match self.last {
            Some((last, session)) if last == key => session,
            _ => self.look_up(key),
        }
    }

    fn look_up(&mut self, key: u64) -> u32 {
        // A peer that sends a short message understands them.
        self.learn(key);
        let Some(known) = self.by_key.get(&key) else {
            return NO_SESSION;
        };
        self.last = Some((key, known.session));
        known.session
    }

    /// The other end of a key's session understands short messages.
    pub fn learn(&mut self, key: u64) {
        if let Some(known) = self.by_key.get_mut(&key)
            && !std::mem::replace(&mut known.takes_short, true)
        {
            self.learned.push(known.peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_by_their_keys_until_their_peers_go() {
        let mut sessions = Sessions::default();
        sessions.add(77, 1, Peer(10));
        sessions.add(88, 2, Peer(20));
        assert_eq!(
            [77, 88, 77, 99].map(|key| sessions.find(key)),
            [1, 2, 1, NO_SESSION]
        );
        sessions.remove(77, Peer(10));
        assert_eq!([77, 88].map(|key| sessions.find(key)), [NO_SESSION, 2]);
    }

    #[test]
    fn a_key_stays_with_the_peer_that_had_it_first() {
        let mut sessions = Sessions::default();
        sessions.add(77, 1, Peer(10));
        sessions.add(77, 5, Peer(20));
        assert_eq!(sessions.find(77), 1);
        sessions.remove(77, Peer(20));
        assert_eq!(sessions.find(77), 1);
    }

    #[test]
    fn what_a_session_understands_is_told_once() {
        let mut sessions = Sessions::default();
        sessions.add(77, 1, Peer(10));
        sessions.add(88, 2, Peer(20));
        for key in [77, 99, 77] {
            sessions.learn(key);
        }
        sessions.find(88);
        assert_eq!(std::mem::take(&mut sessions.learned), [Peer(10), Peer(20)]);
        sessions.learn(77);
        sessions.find(77);
        assert!(sessions.learned.is_empty());
    }
}
