//! The owner of every hash, by a map's rule alone: without what is on its way.

use super::content::{MapContent, Member, Rule};
use super::slots::{SLOTS, SlotTable};
use crate::ServerId;
use crate::distribution::{Continuum, Distribution, PlacementSettings, Server};
use crate::hash::HashAlgorithm;

/// What the rule makes of the servers.
#[derive(Clone, Debug)]
pub(super) enum Routes {
    /// No server owns a key, or clients place keys.
    Nowhere,
    Ring(Continuum),
    Slots(SlotTable),
}

impl Routes {
    pub(super) fn new(content: &MapContent) -> Self {
        match &content.rule {
            Rule::Client => Self::Nowhere,
            Rule::Slots(table) => Self::Slots(table.clone()),
            Rule::Ketama => ring(&content.servers).map_or(Self::Nowhere, Self::Ring),
        }
    }

    /// The owner of a hash.
    #[inline]
    pub(super) fn owner(&self, hash: u32) -> Option<ServerId> {
        match self {
            Self::Nowhere => None,
            Self::Ring(ring) => Some(ring.owner(hash)),
            Self::Slots(table) => Some(table.owner(hash)),
        }
    }

    /// Whether all who own keys are as asked for.
    pub(super) fn all_owners(&self, is_wanted: impl Fn(ServerId) -> bool) -> bool {
        match self {
            Self::Nowhere => true,
            Self::Ring(ring) => ring.walk(0).all(is_wanted),
            Self::Slots(table) => table.owners().iter().copied().all(is_wanted),
        }
    }

    /// The owner of a hash with the highest hash up to which it owns all.
    pub(super) fn stretch(&self, hash: u32) -> Option<(ServerId, u32)> {
        match self {
            Self::Nowhere => None,
            Self::Ring(ring) => Some(ring.stretch(hash)),
            Self::Slots(table) => Some(stretch_of_slots(table, hash)),
        }
    }

    /// How many different servers own keys, or more.
    pub(super) fn servers(&self) -> usize {
        match self {
            Self::Nowhere => 0,
            Self::Ring(ring) => ring.servers(),
            Self::Slots(_) => SLOTS,
        }
    }
}

fn ring(servers: &[Member]) -> Option<Continuum> {
    let settings = PlacementSettings {
        distribution: Distribution::KetamaWeighted,
        key_hash: HashAlgorithm::Md5,
        ..PlacementSettings::default()
    };
    let owning = servers.iter().filter(|server| server.state.owns_keys());
    let named: Vec<(ServerId, Server)> = owning
        .map(|member| {
            let server = Server::at(member.addresses[0].clone());
            (member.id, server.with_weight(member.weight))
        })
        .collect();
    let up: Vec<(ServerId, &Server)> = named.iter().map(|(id, server)| (*id, server)).collect();
    Continuum::new(&settings, &up)
}

fn stretch_of_slots(table: &SlotTable, hash: u32) -> (ServerId, u32) {
    let slot = SlotTable::slot(hash);
    let owner = table.owner(hash);
    let same = table.owners()[slot..]
        .iter()
        .take_while(|&&next| next == owner);
    (owner, SlotTable::last_hash(slot + same.count() - 1))
}
