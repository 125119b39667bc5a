//! Multi-gets that are under way or complete.

use super::slots::{NO_DEADLINE, Stage};
use super::ticket::{self, BATCHES_MAX};
use crate::Error;
use crate::completion::Notice;
use crate::values::{Place, Values};
use farcache_fabric::bytes::ReceiveBytes;

/// One multi-get.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) stage: Stage,
    pub(super) generation: u32,
    pub(super) deadline_us: u64,
    pub(super) values: Values,
    /// Keys of which the value, the absence or the error is not known.
    pub(super) missing: usize,
    is_abandoned: bool,
    /// To be called when all values are there.
    notice: Option<Notice>,
}

impl Batch {
    fn new() -> Self {
        Batch {
            stage: Stage::Free,
            generation: 0,
            deadline_us: NO_DEADLINE,
            values: Values::default(),
            missing: 0,
            is_abandoned: false,
            notice: None,
        }
    }

    /// Whether this key of it waits for an answer of this server.
    pub(super) fn expects(&self, generation: u32, key: usize, server: usize) -> bool {
        let entry = self.values.entries.get(key);
        self.stage == Stage::UnderWay
            && self.generation == generation
            && entry.is_some_and(|entry| {
                entry.place == Place::Awaited && entry.server as usize == server
            })
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Batches {
    batches: Vec<Batch>,
    free: Vec<u32>,
    /// Of multi-gets that have ended.
    pub(super) notices: Vec<Notice>,
}

impl Batches {
    /// Takes a place for a multi-get; `values` come back when all are in use.
    pub(super) fn take(&mut self, values: Values, deadline_us: u64) -> Result<usize, Values> {
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None if self.batches.len() >= BATCHES_MAX => return Err(values),
            None => {
                self.batches.push(Batch::new());
                self.batches.len() - 1
            }
        };
        let batch = &mut self.batches[index];
        batch.stage = Stage::UnderWay;
        batch.deadline_us = deadline_us;
        batch.values = values;
        batch.missing = 0;
        batch.is_abandoned = false;
        Ok(index)
    }

    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    pub(super) fn get(&mut self, index: usize) -> Option<&mut Batch> {
        self.batches.get_mut(index)
    }

    pub(super) fn at(&mut self, index: usize) -> &mut Batch {
        &mut self.batches[index]
    }

    /// Batches in use.
    pub(super) fn in_use(&self) -> usize {
        self.batches.len() - self.free.len()
    }

    pub(super) fn opaque(&self, index: usize) -> u32 {
        ticket::batch(index, self.batches[index].generation)
    }

    /// The earliest time limit.
    pub(super) fn deadline_us(&self) -> u64 {
        let deadlines = self.batches.iter().map(|batch| batch.deadline_us);
        deadlines.min().unwrap_or(NO_DEADLINE)
    }

    /// A value has been received into memory of its own.
    pub(super) fn received(&mut self, index: usize, key: usize, into: Result<ReceiveBytes, Error>) {
        let values = &mut self.batches[index].values;
        match into {
            Ok(into) => {
                values.larges.push(into);
                values.entries[key].place = Place::Large(values.larges.len() as u32 - 1);
            }
            Err(error) => values.fail(key, error),
        }
        self.known(index, 1);
    }

    /// Counts `keys` answers that are no longer missing from a batch.
    pub(super) fn known(&mut self, index: usize, keys: usize) {
        let batch = &mut self.batches[index];
        batch.missing -= keys;
        if batch.missing > 0 {
            return;
        }
        batch.deadline_us = NO_DEADLINE;
        batch.stage = Stage::Complete;
        self.notices.extend(batch.notice.take());
        if batch.is_abandoned {
            self.release(index);
        }
    }

    /// Hands the values over, once all are there.
    pub(super) fn fetch(&mut self, index: usize) -> Option<Values> {
        let batch = &mut self.batches[index];
        if batch.stage != Stage::Complete {
            return None;
        }
        let values = std::mem::take(&mut batch.values);
        self.release(index);
        Some(values)
    }

    /// Has a notice called when all values are there.
    pub(super) fn notify(&mut self, index: usize, notice: Notice) {
        let batch = &mut self.batches[index];
        match batch.stage {
            Stage::Complete => self.notices.push(notice),
            _ => batch.notice = Some(notice),
        }
    }

    /// Lets the values go, now or when all are there.
    pub(super) fn abandon(&mut self, index: usize) {
        let batch = &mut self.batches[index];
        batch.notice = None;
        match batch.stage {
            Stage::Complete => self.release(index),
            _ => batch.is_abandoned = true,
        }
    }

    fn release(&mut self, index: usize) {
        let batch = &mut self.batches[index];
        batch.stage = Stage::Free;
        batch.values = Values::default();
        batch.generation = ticket::next_batch_generation(batch.generation);
        self.free.push(index as u32);
    }
}
