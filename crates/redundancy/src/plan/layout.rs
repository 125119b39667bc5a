//! What each owner of a value stores of it.

use super::group::{Group, Positions};
use super::{Form, Part};
use farcache_cluster::OWNERS_MAX;

/// The form of a value, and which owner has which shard of it: that of its position, unless some
/// stood at other positions by an older map and have theirs already.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    form: Form,
    /// By position.
    shards: [u8; OWNERS_MAX],
}

impl Layout {
    /// Each owner has the shard of its position.
    pub fn new(form: Form) -> Layout {
        Layout {
            form,
            shards: std::array::from_fn(|position| position as u8),
        }
    }

    /// Of so many owners some hold these shards, by their positions, and keep them. Of the others
    /// each has the shard of its position where nobody holds that; else one that is left, in the
    /// order of both. So several who miss shards, and look at the same time, make different ones.
    pub fn beside(form: Form, owners: usize, held: impl Fn(usize) -> Option<u8>) -> Layout {
        let mut layout = Layout::new(form);
        let mut taken = Positions::default();
        let mut without = Positions::default();
        for at in 0..owners {
            // What a server tells may be of a scheme that no key has.
            match held(at).filter(|shard| usize::from(*shard) < OWNERS_MAX) {
                Some(shard) => {
                    layout.shards[at] = shard;
                    taken.insert(shard.into());
                }
                None => _ = without.insert(at),
            }
        }
        let mut displaced = Positions::default();
        for at in without.iter() {
            if !taken.insert(at) {
                displaced.insert(at);
            }
        }
        let left = (0..owners).filter(|shard| !taken.has(*shard));
        for (at, shard) in displaced.iter().zip(left) {
            layout.shards[at] = shard as u8;
        }
        layout
    }

    /// The same by a newer map: who has been sent a shard keeps it.
    pub fn after(&self, old: &Group, new: &Group) -> Layout {
        Layout::beside(self.form, new.owners_count(), |at| {
            let before = old.position(new.owner(at))?;
            Some(self.shards[before])
        })
    }

    /// The form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The number of the shard that the owner at this position has.
    pub fn shard_at(&self, position: usize) -> u8 {
        self.shards[position]
    }

    /// What the owner at this position stores.
    pub fn part_at(&self, position: usize) -> Part {
        match self.form.part_at(position) {
            Part::Shard(_) => Part::Shard(self.shard_at(position)),
            part => part,
        }
    }

    /// Whether there are the bytes for this owner: the data from the beginning, parity once it has
    /// been made.
    pub fn is_at_hand(&self, position: usize, is_encoded: bool) -> bool {
        match (self.form, self.part_at(position)) {
            (Form::Shards(scheme), Part::Shard(shard)) => {
                is_encoded || usize::from(shard) < scheme.data_shards()
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheme;
    use farcache_cluster::ServerId;

    fn form() -> Form {
        Form::Shards(Scheme::new(3, 2).unwrap())
    }

    fn beside(held: [Option<u8>; 5]) -> [u8; 5] {
        let layout = Layout::beside(form(), 5, |at| held[at]);
        std::array::from_fn(|at| layout.shard_at(at))
    }

    #[test]
    fn who_holds_a_shard_keeps_it_and_the_others_miss_none() {
        assert_eq!(beside([None; 5]), [0, 1, 2, 3, 4]);
        assert_eq!(
            beside([Some(0), Some(3), Some(4), None, None]),
            [0, 3, 4, 1, 2]
        );
        assert_eq!(
            beside([None, Some(0), None, Some(2), None]),
            [1, 0, 3, 2, 4]
        );
        // What two have one of them has too much.
        assert_eq!(
            beside([Some(4), None, Some(2), None, Some(4)]),
            [4, 1, 2, 3, 4]
        );
        assert_eq!(
            beside([Some(31), Some(40), None, None, None])[2..],
            [2, 3, 4]
        );
    }

    #[test]
    fn by_a_newer_map_who_stays_keeps_its_shard() {
        let group = |epoch, ids: [u32; 5]| Group::new(epoch, ids.map(|id| (ServerId(id), true)));
        let (first, second) = (
            group(1, [10, 11, 12, 13, 14]),
            group(2, [10, 12, 13, 14, 15]),
        );
        let layout = Layout::new(form()).after(&first, &second);
        let shards = |layout: &Layout| [0, 1, 2, 3, 4].map(|at| layout.shard_at(at));
        assert_eq!(shards(&layout), [0, 2, 3, 4, 1]);
        assert_eq!(layout.part_at(4), Part::Shard(1));
        assert!(layout.is_at_hand(4, false) && !layout.is_at_hand(2, false));
        let third = group(3, [15, 10, 11, 12, 13]);
        assert_eq!(shards(&layout.after(&second, &third)), [1, 0, 4, 2, 3]);
    }
}
