//! Equal slots of the hash, each of which belongs to one server.
//!
//! The owners stand in the map and are not computed from the list of servers: only so can shares be
//! exact and nothing move that need not. Source of the idea and of the number: Redis Cluster's and
//! Valkey's 16,384 hash slots.

use crate::ServerId;
use std::fmt;

/// How many slots there are.
pub const SLOTS: usize = 1 << SLOT_BITS;
/// A hash's highest bits are the number of its slot, so a slot is an arc of hashes.
const SLOT_BITS: u32 = 14;
const SHIFT: u32 = u32::BITS - SLOT_BITS;

/// The owner of every slot.
#[derive(Clone, PartialEq, Eq)]
pub struct SlotTable(Box<[ServerId; SLOTS]>);

impl fmt::Debug for SlotTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owners = self.0.chunk_by(PartialEq::eq);
        formatter
            .debug_list()
            .entries(owners.map(|run| (run[0], run.len())))
            .finish()
    }
}

/// A server's part in sharing slots out.
struct Share {
    server: ServerId,
    /// The slots that it is due, rounded down.
    floor: usize,
    /// What was cut off by that, in parts of the total weight.
    remainder: u64,
    /// The slots that it has now.
    held: Vec<usize>,
    /// The slots that it shall have.
    quota: usize,
}

impl SlotTable {
    /// The slots shared out anew by weight: the servers own consecutive slots in the order given.
    /// `None` without servers.
    ///
    /// # Panics
    /// A weight is 0 or a server is named twice.
    #[must_use]
    pub fn shared(weights: &[(ServerId, u32)]) -> Option<Self> {
        Self::assigned(vec![None; SLOTS], weights)
    }

    /// The slots shared out by weight with as few of them as possible moved from where they are.
    /// `None` without servers.
    ///
    /// Every server gets its share, rounded down or up. Who gets the rest of the rounding is chosen
    /// so that no other choice moves fewer slots; among equals the largest remainder goes first.
    ///
    /// # Panics
    /// As [`shared`](Self::shared).
    #[must_use]
    pub fn rebalanced(&self, weights: &[(ServerId, u32)]) -> Option<Self> {
        Self::assigned(self.0.iter().copied().map(Some).collect(), weights)
    }

    fn assigned(mut owners: Vec<Option<ServerId>>, weights: &[(ServerId, u32)]) -> Option<Self> {
        let mut shares = quotas(&owners, weights)?;
        for share in &mut shares {
            for surplus in share.held.drain(share.quota.min(share.held.len())..) {
                owners[surplus] = None;
            }
        }
        // Slots of servers that get none any more are free, too.
        let is_kept = |owner: &ServerId| shares.iter().any(|share| share.server == *owner);
        let free: Vec<usize> = (0..SLOTS)
            .filter(|&slot| !owners[slot].as_ref().is_some_and(is_kept))
            .collect();
        let takers = shares.iter().flat_map(|share| {
            let missing = share.quota - share.held.len();
            std::iter::repeat_n(share.server, missing)
        });
        for (slot, taker) in free.into_iter().zip(takers) {
            owners[slot] = Some(taker);
        }
        Self::from_owners(owners.into_iter().collect::<Option<_>>()?)
    }

    /// The table with these owners of slot 0, slot 1 and so on; `None` unless there are [`SLOTS`].
    #[must_use]
    pub fn from_owners(owners: Vec<ServerId>) -> Option<Self> {
        owners.into_boxed_slice().try_into().ok().map(Self)
    }

    /// The owners of slot 0, slot 1 and so on.
    #[must_use]
    pub fn owners(&self) -> &[ServerId; SLOTS] {
        &self.0
    }

    /// The slot of a key's hash.
    #[must_use]
    #[inline]
    pub const fn slot(hash: u32) -> usize {
        (hash >> SHIFT) as usize
    }

    /// The highest hash of a slot.
    #[must_use]
    pub(super) const fn last_hash(slot: usize) -> u32 {
        ((slot as u32) << SHIFT) | ((1 << SHIFT) - 1)
    }

    /// The owner of the slot of this hash.
    #[must_use]
    #[inline]
    pub fn owner(&self, hash: u32) -> ServerId {
        self.0[Self::slot(hash)]
    }

    /// The owners of all slots, each slot once, the hash's own first. Every slot has an order of
    /// its own, so that the slots of one server have their second owners on all the others.
    pub(super) fn walk(&self, hash: u32) -> impl Iterator<Item = ServerId> {
        let slot = Self::slot(hash);
        // An odd step meets every slot of a power of two. Source of the multiplier: D. Knuth, The
        // Art of Computer Programming 3, 6.4 (the golden ratio of 32 bits).
        let step = ((slot as u32).wrapping_mul(0x9e37_79b1) >> SHIFT | 1) as usize;
        (0..SLOTS).map(move |number| self.0[(slot + number * step) % SLOTS])
    }
}

/// What every server is due; `None` without servers.
fn quotas(owners: &[Option<ServerId>], weights: &[(ServerId, u32)]) -> Option<Vec<Share>> {
    let total: u64 = weights.iter().map(|&(_, weight)| u64::from(weight)).sum();
    if weights.is_empty() {
        return None;
    }
    let mut shares: Vec<Share> = weights
        .iter()
        .map(|&(server, weight)| {
            assert!(weight > 0, "server {server} has weight 0");
            let due = SLOTS as u64 * u64::from(weight);
            Share {
                server,
                floor: (due / total) as usize,
                remainder: due % total,
                held: Vec::new(),
                quota: (due / total) as usize,
            }
        })
        .collect();
    hold(&mut shares, owners);
    let rest = SLOTS - shares.iter().map(|share| share.floor).sum::<usize>();
    let mut order: Vec<usize> = (0..shares.len())
        .filter(|&index| shares[index].remainder > 0)
        .collect();
    // Each server that has more than it is due gives one slot fewer if it gets one of the rest.
    order.sort_by_key(|&index| {
        let share = &shares[index];
        let has_more = share.held.len() > share.floor;
        (!has_more, std::cmp::Reverse(share.remainder))
    });
    for &index in &order[..rest] {
        shares[index].quota += 1;
    }
    Some(shares)
}

/// Tells every server which slots it has now.
fn hold(shares: &mut [Share], owners: &[Option<ServerId>]) {
    let mut positions: Vec<(ServerId, usize)> = shares
        .iter()
        .enumerate()
        .map(|(index, share)| (share.server, index))
        .collect();
    positions.sort_unstable();
    let is_twice = positions.windows(2).any(|pair| pair[0].0 == pair[1].0);
    assert!(!is_twice, "a server is named twice");
    for (slot, owner) in owners.iter().enumerate() {
        let Some(owner) = owner else { continue };
        if let Ok(place) = positions.binary_search_by_key(owner, |&(server, _)| server) {
            shares[positions[place].1].held.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(servers: impl IntoIterator<Item = u32>) -> Vec<(ServerId, u32)> {
        servers.into_iter().map(|id| (ServerId(id), 1)).collect()
    }

    fn count(table: &SlotTable, server: ServerId) -> usize {
        table.0.iter().filter(|&&owner| owner == server).count()
    }

    fn moved(old: &SlotTable, new: &SlotTable) -> usize {
        let pairs = old.0.iter().zip(new.0.iter());
        pairs.filter(|(old, new)| old != new).count()
    }

    /// Every server has its exact share, rounded down or up.
    fn assert_balanced(table: &SlotTable, weights: &[(ServerId, u32)]) {
        let total: u64 = weights.iter().map(|&(_, weight)| u64::from(weight)).sum();
        let mut all = 0;
        for &(server, weight) in weights {
            let due = SLOTS as u64 * u64::from(weight);
            let count = count(table, server);
            let bounds = (due / total) as usize..=due.div_ceil(total) as usize;
            assert!(bounds.contains(&count), "{server}: {count} of {bounds:?}");
            all += count;
        }
        assert_eq!(all, SLOTS);
    }

    #[test]
    fn slots_are_shared_out_exactly_by_weight() {
        for servers in [1, 2, 3, 7, 100, 1000, 16_384, 20_000] {
            assert_balanced(
                &SlotTable::shared(&equal(0..servers)).unwrap(),
                &equal(0..servers),
            );
        }
        let weights = [(1, 1), (2, 5), (3, 1000), (4, u32::MAX), (5, 3)];
        let weights = weights.map(|(id, weight)| (ServerId(id), weight));
        assert_balanced(&SlotTable::shared(&weights).unwrap(), &weights);
        assert!(SlotTable::shared(&[]).is_none());
    }

    #[test]
    fn a_server_that_joins_takes_its_share_and_nothing_else_moves() {
        let mut table = SlotTable::shared(&equal(0..1)).unwrap();
        for servers in 2..150 {
            let grown = table.rebalanced(&equal(0..servers)).unwrap();
            assert_balanced(&grown, &equal(0..servers));
            let joined = ServerId(servers - 1);
            assert_eq!(moved(&table, &grown), count(&grown, joined), "{servers}");
            table = grown;
        }
    }

    #[test]
    fn a_server_that_leaves_gives_its_slots_and_nothing_else_moves() {
        let mut servers: Vec<u32> = (0..150).collect();
        let mut table = SlotTable::shared(&equal(servers.clone())).unwrap();
        while servers.len() > 1 {
            let left = ServerId(servers.remove(servers.len() * 2 / 3));
            let shrunk = table.rebalanced(&equal(servers.clone())).unwrap();
            assert_balanced(&shrunk, &equal(servers.clone()));
            assert_eq!(moved(&table, &shrunk), count(&table, left), "{left} left");
            table = shrunk;
        }
    }

    #[test]
    fn no_other_rounding_of_weighted_shares_moves_fewer_slots() {
        let before = [(1, 3), (2, 5), (3, 7)].map(|(id, weight)| (ServerId(id), weight));
        let after = [(1, 3), (2, 4), (3, 11), (4, 5)].map(|(id, weight)| (ServerId(id), weight));
        let old = SlotTable::shared(&before).unwrap();
        let new = old.rebalanced(&after).unwrap();
        assert_balanced(&new, &after);
        // Of every choice of servers whose share is rounded up, the one that moves least.
        let total: usize = after.iter().map(|&(_, weight)| weight as usize).sum();
        let least = (0_u32..1 << after.len()).filter_map(|rounded_up| {
            let quotas = after.iter().enumerate().map(|(index, &(server, weight))| {
                let up = (rounded_up >> index & 1) as usize;
                (server, SLOTS * weight as usize / total + up)
            });
            let quotas: Vec<_> = quotas.collect();
            let fits = quotas.iter().map(|&(_, quota)| quota).sum::<usize>() == SLOTS;
            let surplus =
                |&(server, quota): &(ServerId, usize)| count(&old, server).saturating_sub(quota);
            fits.then(|| quotas.iter().map(surplus).sum::<usize>())
        });
        assert_eq!(moved(&old, &new), least.min().unwrap());
    }

    #[test]
    fn a_table_that_is_balanced_stays_as_it_is() {
        let weights = equal(0..300);
        let table = SlotTable::shared(&weights).unwrap();
        assert_eq!(table.rebalanced(&weights), Some(table));
    }

    #[test]
    fn a_walk_meets_every_slot_once_beginning_with_its_own() {
        let owners = (0..SLOTS as u32).map(ServerId).collect();
        let table = SlotTable::from_owners(owners).unwrap();
        for hash in [0, 1 << SHIFT, 0x1234_5678, u32::MAX] {
            let mut walked: Vec<ServerId> = table.walk(hash).collect();
            assert_eq!(walked[0], table.owner(hash));
            walked.sort_unstable();
            assert_eq!(walked, table.owners());
        }
    }

    #[test]
    fn the_slots_of_a_server_have_their_second_owners_on_all_others() {
        let table = SlotTable::shared(&equal(0..10)).unwrap();
        let second = |slot: usize| {
            let own = table.0[slot];
            table
                .walk(SlotTable::last_hash(slot))
                .find(|&next| next != own)
        };
        let seconds: Vec<ServerId> = (0..1638).filter_map(second).collect();
        for server in 1..10 {
            let share = seconds.iter().filter(|next| next.0 == server).count();
            // A ninth of them is 182.
            assert!((120..=250).contains(&share), "{server}: {share}");
        }
    }
}
