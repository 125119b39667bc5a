//! How a write with a version stands to what the store has, and to what it has promised or
//! forgotten: the rules alone.

use crate::item::{RawItem, Stamp};
use crate::options::{Forgotten, VersionedDelete};
use crate::superseded::Had;
use farcache_base::version::{Keeping, Version};
use std::cmp::Ordering;

/// What else is known of a write with a version.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms {
    /// As [`crate::SetOptions::restored`].
    pub restored: Option<Forgotten>,
    /// As [`crate::SetOptions::fills_in`].
    pub fills_in: bool,
    /// As [`crate::SetOptions::is_promised`].
    pub is_promised: bool,
    /// As [`crate::SetOptions::keeping`].
    pub keeping: Keeping,
}

/// How a version stands to what the store has of its key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Newer,
    /// The store has the very same already.
    Same,
    Older {
        current: Version,
    },
}

/// Why a version is not put under its key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It was there already, or was before something newer came.
    Same,
    Older {
        current: Version,
    },
    /// As [`crate::SetOutcome::Unsure`].
    Unsure {
        current: Version,
    },
    /// As [`crate::SetOutcome::Promised`].
    Promised {
        current: Version,
        has_newer: bool,
    },
}

impl Terms {
    /// Whether it is a client's plain write. A promise can be in its way, and where it is refused
    /// its writer is told if the store has had its version, as it may write the same anew above
    /// what is there. What other servers have was there when they gave their promises, so the
    /// client that asked for the promises has met it.
    pub fn is_plain(self) -> bool {
        self.restored.is_none() && !self.is_promised
    }

    /// The promise by which a version cannot be stored, where this is `promised` to its key. A
    /// write that needs a promise of its own finds none where the process has begun anew, or
    /// another's is newer.
    pub fn promise_against(self, promised: Option<Version>, version: Version) -> Option<Version> {
        match self.is_promised {
            true if promised == Some(version) => None,
            true => promised.or(Some(version)),
            false => promised.filter(|promised| *promised > version && self.is_plain()),
        }
    }

    /// Up to which version the absence of a key speaks against a write of it, in a store with this
    /// horizon. Whoever restores what others have has asked them what became of the key up to a
    /// moment, so only what was `forgotten` since then does.
    pub fn horizon(
        self,
        forgotten: Option<Version>,
        horizon: impl FnOnce() -> Option<Version>,
    ) -> Option<Version> {
        match self.restored {
            Some(Forgotten(before)) if before == forgotten => None,
            Some(_) => forgotten,
            None => horizon(),
        }
    }
}

impl Standing {
    /// Where the store has nothing of the key that has a version.
    pub fn to_horizon(version: Version, horizon: Option<Version>) -> Standing {
        match horizon {
            Some(current) if current >= version => Standing::Older { current },
            _ => Standing::Newer,
        }
    }

    /// Where the store has an item of the key.
    pub fn to_item(
        (stamp, item): (Stamp, RawItem<'_>),
        present: RawItem<'_>,
        horizon: Option<Version>,
    ) -> Standing {
        let Some(known) = present.stamp() else {
            return Standing::to_horizon(stamp.version, horizon);
        };
        let is_same = || is_same((known, present), (stamp, item));
        match stamp.version.cmp(&known.version) {
            Ordering::Greater => Standing::Newer,
            Ordering::Equal if is_same() => Standing::Same,
            Ordering::Equal | Ordering::Less => Standing::Older {
                current: known.version,
            },
        }
    }
}

/// Whether two items of one version are one write: then it has arrived twice. Two writers with one
/// number, who should not be, may make one version for two values.
fn is_same(one: (Stamp, RawItem<'_>), other: (Stamp, RawItem<'_>)) -> bool {
    one.0.is_tombstone == other.0.is_tombstone
        && one.1.flags() == other.1.flags()
        && one.1.value() == other.1.value()
}

impl Refusal {
    /// Whether it was not there before, as far as is known, and nothing but something newer is in
    /// its way.
    pub fn is_for_what_is_there(&self) -> bool {
        matches!(self, Refusal::Older { .. } | Refusal::Unsure { .. })
    }

    /// What the writer of a plain write is told where the store has something newer: `had` says
    /// whether it has had the write before.
    pub fn of_older(current: Version, had: Had, promise_against: Option<Version>) -> Refusal {
        // Who was given a newer promise may have met this write, and have written what is there
        // above it.
        match (had, promise_against) {
            (Had::Yes, _) => Refusal::Same,
            (_, Some(promised)) => Refusal::Promised {
                current: current.max(promised),
                has_newer: true,
            },
            (Had::Unknown, None) => Refusal::Unsure { current },
            (Had::No, None) => Refusal::Older { current },
        }
    }
}

impl From<Refusal> for VersionedDelete {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Same => Self::Deleted { was_present: false },
            Refusal::Older { current } => Self::Older { current },
            Refusal::Unsure { current } => Self::Unsure { current },
            Refusal::Promised { current, has_newer } => Self::Promised { current, has_newer },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u64) -> Version {
        Version::from_bits(number << 14 | 1).unwrap()
    }

    fn terms(restored: Option<Option<u64>>, is_promised: bool) -> Terms {
        Terms {
            restored: restored.map(|before| Forgotten(before.map(version))),
            is_promised,
            ..Terms::default()
        }
    }

    #[test]
    fn only_a_plain_write_gives_way_to_a_newer_promise() {
        let against = |terms: Terms, promised: Option<u64>| {
            terms.promise_against(promised.map(version), version(5))
        };
        let plain = terms(None, false);
        assert_eq!(against(plain, None), None);
        assert_eq!(against(plain, Some(5)), None);
        assert_eq!(against(plain, Some(6)), Some(version(6)));
        assert_eq!(against(terms(Some(None), false), Some(6)), None);
    }

    #[test]
    fn a_promised_write_needs_the_promise_of_its_own_version() {
        let against = |promised: Option<u64>| {
            terms(None, true).promise_against(promised.map(version), version(5))
        };
        assert_eq!(against(Some(5)), None);
        assert_eq!(against(Some(4)), Some(version(4)));
        assert_eq!(against(Some(6)), Some(version(6)));
        assert_eq!(against(None), Some(version(5)), "the process began anew");
    }

    #[test]
    fn what_is_restored_meets_only_what_was_forgotten_since() {
        let horizon = |terms: Terms, forgotten: Option<u64>| {
            terms.horizon(forgotten.map(version), || Some(version(9)))
        };
        assert_eq!(horizon(terms(None, false), Some(3)), Some(version(9)));
        assert_eq!(horizon(terms(Some(Some(3)), false), Some(3)), None);
        assert_eq!(
            horizon(terms(Some(Some(2)), false), Some(3)),
            Some(version(3))
        );
        assert_eq!(horizon(terms(Some(None), false), None), None);
    }

    #[test]
    fn a_key_that_is_not_there_counts_as_deleted_up_to_the_horizon() {
        let of = |horizon: Option<u64>| Standing::to_horizon(version(5), horizon.map(version));
        assert_eq!(of(None), Standing::Newer);
        assert_eq!(of(Some(4)), Standing::Newer);
        let current = version(5);
        assert_eq!(of(Some(5)), Standing::Older { current });
    }

    #[test]
    fn a_writer_is_told_that_it_was_stored_only_where_that_is_known() {
        let (current, older, newer) = (version(5), version(4), version(6));
        let of = |had, promise| Refusal::of_older(current, had, promise);
        assert_eq!(of(Had::Yes, None), Refusal::Same);
        assert_eq!(of(Had::Yes, Some(newer)), Refusal::Same);
        assert_eq!(of(Had::No, None), Refusal::Older { current });
        assert_eq!(of(Had::Unknown, None), Refusal::Unsure { current });
        let promised = |current| Refusal::Promised {
            current,
            has_newer: true,
        };
        assert_eq!(of(Had::Unknown, Some(newer)), promised(newer));
        assert_eq!(of(Had::No, Some(older)), promised(current));
    }
}
