//! What a server is still to be told.

use crate::Version;
use std::collections::VecDeque;
use std::time::Duration;

/// Versions that are complete, of which one server has not been told (rule 6): whoever runs plans
/// tells one with each request that goes there anyway, and those that no request has told after a
/// while by themselves.
#[derive(Clone, Debug, Default)]
pub struct Untold {
    versions: VecDeque<Version>,
    /// So many of them, the oldest, have been there for a while.
    old: usize,
}

impl Untold {
    /// As many as are likely to be under way at once. Of what is not told readers find out.
    pub const VERSIONS_MAX: usize = 256;

    /// How long a version waits for a request that tells of it. A client that goes on has sent
    /// many requests by then, and a thread that looks so often takes no time to speak of.
    pub const LEFT_AFTER: Duration = Duration::from_millis(20);

    /// One more is to be told. Of too many the oldest is never told.
    pub fn push(&mut self, version: Version) {
        if self.versions.len() == Self::VERSIONS_MAX {
            self.take();
        }
        self.versions.push_back(version);
    }

    /// The one to be told next.
    pub fn take(&mut self) -> Option<Version> {
        self.old = self.old.saturating_sub(1);
        self.versions.pop_front()
    }

    /// Those that were there at the last call already. Called at every
    /// [`LEFT_AFTER`](Self::LEFT_AFTER), it leaves no version for twice as long.
    pub fn take_left_over(&mut self) -> impl Iterator<Item = Version> + '_ {
        let new = self.versions.len() - self.old;
        let old = std::mem::replace(&mut self.old, new);
        self.versions.drain(..old)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_newest_are_told_in_order() {
        let version = |number: u64| Version::from_bits(number << 14).unwrap();
        let mut untold = Untold::default();
        let last = 10 + Untold::VERSIONS_MAX as u64;
        (11..=last).for_each(|number| untold.push(version(number)));
        assert_eq!(untold.take(), Some(version(11)));
        (last + 1..=last + 3).for_each(|number| untold.push(version(number)));
        let told: Vec<_> = std::iter::from_fn(|| untold.take()).collect();
        assert_eq!(told, (14..=last + 3).map(version).collect::<Vec<_>>());
    }

    #[test]
    fn left_over_is_what_was_there_before_and_nobody_took() {
        let version = |number: u64| Version::from_bits(number << 14).unwrap();
        let mut untold = Untold::default();
        let left = |untold: &mut Untold| {
            let left = untold.take_left_over();
            left.map(|one| one.bits() >> 14).collect::<Vec<_>>()
        };
        (1..=3).for_each(|number| untold.push(version(number)));
        assert_eq!(left(&mut untold), []);
        assert_eq!(untold.take(), Some(version(1)));
        untold.push(version(4));
        assert_eq!(left(&mut untold), [2, 3]);
        untold.push(version(5));
        assert_eq!((left(&mut untold), untold.is_empty()), (vec![4], false));
        assert_eq!((left(&mut untold), untold.is_empty()), (vec![5], true));
        assert_eq!(left(&mut untold), []);
        let many = 1..=2 * Untold::VERSIONS_MAX as u64;
        many.for_each(|number| untold.push(version(number)));
        assert_eq!(left(&mut untold), []);
        (1..=5).for_each(|number| untold.push(version(number)));
        assert_eq!(left(&mut untold).len(), Untold::VERSIONS_MAX - 5);
    }
}
