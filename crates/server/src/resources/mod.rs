//! What all connections of one worker share.

pub mod arrivals;
pub mod deferred;
pub mod forward;
pub mod reads;

use crate::cluster::Gate;
use crate::latency::{Counted, Latencies};
use crate::mailbox::Mailbox;
use crate::peers::Peers;
use crate::peers::desk::ForMessages;
use crate::shared::Shared;
use farcache_base::time::Clock;
use farcache_session::counters::Counters;
use farcache_session::{Forward, Replies};
use farcache_store::StoreHandle;
use reads::Waits;
use std::sync::Arc;
use std::time::Instant;

/// Size of the buffer into which a worker reads, in bytes. Large enough for any request without
/// its value and for a deep pipeline, small enough to stay in the core's cache and to leave most of
/// a large value to be read straight to its place.
pub const BUFFER_BYTES: usize = 64 << 10;

/// One worker's means: buffers, the store, the time.
pub struct Resources {
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
    /// Where this worker's times are recorded, if anybody asks for them.
    pub latencies: Option<Arc<Latencies>>,
    /// Where this worker is woken.
    pub mailbox: Arc<Mailbox>,
    /// When the worker learned of what it is doing.
    pub turn_began: Instant,
    /// Who waits for devices.
    pub waits: Waits,
    /// The other servers of the cluster, where requests are passed on to them.
    pub peers: Option<Box<Peers>>,
    /// Shut while others may own this server's keys; none where that cannot be.
    pub gate: Option<Gate>,
    /// Replies wait until the changes that they tell of are durable.
    pub holds_replies: bool,
    /// The time, read once per turn of the loop.
    pub clock: Clock,
}

impl Resources {
    /// The means of worker number `index`.
    pub fn new(shared: Arc<Shared>, index: usize, mailbox: Arc<Mailbox>) -> Self {
        let (store, clock) = (shared.store.handle(), shared.clock());
        store.set_now(clock.now);
        Resources {
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            replies: Replies::default(),
            store,
            latencies: shared.latencies.get(index).cloned(),
            turn_began: Instant::now(),
            waits: Waits::default(),
            peers: Peers::new(&shared, &mailbox),
            gate: Gate::of(shared.cluster.as_ref()),
            holds_replies: reads::holds_replies(
                shared.settings.durability,
                !shared.settings.devices.is_empty(),
            ),
            counters: Arc::clone(&shared.workers[index]),
            mailbox,
            clock,
            shared,
        }
    }

    /// What has been counted before messages, if their time is to be recorded; that they have come
    /// is only known from their being there.
    pub fn before_messages(&mut self) -> Option<Counted> {
        if self.latencies.is_some() {
            self.turn_began = Instant::now();
        }
        self.before_batch()
    }

    /// What has been counted before a batch of requests, if its time is to be recorded.
    pub fn before_batch(&self) -> Option<Counted> {
        self.latencies
            .as_ref()
            .map(|_| Latencies::counted(&self.counters))
    }

    /// Whether what has just been replied has to wait until something is durable: what was changed,
    /// or what was read and others have changed.
    #[inline]
    pub fn has_undurable(&self, has_changed: bool) -> bool {
        self.holds_replies && (self.store.take_seen_undurable() || has_changed)
    }

    /// A batch of requests has been answered.
    pub fn after_batch(&self, before: Option<Counted>) {
        if let (Some(latencies), Some(before)) = (&self.latencies, before) {
            latencies.record(&before, &self.counters, self.turn_began.elapsed());
        }
    }

    /// The way of requests on the fabric to all owners of a key; none where there is none, or
    /// others may own this server's keys.
    pub fn for_messages(&self) -> Option<ForMessages<'_>> {
        let is_shut = self.gate.as_ref().is_some_and(Gate::is_shut);
        let peers = self.peers.as_ref().filter(|_| !is_shut)?;
        Some(ForMessages(&peers.desk))
    }

    /// Takes note of the time.
    pub fn set_time(&mut self, instant: Instant) {
        self.turn_began = instant;
        let clock = self.shared.clock_at(instant);
        if clock.now != self.clock.now {
            self.clock = clock;
            self.store.set_now(clock.now);
        }
    }
}

/// What a session is given; borrows from single fields, so that the others stay usable. A
/// connection's session is given the `desk` of the worker's peers and a turn of its own, a
/// message's the desk; without them nothing is passed on, and no value waits for others to arrive.
macro_rules! context {
    ($resources:expr, $caller:expr) => {
        $crate::resources::context!(@ $resources, $caller, None, through_owners)
    };
    ($resources:expr, $caller:expr, desk) => {
        $crate::resources::context!(@ $resources, $caller, None, through_desk)
    };
    ($resources:expr, $caller:expr, desk, $turn:expr) => {
        $crate::resources::context!(@ $resources, $caller, Some($turn), through_desk)
    };
    (@ $resources:expr, $caller:expr, $turn:expr, $through:ident) => {
        farcache_session::Context {
            store: &$resources.store,
            service: &$resources.shared.service,
            host: &$crate::host::ServerHost {
                shared: &$resources.shared,
                caller: $caller,
            },
            forward: $crate::resources::$through(&$resources.gate, &$resources.peers),
            turn: $turn,
            counters: &$resources.counters,
            clock: $resources.clock,
        }
    };
}
pub(crate) use context;

/// What sessions see of the owners of keys whose requests are not passed on.
#[inline]
pub fn through_owners<'a>(
    gate: &'a Option<Gate>,
    peers: &'a Option<Box<Peers>>,
) -> Option<&'a dyn Forward> {
    match (gate, peers) {
        (Some(gate), _) if gate.is_shut() => Some(gate),
        (_, Some(peers)) => Some(&peers.desk.owners),
        (_, None) => None,
    }
}

/// What sessions see of the owners of keys whose requests are passed on.
#[inline]
pub fn through_desk<'a>(
    gate: &'a Option<Gate>,
    peers: &'a Option<Box<Peers>>,
) -> Option<&'a dyn Forward> {
    match (gate, peers) {
        (_, Some(peers)) => Some(peers.desk.for_session()),
        (Some(gate), None) if gate.is_shut() => Some(gate),
        (_, None) => None,
    }
}
