//! What a server is still to be told.

use crate::Version;
use std::collections::VecDeque;

/// Versions that are complete, of which one server has not been told (rule 6): whoever runs plans
/// tells one with each request that goes there anyway.
#[derive(Clone, Debug, Default)]
pub struct Untold(VecDeque<Version>);

impl Untold {
    /// As many as are likely to be under way at once. Of what is not told readers find out.
    pub const VERSIONS_MAX: usize = 256;

    /// One more is to be told. Of too many the oldest is never told.
    pub fn push(&mut self, version: Version) {
        if self.0.len() == Self::VERSIONS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(version);
    }

    /// The one to be told next.
    pub fn take(&mut self) -> Option<Version> {
        self.0.pop_front()
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
}
