//! What happens to the tier is logged.

use crate::panics;
use farcache_store::{Store, TierEvent, TierEventKind};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the tier is asked what happened.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Logs what has happened since the last call.
pub(super) fn log_events(store: &Store) {
    let events = store.take_tier_events();
    events.iter().for_each(log_event);
    let mut kinds = events.iter().map(|event| event.kind);
    let has_lost_one = kinds.any(|kind| kind == TierEventKind::OutOfService);
    let stats = store.tier_stats().filter(|_| has_lost_one);
    if stats.is_some_and(|stats| stats.device_bytes == 0) {
        tracing::error!(
            "no SSD is left in service: nothing that is stored from now on survives the end of the server, and with \
             --durability sync every change is answered with an error"
        );
    }
}

/// Logs one event.
pub(super) fn log_event(event: &TierEvent) {
    let TierEvent {
        kind,
        device,
        detail,
    } = event;
    match kind {
        TierEventKind::Formatted => tracing::info!(%device, %detail, "the SSD is formatted"),
        TierEventKind::Overwritten => {
            tracing::warn!(%device, %detail, "the SSD is formatted, as --ssd-format says; what it held is lost");
        }
        TierEventKind::LeftAside => {
            tracing::warn!(%device, %detail, "the SSD is left aside, as it is; --ssd-format uses it anew");
        }
        TierEventKind::Missing => {
            tracing::warn!(%device, %detail, "going on without that, as --ssd-allow-missing says");
        }
        TierEventKind::SegmentsDropped => {
            tracing::warn!(%device, %detail, "torn or damaged segments dropped from the SSD");
        }
        TierEventKind::ReadFailed => tracing::error!(%device, %detail, "the SSD cannot be read"),
        TierEventKind::Corrupt => tracing::error!(%device, %detail, "the SSD returned wrong bytes"),
        TierEventKind::WriteFailed => {
            tracing::error!(%device, %detail, "the SSD cannot be written");
        }
        TierEventKind::OutOfService => {
            tracing::error!(%device, %detail, "the SSD is out of service: its items are misses");
        }
    }
}

/// The thread that logs what happens to the tier.
pub struct EventLog {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl EventLog {
    /// Starts it; none where there is no tier.
    ///
    /// # Errors
    /// When threads are exhausted.
    pub fn start(store: &Arc<Store>) -> io::Result<Option<EventLog>> {
        if store.tier_stats().is_none() {
            return Ok(None);
        }
        let (stop, stopped) = channel();
        let store = Arc::clone(store);
        let thread = std::thread::Builder::new()
            .name("tier-log".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(LOG_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    panics::contain(|| log_events(&store));
                }
            })?;
        Ok(Some(EventLog { stop, thread }))
    }

    /// Ends it.
    pub fn stop(self) {
        drop(self.stop);
        // A panic there has been contained.
        let _ = self.thread.join();
    }
}
