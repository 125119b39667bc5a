//! `set`, `add`, `replace`, `append`, `prepend` and `cas`.

use super::State;
use super::mutate::server_error;
use super::run::{Flow, Run};
use super::value::{Step, Stored};
use farcache_proto::text::{Store, StoreVerb};
use farcache_store::{SetMode, SetOptions, SetOutcome, Suspended};

impl<'i> Run<'_, 'i> {
    /// Carries a storage command out, whose line takes `line_bytes` with its ending.
    pub(super) fn store(
        &mut self,
        store: &Store<'i>,
        line: &'i [u8],
        line_bytes: usize,
    ) -> Result<Option<Flow>, Suspended> {
        let options = SetOptions {
            mode: mode(store.verb),
            flags: store.flags,
            expiry: self.context.clock.expiry(store.exptime),
            compare_cas: store.compare_cas,
            ..SetOptions::default()
        };
        match self.take_value(store.key, store.value_bytes, &options, line, line_bytes)? {
            Step::Flow(flow) => Ok(Some(flow)),
            Step::Done(stored, skip_bytes) => {
                self.answer_store(store, stored);
                Ok(skip(skip_bytes))
            }
        }
    }

    /// Counts and answers a storage command.
    pub(super) fn answer_store(&mut self, store: &Store<'_>, stored: Stored) {
        self.context.service.detail.set(store.key);
        self.count_store(stored, store.compare_cas.is_some());
        self.show_store(store.key, stored, store.value_bytes);
        if matches!(stored, Stored::Refused(_)) && store.verb == StoreVerb::Set {
            self.drop_outdated(store.key);
        }
        let line = match stored {
            Stored::Outcome(SetOutcome::Stored { .. }) => "STORED",
            Stored::Outcome(
                SetOutcome::NotStored
                | SetOutcome::Older { .. }
                | SetOutcome::Unsure { .. }
                | SetOutcome::Promised { .. },
            ) => "NOT_STORED",
            Stored::Outcome(SetOutcome::Exists) => "EXISTS",
            Stored::Outcome(SetOutcome::NotFound) => "NOT_FOUND",
            Stored::BadChunk => BAD_CHUNK,
            Stored::Refused(error) => server_error(error),
        };
        self.answer(line, store.quiet);
    }

    /// Counts a storage command of either kind.
    pub(super) fn count_store(&self, stored: Stored, is_compare: bool) {
        let counters = self.context.counters;
        match stored {
            Stored::Refused(farcache_store::StoreError::TooLarge) => {
                counters.store_too_large.bump()
            }
            Stored::Refused(_) => counters.store_no_memory.bump(),
            Stored::BadChunk | Stored::Outcome(_) => counters.cmd_set.bump(),
        }
        match stored {
            Stored::Outcome(SetOutcome::Stored { .. }) if is_compare => counters.cas_hits.bump(),
            Stored::Outcome(SetOutcome::Exists) => counters.cas_badval.bump(),
            Stored::Outcome(SetOutcome::NotFound) => counters.cas_misses.bump(),
            _ => {}
        }
    }

    /// Shows a storage command of either kind to watchers.
    pub(super) fn show_store(&self, key: &[u8], stored: Stored, value_bytes: usize) {
        let outcome = match stored {
            Stored::Outcome(outcome) => Ok(outcome),
            Stored::Refused(error) => Err(error),
            Stored::BadChunk => return,
        };
        self.context.show_stored(key, outcome, value_bytes);
    }

    /// A value could not be stored: what the key held is older, and must not be read any more.
    pub(super) fn drop_outdated(&self, key: &[u8]) {
        self.context.store.discard(key);
    }
}

/// The answer to a value that does not end where its length says.
pub(super) const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk";

/// The state that skips these bytes.
pub(super) fn skip(bytes: usize) -> Option<Flow> {
    (bytes > 0).then_some(Flow::Enter(State::SkipBytes(bytes)))
}

fn mode(verb: StoreVerb) -> SetMode {
    match verb {
        StoreVerb::Set | StoreVerb::CompareAndSwap => SetMode::Set,
        StoreVerb::Add => SetMode::Add,
        StoreVerb::Replace => SetMode::Replace,
        StoreVerb::Append => SetMode::Append,
        StoreVerb::Prepend => SetMode::Prepend,
    }
}
