//! What the engine needs to know of a client's settings.

use crate::ClientConfig;
use farcache_redundancy::{Policy, Redundancy};
use std::time::Duration;

/// Smallest message size that a server over the fabric must take; values that are copied into
/// messages are smaller.
pub(super) const MESSAGE_BYTES_LEAST: u32 = 16 << 10;

/// Largest [`Settings::eager_bytes_max`]: with its packet's head it fits into any message.
const EAGER_BYTES_LIMIT: usize = 15 << 10;

/// Times in microseconds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Values of up to so many bytes are copied into the message.
    pub eager_bytes_max: usize,
    /// How long an operation may take.
    pub timeout_us: u64,
    /// How long the fabric may take to welcome us.
    pub greeting_us: u64,
    /// First rest after a failure.
    pub rest_us_min: u64,
    /// Longest rest.
    pub rest_us_max: u64,
    /// Failures in a row after which a server's keys go to others.
    pub remove_after_failures: Option<u32>,
    /// For how long they do.
    pub removed_us: u64,
    /// Sockets are no substitute for the fabric.
    pub demands_fabric: bool,
    /// Which keys lie on several servers.
    pub redundancy: Option<Policy>,
}

impl Settings {
    /// From the client's.
    #[must_use]
    pub fn new(config: &ClientConfig, demands_fabric: bool) -> Self {
        Settings {
            eager_bytes_max: config.eager_bytes_max.min(EAGER_BYTES_LIMIT),
            timeout_us: micros(config.timeout),
            greeting_us: micros(config.connect_timeout),
            rest_us_min: micros(config.reconnect_delay_min),
            rest_us_max: micros(config.reconnect_delay_max),
            remove_after_failures: config.remove_after_failures,
            removed_us: micros(config.removed_for),
            demands_fabric,
            redundancy: config.redundancy.clone(),
        }
    }
}

impl Settings {
    /// Whether a key lies in one place only, as it does without a policy.
    #[inline]
    pub(super) fn is_single(&self, key: &[u8]) -> bool {
        let policy = self.redundancy.as_ref();
        policy.is_none_or(|policy| policy.of_key(key) == Redundancy::None)
    }
}

/// A duration in microseconds; what is longer than half a million years is that.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros())
        .unwrap_or(u64::MAX)
        .min(u64::MAX >> 1)
}
