//! The hybrid logical clock from which a writer takes versions.

use farcache_base::version::{Ticks, Version, Writer};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// How far ahead of the own time a version may be, unless told otherwise. Machines without a time
/// service drift by seconds a day; a minute catches a clock that is set wrongly.
pub const SKEW_MAX: Duration = Duration::from_secs(60);

/// A version is further ahead of the own time than the limit allows: one of the two clocks is
/// wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFarAhead {
    /// The version.
    pub version: Version,
    /// The largest time that was allowed.
    pub limit: Ticks,
}

impl fmt::Display for TooFarAhead {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, limit } = self;
        write!(
            out,
            "version {version:?} is ahead of {limit:?}: a clock is wrong"
        )
    }
}

impl Error for TooFarAhead {}

/// A writer's clock: each version that it gives is newer than all that it has given or seen.
#[derive(Clone, Debug)]
pub struct Clock {
    writer: Writer,
    /// The time of the newest version given or seen.
    last: Option<Ticks>,
    skew_max: Duration,
}

impl Clock {
    /// A writer's clock that has seen nothing.
    pub fn new(writer: Writer, skew_max: Duration) -> Clock {
        Clock {
            writer,
            last: None,
            skew_max,
        }
    }

    /// The next version. `now` is the time since the Unix epoch by the machine's clock; where that
    /// stands still or goes back, the versions go on all the same.
    pub fn next(&mut self, now: Duration) -> Version {
        let now = Ticks::at_unix(now);
        // The last tick there is has no successor; it comes in 2094.
        let above = self.last.map_or(now, |last| last.next().unwrap_or(last));
        let time = now.max(above);
        self.last = Some(time);
        Version::new(time, self.writer)
    }

    /// Takes note of a version that was met: the next ones are newer.
    ///
    /// # Errors
    /// [`TooFarAhead`]; the clock has not changed then. Who went along would carry the wrong time
    /// to everybody it meets.
    pub fn observe(&mut self, version: Version, now: Duration) -> Result<(), TooFarAhead> {
        self.admits(version, now)?;
        self.last = self.last.max(Some(version.time()));
        Ok(())
    }

    /// Whether a version is within the limit of skew.
    ///
    /// # Errors
    /// [`TooFarAhead`].
    pub fn admits(&self, version: Version, now: Duration) -> Result<(), TooFarAhead> {
        let limit = Ticks::at_unix(now).plus(self.skew_max);
        if version.time() > limit {
            return Err(TooFarAhead { version, limit });
        }
        Ok(())
    }

    /// The version with which a write goes above a refusal, which told of `current`.
    ///
    /// # Errors
    /// [`TooFarAhead`]: the refusal stands.
    pub fn above(&mut self, current: Version, now: Duration) -> Result<Version, TooFarAhead> {
        self.observe(current, now)?;
        Ok(self.next(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-23.
    const NOW: Duration = Duration::from_secs(1_795_392_000);

    fn clock(writer: u16) -> Clock {
        Clock::new(Writer::new(writer).unwrap(), SKEW_MAX)
    }

    #[test]
    fn versions_rise_while_the_time_stands_still_or_goes_back() {
        let mut clock = clock(1);
        let first = clock.next(NOW);
        let second = clock.next(NOW);
        let third = clock.next(NOW - Duration::from_secs(3600));
        assert!(first < second && second < third);
        assert_eq!(first.time(), Ticks::at_unix(NOW));
        assert_eq!(third.time(), first.time().next().unwrap().next().unwrap());
        assert!(clock.next(NOW + Duration::from_secs(1)) > third);
    }

    #[test]
    fn a_writer_whose_clock_is_behind_goes_above_a_refusal() {
        let (mut slow, mut fast) = (clock(1), clock(2));
        let current = fast.next(NOW + Duration::from_secs(30));
        let tried = slow.next(NOW);
        assert!(tried < current);
        let again = slow.above(current, NOW).unwrap();
        assert!(again > current);
        assert!(slow.next(NOW) > again);
    }

    #[test]
    fn a_clock_that_is_far_ahead_takes_nobody_along() {
        let (mut right, mut wrong) = (clock(1), clock(2));
        let ahead = wrong.next(NOW + SKEW_MAX + Duration::from_secs(1));
        let refused = right.above(ahead, NOW).unwrap_err();
        assert_eq!(refused.version, ahead);
        assert!(refused.to_string().contains("a clock is wrong"));
        assert_eq!(right.next(NOW).time(), Ticks::at_unix(NOW));
        let near = wrong.next(NOW + SKEW_MAX);
        assert!(near > ahead, "its own versions rise on");
        assert!(
            right
                .observe(Version::new(refused.limit, near.writer()), NOW)
                .is_ok()
        );
    }

    #[test]
    fn the_last_version_is_not_exceeded() {
        let mut clock = clock(1);
        let last = clock.next(Duration::MAX);
        assert_eq!(clock.next(Duration::MAX), last);
    }

    proptest! {
        /// Whatever clocks the writers have: each version is newer than what its writer has met.
        #[test]
        fn order_follows_what_was_met(
            steps in proptest::collection::vec((0_usize..3, 0_u64..60_000, any::<bool>()), 1..60),
        ) {
            let mut clocks = [clock(1), clock(2), clock(3)];
            let mut newest: Option<Version> = None;
            for (writer, offset_ms, meets) in steps {
                let now = NOW + Duration::from_millis(offset_ms);
                // The limit is against `now`, which is at most as far apart as the limit.
                if let Some(current) = newest.filter(|_| meets) {
                    let version = clocks[writer].above(current, now);
                    if let Ok(version) = version {
                        prop_assert!(version > current);
                        newest = Some(version);
                    }
                } else {
                    newest = newest.max(Some(clocks[writer].next(now)));
                }
            }
        }
    }
}
