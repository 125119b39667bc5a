//! A cluster that does not change.

use crate::Directory;
use farcache_cluster::map::{
    Epoch, Incarnation, InvalidMap, MapContent, Member, MemberState, Name, Rule,
};
use farcache_cluster::{Address, ClusterMap, ServerId};
use std::sync::Arc;
use std::time::Instant;

/// A map that stays as it is for the life of the program.
#[derive(Clone, Debug)]
pub struct StaticDirectory {
    map: Arc<ClusterMap>,
}

impl StaticDirectory {
    /// A directory that knows this map.
    #[must_use]
    pub fn new(map: ClusterMap) -> Self {
        Self { map: Arc::new(map) }
    }

    /// A cluster of servers that all take part alike, at epoch 1, with ketama's placement. They are
    /// named 1, 2, 3 and so on in the order of their addresses.
    ///
    /// # Errors
    /// The addresses make no map, as where one of them is listed twice.
    pub fn from_addresses(
        cluster: Name,
        addresses: impl IntoIterator<Item = Address>,
    ) -> Result<Self, InvalidMap> {
        let servers = (1..).zip(addresses).map(|(id, address)| Member {
            id: ServerId(id),
            incarnation: Incarnation(1),
            weight: 1,
            zone: None,
            state: MemberState::Serving,
            addresses: vec![address],
        });
        let content = MapContent {
            cluster,
            epoch: Epoch(1),
            rule: Rule::Ketama,
            servers: servers.collect(),
            moves: Vec::new(),
        };
        ClusterMap::new(content).map(Self::new)
    }
}

impl Directory for StaticDirectory {
    fn map(&self) -> Arc<ClusterMap> {
        Arc::clone(&self.map)
    }

    fn wait_beyond(&self, known: Epoch, _deadline: Instant) -> Option<Arc<ClusterMap>> {
        (self.map.epoch() > known).then(|| self.map())
    }
}
