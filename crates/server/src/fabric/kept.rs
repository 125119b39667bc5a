//! Memory for messages that could not be handled when they came: how much of it a session and a
//! worker may use.

use farcache_session::Session;
use std::cell::Cell;
use std::rc::Rc;

/// Most bytes that a session may have kept. A client of ours cuts its messages at 32 KiB and has
/// 128 of them unanswered.
pub(super) const SESSION_BYTES_MAX: usize = 5 << 20;

/// Most bytes that a worker keeps for all of its sessions.
pub(super) const WORKER_BYTES_MAX: usize = 64 << 20;

/// How many bytes are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(Rc<Cell<usize>>);

impl Tally {
    /// Bytes kept now.
    pub fn bytes(&self) -> usize {
        self.0.get()
    }

    fn add(&self, bytes: usize) {
        self.0.set(self.0.get() + bytes);
    }

    fn take(&self, bytes: usize) {
        self.0.set(self.0.get() - bytes);
    }
}

/// A message, or the rest of one, that counts as kept as long as it exists.
pub(super) struct Kept {
    /// What has been begun of it, where it is another server's.
    pub begun: Option<Session>,
    bytes: Vec<u8>,
    session: Tally,
    worker: Tally,
}

impl Kept {
    /// Keeps a message of a session of a worker.
    pub fn new(message: &[u8], session: &Tally, worker: &Tally) -> Kept {
        session.add(message.len());
        worker.add(message.len());
        Kept {
            begun: None,
            bytes: message.to_vec(),
            session: session.clone(),
            worker: worker.clone(),
        }
    }

    /// The message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.session.take(self.bytes.len());
        self.worker.take(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_counts_until_it_is_dropped() {
        let (first, second, worker) = (Tally::default(), Tally::default(), Tally::default());
        let one = Kept::new(&[1; 10], &first, &worker);
        let other = Kept::new(&[2; 5], &second, &worker);
        assert_eq!([&first, &second, &worker].map(Tally::bytes), [10, 5, 15]);
        assert_eq!(one.bytes(), [1; 10]);
        drop(one);
        assert_eq!([&first, &second, &worker].map(Tally::bytes), [0, 5, 5]);
        drop(other);
        assert_eq!(worker.bytes(), 0);
    }
}
