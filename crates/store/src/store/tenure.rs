//! What a store's owner writes down on the devices, for the time after a restart.

use super::Store;
use farcache_log::TENURE_BYTES_MAX;
use std::io;

impl Store {
    /// Longest tenure, in bytes.
    pub const TENURE_BYTES_MAX: usize = TENURE_BYTES_MAX;

    /// Whether it holds anything, but for what open handles have stored last.
    pub fn has_items(&self) -> bool {
        self.core.entries() > 0
    }

    /// What [`Store::note_tenure`] wrote down last, before a restart or after it; none where it
    /// never did, and without a tier.
    pub fn tenure(&self) -> Option<Vec<u8>> {
        self.core.tier.as_ref()?.noted()
    }

    /// Writes down for how long, and for which keys, what the store holds is good: words of its
    /// owner that the store does not understand. Durable when this returns, and with it all fences
    /// and flushes so far: a restart finds these words only together with what was voided before
    /// they were written. Without a tier there is nothing to do.
    ///
    /// # Errors
    /// The devices', where none could be written. Then a restart may find these words or earlier
    /// ones.
    ///
    /// # Panics
    /// With more than [`Store::TENURE_BYTES_MAX`].
    pub fn note_tenure(&self, tenure: &[u8]) -> io::Result<()> {
        assert!(tenure.len() <= TENURE_BYTES_MAX, "a tenure of this length");
        match &self.core.tier {
            Some(tier) => tier.write_note(tenure, || {
                let (flush, fences) = (&self.core.flush, &self.core.fences);
                (flush.floor(), fences.list().to_vec())
            }),
            None => Ok(()),
        }
    }

    /// Drops everything stored so far.
    pub fn flush(&self) {
        self.core.flush_now();
    }
}
