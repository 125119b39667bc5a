//! Versions: which of two writes of a key is the newer one, on whichever servers they were made.
//!
//! A version is a reading of a hybrid logical clock and the number of the clock's owner, in 64
//! bits, so that it is a CAS token too. Source: S. Kulkarni, M. Demirbas, D. Madappa, B. Avva, M.
//! Leone, "Logical Physical Clocks", OPODIS 2014. As there (section 6) the logical part has no
//! field of its own: a clock that must go ahead of the time goes on by ticks.
//!
//! | bits | content |
//! |---|---|
//! | 63 | 0: clients in languages without unsigned numbers read a CAS token too |
//! | 32 to 62 | seconds since 2026-01-01T00:00:00Z; they suffice until 2094-01-19 |
//! | 14 to 31 | ticks of 2^-18 s (3.8 us) |
//! | 0 to 13 | the writer's number |

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// Bits of a writer's number.
const WRITER_BITS: u32 = 14;
/// A clock that is asked for more versions than this in a second goes ahead of the time.
pub const TICKS_PER_SECOND: u64 = 1 << 18;
/// The largest time, in ticks.
const TICKS_MAX: u64 = (1 << (63 - WRITER_BITS)) - 1;
/// Unix time of tick 0, in seconds: 2026-01-01T00:00:00Z.
const EPOCH_UNIX: u64 = 1_767_225_600;

/// The number of who makes versions. No two who write the same keys have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer(u16);

impl Writer {
    /// How many there are.
    pub const COUNT: u16 = 1 << WRITER_BITS;

    /// Number 0.
    pub const FIRST: Writer = Writer(0);

    /// The writer of this number; none from [`Writer::COUNT`] on.
    pub fn new(number: u16) -> Option<Writer> {
        (number < Self::COUNT).then_some(Writer(number))
    }

    /// Its number.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// A time in ticks since tick 0, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(u64);

impl Ticks {
    /// The first.
    pub const MIN: Ticks = Ticks(1);

    /// The tick of a time since the Unix epoch. Times outside of what a version can hold give its
    /// first or last tick.
    pub fn at_unix(time: Duration) -> Ticks {
        let seconds = time.as_secs().saturating_sub(EPOCH_UNIX);
        let is_before = time.as_secs() < EPOCH_UNIX;
        let nanoseconds = u64::from(time.subsec_nanos());
        let fraction = nanoseconds * TICKS_PER_SECOND / 1_000_000_000;
        let ticks = seconds
            .saturating_mul(TICKS_PER_SECOND)
            .saturating_add(fraction);
        Ticks(if is_before {
            1
        } else {
            ticks.clamp(1, TICKS_MAX)
        })
    }

    /// The tick after it; none after the last.
    pub fn next(self) -> Option<Ticks> {
        (self.0 < TICKS_MAX).then_some(Ticks(self.0 + 1))
    }

    /// The tick so much later, or the last one.
    pub fn plus(self, time: Duration) -> Ticks {
        let more = time.as_micros() * u128::from(TICKS_PER_SECOND) / 1_000_000;
        let more = u64::try_from(more).unwrap_or(TICKS_MAX);
        Ticks(self.0.saturating_add(more).min(TICKS_MAX))
    }
}

/// A version of a key's value: totally ordered, never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(NonZeroU64);

impl Version {
    /// The version that a writer gives at a time.
    pub fn new(time: Ticks, writer: Writer) -> Version {
        let bits = time.0 << WRITER_BITS | u64::from(writer.0);
        Version(NonZeroU64::new(bits).unwrap_or(NonZeroU64::MIN))
    }

    /// The version of these bits, as [`Version::bits`] gives them; none where they cannot be one.
    pub fn from_bits(bits: u64) -> Option<Version> {
        let has_time = bits >> WRITER_BITS != 0;
        let fits = bits >> 63 == 0;
        NonZeroU64::new(bits)
            .filter(|_| has_time && fits)
            .map(Version)
    }

    /// Its bits: the CAS token.
    pub fn bits(self) -> u64 {
        self.0.get()
    }

    /// Its time.
    pub fn time(self) -> Ticks {
        Ticks(self.bits() >> WRITER_BITS)
    }

    /// Who made it.
    pub fn writer(self) -> Writer {
        Writer((self.bits() & (u64::from(Writer::COUNT) - 1)) as u16)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.time().0, self.writer().0)
    }
}

/// What a server keeps of a key besides its newest version, until that is known to be complete: that
/// all servers which are to have it have stored it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// Nothing.
    #[default]
    Nothing,
    /// What the version takes the place of.
    Older,
    /// Likewise; and the version itself, beneath something newer: others have accepted it.
    OlderAndThis,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(unix_us: u64, writer: u16) -> Version {
        let time = Ticks::at_unix(Duration::from_micros(unix_us));
        Version::new(time, Writer::new(writer).unwrap())
    }

    #[test]
    fn its_bits_are_these() {
        // 2026-01-01T00:00:02.5Z: 2.5 s are 5 * 2^17 ticks; then the writer.
        let one = version(1_767_225_602_500_000, 3);
        assert_eq!(one.bits(), (5 << 17) << 14 | 3);
        assert_eq!((one.writer().number(), one.time()), (3, Ticks(5 << 17)));
        assert_eq!(Version::from_bits(one.bits()), Some(one));
    }

    #[test]
    fn time_comes_before_the_writer() {
        let (first, last) = (
            version(1_800_000_000_000_000, 9),
            version(1_800_000_000_000_004, 1),
        );
        assert!(first < last);
        assert!(first < version(1_800_000_000_000_000, 10));
    }

    #[test]
    fn times_that_do_not_fit_give_the_nearest_version() {
        assert_eq!(version(0, 0).bits(), 1 << 14);
        let late = Ticks::at_unix(Duration::MAX);
        let last = Version::new(late, Writer::new(Writer::COUNT - 1).unwrap());
        assert_eq!(last.bits(), i64::MAX as u64);
        assert_eq!((late.next(), Ticks::MIN.plus(Duration::MAX)), (None, late));
        // The last second that fits.
        let second = Ticks::at_unix(Duration::from_secs(EPOCH_UNIX + (1 << 31) - 1));
        assert!(second < late && second.plus(Duration::from_secs(1)) == late);
    }

    #[test]
    fn what_cannot_be_a_version_is_refused() {
        for bits in [0, 1, (1 << 14) - 1, 1 << 63, u64::MAX] {
            assert_eq!(Version::from_bits(bits), None, "{bits:x}");
        }
        assert_eq!(Writer::new(Writer::COUNT), None);
    }
}
