//! Which redundancy a value gets, by its key and its length.
//!
//! The text form is a list of rules, the first that fits counts:
//!
//! ```text
//! session/=replicate:3;tmp/=none;ec:3,2;threshold=65536
//! ```
//!
//! A rule is `PREFIX=REDUNDANCY`, for keys that begin with the prefix, or a redundancy alone, for all
//! keys, which comes last. A prefix is written with `%XX` for `%`, `=`, `;` and bytes outside of
//! printable ASCII. `threshold=BYTES` says below which length `ec` stores copies instead; a prefix
//! that is called `threshold` is written `%74hreshold`.

use crate::scheme::{Acknowledgement, InvalidRedundancy, Redundancy, plain_number};
use farcache_base::limits::KEY_BYTES_MAX;
use std::error::Error;
use std::fmt::{self, Write};
use std::str::FromStr;

/// Values shorter than this, in bytes, are stored as copies under `ec`, unless told otherwise: a
/// shard costs a server what a small value costs it, and k of them are to be read.
pub const THRESHOLD_BYTES_DEFAULT: usize = 32 << 10;

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
}

/// Why a text is no [`Policy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidPolicy {
    /// A rule's redundancy.
    Redundancy(InvalidRedundancy),
    /// A prefix that is empty, longer than a key, or not written as it has to be.
    Prefix(String),
    /// The same prefix twice, or one behind a shorter one that takes all its keys.
    Unreachable(String),
    /// A rule stands behind the one for all keys.
    BehindLast(String),
    /// No plain number of bytes, or a second threshold.
    Threshold(String),
    /// A rule of no characters.
    Empty,
}

impl fmt::Display for InvalidPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redundancy(error) => error.fmt(out),
            Self::Prefix(text) => write!(
                out,
                "prefix `{text}`: write 1 to {KEY_BYTES_MAX} bytes, with %XX for %, =, ; and what \
                 is not printable"
            ),
            Self::Unreachable(text) => {
                write!(
                    out,
                    "`{text}` is never used: a rule before it takes all its keys"
                )
            }
            Self::BehindLast(text) => {
                write!(
                    out,
                    "`{text}` stands behind the rule for all keys, which comes last"
                )
            }
            Self::Threshold(text) => {
                write!(out, "`{text}`: write one threshold=BYTES, a plain number")
            }
            Self::Empty => out.write_str("a rule is empty: separate rules by one `;`"),
        }
    }
}

impl Error for InvalidPolicy {}

impl From<InvalidRedundancy> for InvalidPolicy {
    fn from(error: InvalidRedundancy) -> InvalidPolicy {
        InvalidPolicy::Redundancy(error)
    }
}

impl Default for Policy {
    /// One place for everything.
    fn default() -> Policy {
        Policy::of(Redundancy::None)
    }
}

impl Policy {
    /// The same redundancy for all keys, with the default threshold.
    pub fn of(redundancy: Redundancy) -> Policy {
        Policy {
            rules: Vec::new(),
            otherwise: redundancy,
            threshold_bytes: THRESHOLD_BYTES_DEFAULT,
        }
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

impl fmt::Display for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in &self.rules {
            write_prefix(out, &rule.prefix)?;
            write!(out, "={};", rule.redundancy)?;
        }
        self.otherwise.fmt(out)?;
        if self.threshold_bytes != THRESHOLD_BYTES_DEFAULT {
            write!(out, ";threshold={}", self.threshold_bytes)?;
        }
        Ok(())
    }
}

const THRESHOLD: &[u8] = b"threshold";

fn write_prefix(out: &mut fmt::Formatter<'_>, prefix: &[u8]) -> fmt::Result {
    for (position, &byte) in prefix.iter().enumerate() {
        let is_reserved =
            matches!(byte, b'%' | b'=' | b';') || position == 0 && prefix == THRESHOLD;
        if byte.is_ascii_graphic() && !is_reserved {
            out.write_char(byte.into())?;
        } else {
            write!(out, "%{byte:02X}")?;
        }
    }
    Ok(())
}

fn read_prefix(text: &str) -> Option<Box<[u8]>> {
    let mut prefix = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                prefix.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?);
                rest = after;
            }
            byte if byte.is_ascii_graphic() => prefix.push(*byte),
            _ => return None,
        }
    }
    let fits = !prefix.is_empty() && prefix.len() <= KEY_BYTES_MAX;
    fits.then(|| prefix.into())
}

impl FromStr for Policy {
    type Err = InvalidPolicy;

    fn from_str(text: &str) -> Result<Policy, InvalidPolicy> {
        let mut policy = Policy::default();
        let (mut has_last, mut has_threshold) = (false, false);
        for part in text.split(';') {
            match part.split_once('=') {
                Some(("threshold", bytes)) => {
                    let invalid = || InvalidPolicy::Threshold(part.into());
                    policy.threshold_bytes = plain_number(bytes)
                        .filter(|_| !has_threshold && !bytes.is_empty())
                        .ok_or_else(invalid)?;
                    has_threshold = true;
                }
                _ if part.is_empty() => return Err(InvalidPolicy::Empty),
                _ if has_last => return Err(InvalidPolicy::BehindLast(part.into())),
                None => (policy.otherwise, has_last) = (part.parse()?, true),
                Some((prefix, redundancy)) => {
                    let invalid = || InvalidPolicy::Prefix(prefix.into());
                    let bytes = read_prefix(prefix).ok_or_else(invalid)?;
                    if policy.takes_all(&bytes) {
                        return Err(InvalidPolicy::Unreachable(part.into()));
                    }
                    let redundancy = redundancy.parse()?;
                    policy.rules.push(Rule {
                        prefix: bytes,
                        redundancy,
                    });
                }
            }
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        assert_eq!(policy.of_value(b"k", 32 << 10).to_string(), "ec:3,2");
        assert_eq!(
            policy.of_value(b"k", (32 << 10) - 1).to_string(),
            "replicate:3"
        );
        let always = parsed("a=replicate:2;ec:10,4;threshold=0");
        assert_eq!(always.of_value(b"k", 0).to_string(), "ec:10,4");
        assert_eq!(always.of_value(b"a", 0).to_string(), "replicate:2");
        assert_eq!(always.threshold_bytes(), 0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| text.parse::<Policy>().unwrap_err().to_string();
        for (text, part) in [
            ("", "a rule is empty"),
            ("ec:3,2;", "a rule is empty"),
            ("ec:3", "two numbers"),
            ("a=raid", "`raid` is no redundancy"),
            ("=none", "prefix ``"),
            ("a b=none", "prefix `a b`"),
            ("a%4=none", "prefix `a%4`"),
            ("a%+4=none", "prefix `a%+4`"),
            ("a%\u{e4}=none", "prefix `a%\u{e4}`"),
            ("a=none;ab=none", "`ab=none` is never used"),
            ("a=none;a=ec:3,2", "is never used"),
            ("none;a=none", "`a=none` stands behind"),
            ("none;none", "`none` stands behind"),
            ("none;threshold=", "one threshold=BYTES"),
            ("none;threshold=4k", "one threshold=BYTES"),
            ("threshold=1;threshold=2", "one threshold=BYTES"),
            ("threshold", "`threshold` is no redundancy"),
        ] {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
    }

    #[test]
    fn every_prefix_can_be_written() {
        let policy = parsed("%74hreshold=none;a%3D%3b%25%00=replicate:2;ec:3,2;threshold=1");
        assert_eq!(policy.of_key(b"threshold"), Redundancy::None);
        assert_eq!(policy.of_key(b"a=;%\0x").to_string(), "replicate:2");
        assert_eq!(
            policy.to_string(),
            "%74hreshold=none;a%3D%3B%25%00=replicate:2;ec:3,2;threshold=1"
        );
    }

    fn redundancy() -> impl Strategy<Value = Redundancy> {
        prop_oneof![
            Just(Redundancy::None),
            (2_usize..33).prop_map(|n| Redundancy::replicate(n, Acknowledgement::Sync).unwrap()),
            (2_usize..33).prop_map(|n| Redundancy::replicate(n, Acknowledgement::Async).unwrap()),
            (1_usize..25, 1_usize..8).prop_map(|(k, m)| Redundancy::erasure(k, m).unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rules in proptest::collection::vec(
                (proptest::collection::vec(any::<u8>(), 1..12), redundancy()), 0..5),
            otherwise in redundancy(),
            threshold in any::<usize>(),
        ) {
            let mut policy = Policy { threshold_bytes: threshold, ..Policy::of(otherwise) };
            for (prefix, redundancy) in rules {
                if !policy.takes_all(&prefix) {
                    policy.rules.push(Rule { prefix: prefix.into(), redundancy });
                }
            }
            prop_assert_eq!(parsed(&policy.to_string()), policy);
        }

        #[test]
        fn any_text_is_a_policy_that_reads_the_same_again_or_is_refused(text in "[a-z:;=,0-9%]{0,40}") {
            if let Ok(policy) = text.parse::<Policy>() {
                prop_assert_eq!(parsed(&policy.to_string()), policy);
            }
        }
    }
}
