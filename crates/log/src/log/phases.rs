//! What happens once in the life of a log, in this order.

use crate::schedule::atomic::{AtomicBool, Ordering::*};

/// What has begun. Whoever looks at tables of segments without being a participant relies on it: a
/// log is recovered once, before it has a flusher, and has one.
#[derive(Default)]
pub(crate) struct Phases {
    was_recovered: AtomicBool,
    has_flusher: AtomicBool,
}

impl Phases {
    /// # Panics
    /// Where the log was recovered before.
    pub fn begin_recovery(&self) {
        let is_first = !self.was_recovered.swap(true, AcqRel);
        assert!(is_first, "a log is recovered once");
    }

    /// Recovery has ended, and one thread frees what is taken out of slots from now on.
    ///
    /// # Panics
    /// Where the log was not recovered, or has had a flusher.
    pub fn begin_flushing(&self) {
        assert!(self.was_recovered.load(Acquire), "a log is recovered first");
        let is_first = !self.has_flusher.swap(true, AcqRel);
        assert!(is_first, "a log has one flusher");
    }
}
