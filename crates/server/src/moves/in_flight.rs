//! What one worker's sessions see of moving keys, under the map that the worker goes by.

use super::ServerMoves;
use farcache_cluster::hash::HashAlgorithm;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_moving::figures::Cause;
use farcache_moving::giving::Outgoing;
use farcache_moving::{KeyPlace, Stream, Table};
use farcache_session::{Failure, Moves, Peer, Source};
use std::sync::Arc;

/// The moves of one map.
pub struct InFlight {
    moves: Arc<ServerMoves>,
    /// None where the map places no keys.
    hash: Option<HashAlgorithm>,
    table: Arc<Table>,
    outgoing: Outgoing,
    is_any: bool,
}

impl InFlight {
    /// The moves of this map, in which the server is `me`.
    pub fn new(moves: &Arc<ServerMoves>, map: &ClusterMap, me: Option<ServerId>) -> InFlight {
        let table = moves.taking.table();
        let gives = map.content().moves.iter().any(|it| Some(it.from) == me);
        InFlight {
            moves: Arc::clone(moves),
            hash: map.content().rule.key_hash(),
            is_any: gives || !table.is_empty(),
            table,
            outgoing: me.map(|me| Outgoing::new(map, me)).unwrap_or_default(),
        }
    }

    /// Whether anything moves to this server.
    pub fn takes(&self) -> bool {
        !self.table.is_empty()
    }

    /// Whether all keys that this server has by its map are here, and it alone decides on them.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.table.is_empty() && !self.table.awaits_predecessors()
    }

    /// Whether anything moves to or from this server.
    pub fn is_any(&self) -> bool {
        self.is_any
    }

    /// Whether nobody decides on keys of this hash yet.
    pub fn withholds(&self, hash: u32) -> bool {
        !self.is_settled() && self.table.withholds(hash)
    }

    fn place(&self, key: &[u8]) -> Option<KeyPlace> {
        Some(KeyPlace::new(self.hash?.digest(key), key))
    }

    fn stream(&self, key: &[u8]) -> Option<(KeyPlace, &Arc<Stream>)> {
        if !self.takes() {
            return None;
        }
        let place = self.place(key)?;
        Some((place, self.table.stream_of(place.hash)?))
    }

    /// Whether nothing of these keys is to be waited for.
    pub fn are_here(&self, keys: &[&[u8]]) -> bool {
        let is_here = |key: &&[u8]| {
            self.place(key).is_none_or(|place| {
                !self.table.withholds(place.hash) && self.table.may_bring(place).is_none()
            })
        };
        self.is_settled() || keys.iter().all(is_here)
    }

    fn now_ms(&self) -> u64 {
        self.moves.now_ms()
    }
}

impl Moves for InFlight {
    fn source(&self, key: &[u8]) -> Option<Source> {
        let (place, stream) = self.stream(key)?;
        stream.may_bring(place).then(|| Source {
            peer: Peer(stream.from.0),
            instance: stream.instance(),
        })
    }

    fn fetch(&self, _source: Source, _key: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        Some(Err(Failure::NotForwarded))
    }

    fn settle(&self, key: &[u8]) {
        if let Some((place, stream)) = self.stream(key) {
            stream.settle(place);
        }
    }

    fn admit(&self, source: Source, key: &[u8], bytes: usize, store: &mut dyn FnMut() -> bool) {
        let Some((place, stream)) = self.stream(key) else {
            return;
        };
        stream.figures.note(Cause::Request, bytes, self.now_ms());
        if stream.admit(place, source.instance, store) != Some(true) {
            stream.figures.note_refused();
        }
    }

    fn lose(&self, source: Source) {
        let streams = self.table.streams().iter();
        let its =
            streams.filter(|it| it.from.0 == source.peer.0 && it.instance() == source.instance);
        its.for_each(|stream| stream.lose());
    }

    fn gives(&self, key: &[u8], to: Peer) -> bool {
        let place = self.place(key);
        place.is_some_and(|place| self.outgoing.to(place.hash) == Some(ServerId(to.0)))
    }

    fn gives_any(&self, to: Peer) -> bool {
        self.outgoing.has_any_for(ServerId(to.0))
    }

    fn note_given(&self, to: Peer, is_asked_for: bool, bytes: usize) {
        let gift = self.moves.giving.to(ServerId(to.0));
        let cause = match is_asked_for {
            true => Cause::Request,
            false => Cause::Sweep,
        };
        gift.figures.note(cause, bytes, self.now_ms());
    }

    fn note_progress(&self, to: Peer, progress: Option<u32>) {
        let gift = self.moves.giving.to(ServerId(to.0));
        match progress {
            Some(progress) => {
                gift.begin();
                gift.figures.reached(progress);
            }
            None => gift.finish(),
        }
    }
}
