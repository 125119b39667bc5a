//! What clients ask for, and what fails meanwhile.

use crate::agent::Wish;
use crate::history::Change;
use crate::random::Random;

/// Who does what, and what fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One client writes plain values; a server crashes.
    OneWriter,
    /// All clients write plain values; they are cut off from servers, none of which crashes.
    WritersAndCuts,
    /// All clients write plain values and are cut off from servers, and a server crashes.
    WritersAndCrashes,
    /// All write, none changes what is there, and nothing fails.
    WritersAlone,
    /// All count, and nothing fails.
    CountersAlone,
}

impl Kind {
    pub fn has_crashes(self) -> bool {
        matches!(self, Kind::OneWriter | Kind::WritersAndCrashes)
    }

    pub fn has_cuts(self) -> bool {
        matches!(self, Kind::WritersAndCuts | Kind::WritersAndCrashes)
    }

    pub fn has_faults(self) -> bool {
        !matches!(self, Kind::WritersAlone | Kind::CountersAlone)
    }

    /// What one asks for next.
    pub fn wish(self, asked: Asked, random: &mut Random) -> Wish {
        let drawn = random.below(10);
        match self {
            Kind::OneWriter => asked.change(drawn, random),
            Kind::WritersAlone if drawn == 9 => Wish::Write(Some(asked.value)),
            Kind::CountersAlone if asked.is_first => Wish::Write(Some(asked.value)),
            Kind::CountersAlone => Wish::Change(Change::Count),
            _ => asked.write(drawn, random),
        }
    }
}

/// Who asks for something.
pub struct Asked {
    pub agent: usize,
    /// Nobody has asked for anything before.
    pub is_first: bool,
    /// What it writes, if it writes.
    pub value: u32,
    /// The value whose token it has.
    pub token: Option<u32>,
}

impl Asked {
    fn change(self, drawn: usize, random: &mut Random) -> Wish {
        let value = self.value;
        match (drawn, self.token) {
            (0..=1, _) => Wish::Read,
            (2, _) if self.agent == 0 => Wish::Write(Some(value)),
            (3, _) if self.agent == 0 => Wish::Write(None),
            (4, _) => Wish::Change(Change::Add(value)),
            (5..=6, Some(old)) => Wish::Change(Change::Swap(old, value)),
            (7, _) if random.once_in(3) => Wish::Change(Change::Delete),
            _ if self.is_first => Wish::Write(Some(value)),
            _ => Wish::Change(Change::Count),
        }
    }

    /// Few changes, which are in the way of what is written beside them.
    fn write(self, drawn: usize, random: &mut Random) -> Wish {
        match (drawn, self.token) {
            (0..=1 | 6..=8, _) => Wish::Read,
            (5, _) => Wish::Write(None),
            (9, Some(old)) if random.once_in(2) => Wish::Change(Change::Swap(old, self.value)),
            (9, _) if !self.is_first => Wish::Change(Change::Count),
            _ => Wish::Write(Some(self.value)),
        }
    }
}
