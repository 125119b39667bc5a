//! A policy as a text, and back.
//!
//! The text is a list of rules, the first that fits counts:
//!
//! ```text
//! session/=replicate:3;tmp/=none;ec:3,2;threshold=65536
//! ```
//!
//! A rule is `PREFIX=REDUNDANCY`, for keys that begin with the prefix, or a redundancy alone, for
//! all keys, which comes last. A prefix is written with `%XX` for `%`, `=`, `;` and bytes outside
//! of printable ASCII. Settings stand among the rules, in any place: `threshold=BYTES` says below
//! which length `ec` stores copies instead; `encode=server` and `decode=server` have servers store
//! and read values in the client's place; `delta=NUMBER` has reads ask so many servers more than
//! necessary; `reads=any` has them take turns at the copies. A prefix that is called like a setting
//! is written with a `%XX`: `%74hreshold`.

use super::{Policy, Rule, Side, THRESHOLD_BYTES_DEFAULT};
use crate::scheme::{InvalidRedundancy, plain_number};
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_cluster::OWNERS_MAX;
use std::error::Error;
use std::fmt::{self, Write};
use std::str::FromStr;

/// Why a text is no [`Policy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidPolicy {
    /// A rule's redundancy.
    Redundancy(InvalidRedundancy),
    /// A prefix that is empty, longer than a key, or not written as it has to be.
    Prefix(String),
    /// A prefix is given twice, or stands behind a shorter one that takes all its keys.
    Unreachable(String),
    /// A rule stands behind the one for all keys.
    BehindLast(String),
    /// No plain number of bytes, or a second threshold.
    Threshold(String),
    /// A side that is none, or is told twice.
    Side(String),
    /// No plain number of servers, or a second one.
    Delta(String),
    /// Neither `first` nor `any`, or told twice.
    Reads(String),
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
            Self::Side(text) => write!(
                out,
                "`{text}`: write encode=client or encode=server, and decode=client or \
                 decode=server, each once"
            ),
            Self::Delta(text) => write!(
                out,
                "`{text}`: write one delta=NUMBER, below {OWNERS_MAX}: so many servers more than \
                 necessary are read"
            ),
            Self::Reads(text) => write!(out, "`{text}`: write one reads=first or reads=any"),
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

impl Policy {
    /// Takes a setting, which is written as this part of the text; its value is missing where it is
    /// the second one.
    fn set(&mut self, part: &str, name: &str, value: Option<&str>) -> Result<(), InvalidPolicy> {
        let number = || value.filter(|text| !text.is_empty()).and_then(plain_number);
        let side = match value {
            Some("client") => Some(Side::Client),
            Some("server") => Some(Side::Server),
            _ => None,
        };
        let is_side = || InvalidPolicy::Side(part.into());
        match name {
            "encode" => self.encode = side.ok_or_else(is_side)?,
            "decode" => self.decode = side.ok_or_else(is_side)?,
            "delta" => {
                let fits = number().filter(|delta| *delta < OWNERS_MAX);
                self.delta = fits.ok_or_else(|| InvalidPolicy::Delta(part.into()))?;
            }
            "reads" => {
                self.reads_any = match value {
                    Some("any") => true,
                    Some("first") => false,
                    _ => return Err(InvalidPolicy::Reads(part.into())),
                };
            }
            _ => {
                let threshold = number();
                let invalid = || InvalidPolicy::Threshold(part.into());
                self.threshold_bytes = threshold.ok_or_else(invalid)?;
            }
        }
        Ok(())
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
        for (name, side) in [("encode", self.encode), ("decode", self.decode)] {
            if side != Side::default() {
                write!(out, ";{name}={}", side.name())?;
            }
        }
        if self.delta > 0 {
            write!(out, ";delta={}", self.delta)?;
        }
        if self.reads_any {
            out.write_str(";reads=any")?;
        }
        Ok(())
    }
}

/// Names that are no prefixes, unless they are written otherwise.
const SETTINGS: [&str; 5] = ["threshold", "encode", "decode", "delta", "reads"];

fn write_prefix(out: &mut fmt::Formatter<'_>, prefix: &[u8]) -> fmt::Result {
    for (position, &byte) in prefix.iter().enumerate() {
        let is_setting = || SETTINGS.iter().any(|name| name.as_bytes() == prefix);
        let is_reserved = matches!(byte, b'%' | b'=' | b';') || position == 0 && is_setting();
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
        let mut has_last = false;
        let mut settings = Vec::new();
        for part in text.split(';') {
            match part.split_once('=') {
                Some((name, value)) if SETTINGS.contains(&name) => {
                    let is_first = !settings.contains(&name);
                    settings.push(name);
                    policy.set(part, name, Some(value).filter(|_| is_first))?;
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
    use crate::{Acknowledgement, Redundancy};
    use proptest::prelude::*;

    fn parsed(text: &str) -> Policy {
        text.parse().unwrap()
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
            ("ec:3,2;encode=both", "encode=client or encode=server"),
            ("ec:3,2;decode=", "decode=client or decode=server"),
            ("encode=server;ec:3,2;encode=server", "each once"),
            ("ec:3,2;delta=32", "one delta=NUMBER"),
            ("ec:3,2;delta=x", "one delta=NUMBER"),
            ("ec:3,2;delta=1;delta=1", "one delta=NUMBER"),
            ("replicate:3;reads=all", "one reads=first or reads=any"),
            ("reads=any;replicate:3;reads=any", "one reads=first"),
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

    #[test]
    fn who_codes_and_how_many_are_asked_can_be_told() {
        let policy = parsed("ec:3,2");
        assert_eq!(
            (policy.encode(), policy.decode()),
            (Side::Client, Side::Client)
        );
        assert_eq!(policy.delta(), 0);
        assert!(!policy.reads_any());
        let policy = parsed("encode=server;a=none;ec:3,2;decode=server;delta=2;reads=any");
        assert_eq!(
            (policy.encode(), policy.decode()),
            (Side::Server, Side::Server)
        );
        assert_eq!(policy.delta(), 2);
        assert!(policy.reads_any());
        let text = "a=none;ec:3,2;encode=server;decode=server;delta=2;reads=any";
        assert_eq!(policy.to_string(), text);
        let policy = parsed("%65ncode=replicate:2;ec:3,2");
        assert_eq!(policy.of_key(b"encode").to_string(), "replicate:2");
        assert_eq!(policy.to_string(), "%65ncode=replicate:2;ec:3,2");
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
