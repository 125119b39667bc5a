//! Replies that wait until their client takes them, for any time: meanwhile the store may have
//! their large values give way.

use super::replies::{Hollow, Replies};
use farcache_store::{PinnedValue, StalledValues, StoreHandle};

/// Replies that wait.
pub struct Unsent {
    hollow: Hollow,
    /// The replies' large values, where there are any.
    values: Option<StalledValues>,
    holds_read_memory: bool,
}

impl Unsent {
    /// These replies wait from now on.
    pub fn new(replies: Replies, store: &StoreHandle) -> Unsent {
        let (hollow, values) = replies.hollow_out();
        Unsent {
            hollow,
            holds_read_memory: values.iter().any(PinnedValue::is_in_read_memory),
            values: (!values.is_empty()).then(|| store.stall(values)),
        }
    }

    /// The replies, to be sent; none where memory was short and they had to give way: what the
    /// client is to get is lost.
    pub fn resume(self) -> Option<Replies> {
        let values = match self.values {
            Some(values) => values.resume()?,
            None => Vec::new(),
        };
        Some(self.hollow.fill(values))
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> usize {
        self.hollow.len()
    }

    /// Whether [`Unsent::resume`] would tell that the replies are lost.
    pub fn is_given_up(&self) -> bool {
        self.values.as_ref().is_some_and(StalledValues::is_given_up)
    }

    /// Whether a value that waits was read from the SSD tier, and so takes memory that all reads
    /// have together.
    pub fn holds_read_memory(&self) -> bool {
        self.holds_read_memory
    }
}
