//! Which redundancy a value gets, by its key and its length.

mod text;

pub use text::InvalidPolicy;

use crate::scheme::{Acknowledgement, Redundancy};

/// Values shorter than this, in bytes, are stored as copies under `ec`, unless told otherwise.
/// Here reads of `ec:3,2` take the same time either way; longer values are read, and stored, faster
/// as shards, which take three fifths of the memory (`docs/journal/2026-11-26-witnesses.md`).
pub const THRESHOLD_BYTES_DEFAULT: usize = 4 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    prefix: Box<[u8]>,
    redundancy: Redundancy,
}

/// Which redundancy a value gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
    otherwise: Redundancy,
    threshold_bytes: usize,
    encode: Side,
    decode: Side,
    delta: usize,
    reads_any: bool,
}

/// Who does something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The client, which asks each of a key's servers.
    #[default]
    Client,
    /// The first of a key's servers that is up, which asks the others for the client.
    Server,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

impl Default for Policy {
    /// One place for everything.
    fn default() -> Policy {
        Policy::of(Redundancy::None)
    }
}

impl Policy {
    /// This redundancy for all keys, with the default threshold.
    pub fn of(redundancy: Redundancy) -> Policy {
        Policy {
            rules: Vec::new(),
            otherwise: redundancy,
            threshold_bytes: THRESHOLD_BYTES_DEFAULT,
            encode: Side::Client,
            decode: Side::Client,
            delta: 0,
            reads_any: false,
        }
    }

    /// Who makes shards or copies of a value, and stores them.
    pub fn encode(&self) -> Side {
        self.encode
    }

    /// Who reads the parts of a value, and puts them together.
    pub fn decode(&self) -> Side {
        self.decode
    }

    /// How many servers more than necessary a read asks, so that the slowest of them need not be
    /// waited for.
    pub fn delta(&self) -> usize {
        self.delta
    }

    /// Whether reads take turns at the copies of a value, so that those of a hot key are shared
    /// out, instead of beginning with the first.
    pub fn reads_any(&self) -> bool {
        self.reads_any
    }

    /// What is asked for of a key, whatever the length of its value. It says how many servers may
    /// own the key, and so which are to be asked for it.
    pub fn of_key(&self, key: &[u8]) -> Redundancy {
        let rule = self.rules.iter().find(|rule| key.starts_with(&rule.prefix));
        rule.map_or(self.otherwise, |rule| rule.redundancy)
    }

    /// How a value is stored. Below the threshold `ec:k,m` is m + 1 copies, which survive the loss
    /// of as many servers.
    pub fn of_value(&self, key: &[u8], value_bytes: usize) -> Redundancy {
        let redundancy = self.of_key(key);
        match redundancy {
            Redundancy::Erasure(scheme) if value_bytes < self.threshold_bytes => {
                Redundancy::Replicate {
                    copies: scheme.parity_shards() as u8 + 1,
                    acknowledgement: Acknowledgement::Sync,
                }
            }
            _ => redundancy,
        }
    }

    /// Every redundancy that it names.
    pub fn redundancies(&self) -> impl Iterator<Item = Redundancy> {
        let rules = self.rules.iter().map(|rule| rule.redundancy);
        rules.chain([self.otherwise])
    }

    /// The length in bytes below which `ec` stores copies.
    pub fn threshold_bytes(&self) -> usize {
        self.threshold_bytes
    }

    fn takes_all(&self, prefix: &[u8]) -> bool {
        self.rules
            .iter()
            .any(|rule| prefix.starts_with(&rule.prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Policy {
        text.parse().unwrap()
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let policy = parsed("session/new=replicate:4;session/=replicate:3,async;ec:3,2");
        let of = |key: &str| policy.of_value(key.as_bytes(), 1 << 20).to_string();
        assert_eq!(of("session/new/1"), "replicate:4");
        assert_eq!(of("session/old"), "replicate:3,async");
        assert_eq!(of("session"), "ec:3,2");
        assert_eq!(of(""), "ec:3,2");
        let none = parsed("session/=replicate:2");
        assert_eq!(none.of_key(b"other"), Redundancy::None);
    }

    #[test]
    fn below_the_threshold_shards_are_copies_that_survive_as_many_losses() {
        let policy = parsed("ec:3,2");
        assert_eq!(policy.of_value(b"k", 4 << 10).to_string(), "ec:3,2");
        assert_eq!(
            policy.of_value(b"k", (4 << 10) - 1).to_string(),
            "replicate:3"
        );
        let always = parsed("a=replicate:2;ec:10,4;threshold=0");
        assert_eq!(always.of_value(b"k", 0).to_string(), "ec:10,4");
        assert_eq!(always.of_value(b"a", 0).to_string(), "replicate:2");
        assert_eq!(always.threshold_bytes(), 0);
    }
}
