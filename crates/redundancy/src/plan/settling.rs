//! The end of a write that was accepted, and that not all could store as somebody has a newer
//! promise ([`WriteOutcome::Overtaken`](super::WriteOutcome::Overtaken)): its writer reads until it
//! knows.

use super::{Found, ReadOutcome};
use crate::Version;
use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Pauses are drawn at random up to a limit that doubles from the first to the last: about a
/// request's time for those in between to end, and less than a user notices.
const PAUSE_MIN: Duration = Duration::from_micros(100);
const PAUSE_MAX: Duration = Duration::from_millis(8);

/// What a thorough read tells the writer of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The write is acknowledged.
    Acknowledged,
    /// The next read may tell.
    Open,
    /// Nobody will know whether it has taken effect.
    Lost,
}

impl Settled {
    /// What such a read has told. The version `is_met` by whoever writes above it where so many of
    /// those who have accepted it have been there since then as it takes to read it, and nobody
    /// takes them for down.
    pub fn by(outcome: ReadOutcome, version: Version, is_met: bool) -> Settled {
        let found = match outcome {
            ReadOutcome::Unavailable | ReadOutcome::Refused { .. } => return Settled::Open,
            ReadOutcome::Found(Found::Value(found) | Found::Deleted(found)) => found,
            // It has expired, or too many have lost it.
            ReadOutcome::Found(Found::Nothing) => return Settled::Lost,
        };
        match found.cmp(&version) {
            Ordering::Equal => Settled::Acknowledged,
            Ordering::Greater if is_met => Settled::Acknowledged,
            // It is still there, or beneath something that has become complete between the answers
            // of this read: who was asked after that tells of nothing beneath it any more.
            Ordering::Less if is_met => Settled::Open,
            Ordering::Less | Ordering::Greater => Settled::Lost,
        }
    }
}

/// How long to wait before a try that follows so many others, while somebody else ends what is in
/// its way: at random, and longer from try to try, so that no two go on in step.
pub fn pause_before(tries: u32) -> Duration {
    let longest = (PAUSE_MIN * 2_u32.pow(tries.min(10))).min(PAUSE_MAX);
    let part = RandomState::new().hash_one(tries) as u8;
    longest * u32::from(part) / 256
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, SKEW_MAX, Writer};

    #[test]
    fn a_newer_version_acknowledges_a_write_only_where_it_was_met() {
        let mut clock = Clock::new(Writer::new(1).expect("a writer"), SKEW_MAX);
        let [older, version, newer] = [(); 3].map(|()| clock.next(Duration::from_secs(1)));
        let settled = |found, is_met| {
            let outcomes = [Found::Value(found), Found::Deleted(found)].map(ReadOutcome::Found);
            let settled = outcomes.map(|outcome| Settled::by(outcome, version, is_met));
            assert_eq!(settled[0], settled[1]);
            settled[0]
        };
        assert_eq!(settled(version, false), Settled::Acknowledged);
        assert_eq!(settled(newer, true), Settled::Acknowledged);
        assert_eq!(settled(newer, false), Settled::Lost);
        assert_eq!(settled(older, true), Settled::Open);
        assert_eq!(settled(older, false), Settled::Lost);
        let by = |outcome| Settled::by(outcome, version, true);
        assert_eq!(by(ReadOutcome::Found(Found::Nothing)), Settled::Lost);
        assert_eq!(by(ReadOutcome::Unavailable), Settled::Open);
    }

    #[test]
    fn pauses_grow_and_have_an_end() {
        for tries in 0..100 {
            let longest = PAUSE_MIN * 2_u32.pow(tries.min(10));
            assert!(pause_before(tries) < longest.min(PAUSE_MAX));
        }
    }
}
