//! What servers are told of versions that are complete, and of keys that are in use: with requests
//! that go there anyway ([`Engine::submit`]), or by themselves.

use super::{Engine, encode};
use farcache_base::version::Version;
use farcache_redundancy::Untold;

/// So many bytes do not wait for a request.
const WAITING_BYTES_MAX: usize = 2048;

impl Engine {
    /// Has a server told, with a request that it is sent anyway, that a version is complete: all
    /// servers that are to have it have stored it. Returns whether [`Engine::tell_left_over`] is to
    /// be called from now on.
    pub(crate) fn tell_complete(&mut self, server: usize, version: Version) -> bool {
        self.servers[server].untold.push(version);
        !std::mem::replace(&mut self.tells_left_over, true)
    }

    /// Has a server told, with what it is sent next, that a key is in use of which it was not
    /// asked; where there is no connection yet one is begun, and the server is told the next time.
    /// Returns whether [`Engine::tell_left_over`] is to be called from now on.
    pub(crate) fn tell_used(&mut self, server: usize, key: &[u8]) -> bool {
        if !self.servers[server].is_connected() {
            // A server that is left alone for a while is told later.
            let _ = self.approach(server);
            return false;
        }
        let to = &mut self.servers[server];
        let packets = to.outgoing.packets();
        encode::used(key, packets);
        if packets.len() >= WAITING_BYTES_MAX {
            self.list(server);
        }
        !std::mem::replace(&mut self.tells_left_over, true)
    }

    /// Has all servers told what they have not been told of such versions, as far as there are
    /// connections.
    pub(crate) fn tell_rest(&mut self) {
        self.tell_each(|untold, packets| {
            while let Some(version) = untold.take() {
                encode::complete(version, packets);
            }
        });
    }

    /// Does so with the versions that no request has told of since the last call. Returns whether
    /// it is to be called again.
    pub(crate) fn tell_left_over(&mut self) -> bool {
        self.tells_left_over = self.tell_each(|untold, packets| {
            let left = untold.take_left_over();
            left.for_each(|version| encode::complete(version, packets));
        });
        self.tells_left_over
    }

    /// Has `tell` take versions of each server that there is a connection to, and write what tells
    /// of them; that and the uses that wait are sent. Returns whether it has left any.
    fn tell_each(&mut self, mut tell: impl FnMut(&mut Untold, &mut Vec<u8>)) -> bool {
        let mut has_left = false;
        for server in 0..self.servers.len() {
            let to = &mut self.servers[server];
            // What tells of uses waits among what is sent next.
            let has_none = to.untold.is_empty() && to.outgoing.is_empty();
            if !to.is_connected() || has_none {
                continue;
            }
            tell(&mut to.untold, to.outgoing.packets());
            has_left |= !to.untold.is_empty();
            self.list(server);
        }
        has_left
    }
}
