//! What routing answers: names of servers.

use arrayvec::ArrayVec;
use std::fmt;
use std::ops::Deref;

/// Most servers that one question is answered with: enough for 24 data and 8 parity shards.
pub const OWNERS_MAX: usize = 32;

/// The name of a server. Where a list of servers gives no names, its servers are numbered in its
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u32);

impl fmt::Display for ServerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The servers of a key, all different, the owner first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners(ArrayVec<ServerId, OWNERS_MAX>);

impl Owners {
    /// The owner alone.
    #[inline]
    pub(crate) fn one(owner: ServerId) -> Self {
        let mut owners = ArrayVec::new();
        owners.push(owner);
        Self(owners)
    }

    /// These servers, as far as they are different, and no more than [`OWNERS_MAX`].
    #[must_use]
    pub fn of(servers: impl Iterator<Item = ServerId>) -> Self {
        Self::distinct(servers, OWNERS_MAX)
    }

    /// The first `wanted` different servers of `candidates`, and no more than [`OWNERS_MAX`].
    pub(crate) fn distinct(candidates: impl Iterator<Item = ServerId>, wanted: usize) -> Self {
        let wanted = wanted.min(OWNERS_MAX);
        let mut owners = ArrayVec::new();
        for candidate in candidates {
            if owners.len() == wanted {
                break;
            }
            if !owners.contains(&candidate) {
                owners.push(candidate);
            }
        }
        Self(owners)
    }
}

impl Deref for Owners {
    type Target = [ServerId];

    fn deref(&self) -> &[ServerId] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distinct(candidates: &[u32], wanted: usize) -> Vec<u32> {
        let candidates = candidates.iter().copied().map(ServerId);
        Owners::distinct(candidates, wanted)
            .iter()
            .map(|server| server.0)
            .collect()
    }

    #[test]
    fn each_server_is_named_once_in_the_order_of_the_candidates() {
        assert_eq!(distinct(&[3, 3, 1, 3, 2], 3), [3, 1, 2]);
        assert_eq!(distinct(&[3, 3, 1, 3, 2], 2), [3, 1]);
        assert_eq!(distinct(&[3, 3, 1], 9), [3, 1]);
        assert!(distinct(&[3], 0).is_empty());
    }

    #[test]
    fn no_more_are_named_than_there_is_room_for() {
        let many: Vec<u32> = (0..100).collect();
        assert_eq!(distinct(&many, 100).len(), OWNERS_MAX);
    }
}
