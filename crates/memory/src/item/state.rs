//! The state word: how an item has been used.

use farcache_base::time::Seconds;

/// Bits of the state word.
///
/// | bits | content |
/// |---|---|
/// | 0 to 27 | last use, in seconds (8.5 years suffice) |
/// | 28 to 30 | frequency: uses since it was stored or moved, saturating |
/// | 31 | used at least once since it was stored |
const ACCESS_MASK: u32 = (1 << 28) - 1;
const FREQUENCY_SHIFT: u32 = 28;
/// Largest frequency that is told apart.
pub(super) const FREQUENCY_MAX: u32 = 3;
const FETCHED: u32 = 1 << 31;

/// An item's use so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State(u32);

impl State {
    /// The state of an item that is stored now.
    #[inline]
    pub(super) fn new(now: Seconds) -> State {
        State(now & ACCESS_MASK)
    }

    #[inline]
    pub(super) fn of_word(word: u32) -> State {
        State(word)
    }

    #[inline]
    pub(super) fn word(self) -> u32 {
        self.0
    }

    /// The state after one more use.
    #[inline]
    pub(super) fn used(self, now: Seconds) -> State {
        let frequency = self.frequency();
        let frequency = frequency + u32::from(frequency < FREQUENCY_MAX);
        State(now & ACCESS_MASK | FETCHED | frequency << FREQUENCY_SHIFT)
    }

    /// This state's last use, with another frequency.
    #[inline]
    pub(super) fn inherited(self, frequency: u32) -> State {
        State(self.0 & (ACCESS_MASK | FETCHED) | frequency << FREQUENCY_SHIFT)
    }

    /// This state where its last use is told in seconds of another process, which are `shift`
    /// behind.
    pub(super) fn shifted(self, shift: i64) -> State {
        let last_access = i64::from(self.last_access()) - shift;
        let last_access = last_access.clamp(0, i64::from(ACCESS_MASK)) as u32;
        State(self.0 & !ACCESS_MASK | last_access)
    }

    /// The state of an item that was used so often.
    pub fn with_frequency(frequency: u32) -> State {
        State(frequency << FREQUENCY_SHIFT)
    }

    /// When it was used last.
    #[inline]
    pub fn last_access(self) -> Seconds {
        self.0 & ACCESS_MASK
    }

    /// How often it was used since it was stored or moved, up to the largest number told apart.
    #[inline]
    pub fn frequency(self) -> u32 {
        self.0 >> FREQUENCY_SHIFT & 7
    }

    /// Whether it was used since it was stored.
    #[inline]
    pub fn was_fetched(self) -> bool {
        self.0 & FETCHED != 0
    }
}
