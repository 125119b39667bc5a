//! What the next map lists as moving, and how moves come to their end.
//!
//! Whoever makes the next map changes servers or placement and has [`planned`] list what moves; by
//! what servers tell of themselves, [`advanced`] leads the moves from phase to phase. Both are pure
//! functions: what publishes maps on etcd and what an operator runs over a file agree.

use super::content::{Epoch, HashArc, MapContent, MemberState, Move, Phase};
use super::{ClusterMap, InvalidMap};
use crate::ServerId;
use std::collections::BTreeMap;

/// A map that follows another one, with its moves.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The map.
    pub map: ClusterMap,
    /// Whether an arc gets a third owner while the first still sends to the second: what had not
    /// been sent by then is lost, and is a miss. Changes that can wait had better do so.
    pub cuts_short: bool,
}

/// What servers tell of the moves of a map.
pub trait Progress {
    /// Whether the old owner of this move, which the map with this epoch lists as `handing-over`,
    /// goes by that epoch.
    fn is_acknowledged(&self, moved: &Move, epoch: Epoch) -> bool;

    /// Whether nothing more will come of this move, which the map with this epoch lists as
    /// `streaming`.
    fn is_complete(&self, moved: &Move, epoch: Epoch) -> bool;
}

/// What moves under way means for an arc: its old owner, and how far it has come.
type UnderWay = (HashArc, ServerId, Phase);

/// The map with this content in which all that changes owners moves. The moves that `content` lists
/// do not count; those of `before` go on where both of their ends stay what they are.
///
/// - Keys move from whoever decided on them before, unless that server is gone: then their new
///   owner begins empty.
/// - While `streaming`, the new owner has decided on keys. If it is gone, or has begun another
///   life, what the old owner holds is out of date: the move is dropped, and nobody gets these keys
///   back with what was held of them.
///
/// # Errors
/// What is wrong with that content.
pub fn planned(before: &ClusterMap, content: MapContent) -> Result<Planned, InvalidMap> {
    let content = MapContent {
        moves: Vec::new(),
        ..content
    };
    let after = ClusterMap::new(content)?;
    let hashes = [before, &after].map(|map| map.content().rule.key_hash());
    if hashes[0] != hashes[1] {
        return Ok(Planned::without_moves(after));
    }
    let mut plan = Plan {
        before,
        after: &after,
        under_way: under_way(before),
        arcs: BTreeMap::new(),
        cuts_short: false,
    };
    plan.walk();
    let (arcs, cuts_short) = (plan.arcs, plan.cuts_short);
    let content = MapContent {
        moves: listed(arcs),
        ..after.into_content()
    };
    let map = ClusterMap::new(content)?;
    Ok(Planned { map, cuts_short })
}

impl Planned {
    fn without_moves(map: ClusterMap) -> Planned {
        Planned {
            map,
            cuts_short: false,
        }
    }
}

/// The arcs of all moves, in ascending order.
fn under_way(map: &ClusterMap) -> Vec<UnderWay> {
    let moves = map.content().moves.iter();
    let arcs = moves.flat_map(|moved| {
        let arcs = moved.arcs.iter();
        arcs.map(|arc| (*arc, moved.from, moved.phase))
    });
    let mut arcs: Vec<UnderWay> = arcs.collect();
    arcs.sort_unstable();
    arcs
}

/// The arcs of moves by their ends and phases.
type Arcs = BTreeMap<(ServerId, ServerId, Phase), Vec<HashArc>>;

fn listed(arcs: Arcs) -> Vec<Move> {
    let moves = arcs.into_iter();
    moves
        .map(|((from, to, phase), arcs)| Move {
            from,
            to,
            phase,
            arcs,
        })
        .collect()
}

struct Plan<'a> {
    before: &'a ClusterMap,
    after: &'a ClusterMap,
    under_way: Vec<UnderWay>,
    arcs: Arcs,
    cuts_short: bool,
}

impl Plan<'_> {
    fn walk(&mut self) {
        let mut next = Some(0);
        while let Some(first) = next {
            let before = self.before.routes.stretch(first);
            let after = self.after.routes.stretch(first);
            let (Some((old, old_last)), Some((new, new_last))) = (before, after) else {
                return;
            };
            let (moving, moving_last) = self.moving(first);
            let last = old_last.min(new_last).min(moving_last);
            if let Some((from, phase)) = self.source(old, new, moving) {
                self.add(HashArc { first, last }, (from, new, phase));
            }
            next = last.checked_add(1);
        }
    }

    /// What is under way at a hash, and up to which hash that is so.
    fn moving(&self, hash: u32) -> (Option<(ServerId, Phase)>, u32) {
        let index = self.under_way.partition_point(|(arc, ..)| arc.last < hash);
        match self.under_way.get(index) {
            Some(&(arc, from, phase)) if arc.first <= hash => (Some((from, phase)), arc.last),
            Some((arc, ..)) => (None, arc.first - 1),
            None => (None, u32::MAX),
        }
    }

    /// From where an arc moves to its owner `new`, and in which phase; none where it does not move.
    fn source(
        &mut self,
        old: ServerId,
        new: ServerId,
        moving: Option<(ServerId, Phase)>,
    ) -> Option<(ServerId, Phase)> {
        match moving {
            Some((from, Phase::Streaming)) if !self.has_stayed(old) => {
                debug_assert_ne!(from, old);
                None
            }
            Some((from, Phase::Streaming)) if old == new => {
                self.is_there(from).then_some((from, Phase::Streaming))
            }
            Some((from, Phase::Streaming)) => {
                self.cuts_short |= self.is_there(from);
                Some((old, Phase::HandingOver))
            }
            Some((from, Phase::HandingOver)) => self.handed_over(from, new),
            None => self.handed_over(old, new),
        }
    }

    fn handed_over(&self, holder: ServerId, new: ServerId) -> Option<(ServerId, Phase)> {
        let moves = holder != new && self.is_there(holder);
        moves.then_some((holder, Phase::HandingOver))
    }

    fn is_there(&self, server: ServerId) -> bool {
        let server = self.after.server(server);
        server.is_some_and(|server| server.state != MemberState::Gone)
    }

    /// Whether a server is there, in the life that it had.
    fn has_stayed(&self, server: ServerId) -> bool {
        let life = |map: &ClusterMap| map.server(server).map(|server| server.incarnation);
        self.is_there(server) && life(self.before) == life(self.after)
    }

    fn add(&mut self, arc: HashArc, of: (ServerId, ServerId, Phase)) {
        let arcs = self.arcs.entry(of).or_default();
        match arcs.last_mut() {
            Some(before) if before.last.checked_add(1) == Some(arc.first) => before.last = arc.last,
            _ => arcs.push(arc),
        }
    }
}

/// The map that follows by what servers have done about this one; `None` where nothing is due yet.
///
/// - What is `handing-over` is `streaming` once its old owner has acknowledged that.
/// - A move that is complete is listed no longer.
/// - A server to which nothing moves any more is no longer `joining`.
#[must_use]
pub fn advanced(map: &ClusterMap, progress: &impl Progress) -> Option<MapContent> {
    let (before, epoch) = (map.content(), map.epoch());
    let mut arcs = Arcs::new();
    for moved in &before.moves {
        let phase = match moved.phase {
            Phase::HandingOver if progress.is_acknowledged(moved, epoch) => Phase::Streaming,
            Phase::Streaming if progress.is_complete(moved, epoch) => continue,
            phase => phase,
        };
        let of = (moved.from, moved.to, phase);
        arcs.entry(of).or_default().extend(&moved.arcs);
    }
    for arcs in arcs.values_mut() {
        arcs.sort_unstable();
    }
    let mut content = MapContent {
        moves: listed(arcs),
        ..before.clone()
    };
    for server in &mut content.servers {
        let is_awaiting = content.moves.iter().any(|moved| moved.to == server.id);
        if server.state == MemberState::Joining && !is_awaiting {
            server.state = MemberState::Serving;
        }
    }
    if content == *before {
        return None;
    }
    content.epoch = Epoch(epoch.0.checked_add(1)?);
    Some(content)
}
