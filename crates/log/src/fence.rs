//! Fences as they are written down: of some keys, everything up to a sequence number is void.

use std::sync::Arc;

/// Keys, by arcs of their hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyArcs {
    /// Which of the hashes that the store's owner chooses.
    pub hash: u8,
    /// First and last hash of each, ascending and apart.
    pub arcs: Vec<(u32, u32)>,
}

impl KeyArcs {
    /// Every key.
    pub fn all() -> KeyArcs {
        KeyArcs {
            hash: 0,
            arcs: vec![(0, u32::MAX)],
        }
    }

    /// Whether it is every key.
    pub fn is_all(&self) -> bool {
        self.arcs == [(0, u32::MAX)]
    }

    /// Whether a key with this hash is one of them.
    pub fn has(&self, hash: u32) -> bool {
        let after = self.arcs.partition_point(|&(first, _)| first <= hash);
        after > 0 && hash <= self.arcs[after - 1].1
    }

    /// The union with other keys; all keys, where the two are told by different hashes.
    fn with(&self, other: &KeyArcs) -> KeyArcs {
        if self.hash != other.hash {
            return KeyArcs::all();
        }
        let mut arcs = [self.arcs.as_slice(), &other.arcs].concat();
        arcs.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (first, last) in arcs {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => joined.push((first, last)),
            }
        }
        KeyArcs {
            hash: self.hash,
            arcs: joined,
        }
    }
}

/// One fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Fillings up to this sequence number are shut out.
    pub floor: u64,
    /// Of them, these keys.
    pub keys: Arc<KeyArcs>,
}

/// Makes one fence of the two oldest, which shuts out all that either did.
pub fn join_oldest(list: &mut Vec<Fence>) {
    let [one, other, ..] = list.as_slice() else {
        return;
    };
    let joined = Fence {
        floor: one.floor.max(other.floor),
        keys: Arc::new(one.keys.with(&other.keys)),
    };
    list.splice(..2, [joined]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arcs(arcs: &[(u32, u32)]) -> KeyArcs {
        KeyArcs {
            hash: 1,
            arcs: arcs.to_vec(),
        }
    }

    #[test]
    fn keys_of_different_hashes_are_joined_to_all() {
        let one = arcs(&[(1, 4), (9, 9)]);
        let joined = one.with(&arcs(&[(5, 6), (8, 12)]));
        assert_eq!(joined, arcs(&[(1, 6), (8, 12)]));
        let other = KeyArcs {
            hash: 2,
            ..one.clone()
        };
        assert!(one.with(&other).is_all());
    }
}
