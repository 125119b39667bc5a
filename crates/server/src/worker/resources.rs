//! What all connections of one worker share.

use crate::counters::Counters;
use crate::session::Replies;
use crate::shared::Shared;
use farcache_base::time::Clock;
use farcache_store::StoreHandle;
use std::sync::Arc;
use std::time::Instant;

/// Size of the buffer into which a worker reads, in bytes. Large enough for any request without
/// its value and for a deep pipeline, small enough to stay in the core's cache.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// One worker's means: buffers, the store, the time.
pub(super) struct Resources {
    /// Input is read here; what is not handled at once is kept by its connection.
    pub buffer: Box<[u8]>,
    /// Replies are gathered here; what is not sent at once is kept by its connection.
    pub replies: Replies,
    /// Access to the data.
    pub store: StoreHandle,
    /// The server.
    pub shared: Arc<Shared>,
    /// This worker's counters.
    pub counters: Arc<Counters>,
    /// The time, read once per turn of the loop.
    pub clock: Clock,
}

impl Resources {
    /// The means of worker number `index`.
    pub fn new(shared: Arc<Shared>, index: usize) -> Self {
        let (store, clock) = (shared.store.handle(), shared.clock());
        store.set_now(clock.now);
        Resources {
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            replies: Replies::default(),
            store,
            counters: Arc::clone(&shared.workers[index]),
            clock,
            shared,
        }
    }

    /// Takes note of the time.
    pub fn set_time(&mut self, instant: Instant) {
        let clock = self.shared.clock_at(instant);
        if clock.now != self.clock.now {
            self.clock = clock;
            self.store.set_now(clock.now);
        }
    }
}

/// What a session is given; borrows from single fields, so that the others stay usable.
macro_rules! context {
    ($resources:expr) => {
        $crate::session::Context {
            store: &$resources.store,
            shared: &$resources.shared,
            counters: &$resources.counters,
            clock: $resources.clock,
        }
    };
}
pub(super) use context;
