//! Which endpoint is tried next, and when.
//!
//! One at a time, as clients that balance over several keep using one that is stopped but not
//! closed. An endpoint that failed is left at once for the next one; after all have failed there is
//! a pause, which doubles.

use super::settings::Endpoint;
use std::time::Duration;

/// The first pause and the longest one.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// Goes round the endpoints.
#[derive(Debug)]
pub(super) struct Rotation {
    endpoints: Vec<Endpoint>,
    next: usize,
    /// How many have failed since one served.
    failed: usize,
}

impl Rotation {
    /// Begins at an endpoint chosen by `seed`, so that servers spread over them.
    pub(super) fn new(endpoints: Vec<Endpoint>, seed: u64) -> Self {
        let next = (seed % endpoints.len().max(1) as u64) as usize;
        Self {
            endpoints,
            next,
            failed: 0,
        }
    }

    pub(super) fn current(&self) -> &Endpoint {
        &self.endpoints[self.next]
    }

    /// The current endpoint serves.
    pub(super) fn served(&mut self) {
        self.failed = 0;
    }

    /// The current endpoint has failed; returns how long to wait before the next one is tried.
    pub(super) fn failed(&mut self) -> Duration {
        self.next = (self.next + 1) % self.endpoints.len();
        self.failed += 1;
        let rounds = self.failed / self.endpoints.len();
        match self.failed % self.endpoints.len() {
            0 => (PAUSES[0] * (1 << (rounds - 1).min(8))).min(PAUSES[1]),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_endpoints_are_tried_before_there_is_a_pause_which_grows() {
        let endpoints = ["a:1", "b:1", "c:1"].map(|text| text.parse().expect("an endpoint"));
        let mut rotation = Rotation::new(endpoints.into(), 4);
        let mut round = || {
            let tried = [0; 3].map(|_| {
                let name = rotation.current().to_string();
                (name, rotation.failed().as_millis())
            });
            tried
                .map(|(name, pause)| format!("{name} {pause}"))
                .join(", ")
        };
        assert_eq!(round(), "b:1 0, c:1 0, a:1 100");
        assert_eq!(round(), "b:1 0, c:1 0, a:1 200");
        for _ in 0..20 {
            round();
        }
        assert_eq!(round(), "b:1 0, c:1 0, a:1 1000");
        rotation.served();
        assert_eq!(rotation.failed(), Duration::ZERO);
    }
}
