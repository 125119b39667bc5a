//! A write that was accepted, and could not be stored by all as somebody has a newer promise: it is
//! acknowledged when all members hold it, or something newer.

use super::call::{Acceptor, Patience};
use super::change::Change;
use super::changing::Changing;
use super::running::{ReadEnd, Reading};
use super::{Redundant, lost_way};
use crate::Error;
use crate::connections::Submitted;
use farcache_redundancy::Version;
use farcache_redundancy::plan::{Settled, pause_before};
use std::sync::Arc;
use std::time::Instant;

/// After so many reads that find no version complete, whoever was given the promise is not waited
/// for any more.
const READS_MAX: u32 = 8;

/// A write whose end is looked for.
pub(super) struct Settling {
    redundant: Arc<Redundant>,
    key: Box<[u8]>,
    version: Version,
    /// As long as so many are there as it takes to read it, whoever writes above it has met it.
    acceptors: Vec<Acceptor>,
    deadline: Instant,
    reads: u32,
    step: Step,
}

enum Step {
    Begins,
    Reads(Box<Reading>),
    /// Whoever has the promise does not go on: what there is is written anew.
    Finishes(Box<Changing>),
}

impl Settling {
    pub fn new(
        (redundant, key): (&Arc<Redundant>, &[u8]),
        version: Version,
        acceptors: Vec<Acceptor>,
        deadline: Instant,
    ) -> Settling {
        Settling {
            redundant: Arc::clone(redundant),
            key: key.into(),
            version,
            acceptors,
            deadline,
            reads: 0,
            step: Step::Begins,
        }
    }

    /// Moves it on; nothing until the write is acknowledged.
    ///
    /// # Errors
    /// Nobody knows whether it has taken effect.
    pub fn go_on(&mut self, patience: Patience) -> Result<Option<()>, Error> {
        loop {
            self.step = match &mut self.step {
                Step::Begins => self.begin()?,
                Step::Reads(reading) => {
                    let Some(end) = reading.go_on(patience)? else {
                        return Ok(None);
                    };
                    match self.seen(&end)? {
                        true => return Ok(Some(())),
                        false => Step::Begins,
                    }
                }
                Step::Finishes(changing) => {
                    let Some(changed) = changing.go_on(patience) else {
                        return Ok(None);
                    };
                    // Whatever came of it: the next read tells.
                    if let Err(error @ Error::Timeout) = changed.outcome {
                        return Err(error);
                    }
                    self.reads = 0;
                    Step::Begins
                }
            }
        }
    }

    fn begin(&mut self) -> Result<Step, Error> {
        if Instant::now() >= self.deadline {
            return Err(Error::Timeout);
        }
        self.reads += 1;
        std::thread::sleep(pause_before(self.reads));
        let (redundant, key) = (&self.redundant, &*self.key);
        if self.reads <= READS_MAX {
            let reading = Reading::begin_thorough(redundant, key, self.deadline)?;
            return Ok(Step::Reads(Box::new(reading)));
        }
        let changing = Changing::begin(redundant, key, Change::Finish, self.deadline);
        let changing = changing.map_err(|refused| refused.1)?;
        Ok(Step::Finishes(Box::new(changing)))
    }

    /// Whether what a read has shown acknowledges the write.
    fn seen(&self, end: &ReadEnd) -> Result<bool, Error> {
        let needed = self.redundant.policy.of_key(&self.key).needed();
        let is_there = |(server, attempt): &&Acceptor| {
            self.redundant.availability.is_known_to_all(*server)
                && self.redundant.connections.attempt(*server) == *attempt
        };
        let is_met = self.acceptors.iter().filter(is_there).count() >= needed;
        match Settled::by(end.outcome, self.version, is_met) {
            Settled::Acknowledged => Ok(true),
            Settled::Open => Ok(false),
            Settled::Lost => Err(lost_way()),
        }
    }

    /// Requests of which one must end before it goes on.
    pub fn under_way(&self) -> Vec<&Submitted> {
        match &self.step {
            Step::Begins => Vec::new(),
            Step::Reads(reading) => reading.under_way().collect(),
            Step::Finishes(changing) => changing.under_way(),
        }
    }
}
