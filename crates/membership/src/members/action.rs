//! What a server may do about its membership.

use super::offer::Offer;
use super::view::{Key, View};
use farcache_cluster::ClusterMap;
use farcache_cluster::map::{Member, MemberState};
use std::sync::Arc;

/// What a server does next. Those that write are conditional: where the store has changed
/// meanwhile, nothing is written, and the server looks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put this map in force.
    Adopt(Arc<ClusterMap>),
    /// Drop all items: others owned the server's keys meanwhile.
    Forget,
    /// Write the offer under the server's lease, and its life under the key of its lives, if that
    /// key still has this revision (0: there is none).
    Offer {
        /// What to write.
        offer: Offer,
        /// The revision of the key of its lives.
        lives_revision: i64,
    },
    /// Become the publisher if there is none.
    Campaign,
    /// Write the map if its key still has this revision (0: there is none).
    Write {
        /// What to write.
        map: Arc<ClusterMap>,
        /// The revision of the map's key.
        map_revision: i64,
        /// Only as long as this server is the publisher.
        as_publisher: bool,
        /// Only as long as these keys have these revisions (0: there is none): what tells of the
        /// servers that are given up. A publisher that slept has not seen that they are back, or
        /// were back for a while.
        given_up: Vec<(Key, i64)>,
    },
}

/// What tells of the servers that take part no more with this map: the offer of one that leaves,
/// the lives of one that is absent, since each return writes them.
pub(super) fn given_up(view: &View, map: &ClusterMap) -> Vec<(Key, i64)> {
    let before = view.readable_map();
    let is_news = |server: &&Member| {
        let was = before.and_then(|before| before.server(server.id));
        let took_part = was.is_some_and(|was| was.state != MemberState::Gone);
        took_part && server.state == MemberState::Gone
    };
    let servers = map.content().servers.iter().filter(is_news);
    servers
        .map(|server| {
            let name = server.addresses[0].to_string();
            let offer = view.offers.get(&name);
            let offer = offer.filter(|entry| entry.value.life >= server.incarnation);
            match (offer, view.lives.get(&name)) {
                (Some(offer), _) => (Key::Server(name), offer.revision),
                (None, lives) => (Key::Lives(name), lives.map_or(0, |entry| entry.revision)),
            }
        })
        .collect()
}
