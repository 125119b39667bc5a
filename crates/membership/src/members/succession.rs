//! The map that follows: a pure function of the map in force, the leases seen and the time.

use super::absence::Absences;
use super::offer::Offer;
use super::view::View;
use farcache_cluster::map::{
    Epoch, InvalidMap, MapContent, Member, MemberState, Name, Rule, SlotTable,
};
use farcache_cluster::{ClusterMap, ServerId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What the next map depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// What the store holds.
    pub view: &'a View,
    /// Since when servers have been absent.
    pub absences: &'a Absences,
    /// For how long a server may be absent before it is gone.
    pub grace: Duration,
    /// The time.
    pub now: Duration,
}

/// Most servers that one map gives up. The next map follows soon, and etcd allows 128 conditions.
const GIVEN_UP_MAX: usize = 64;

/// The map that follows this one; `None` where nothing is to be changed.
///
/// - A server that offers itself and is not listed is added, serving, under a new name.
/// - A server that is listed and offers a later life is listed with that life; it serves, unless an
///   operator lets it drain.
/// - A server that leaves, or has been absent for the grace, is gone. But the last owners stay: a
///   map without owners would send every client away.
///
/// What moved from or to servers whose part has changed does not move any more.
///
/// # Errors
/// What would be wrong with that map, as where an operator gave an address to two servers.
pub fn successor(
    map: &Arc<ClusterMap>,
    situation: Situation<'_>,
) -> Result<Option<MapContent>, InvalidMap> {
    let before = map.content();
    let mut content = before.clone();
    let mut offers = offers(situation.view);
    let mut given_up = 0;
    for server in by_address(&mut content.servers) {
        let name = server.addresses[0].to_string();
        let state = changed_by_offer(server, offers.remove(&name));
        let state = state.unwrap_or_else(|| match is_overdue(server.id, situation) {
            true => MemberState::Gone,
            false => server.state,
        });
        let is_given_up = state == MemberState::Gone && server.state != state;
        given_up += usize::from(is_given_up);
        if !is_given_up || given_up <= GIVEN_UP_MAX {
            server.state = state;
        }
    }
    add(&mut content.servers, offers);
    keep_owners(&mut content.servers, &before.servers);
    if content.servers == before.servers {
        return Ok(None);
    }
    finish(before, content).map(Some)
}

/// The first map of a cluster, with ketama's placement.
///
/// # Errors
/// What would be wrong with that map.
pub(super) fn founded(
    cluster: Name,
    view: &View,
    epoch: Epoch,
) -> Result<Option<MapContent>, InvalidMap> {
    let mut content = MapContent {
        cluster,
        epoch,
        rule: Rule::Ketama,
        servers: Vec::new(),
        moves: Vec::new(),
    };
    add(&mut content.servers, offers(view));
    if content.servers.is_empty() {
        return Ok(None);
    }
    ClusterMap::new(content.clone()).map(|_| Some(content))
}

fn offers(view: &View) -> BTreeMap<&String, &Offer> {
    let offers = view.offers.iter();
    offers.map(|(name, entry)| (name, &entry.value)).collect()
}

/// The servers, one for each first address: of several only one is not gone, or the latest counts.
fn by_address(servers: &mut [Member]) -> impl Iterator<Item = &mut Member> {
    let mut chosen = BTreeMap::<String, &mut Member>::new();
    for server in servers {
        let name = server.addresses[0].to_string();
        let is_chosen = |other: &&mut Member| {
            other.state != MemberState::Gone && server.state == MemberState::Gone
        };
        if !chosen.get(&name).is_some_and(is_chosen) {
            chosen.insert(name, server);
        }
    }
    chosen.into_values()
}

/// The state that a server's offer gives to it; `None` where it offers nothing that counts.
fn changed_by_offer(server: &mut Member, offer: Option<&Offer>) -> Option<MemberState> {
    let offer = offer.filter(|offer| offer.life >= server.incarnation)?;
    let is_later = offer.life > server.incarnation;
    if is_later && !offer.is_leaving {
        server.incarnation = offer.life;
        server.weight = offer.weight;
        server.zone.clone_from(&offer.zone);
    }
    Some(match server.state {
        _ if offer.is_leaving => MemberState::Gone,
        MemberState::Gone if is_later => MemberState::Serving,
        state => state,
    })
}

fn is_overdue(server: ServerId, situation: Situation<'_>) -> bool {
    let since = situation.absences.since(server);
    since.is_some_and(|since| situation.now.saturating_sub(since) >= situation.grace)
}

/// Adds the servers that offer themselves, under names that were not used before.
fn add(servers: &mut Vec<Member>, offers: BTreeMap<&String, &Offer>) {
    let highest = servers.last().map_or(0, |server| server.id.0);
    let staying = offers.into_values().filter(|offer| !offer.is_leaving);
    let added = (highest + 1..).zip(staying).map(|(id, offer)| Member {
        id: ServerId(id),
        incarnation: offer.life,
        weight: offer.weight,
        zone: offer.zone.clone(),
        state: MemberState::Serving,
        addresses: vec![offer.address.clone()],
    });
    servers.extend(added);
}

/// Where nobody would own keys any more, those who did go on.
fn keep_owners(servers: &mut [Member], before: &[Member]) {
    if servers.iter().any(|server| server.state.owns_keys()) {
        return;
    }
    for (server, before) in servers.iter_mut().zip(before) {
        if before.state.owns_keys() {
            server.state = before.state;
        }
    }
}

/// Gives the slots to those who serve now, and the next epoch.
fn finish(before: &MapContent, mut content: MapContent) -> Result<MapContent, InvalidMap> {
    content.epoch = Epoch(before.epoch.0 + 1);
    let shares = content.shares();
    if shares != before.shares()
        && let Rule::Slots(table) = &content.rule
        && let Some(table) = SlotTable::rebalanced(table, &shares)
    {
        content.rule = Rule::Slots(table);
    }
    // Who moves what to whom was planned for the owners before.
    if shares != before.shares() {
        content.moves.clear();
    }
    match ClusterMap::new(content.clone()) {
        Ok(_) => Ok(content),
        Err(_) if !content.moves.is_empty() => {
            content.moves.clear();
            ClusterMap::new(content.clone()).map(|_| content)
        }
        Err(invalid) => Err(invalid),
    }
}
