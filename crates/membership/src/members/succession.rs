//! The map that follows: a pure function of the map in force, the leases seen and the time.

use super::absence::Absences;
use super::offer::{Done, Offer};
use super::view::View;
use farcache_cluster::map::{
    Epoch, InvalidMap, MapContent, Member, MemberState, Move, Name, Planned, Progress, Rule,
    SlotTable, advanced, planned,
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
    /// Whether keys move to their new owners, which begin empty otherwise.
    pub moves_items: bool,
}

/// Most servers that one map gives up. The next map follows soon, and etcd allows 128 conditions.
const GIVEN_UP_MAX: usize = 64;

/// The map that follows this one; `None` where nothing is to be changed.
///
/// - A server that offers itself and is not listed is added under a new name.
/// - A server that is listed and offers a later life is listed with that life; it serves, unless an
///   operator lets it drain.
/// - A server that leaves, or has been absent for the grace, is gone. But the last owners stay: a
///   map without owners would send every client away.
/// - Where servers stay what they are, moves go on as far as their ends have told.
///
/// Where items move, so do keys that get other owners ([`planned`]); but a server that joins waits
/// where its keys are still on their way to those from which it would get them. Where they do not
/// move, what moved from or to servers whose part has changed does not move any more.
///
/// # Errors
/// What would be wrong with that map, as where an operator gave an address to two servers.
pub fn successor(
    map: &Arc<ClusterMap>,
    situation: Situation<'_>,
) -> Result<Option<MapContent>, InvalidMap> {
    let before = map.content();
    let mut offers = offers(situation.view);
    let mut staying = before.servers.clone();
    give_up_and_renew(&mut staying, &mut offers, situation);
    let mut all = staying.clone();
    add(&mut all, offers, situation.moves_items);
    keep_owners(&mut all, &before.servers);
    if all != before.servers {
        let next = finish(map, all, situation.moves_items)?;
        if !next.cuts_short {
            return Ok(Some(next.map.into_content()));
        }
    }
    // Whoever comes can wait; whoever goes has gone.
    stay_away(&mut staying, &before.servers);
    keep_owners(&mut staying, &before.servers);
    if staying != before.servers {
        let next = finish(map, staying, situation.moves_items)?;
        return Ok(Some(next.map.into_content()));
    }
    Ok(advanced(map, &Told(situation.view, map)))
}

/// Notes who is gone, and who lives another life; takes their offers away.
fn give_up_and_renew(
    servers: &mut [Member],
    offers: &mut BTreeMap<&String, &Offer>,
    situation: Situation<'_>,
) {
    let mut given_up = 0;
    for server in by_address(servers) {
        let name = server.addresses[0].to_string();
        let state = changed_by_offer(server, offers.remove(&name), situation.moves_items);
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
}

/// Servers that were gone do not come back yet.
fn stay_away(servers: &mut [Member], before: &[Member]) {
    for (server, before) in servers.iter_mut().zip(before) {
        if before.state == MemberState::Gone {
            server.clone_from(before);
        }
    }
}

/// What servers have told of the moves of a map, in their offers.
struct Told<'a>(&'a View, &'a ClusterMap);

impl Told<'_> {
    /// What the server has done, in the life that the map knows or in a later one.
    fn done(&self, server: ServerId) -> Option<&Done> {
        let Told(view, map) = self;
        let server = map.server(server)?;
        let offer = &view.offers.get(&server.addresses[0].to_string())?.value;
        (offer.life >= server.incarnation).then_some(&offer.done)
    }
}

impl Progress for Told<'_> {
    /// The new owner must go by the map, too: it decides from then on.
    fn is_acknowledged(&self, moved: &Move, epoch: Epoch) -> bool {
        let follows = |server| self.done(server).is_some_and(|done| done.epoch >= epoch);
        follows(moved.from) && follows(moved.to)
    }

    /// As told under the very map that lists the move: another one may list other arcs.
    fn is_complete(&self, moved: &Move, epoch: Epoch) -> bool {
        let done = self.done(moved.to).filter(|done| done.epoch == epoch);
        done.is_some_and(|done| done.received.contains(&moved.from))
    }
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
    add(&mut content.servers, offers(view), false);
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
fn changed_by_offer(
    server: &mut Member,
    offer: Option<&Offer>,
    moves_items: bool,
) -> Option<MemberState> {
    let offer = offer.filter(|offer| offer.life >= server.incarnation)?;
    let is_later = offer.life > server.incarnation;
    if is_later && !offer.is_leaving {
        server.incarnation = offer.life;
        server.weight = offer.weight;
        server.zone.clone_from(&offer.zone);
    }
    Some(match server.state {
        _ if offer.is_leaving => MemberState::Gone,
        MemberState::Gone if is_later => arriving(moves_items),
        state => state,
    })
}

/// The state of a server that comes.
fn arriving(moves_items: bool) -> MemberState {
    match moves_items {
        true => MemberState::Joining,
        false => MemberState::Serving,
    }
}

fn is_overdue(server: ServerId, situation: Situation<'_>) -> bool {
    let since = situation.absences.since(server);
    since.is_some_and(|since| situation.now.saturating_sub(since) >= situation.grace)
}

/// Adds the servers that offer themselves, under names that were not used before.
fn add(servers: &mut Vec<Member>, offers: BTreeMap<&String, &Offer>, moves_items: bool) {
    let highest = servers.last().map_or(0, |server| server.id.0);
    let staying = offers.into_values().filter(|offer| !offer.is_leaving);
    let added = (highest + 1..).zip(staying).map(|(id, offer)| Member {
        id: ServerId(id),
        incarnation: offer.life,
        weight: offer.weight,
        zone: offer.zone.clone(),
        state: arriving(moves_items),
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

/// The map with these servers and the next epoch, the slots given to those who serve now.
fn finish(
    map: &ClusterMap,
    servers: Vec<Member>,
    moves_items: bool,
) -> Result<Planned, InvalidMap> {
    let before = map.content();
    let mut content = MapContent {
        epoch: Epoch(before.epoch.0 + 1),
        servers,
        ..before.clone()
    };
    let shares = content.shares();
    if shares != before.shares()
        && let Rule::Slots(table) = &content.rule
        && let Some(table) = SlotTable::rebalanced(table, &shares)
    {
        content.rule = Rule::Slots(table);
    }
    if moves_items {
        return planned(map, content).and_then(seat);
    }
    // Who moves what to whom was planned for the owners before.
    if shares != before.shares() {
        content.moves.clear();
    }
    let made = ClusterMap::new(content.clone());
    let made = made.or_else(|invalid| match content.moves.is_empty() {
        true => Err(invalid),
        false => {
            content.moves.clear();
            ClusterMap::new(content)
        }
    });
    made.map(|map| Planned {
        map,
        cuts_short: false,
    })
}

/// Servers to which nothing moves have all they will have.
fn seat(planned: Planned) -> Result<Planned, InvalidMap> {
    let mut content = planned.map.into_content();
    for server in &mut content.servers {
        let is_awaiting = content.moves.iter().any(|moved| moved.to == server.id);
        if server.state == MemberState::Joining && !is_awaiting {
            server.state = MemberState::Serving;
        }
    }
    Ok(Planned {
        map: ClusterMap::new(content)?,
        ..planned
    })
}
