use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};

/// The owners of a key by one map: those that the ring names, dead or alive, so that a server's
/// position, and with it its shard, stays when another one dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    epoch: u64,
    owners: ArrayVec<ServerId, OWNERS_MAX>,
    /// By position.
    live: Positions,
}

/// A set of positions, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Positions(u32);

const _: () = assert!(OWNERS_MAX <= 32);

impl Positions {
    /// Whether it was not there.
    pub fn insert(&mut self, position: usize) -> bool {
        let before = self.0;
        self.0 |= 1 << position;
        self.0 != before
    }

    pub fn has(self, position: usize) -> bool {
        self.0 >> position & 1 == 1
    }

    pub fn covers(self, others: Positions) -> bool {
        self.0 & others.0 == others.0
    }

    pub fn with(self, others: Positions) -> Positions {
        Positions(self.0 | others.0)
    }

    pub fn without(self, others: Positions) -> Positions {
        Positions(self.0 & !others.0)
    }

    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..OWNERS_MAX).filter(move |position| self.has(*position))
    }
}

impl FromIterator<usize> for Positions {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        let mut set = Positions::default();
        positions.into_iter().for_each(|one| _ = set.insert(one));
        set
    }
}

impl Group {
    /// The owners in the ring's order, each with whether the map of this epoch has it as a member.
    /// Owners beyond [`OWNERS_MAX`] are left out.
    pub fn new(epoch: u64, owners: impl IntoIterator<Item = (ServerId, bool)>) -> Group {
        let mut group = Group {
            epoch,
            owners: ArrayVec::new(),
            live: Positions::default(),
        };
        for (server, is_live) in owners.into_iter().take(OWNERS_MAX) {
            if is_live {
                group.live.insert(group.owners.len());
            }
            group.owners.push(server);
        }
        group
    }

    /// The map's epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many owners are live.
    pub fn live_count(&self) -> usize {
        self.live.count()
    }

    pub(super) fn live(&self) -> Positions {
        self.live
    }

    pub(super) fn owners_count(&self) -> usize {
        self.owners.len()
    }

    pub(super) fn position(&self, server: ServerId) -> Option<usize> {
        self.owners.iter().position(|owner| *owner == server)
    }

    pub(super) fn owner(&self, position: usize) -> ServerId {
        self.owners[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_stays_when_another_owner_dies() {
        let group = Group::new(
            4,
            [
                (ServerId(7), true),
                (ServerId(9), false),
                (ServerId(3), true),
            ],
        );
        assert_eq!((group.epoch(), group.live_count()), (4, 2));
        assert_eq!(group.live().iter().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(group.owner(2), ServerId(3));
        assert!(group.live().covers([2].into_iter().collect()));
        assert!(!group.live().covers([1, 2].into_iter().collect()));
    }
}
