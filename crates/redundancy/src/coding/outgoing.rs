//! What a plan stores.

use super::Parts;
use crate::Version;

/// The parts of one value: of the one that a plan was given to write, or of the version that it has
/// read and stores where it is missing. A read that meets something newer meanwhile stores that.
#[derive(Default)]
pub struct Outgoing {
    parts: Option<Parts>,
    /// The version that the parts were read under; none where the value was given.
    read: Option<Version>,
}

impl Outgoing {
    /// Of a value that is to be written, under whichever version.
    pub fn given(parts: Option<Parts>) -> Outgoing {
        Outgoing { parts, read: None }
    }

    /// The parts that are at hand.
    pub fn parts(&mut self) -> Option<&mut Parts> {
        self.parts.as_mut()
    }

    /// Takes them away.
    pub fn take(&mut self) -> Option<Parts> {
        std::mem::take(self).parts
    }

    /// Has the parts of a version at hand, which are made of what was read unless they are already;
    /// a value that was given stays.
    pub fn have(&mut self, version: Version, make: impl FnOnce() -> Option<Parts>) {
        let is_given = self.parts.is_some() && self.read.is_none();
        if !is_given && self.read != Some(version) {
            self.parts = make();
            self.read = self.parts.as_ref().map(|_| version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Workshop;
    use crate::plan::Form;
    use crate::{Clock, Holders, SKEW_MAX, Writer};
    use std::time::Duration;

    /// Parts that are told by these flags.
    fn parts_of(flags: u32) -> Option<Parts> {
        let form = (Form::Copies(Holders::ALL), 2);
        Some(Parts::new(&Workshop::default(), form, b"value", flags, 0))
    }

    fn flags_after(mut outgoing: Outgoing, version: Version) -> u32 {
        outgoing.have(version, || parts_of(5));
        outgoing.take().expect("parts").flags
    }

    #[test]
    fn a_value_that_was_given_stays_and_one_that_was_read_gives_way() {
        let mut clock = Clock::new(Writer::new(1).expect("a writer"), SKEW_MAX);
        let [older, newer] = [(); 2].map(|()| clock.next(Duration::from_secs(1)));
        assert_eq!(flags_after(Outgoing::given(parts_of(1)), older), 1);
        let read = || {
            let mut outgoing = Outgoing::default();
            outgoing.have(older, || parts_of(2));
            outgoing
        };
        assert_eq!(flags_after(read(), older), 2);
        assert_eq!(flags_after(read(), newer), 5);
        // Nothing of it has been brought: what was read of another does not stand in for it.
        let mut outgoing = read();
        outgoing.have(newer, || None);
        assert!(outgoing.parts().is_none());
    }
}
