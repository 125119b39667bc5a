//! A cluster's servers, who owns which keys and what is on its way: the map, which has an epoch.
//!
//! | file | what it does |
//! |---|---|
//! | `content` | what a map says, as plain data |
//! | `slots` | slots of the hash, shared out exactly |
//! | `routes` | the owner of every hash |
//! | `check` | what must hold of a map |
//! | `difference` | the keys that have other owners in a newer map |
//! | `domain` | the keys on which one server decides |
//! | `moves` | what the next map lists as moving, and how moves come to their end |
//! | `tenure` | for which keys a server may trust what it holds |
//! | `read`, `write` | the map as text |
//!
//! `docs/design/cluster.md` has the reasons and the text's grammar.

pub mod arcs;
mod check;
mod content;
mod difference;
mod domain;
mod moves;
mod read;
mod routes;
mod slots;
mod tenure;
mod write;

pub use check::{InvalidMap, Place};
pub use content::{
    Epoch, HashArc, Incarnation, InvalidName, MapContent, Member, MemberState, Move,
    NAME_BYTES_MAX, Name, Phase, Rule,
};
pub use difference::{Change, Incomparable, difference, plan_moves};
pub use domain::Domain;
pub use moves::{Planned, Progress, advanced, planned};
pub use read::InvalidText;
pub use slots::{SLOTS, SlotTable};
pub use tenure::{Gained, Tenure};

use crate::{Address, OWNERS_MAX, Owners, ServerId};
use arrayvec::ArrayVec;
use routes::Routes;
use std::collections::BTreeMap;

/// A map that holds together, ready to be asked.
#[derive(Clone, Debug)]
pub struct ClusterMap {
    content: MapContent,
    routes: Routes,
    /// Arcs that their old owners still decide on, in ascending order.
    held: Vec<(HashArc, ServerId)>,
    /// The failure zone of each server, by its index; servers without one have zones of their own.
    zones: Vec<usize>,
    /// How many of these zones own keys, or hold them still.
    zones_in_use: usize,
    edition: u64,
}

/// Two maps are the same where they say the same.
impl PartialEq for ClusterMap {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for ClusterMap {}

impl ClusterMap {
    /// Checks what a map says and works out who owns what.
    ///
    /// # Errors
    /// The content contradicts itself.
    pub fn new(content: MapContent) -> Result<Self, InvalidMap> {
        check::check_servers(&content)?;
        let routes = Routes::new(&content);
        check::check_moves(&content, &routes)?;
        let held = held(&content.moves);
        let zones = zones(&content.servers);
        let mut in_use: Vec<usize> = (content.servers.iter().zip(&zones))
            .filter(|(server, _)| {
                let is_holding = |&(_, holder): &(HashArc, ServerId)| holder == server.id;
                server.state.owns_keys() || held.iter().any(is_holding)
            })
            .map(|(_, &zone)| zone)
            .collect();
        in_use.sort_unstable();
        in_use.dedup();
        let mut map = Self {
            content,
            routes,
            held,
            zones,
            zones_in_use: in_use.len(),
            edition: 0,
        };
        let digest = crc32fast::hash(map.to_string().as_bytes());
        map.edition = u64::from(digest) << 32 | map.epoch().0 & u64::from(u32::MAX);
        Ok(map)
    }

    /// What the map says.
    #[must_use]
    pub fn content(&self) -> &MapContent {
        &self.content
    }

    /// What the map says, to be changed.
    #[must_use]
    pub fn into_content(self) -> MapContent {
        self.content
    }

    /// The map's version.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.content.epoch
    }

    /// A number that is another one for another map: the CRC-32 of its text, and the epoch's lower
    /// half. Who starts a cluster anew may begin with an epoch that was in force before.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// The server of this name.
    #[must_use]
    pub fn server(&self, name: ServerId) -> Option<&Member> {
        let position = self.content.position(name)?;
        self.content.servers.get(position)
    }

    /// Where clients reach these servers, as far as the map has them.
    pub fn client_addresses<'a>(
        &'a self,
        servers: &'a [ServerId],
    ) -> impl Iterator<Item = &'a Address> {
        let members = servers.iter().filter_map(|server| self.server(*server));
        members.filter_map(Member::client_address)
    }

    /// The hash that decides on a key's owner; `None` where clients place keys.
    #[must_use]
    #[inline]
    pub fn hash_of_key(&self, key: &[u8]) -> Option<u32> {
        let algorithm = self.content.rule.key_hash()?;
        Some(algorithm.digest(key))
    }

    /// The servers that answer for a key: the one that decides on it first, then those that keep
    /// its copies or shards. None where no server owns keys, or clients place them.
    ///
    /// There are `wanted` of them, or as many as there are, and at most [`OWNERS_MAX`]. No two are
    /// in one failure zone as long as there are zones enough; then come those passed over. `key`
    /// comes with its namespace.
    #[must_use]
    #[inline]
    pub fn locate(&self, key: &[u8], wanted: usize) -> Owners {
        match self.hash_of_key(key) {
            Some(hash) => self.locate_hash(hash, wanted),
            None => Owners::default(),
        }
    }

    /// As [`locate`](Self::locate), for a key with this hash.
    #[must_use]
    #[inline]
    pub fn locate_hash(&self, hash: u32, wanted: usize) -> Owners {
        match wanted {
            1 => self.decider(hash).map(Owners::one).unwrap_or_default(),
            _ => self.spread(hash, wanted),
        }
    }

    /// Whether this map and another one certainly name the same servers for every key and every
    /// number of them: what they say of placement, down to how far moves are, is the same.
    #[must_use]
    pub fn places_as(&self, other: &ClusterMap) -> bool {
        let (one, other) = (&self.content, &other.content);
        one.rule == other.rule && one.moves == other.moves && one.owning().eq(other.owning())
    }

    /// Whether no server owns a key: there is none, or clients place keys.
    fn has_no_owners(&self) -> bool {
        matches!(self.routes, Routes::Nowhere)
    }

    /// Whether this server decides on every key that there may be.
    fn decides_on_every(&self, server: ServerId) -> bool {
        let decides = |owner| owner == server;
        self.held.iter().all(|&(_, holder)| decides(holder)) && self.routes.all_owners(decides)
    }

    /// The hashes on which this server decides, in ascending order, none next to another. None
    /// where no server owns keys.
    #[must_use]
    pub fn arcs_of(&self, server: ServerId) -> Vec<HashArc> {
        let mut arcs: Vec<HashArc> = Vec::new();
        let mut next = Some(0);
        while let Some(first) = next {
            let Some((decider, last)) = self.decided_stretch(first) else {
                break;
            };
            next = last.checked_add(1);
            if decider != server {
                continue;
            }
            match arcs.last_mut().filter(|arc| arc.last + 1 == first) {
                Some(before) => before.last = last,
                None => arcs.push(HashArc { first, last }),
            }
        }
        arcs
    }

    /// Who decides on these hashes, which ascend: by servers, the parts of the arcs.
    #[must_use]
    pub fn deciders_of(&self, arcs: &[HashArc]) -> BTreeMap<ServerId, Vec<HashArc>> {
        let mut deciders = BTreeMap::<ServerId, Vec<HashArc>>::new();
        for arc in arcs {
            let mut next = Some(arc.first);
            while let Some(first) = next {
                let Some((decider, last)) = self.decided_stretch(first) else {
                    break;
                };
                let last = last.min(arc.last);
                let part = HashArc { first, last };
                deciders.entry(decider).or_default().push(part);
                next = last.checked_add(1).filter(|next| *next <= arc.last);
            }
        }
        deciders
    }

    /// Who decides on a hash, with a hash up to which it decides on all.
    fn decided_stretch(&self, hash: u32) -> Option<(ServerId, u32)> {
        let (owner, last) = self.routes.stretch(hash)?;
        let index = self.held.partition_point(|(arc, _)| arc.last < hash);
        match self.held.get(index) {
            Some(&(arc, holder)) if arc.first <= hash => Some((holder, arc.last)),
            Some((arc, _)) => Some((owner, last.min(arc.first - 1))),
            None => Some((owner, last)),
        }
    }

    /// The one server that decides on a hash in this epoch.
    #[inline]
    fn decider(&self, hash: u32) -> Option<ServerId> {
        match self.held.is_empty() {
            true => self.routes.owner(hash),
            false => self.holder(hash).or_else(|| self.routes.owner(hash)),
        }
    }

    fn holder(&self, hash: u32) -> Option<ServerId> {
        let after = self.held.partition_point(|(arc, _)| arc.first <= hash);
        let &(arc, holder) = self.held.get(after.checked_sub(1)?)?;
        arc.contains(hash).then_some(holder)
    }

    fn spread(&self, hash: u32, wanted: usize) -> Owners {
        let decider = self.decider(hash).into_iter();
        match &self.routes {
            Routes::Nowhere => Owners::default(),
            Routes::Ring(ring) => self.in_zones(decider.chain(ring.walk(hash)), wanted),
            Routes::Slots(table) => self.in_zones(decider.chain(table.walk(hash)), wanted),
        }
    }

    /// Chooses among candidates, better ones first.
    fn in_zones(&self, candidates: impl Iterator<Item = ServerId>, wanted: usize) -> Owners {
        // A server that only holds keys still is one more than own any.
        let wanted = wanted.min(OWNERS_MAX).min(self.routes.servers() + 1);
        let mut chosen = ArrayVec::<ServerId, OWNERS_MAX>::new();
        let mut zones = ArrayVec::<usize, OWNERS_MAX>::new();
        let mut passed_over = ArrayVec::<ServerId, OWNERS_MAX>::new();
        for server in candidates {
            let is_enough = chosen.len() + passed_over.len() >= wanted;
            if chosen.len() == wanted || is_enough && zones.len() == self.zones_in_use {
                break;
            }
            if chosen.contains(&server) || passed_over.contains(&server) {
                continue;
            }
            let zone = self.content.position(server).map(|index| self.zones[index]);
            match zone {
                Some(zone) if !zones.contains(&zone) => {
                    zones.push(zone);
                    chosen.push(server);
                }
                _ if !passed_over.is_full() => passed_over.push(server),
                _ => {}
            }
        }
        Owners::distinct(chosen.into_iter().chain(passed_over), wanted)
    }
}

fn held(moves: &[Move]) -> Vec<(HashArc, ServerId)> {
    let handing_over = moves
        .iter()
        .filter(|moved| moved.phase == Phase::HandingOver);
    let mut held: Vec<_> = handing_over
        .flat_map(|moved| moved.arcs.iter().map(|&arc| (arc, moved.from)))
        .collect();
    held.sort_unstable();
    held
}

/// A number for each server's zone.
fn zones(servers: &[Member]) -> Vec<usize> {
    let mut names: Vec<&Name> = servers.iter().filter_map(|it| it.zone.as_ref()).collect();
    names.sort_unstable();
    names.dedup();
    let zone_of = |(index, server): (usize, &Member)| match &server.zone {
        Some(zone) => names.partition_point(|name| *name < zone),
        None => names.len() + index,
    };
    servers.iter().enumerate().map(zone_of).collect()
}
