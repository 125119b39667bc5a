//! Until when this server may answer for its keys, where others are given them once it has not been
//! heard of for some time.

use super::Cluster;
use farcache_membership::since_boot;
use farcache_session::{Failure, Forward, Peer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// The right to answer, which ends by itself. A server that starts has none: even one that knows of
/// no map, and holds nothing, may be the owner of keys by the others' map.
#[derive(Debug, Default)]
pub struct Lease {
    /// Nanoseconds since the machine was started.
    until: AtomicU64,
    refused: AtomicU64,
    /// What was seen last by somebody who counts.
    was_over: AtomicBool,
    times_over: AtomicU64,
}

impl Lease {
    /// The server may answer until this time, and not longer.
    pub fn set(&self, until: Duration) {
        self.until.store(until.as_nanos() as u64, SeqCst);
    }

    /// The server may answer until this time, or longer where it may already.
    pub fn prolong(&self, until: Duration) {
        self.until.fetch_max(until.as_nanos() as u64, SeqCst);
    }

    /// Whether others may own this server's keys by now.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// For how long the server may answer on.
    #[inline]
    pub fn left(&self) -> Duration {
        Duration::from_nanos(self.until.load(SeqCst)).saturating_sub(since_boot())
    }

    /// How many requests were refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(SeqCst)
    }

    /// How often the right has ended, as far as somebody has looked.
    pub fn times_over(&self) -> u64 {
        self.times_over.load(SeqCst)
    }

    /// Whether this has changed since the last call.
    pub fn look(&self) -> Option<bool> {
        let is_over = self.is_over();
        if self.was_over.swap(is_over, SeqCst) == is_over {
            return None;
        }
        self.times_over.fetch_add(u64::from(is_over), SeqCst);
        Some(is_over)
    }
}

/// What a worker's sessions see in place of the owners of keys while the lease is over: somebody
/// else owns each of them, and cannot be asked.
#[derive(Clone)]
pub struct Gate {
    lease: Arc<Lease>,
    epoch: Arc<AtomicU64>,
}

impl Gate {
    /// The gate of a server of this cluster; none where nobody else is given its keys.
    pub fn of(cluster: Option<&Cluster>) -> Option<Gate> {
        let cluster = cluster?;
        Some(Gate {
            lease: Arc::clone(cluster.lease.as_ref()?),
            epoch: Arc::clone(&cluster.epoch),
        })
    }

    /// Whether the gate stands in place of the owners. To be asked when a request has arrived,
    /// since the process may have slept before.
    #[inline]
    pub fn is_shut(&self) -> bool {
        self.lease.is_over()
    }
}

impl Forward for Gate {
    fn epoch(&self) -> u64 {
        self.epoch.load(SeqCst)
    }

    fn owner(&self, _key: &[u8]) -> Option<Peer> {
        Some(Peer(u32::MAX))
    }

    fn owns_each(&self, keys: &[&[u8]]) -> bool {
        keys.is_empty()
    }

    fn owns_every(&self) -> bool {
        false
    }

    fn takes_value(&self, _bytes: usize) -> bool {
        false
    }

    fn refusal(&self) -> Failure {
        self.lease.refused.fetch_add(1, SeqCst);
        Failure::CutOff
    }

    fn ask(&self, _owner: Peer, _request: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        Some(Err(self.refusal()))
    }

    fn spread(&self, _head: &[u8], _value: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        Some(Err(self.refusal()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_to_answer_ends_by_itself_and_begins_with_a_lease() {
        let lease = Lease::default();
        assert!(lease.is_over());
        lease.set(since_boot() + Duration::from_secs(600));
        assert!(!lease.is_over() && lease.left() > Duration::from_secs(599));
        lease.prolong(since_boot());
        assert!(!lease.is_over(), "it may already answer for longer");
        lease.set(since_boot());
        assert!(lease.is_over());
        lease.prolong(since_boot() + Duration::from_secs(600));
        assert!(!lease.is_over());
    }

    #[test]
    fn nobody_is_asked_while_it_is_over_and_refusals_are_counted() {
        let lease = Arc::new(Lease::default());
        let gate = Gate {
            lease: Arc::clone(&lease),
            epoch: Arc::new(AtomicU64::new(7)),
        };
        assert!(gate.is_shut() && !gate.owns_every() && !gate.owns_each(&[b"k"]));
        let owner = gate.owner(b"k").expect("somebody else");
        assert_eq!(gate.ask(owner, b"get k\r\n"), Some(Err(Failure::CutOff)));
        assert_eq!((lease.refused(), gate.epoch()), (1, 7));
        assert_eq!([lease.look(), lease.look()], [Some(true), None]);
    }
}
