//! What clients ask, and what they may be answered.

use std::collections::BTreeSet;

/// What a client does with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Get,
    Set(u64),
    Delete,
}

/// What it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This, or nothing; of a change only that it was made.
    Done(Option<u64>),
    Failed,
}

/// One client's key.
#[derive(Default)]
pub struct Watched {
    /// What was stored last; none where it was deleted or never stored.
    pub stored: Option<u64>,
    /// Changes that were not answered: they may come about at any time.
    pub perhaps: BTreeSet<u64>,
    /// A deletion was not answered, or the server flushed: it may be gone.
    pub may_be_gone: bool,
    pub deed: Option<Deed>,
}

impl Watched {
    /// The deed has ended; what is wrong with that, where `loses` says whether items may be lost.
    pub fn end(&mut self, outcome: Outcome, loses: bool) -> Result<(), String> {
        let deed = self.deed.take().expect("it was under way");
        match (deed, outcome) {
            (Deed::Get, Outcome::Failed) => Ok(()),
            (Deed::Get, Outcome::Done(found)) => self.check(found, loses),
            (Deed::Set(version), Outcome::Done(_)) => {
                self.stored = Some(version);
                self.may_be_gone = false;
                Ok(())
            }
            (Deed::Set(version), Outcome::Failed) => {
                self.perhaps.insert(version);
                Ok(())
            }
            (Deed::Delete, Outcome::Done(_)) => {
                self.stored = None;
                Ok(())
            }
            (Deed::Delete, Outcome::Failed) => {
                self.may_be_gone = true;
                Ok(())
            }
        }
    }

    fn check(&self, found: Option<u64>, loses: bool) -> Result<(), String> {
        let expected = (self.stored, &self.perhaps);
        match found {
            Some(version) if self.stored == Some(version) || self.perhaps.contains(&version) => {
                Ok(())
            }
            Some(version) => Err(format!("found {version}, not {expected:?}")),
            None if self.stored.is_none() || loses || self.may_be_gone => Ok(()),
            None => Err(format!("found nothing, not {expected:?}")),
        }
    }
}
