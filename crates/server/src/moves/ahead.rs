//! Connections to servers that are about to give keys, made while these still decide on them: from
//! when they stop, until they have said so, nobody decides.

use super::Home;
use super::source::{Way, connect};
use farcache_cluster::map::{Epoch, Phase};
use farcache_cluster::{ClusterMap, ServerId};
use std::collections::{BTreeMap, BTreeSet};

/// How many are connected to ahead: each by a thread, at first. The others are when they give.
const CONNECTED_AHEAD_MAX: usize = 8;

/// These connections.
#[derive(Default)]
pub struct Ahead {
    ways: BTreeMap<ServerId, Way>,
    /// Of the map that was looked at last.
    epoch: Option<Epoch>,
}

impl Ahead {
    /// Connects to those that are about to give keys by the map in force, and to no others any
    /// more.
    pub fn follow(&mut self, home: &dyn Home) {
        let map = home.map();
        if self.epoch.replace(map.epoch()) == Some(map.epoch()) {
            return;
        }
        let givers = home.name_in(&map).map(|me| givers(&map, me));
        let givers = givers.unwrap_or_default();
        self.ways.retain(|from, _| givers.contains(from));
        for from in givers {
            if !self.ways.contains_key(&from)
                && let Ok(way) = connect(from, home)
            {
                self.ways.insert(from, way);
            }
        }
    }

    /// The way to a server that gives keys from now on.
    pub fn take(&mut self, from: ServerId) -> Way {
        let way = self.ways.remove(&from);
        way.map_or(Way::None, Way::if_open)
    }
}

/// Those that are about to give keys to this server, not all where there are many.
fn givers(map: &ClusterMap, me: ServerId) -> BTreeSet<ServerId> {
    let moves = map.content().moves.iter();
    let taken = moves.filter(|it| it.to == me && it.phase == Phase::HandingOver);
    let givers: BTreeSet<ServerId> = taken.map(|it| it.from).collect();
    givers.into_iter().take(CONNECTED_AHEAD_MAX).collect()
}
