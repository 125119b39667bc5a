//! What keeps a segment in place for replies in flight, which outlast the operation that found
//! their values.

use crate::sync::{AtomicU32, Ordering};

/// How many values of a segment replies in flight keep in place.
///
/// Who pins has found the value in the index and has not passed a quiescent point since. Who frees
/// the segment has first seen that all have passed one ([`Epochs::has_passed`]) since it left the
/// index, and asks only then: so it sees each pin of those that found a value there, and none can
/// follow.
///
/// [`Epochs::has_passed`]: crate::epoch::Epochs::has_passed
pub(super) struct Pins(AtomicU32);

impl Pins {
    pub fn none() -> Pins {
        Pins(AtomicU32::new(0))
    }

    /// Told to others by the quiescent point that follows.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The reply has gone: all that it read was read before.
    pub fn remove(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether there is any. If not, what follows comes after all that the replies read.
    pub fn are_there(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::epoch::Epochs;
    use crate::sync::AtomicU64;
    use loom::sync::Arc;
    use loom::thread;

    const VALUE: u64 = 7;
    const REUSED: u64 = 99;

    /// A reader pins what it found and goes offline; its reply reads the value later. Meanwhile the
    /// segment leaves the index and is freed as soon as that may be.
    #[test]
    fn a_pinned_segment_is_never_freed_under_its_reply() {
        loom::model(|| {
            let epochs = Arc::new(Epochs::new(1));
            let index = Arc::new(AtomicU64::new(1));
            let memory = Arc::new(AtomicU64::new(VALUE));
            let pins = Arc::new(Pins::none());
            let participant = epochs.join().unwrap();
            let reader = {
                let (epochs, index) = (epochs.clone(), index.clone());
                let (memory, pins) = (memory.clone(), pins.clone());
                thread::spawn(move || {
                    epochs.resume(&participant);
                    let is_found = index.load(Ordering::Acquire) == 1;
                    if is_found {
                        pins.add();
                    }
                    epochs.suspend(&participant);
                    if is_found {
                        assert_eq!(memory.load(Ordering::Relaxed), VALUE);
                        pins.remove();
                    }
                })
            };
            index.store(0, Ordering::Release);
            let epoch = epochs.retire();
            // As `Arena::collect` asks, in this order.
            if epochs.has_passed(epoch) && !pins.are_there() {
                memory.store(REUSED, Ordering::Relaxed);
            }
            reader.join().unwrap();
        });
    }
}
