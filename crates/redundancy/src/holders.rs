//! Which owners have the bytes of a value that is copied.

use farcache_cluster::OWNERS_MAX;

/// The first so many of a value's owners have a copy. The others are *witnesses* (Pâris, "Voting
/// with Witnesses", 1986): they have its version only, so that they count for a quorum and tell
/// readers of it, and take no memory for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holders(u8);

impl Holders {
    /// Every owner has a copy.
    pub const ALL: Holders = Holders(0);

    /// The first so many of so many owners; all where that is not fewer.
    pub fn first(holders: usize, owners: usize) -> Holders {
        match holders < owners {
            true => Holders(holders as u8),
            false => Holders::ALL,
        }
    }

    /// Whether the owner at this position has a copy.
    pub fn has(self, position: usize) -> bool {
        self == Holders::ALL || position < usize::from(self.0)
    }

    /// How many of so many owners have a copy.
    pub fn count(self, owners: usize) -> usize {
        match self {
            Holders::ALL => owners,
            Holders(count) => owners.min(count.into()),
        }
    }

    /// As a header has it: how many; 0 for all.
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    /// Read from a header; none where there are no so many owners.
    pub(crate) fn from_number(number: u8) -> Option<Holders> {
        (usize::from(number) < OWNERS_MAX).then_some(Holders(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_owners_have_copies_and_all_have_where_there_are_no_more() {
        let three = Holders::first(3, 5);
        let has = [0, 2, 3, 4].map(|position| three.has(position));
        assert_eq!(has, [true, true, false, false]);
        assert_eq!(Holders::first(5, 5), Holders::ALL);
        assert!(Holders::ALL.has(31));
        assert_eq!(Holders::from_number(3), Some(three));
        assert_eq!(Holders::from_number(32), None);
    }
}
