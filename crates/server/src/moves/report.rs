//! What is told of moves, in `stats cluster` and among the metrics.

use super::ServerMoves;
use farcache_cluster::map::{HashArc, Move, Phase};
use farcache_cluster::{ClusterMap, ServerId};
use farcache_moving::figures::Counts;
use farcache_moving::{Stage, Stream};
use std::sync::Arc;

/// How one move of the map fares at this end of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveFigures {
    /// The old owner.
    pub from: ServerId,
    /// The new one.
    pub to: ServerId,
    /// The phase's word in a map.
    pub phase: &'static str,
    /// `giving` or `taking`.
    pub role: &'static str,
    /// How many arcs.
    pub arcs: u64,
    /// How many hashes.
    pub hashes: u64,
    /// Up to which epoch the old owner has acknowledged.
    pub acknowledged_epoch: u64,
    /// How far it is.
    pub state: &'static str,
    /// What has come or gone.
    pub counts: Counts,
}

impl MoveFigures {
    /// Whether nothing more will come.
    pub fn is_done(&self) -> bool {
        matches!(self.state, "done" | "lost")
    }
}

impl ServerMoves {
    /// How the moves of this map fare of which the server, `me`, is an end. All of its workers go
    /// by the epoch `followed`.
    pub fn figures(&self, map: &ClusterMap, me: ServerId, followed: u64) -> Vec<MoveFigures> {
        let moves = map.content().moves.iter();
        let mine = moves.filter(|moved| moved.from == me || moved.to == me);
        mine.map(|moved| self.figures_of(moved, me, followed))
            .collect()
    }

    fn figures_of(&self, moved: &Move, me: ServerId, followed: u64) -> MoveFigures {
        let is_giving = moved.from == me;
        let streams = moved.phase == Phase::Streaming;
        let (acknowledged_epoch, state, counts) = match (is_giving, streams) {
            (true, true) => self.given(moved.to, followed),
            (false, true) => self.taken(moved),
            (true, false) => (followed, "waiting", Counts::default()),
            (false, false) => (0, "waiting", Counts::default()),
        };
        let words = Phase::ALL.iter();
        let word = words.into_iter().find(|(phase, _)| *phase == moved.phase);
        MoveFigures {
            from: moved.from,
            to: moved.to,
            phase: word.map_or("", |(_, word)| word),
            role: if is_giving { "giving" } else { "taking" },
            arcs: moved.arcs.len() as u64,
            hashes: moved.arcs.iter().map(HashArc::hashes).sum(),
            acknowledged_epoch,
            state,
            counts,
        }
    }

    fn given(&self, to: ServerId, followed: u64) -> (u64, &'static str, Counts) {
        let gift = self.giving.to(to);
        let counts = gift.figures.counts(self.now_ms(), gift.is_done());
        let state = match (gift.is_done(), counts.keys) {
            (true, _) => "done",
            (false, 0) => "waiting",
            (false, _) => "moving",
        };
        (followed, state, counts)
    }

    fn taken(&self, moved: &Move) -> (u64, &'static str, Counts) {
        let table = self.taking.table();
        let streams = table.streams().iter();
        let its: Vec<&Arc<Stream>> = streams.filter(|it| it.from == moved.from).collect();
        let counts = its.iter().map(|stream| {
            let is_over = matches!(stream.stage(), Stage::Done | Stage::Lost);
            stream.figures.counts(self.now_ms(), is_over)
        });
        let counts = counts.fold(Counts::default(), Counts::with);
        let acknowledged = its.iter().map(|stream| stream.acknowledged_epoch()).min();
        let has = |stage| its.iter().any(|stream| stream.stage() == stage);
        let state = match () {
            () if its.is_empty() || has(Stage::Awaiting) => "waiting",
            () if has(Stage::Moving) => "moving",
            () if has(Stage::Lost) => "lost",
            () => "done",
        };
        (acknowledged.unwrap_or(0), state, counts)
    }
}
