//! In how many places a value lies, and how that is written.

use crate::Holders;
use farcache_cluster::OWNERS_MAX;
use farcache_erasure::Scheme;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// What a write of copies waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// All live owners, at least a majority.
    Sync,
    /// The first owner; the others follow.
    Async,
}

/// In how many places a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Redundancy {
    /// In one.
    None,
    /// As copies.
    Replicate {
        /// How many: 2 to [`OWNERS_MAX`].
        copies: u8,
        /// What a write waits for.
        acknowledgement: Acknowledgement,
    },
    /// As shards of an erasure code.
    Erasure(Scheme),
}

/// Why a text is no [`Redundancy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidRedundancy {
    /// It begins with none of the known names.
    Unknown(String),
    /// What stands there is no number of the form that was expected.
    Number(String),
    /// Copies below 2 or above [`OWNERS_MAX`].
    Copies(usize),
    /// Shards of which there are none, or too many.
    Shards(usize, usize),
    /// Neither `sync` nor `async`.
    Acknowledgement(String),
    /// `ec` without two numbers.
    Parts,
}

impl fmt::Display for InvalidRedundancy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => write!(
                out,
                "`{text}` is no redundancy: write none, replicate:COPIES, \
                 replicate:COPIES,async or ec:DATA,PARITY"
            ),
            Self::Number(text) => write!(out, "`{text}` is no number of copies or shards"),
            Self::Copies(copies) => {
                write!(out, "{copies} copies: there must be 2 to {OWNERS_MAX}")
            }
            Self::Shards(data, parity) => write!(
                out,
                "{data} data and {parity} parity shards: each must be at least 1, and both \
                 together at most {OWNERS_MAX}"
            ),
            Self::Acknowledgement(text) => write!(out, "`{text}`: must be sync or async"),
            Self::Parts => out.write_str("ec takes two numbers: ec:DATA,PARITY"),
        }
    }
}

impl Error for InvalidRedundancy {}

impl Redundancy {
    /// Copies whose writes wait for all live owners.
    ///
    /// # Errors
    /// [`InvalidRedundancy::Copies`].
    pub fn replicate(
        copies: usize,
        acknowledgement: Acknowledgement,
    ) -> Result<Redundancy, InvalidRedundancy> {
        match u8::try_from(copies) {
            Ok(copies) if copies >= 2 && usize::from(copies) <= OWNERS_MAX => {
                Ok(Redundancy::Replicate {
                    copies,
                    acknowledgement,
                })
            }
            _ => Err(InvalidRedundancy::Copies(copies)),
        }
    }

    /// Shards.
    ///
    /// # Errors
    /// [`InvalidRedundancy::Shards`].
    pub fn erasure(data: usize, parity: usize) -> Result<Redundancy, InvalidRedundancy> {
        let scheme = Scheme::new(data, parity);
        let fits = scheme.ok().filter(|scheme| scheme.shards() <= OWNERS_MAX);
        fits.map(Redundancy::Erasure)
            .ok_or(InvalidRedundancy::Shards(data, parity))
    }

    /// Owners of a key, n.
    pub fn owners(self) -> usize {
        match self {
            Redundancy::None => 1,
            Redundancy::Replicate { copies, .. } => copies.into(),
            Redundancy::Erasure(scheme) => scheme.shards(),
        }
    }

    /// Parts that make a value, k.
    pub fn needed(self) -> usize {
        match self {
            Redundancy::None | Redundancy::Replicate { .. } => 1,
            Redundancy::Erasure(scheme) => scheme.data_shards(),
        }
    }

    /// Whether servers keep what a write takes the place of until the write is complete: of a value
    /// in parts there may be too few of either version, of copies one is enough.
    pub fn keeps_older(self) -> bool {
        matches!(self, Redundancy::Erasure(_))
    }

    /// The least servers that must have stored a write before it is acknowledged.
    pub fn stored_min(self) -> usize {
        match self {
            Redundancy::None => 1,
            Redundancy::Replicate {
                acknowledgement: Acknowledgement::Async,
                ..
            } => 1,
            Redundancy::Replicate { copies, .. } => usize::from(copies) / 2 + 1,
            Redundancy::Erasure(scheme) => scheme.data_shards().max(scheme.parity_shards() + 1),
        }
    }

    /// How many servers must accept a version where nobody fences them (rule 3). One of them at
    /// least knows the newest acknowledged write; and no reader takes a version that fewer hold for
    /// the newest, as long as those who have refused it are there.
    pub fn accepted_min(self) -> usize {
        match self {
            Redundancy::None | Redundancy::Replicate { .. } => self.stored_min(),
            Redundancy::Erasure(_) => self.owners() - self.stored_min() + 1,
        }
    }

    /// Which owners have a copy of a value that is not coded: under `ec` m + 1, which survive the
    /// loss of as many servers as the shards of others do.
    pub fn holders(self) -> Holders {
        match self {
            Redundancy::None | Redundancy::Replicate { .. } => Holders::ALL,
            Redundancy::Erasure(scheme) => {
                Holders::first(scheme.parity_shards() + 1, scheme.shards())
            }
        }
    }

    /// Whether a write is acknowledged before all live owners have stored it.
    pub fn is_async(self) -> bool {
        matches!(
            self,
            Redundancy::Replicate {
                acknowledgement: Acknowledgement::Async,
                ..
            }
        )
    }
}

impl fmt::Display for Redundancy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Redundancy::None => out.write_str("none"),
            Redundancy::Replicate { copies, .. } if self.is_async() => {
                write!(out, "replicate:{copies},async")
            }
            Redundancy::Replicate { copies, .. } => write!(out, "replicate:{copies}"),
            Redundancy::Erasure(scheme) => {
                write!(
                    out,
                    "ec:{},{}",
                    scheme.data_shards(),
                    scheme.parity_shards()
                )
            }
        }
    }
}

/// A number without sign, leading zero or space.
pub(crate) fn plain_number(text: &str) -> Option<usize> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let leads_with_zero = text.len() > 1 && text.starts_with('0');
    (is_plain && !leads_with_zero)
        .then(|| text.parse().ok())
        .flatten()
}

fn number(text: &str) -> Result<usize, InvalidRedundancy> {
    plain_number(text).ok_or_else(|| InvalidRedundancy::Number(text.into()))
}

impl FromStr for Redundancy {
    type Err = InvalidRedundancy;

    fn from_str(text: &str) -> Result<Redundancy, InvalidRedundancy> {
        if text == "none" {
            return Ok(Redundancy::None);
        }
        let (name, arguments) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "replicate" => {
                let (copies, mode) = arguments.split_once(',').unwrap_or((arguments, "sync"));
                let acknowledgement = match mode {
                    "sync" => Acknowledgement::Sync,
                    "async" => Acknowledgement::Async,
                    _ => return Err(InvalidRedundancy::Acknowledgement(mode.into())),
                };
                Redundancy::replicate(number(copies)?, acknowledgement)
            }
            "ec" => {
                let (data, parity) = arguments.split_once(',').ok_or(InvalidRedundancy::Parts)?;
                Redundancy::erasure(number(data)?, number(parity)?)
            }
            _ => Err(InvalidRedundancy::Unknown(text.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Redundancy {
        text.parse().unwrap()
    }

    #[test]
    fn each_text_is_what_it_says_and_is_written_again() {
        for text in [
            "none",
            "replicate:2",
            "replicate:32",
            "replicate:3,async",
            "ec:3,2",
            "ec:30,2",
        ] {
            assert_eq!(parsed(text).to_string(), text);
        }
        assert_eq!(parsed("replicate:3,sync"), parsed("replicate:3"));
    }

    #[test]
    fn quorums_are_those_of_the_rules() {
        let of = |text: &str| {
            let one = parsed(text);
            (one.owners(), one.needed(), one.stored_min(), one.is_async())
        };
        assert_eq!(of("none"), (1, 1, 1, false));
        assert_eq!(of("replicate:3"), (3, 1, 2, false));
        assert_eq!(of("replicate:4"), (4, 1, 3, false));
        assert_eq!(of("replicate:3,async"), (3, 1, 1, true));
        assert_eq!(of("ec:3,2"), (5, 3, 3, false));
        assert_eq!(of("ec:2,4"), (6, 2, 5, false));
    }

    #[test]
    fn copies_of_small_values_survive_the_loss_of_as_many_servers_as_shards_do() {
        let holders = |text: &str| {
            let one = parsed(text);
            (0..one.owners())
                .filter(|at| one.holders().has(*at))
                .count()
        };
        let counts = [
            "ec:3,2",
            "ec:10,4",
            "ec:2,4",
            "ec:1,2",
            "replicate:4",
            "none",
        ]
        .map(holders);
        assert_eq!(counts, [3, 5, 5, 3, 4, 1]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| text.parse::<Redundancy>().unwrap_err().to_string();
        for (text, part) in [
            ("", "`` is no redundancy"),
            ("None", "`None` is no redundancy"),
            ("raid:5", "write none, replicate:COPIES"),
            ("replicate", "`` is no number"),
            ("replicate:1", "1 copies: there must be 2 to 32"),
            ("replicate:33", "33 copies"),
            ("replicate:03", "`03` is no number"),
            ("replicate:+3", "`+3` is no number"),
            ("replicate:3,", "``: must be sync or async"),
            ("replicate:3,async,", "`async,`: must be"),
            ("ec:3", "two numbers"),
            ("ec:0,2", "0 data and 2 parity"),
            ("ec:31,2", "at most 32"),
            ("ec:3,2,1", "`2,1` is no number"),
            ("ec:3, 2", "` 2` is no number"),
            ("ec:99999999999999999999,1", "is no number"),
        ] {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
    }
}
