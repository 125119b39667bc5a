//! Whether the way into this port is still open.
//!
//! Over shared memory all peers write to one queue of the receiver's: each takes the next place,
//! and fills it. A process that is killed between the two (UCX 1.13: `uct_mm_ep_get_remote_elem`,
//! then the copy) leaves a place that is never filled, and everything behind it waits for ever. UCX
//! has no way out but a new worker. So where memory is shared, after each end of a connection
//! within the host, and when somebody who was expected has not come, a message is sent through the
//! own queue: when it arrives, the way is open.

use super::arrivals::PROBE;
use super::endpoint::Endpoint;
use super::finished::Finished;
use super::worker::Worker;
use crate::error::Error;
use farcache_ucx_sys::Context;
use std::time::{Duration, Instant};

/// Longest time that a probe may take. It must be longer than any time for which a living process
/// may be kept from running between taking a place and filling it.
const PROBE_MAX: Duration = Duration::from_secs(1);

/// Turns that a probe gets beside that: time passes also while this process is kept from running.
const TURNS_MIN: u32 = 1000;

/// Turns between two looks at the clock.
const TURNS_PER_LOOK: u32 = 64;

/// A worker that sends to its port.
#[derive(Debug)]
pub(super) struct Prober {
    // UCX points at `_finished`, so the worker is dropped first.
    worker: Worker,
    endpoint: Endpoint,
    _finished: Finished,
    sent: u64,
    /// When the last probe was sent, and turns since.
    since: Instant,
    turns: u32,
}

/// What is known of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Open,
    Blocked,
    /// Ask again after a turn of the port.
    Unknown,
}

impl Prober {
    /// Prepares to probe the port with this address.
    pub fn new(context: &Context, address: &[u8]) -> Result<Prober, Error> {
        let mut worker = Worker::new(context)?;
        let finished = Finished::new(worker.library());
        let endpoint = Endpoint::connect(&mut worker, &finished, address)?;
        Ok(Prober {
            worker,
            endpoint,
            _finished: finished,
            sent: 0,
            since: Instant::now(),
            turns: 0,
        })
    }

    /// Sends a probe.
    pub fn send(&mut self) {
        self.endpoint.send_empty(&mut self.worker, PROBE);
        self.sent += 1;
        self.since = Instant::now();
        self.turns = 0;
    }

    /// Moves the probe on; `arrived` counts those that have come.
    pub fn look(&mut self, arrived: u64) -> Finding {
        if arrived >= self.sent {
            return Finding::Open;
        }
        self.worker.progress();
        self.turns += 1;
        let is_time = self.turns >= TURNS_MIN && self.turns.is_multiple_of(TURNS_PER_LOOK);
        if is_time && self.since.elapsed() >= PROBE_MAX {
            return Finding::Blocked;
        }
        Finding::Unknown
    }
}
