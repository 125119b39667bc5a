//! `delete`, `touch`, `incr` and `decr`.

use super::run::Run;
use farcache_proto::number;
use farcache_store::{
    Access, ArithmeticOptions, ArithmeticOutcome, DeleteOptions, DeleteOutcome, Suspended, settled,
};

impl Run<'_, '_> {
    pub(super) fn delete(&mut self, key: &[u8], quiet: bool) -> Result<(), Suspended> {
        let counters = self.context.counters;
        let outcome = self.context.store.delete(key, &DeleteOptions::default())?;
        self.context.service.detail.delete(key);
        match outcome {
            DeleteOutcome::Deleted => {
                counters.delete_hits.bump();
                self.context.show_deleted(key);
                self.answer("DELETED", quiet);
            }
            DeleteOutcome::NotFound | DeleteOutcome::Exists => {
                counters.delete_misses.bump();
                self.answer("NOT_FOUND", quiet);
            }
        }
        Ok(())
    }

    pub(super) fn touch(&mut self, key: &[u8], exptime: i64, quiet: bool) -> Result<(), Suspended> {
        let expiry = self.context.clock.expiry(exptime);
        let counters = self.context.counters;
        let touched = settled(self.context.store.touch(key, expiry, Access::Use))?;
        counters.cmd_touch.bump();
        match touched {
            Ok(Some(item)) => {
                counters.touch_hits.bump();
                self.charge_copy(item.value().len());
                self.answer("TOUCHED", quiet);
            }
            Ok(None) => {
                counters.touch_misses.bump();
                self.answer("NOT_FOUND", quiet);
            }
            Err(error) => self.answer(server_error(error), quiet),
        }
        Ok(())
    }

    pub(super) fn arithmetic(
        &mut self,
        key: &[u8],
        delta: u64,
        decrement: bool,
        quiet: bool,
    ) -> Result<(), Suspended> {
        let options = ArithmeticOptions {
            delta,
            decrement,
            ..ArithmeticOptions::default()
        };
        let outcome = settled(self.context.store.arithmetic(key, &options))?;
        self.count_arithmetic(outcome.as_ref().ok(), decrement);
        match outcome {
            Ok(ArithmeticOutcome::Done { value, .. }) if !quiet => {
                number::push(self.replies.buffer(), value);
                self.push(b"\r\n");
            }
            Ok(ArithmeticOutcome::Done { .. }) => {}
            Ok(ArithmeticOutcome::NotNumeric) => self.answer(NOT_NUMERIC, quiet),
            Ok(ArithmeticOutcome::NotFound | ArithmeticOutcome::Exists) => {
                self.answer("NOT_FOUND", quiet)
            }
            Err(_) => self.answer("SERVER_ERROR out of memory", quiet),
        }
        Ok(())
    }

    /// Counts an increment or decrement; one that created its item is neither hit nor miss.
    pub(super) fn count_arithmetic(&self, outcome: Option<&ArithmeticOutcome>, decrement: bool) {
        let counters = self.context.counters;
        match (outcome, decrement) {
            (Some(ArithmeticOutcome::Done { created: false, .. }), false) => {
                counters.incr_hits.bump()
            }
            (Some(ArithmeticOutcome::Done { created: false, .. }), true) => {
                counters.decr_hits.bump()
            }
            (Some(ArithmeticOutcome::NotFound), false) => counters.incr_misses.bump(),
            (Some(ArithmeticOutcome::NotFound), true) => counters.decr_misses.bump(),
            _ => {}
        }
    }
}

/// The answer to arithmetic on what is no number.
pub(super) const NOT_NUMERIC: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value";

/// The answer to a write that could not be carried out.
pub(super) fn server_error(error: farcache_store::StoreError) -> &'static str {
    match error {
        farcache_store::StoreError::TooLarge => "SERVER_ERROR object too large for cache",
        farcache_store::StoreError::OutOfMemory => "SERVER_ERROR out of memory storing object",
        farcache_store::StoreError::BadKey => "CLIENT_ERROR bad command line format",
    }
}
