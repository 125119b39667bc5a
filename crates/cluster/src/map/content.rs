//! What a map says, as plain data.

use super::slots::SlotTable;
use crate::hash::HashAlgorithm;
use crate::{Address, ServerId};
use std::fmt;
use std::str::FromStr;

/// Longest [`Name`] in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// The name of a cluster or of a failure zone: 1 to [`NAME_BYTES_MAX`] letters, digits, `.`, `_`
/// and `-`, of which the first is a letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// What was read is not a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidName;

impl fmt::Display for InvalidName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a name has 1 to {NAME_BYTES_MAX} letters, digits, dots, underscores and hyphens, \
             and begins with a letter or a digit"
        )
    }
}

impl std::error::Error for InvalidName {}

impl Name {
    /// The text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let begins_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        let fits = text.len() <= NAME_BYTES_MAX && text.bytes().all(is_inner);
        let name = Self(text.to_owned());
        (begins_well && fits).then_some(name).ok_or(InvalidName)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The version of a map: a cluster's maps have growing epochs, and the one with the highest counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// Which life of a server this is: it grows whenever a server starts without what it held before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

/// How far a server takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberState {
    /// It owns keys, and is still given what it does not hold yet.
    Joining,
    /// It owns keys.
    Serving,
    /// It owns no keys any more; what it holds moves to others.
    Draining,
    /// It takes no part. It stays listed so that it is recognised when it comes back.
    Gone,
}

impl MemberState {
    /// Every state with the word that stands for it in a map's text.
    pub const ALL: [(Self, &str); 4] = [
        (Self::Joining, "joining"),
        (Self::Serving, "serving"),
        (Self::Draining, "draining"),
        (Self::Gone, "gone"),
    ];

    /// Whether the placement gives keys to such a server.
    #[must_use]
    pub const fn owns_keys(self) -> bool {
        matches!(self, Self::Joining | Self::Serving)
    }
}

/// A server of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, for as long as the cluster lives.
    pub id: ServerId,
    /// Which of its lives this is.
    pub incarnation: Incarnation,
    /// The share of the keys that it gets in proportion to the others, at least 1.
    pub weight: u32,
    /// What it may fail together with: servers of one zone. A server without one fails alone.
    pub zone: Option<Name>,
    /// How far it takes part.
    pub state: MemberState,
    /// Where it is reached, at least one. On a ketama ring the first one makes the server's points:
    /// another spelling moves its keys.
    pub addresses: Vec<Address>,
}

impl Member {
    /// Where clients reach it: over TCP, if it has an address for that.
    #[must_use]
    pub fn client_address(&self) -> Option<&Address> {
        let by_tcp = self.addresses.iter().find(|address| address.port != 0);
        by_tcp.or_else(|| self.addresses.first())
    }
}

/// How keys are given to the servers that [own keys](MemberState::owns_keys).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// libmemcached's weighted ketama with MD5 as the keys' hash
    /// (`MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`), the servers in the map's order.
    Ketama,
    /// Equal slots of the hash, shared out by weight, with MurmurHash3 as the keys' hash.
    Slots(SlotTable),
    /// Clients place keys as they like, and servers answer for whatever they are asked.
    Client,
}

impl Rule {
    /// The hash of the keys; `None` where the clients choose it.
    #[must_use]
    pub const fn key_hash(&self) -> Option<HashAlgorithm> {
        match self {
            Self::Ketama => Some(HashAlgorithm::Md5),
            Self::Slots(_) => Some(HashAlgorithm::Murmur3),
            Self::Client => None,
        }
    }
}

/// Consecutive hashes of keys, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HashArc {
    /// The lowest hash.
    pub first: u32,
    /// The highest hash.
    pub last: u32,
}

impl HashArc {
    /// Every hash.
    pub const ALL: Self = Self {
        first: 0,
        last: u32::MAX,
    };

    /// Whether a key with this hash lies on the arc.
    #[must_use]
    pub const fn contains(&self, hash: u32) -> bool {
        self.first <= hash && hash <= self.last
    }

    /// How many hashes the arc has.
    #[must_use]
    pub const fn hashes(&self) -> u64 {
        (self.last as u64) - (self.first as u64) + 1
    }
}

/// How far a move has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The old owner alone decides, and finishes what it has begun to write.
    HandingOver,
    /// The new owner alone decides; the old one sends it what it holds.
    Streaming,
}

impl Phase {
    /// Every phase with the word that stands for it in a map's text.
    pub const ALL: [(Self, &str); 2] = [
        (Self::HandingOver, "handing-over"),
        (Self::Streaming, "streaming"),
    ];
}

/// Keys on their way from one server to another, which the placement gives to the other already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The old owner.
    pub from: ServerId,
    /// The new owner.
    pub to: ServerId,
    /// How far it has come.
    pub phase: Phase,
    /// Which keys, in ascending order.
    pub arcs: Vec<HashArc>,
}

/// What a map says. [`ClusterMap::new`](super::ClusterMap::new) checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapContent {
    /// The cluster's name, which keeps servers of another cluster apart.
    pub cluster: Name,
    /// The map's version.
    pub epoch: Epoch,
    /// How keys are given to servers.
    pub rule: Rule,
    /// The servers, by ascending names.
    pub servers: Vec<Member>,
    /// What is on its way, by ascending `from`, `to` and `phase`.
    pub moves: Vec<Move>,
}

impl MapContent {
    /// The index of the server of this name, in a list by ascending names.
    pub(super) fn position(&self, name: ServerId) -> Option<usize> {
        let position = self.servers.binary_search_by_key(&name, |server| server.id);
        position.ok()
    }

    /// What decides on where keys lie, of each server that owns keys.
    pub(super) fn owning(
        &self,
    ) -> impl Iterator<Item = (ServerId, u32, Option<&Name>, &[Address])> {
        let owning = self.servers.iter().filter(|it| it.state.owns_keys());
        owning.map(|it| (it.id, it.weight, it.zone.as_ref(), &it.addresses[..]))
    }

    /// Names and weights of the servers that own keys: what slots are shared out by.
    #[must_use]
    pub fn shares(&self) -> Vec<(ServerId, u32)> {
        let owning = self
            .servers
            .iter()
            .filter(|server| server.state.owns_keys());
        owning.map(|server| (server.id, server.weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_of_limited_length() {
        for text in ["a", "9", "rack-1", "eu.west_2", &"n".repeat(NAME_BYTES_MAX)] {
            assert_eq!(text.parse::<Name>().unwrap().as_str(), text);
        }
        let long = "n".repeat(NAME_BYTES_MAX + 1);
        for text in ["", "-", ".a", "a b", "a=b", "ä", &long] {
            assert_eq!(text.parse::<Name>(), Err(InvalidName), "{text}");
        }
    }

    #[test]
    fn an_arc_includes_both_of_its_ends() {
        let arc = HashArc { first: 3, last: 5 };
        let inside: Vec<u32> = (0..9).filter(|&hash| arc.contains(hash)).collect();
        assert_eq!(inside, [3, 4, 5]);
        assert_eq!(arc.hashes(), 3);
        let whole = HashArc {
            first: 0,
            last: u32::MAX,
        };
        assert_eq!(whole.hashes(), 1 << 32);
    }
}
