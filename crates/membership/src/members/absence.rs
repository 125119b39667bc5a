//! Since when servers of the map have no lease.

use super::view::View;
use farcache_cluster::map::{Member, MemberState};
use farcache_cluster::{ClusterMap, ServerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The suspects: servers of the map that take part and have no lease, each with the time since when
/// that has been seen.
#[derive(Clone, Debug, Default)]
pub struct Absences {
    /// With the revision of the key of its lives: each return changes it, also one between two
    /// looks.
    since: BTreeMap<ServerId, (Duration, i64)>,
}

impl Absences {
    /// Compares map and offers at this time.
    pub fn observe(&mut self, map: &ClusterMap, view: &View, now: Duration) {
        let is_absent =
            |server: &&Member| server.state != MemberState::Gone && !is_present(server, view);
        let absent = map.content().servers.iter().filter(is_absent);
        let since = absent.map(|server| {
            let lives = view.lives.get(&server.addresses[0].to_string());
            let lives = lives.map_or(0, |entry| entry.revision);
            let seen = self.since.get(&server.id).copied();
            let seen = seen.filter(|(_, then)| *then == lives);
            (server.id, seen.unwrap_or((now, lives)))
        });
        self.since = since.collect();
    }

    /// Nobody is suspect: what was seen before is too old to conclude from.
    pub fn clear(&mut self) {
        self.since.clear();
    }

    /// Since when this server has been absent.
    #[must_use]
    pub fn since(&self, server: ServerId) -> Option<Duration> {
        self.since.get(&server).map(|(since, _)| *since)
    }

    /// Suspects, by ascending names.
    pub fn suspects(&self) -> impl Iterator<Item = ServerId> {
        self.since.keys().copied()
    }

    /// When the first of those absent will have been so for as long as `grace`.
    #[must_use]
    pub fn next_end(&self, grace: Duration) -> Option<Duration> {
        let since = self.since.values().map(|(since, _)| *since);
        since.min().map(|since| since + grace)
    }
}

/// Whether the server runs, in the life that the map knows or in a later one.
fn is_present(server: &Member, view: &View) -> bool {
    let name = server.addresses[0].to_string();
    let offer = view.offers.get(&name);
    offer.is_some_and(|offer| offer.value.life >= server.incarnation)
}
