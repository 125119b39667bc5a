//! For which keys, and since when, one server may trust what it holds.
//!
//! A server that is given keys which others may have owned must not serve what it held of them
//! before. What it was given is told by its tenure under the map before and under the one after.
//! A tenure is kept with the items, so that it also tells after a restart.

use super::ClusterMap;
use super::arcs::without;
use super::content::HashArc;
use crate::ServerId;
use crate::hash::HashAlgorithm;

/// What stands for "whatever the hash".
const NO_HASH: u8 = u8::MAX;
const FORMAT: u8 = 1;

/// One server under one map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenure {
    cluster: String,
    epoch: u64,
    /// Of the server; 0 where it is not listed.
    incarnation: u64,
    /// Index among [`HashAlgorithm::ALL`], or [`NO_HASH`].
    hash: u8,
    /// What it decides on.
    arcs: Vec<HashArc>,
}

/// Keys of which a server may hold what others have changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gained {
    /// None.
    Nothing,
    /// The keys on these arcs, by the hash with this index among [`HashAlgorithm::ALL`].
    Arcs(u8, Vec<HashArc>),
    /// All: nobody knows who owned keys meanwhile.
    Everything,
}

impl Tenure {
    /// The tenure of a server under this map. `None` is a server that the map does not list.
    #[must_use]
    pub fn new(map: &ClusterMap, server: Option<ServerId>) -> Tenure {
        let member = server.and_then(|server| map.server(server));
        let algorithm = map.content().rule.key_hash();
        let index = algorithm.and_then(|hash| HashAlgorithm::ALL.iter().position(|it| *it == hash));
        let has_owners = !map.has_no_owners();
        Tenure {
            cluster: map.content().cluster.to_string(),
            epoch: map.epoch().0,
            incarnation: member.map_or(0, |member| member.incarnation.0),
            hash: match index {
                Some(index) if has_owners => index as u8,
                _ => NO_HASH,
            },
            arcs: match (has_owners, server) {
                (false, _) => vec![HashArc::ALL],
                (true, Some(server)) => map.arcs_of(server),
                (true, None) => Vec::new(),
            },
        }
    }

    /// The epoch of its map.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many keys it is for, in parts of 2^32.
    #[must_use]
    pub fn share(&self) -> u64 {
        self.arcs.iter().map(HashArc::hashes).sum()
    }

    /// What the server is given when `next` follows. `life` is the present life of a server that
    /// counts its starts: what it held in the life just before is as good as what it holds.
    ///
    /// Nothing is known of maps in between: where an epoch is left out, it is everything.
    #[must_use]
    pub fn gained(&self, next: &Tenure, life: Option<u64>) -> Gained {
        let is_next = self.cluster == next.cluster
            && (next.epoch == self.epoch || Some(next.epoch) == self.epoch.checked_add(1));
        let is_next_life = life == Some(next.incarnation)
            && self.incarnation.checked_add(1) == Some(next.incarnation);
        let is_same_life = next.incarnation == self.incarnation || is_next_life;
        if next.arcs.is_empty() {
            return Gained::Nothing;
        }
        if !is_next || !is_same_life {
            return Gained::Everything;
        }
        match (self.hash, next.hash) {
            // Others may have changed what clients placed as they liked.
            (NO_HASH, NO_HASH) => Gained::Nothing,
            (NO_HASH, _) => Gained::Everything,
            (hash, NO_HASH) => Gained::arcs(hash, without(&[HashArc::ALL], &self.arcs)),
            (hash, next_hash) if hash == next_hash => {
                Gained::arcs(hash, without(&next.arcs, &self.arcs))
            }
            (_, hash) => Gained::arcs(hash, next.arcs.clone()),
        }
    }

    /// As bytes, at most so many: arcs that do not fit are left out, as if they were never owned.
    #[must_use]
    pub fn encode(&self, bytes_max: usize) -> Vec<u8> {
        let mut bytes = vec![FORMAT, self.cluster.len() as u8];
        bytes.extend(self.cluster.as_bytes());
        bytes.extend(self.epoch.to_le_bytes());
        bytes.extend(self.incarnation.to_le_bytes());
        bytes.push(self.hash);
        for arc in &self.arcs {
            if bytes.len() + 8 > bytes_max {
                break;
            }
            bytes.extend(arc.first.to_le_bytes());
            bytes.extend(arc.last.to_le_bytes());
        }
        bytes
    }

    /// None for anything that [`encode`](Self::encode) did not write.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Tenure> {
        let (&[FORMAT, length], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let (cluster, rest) = rest.split_at_checked(usize::from(length))?;
        let (epoch, rest) = rest.split_first_chunk()?;
        let (incarnation, rest) = rest.split_first_chunk()?;
        let (&hash, rest) = rest.split_first()?;
        let (arcs, []) = rest.as_chunks::<8>() else {
            return None;
        };
        let half = |arc: &[u8; 8], from: usize| {
            u32::from_le_bytes([arc[from], arc[from + 1], arc[from + 2], arc[from + 3]])
        };
        let arcs = arcs.iter().map(|arc| HashArc {
            first: half(arc, 0),
            last: half(arc, 4),
        });
        let arcs: Vec<HashArc> = arcs.collect();
        let are_arcs = arcs.iter().all(|arc| arc.first <= arc.last);
        let are_apart = arcs.is_sorted_by(|one, next| one.last < next.first);
        (are_arcs && are_apart).then_some(Tenure {
            cluster: String::from_utf8(cluster.to_vec()).ok()?,
            epoch: u64::from_le_bytes(*epoch),
            incarnation: u64::from_le_bytes(*incarnation),
            hash,
            arcs,
        })
    }
}

impl Gained {
    fn arcs(hash: u8, arcs: Vec<HashArc>) -> Gained {
        match arcs.is_empty() {
            true => Gained::Nothing,
            false => Gained::Arcs(hash, arcs),
        }
    }
}

#[cfg(test)]
mod tests;
