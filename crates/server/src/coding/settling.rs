//! The end of a client's SET that was accepted, and that not all owners could store as somebody
//! who changes the key has a newer promise. The Rust client's `redundant/settling.rs` does the
//! same for its own.

use arrayvec::ArrayVec;
use farcache_cluster::{OWNERS_MAX, ServerId};
use farcache_redundancy::Version;
use farcache_redundancy::plan::{ReadOutcome, Settled, pause_before};
use std::time::{Duration, Instant};

/// A write whose end is looked for.
pub struct Settling {
    /// Under which it was accepted.
    pub version: Version,
    acceptors: ArrayVec<ServerId, OWNERS_MAX>,
    reads: u32,
    /// When the next read begins; none while one is under way.
    pub next_read: Option<Instant>,
}

impl Settling {
    /// Of a version that these have accepted.
    pub fn new(version: Version, acceptors: impl Iterator<Item = ServerId>) -> Settling {
        Settling {
            version,
            acceptors: acceptors.collect(),
            reads: 0,
            next_read: None,
        }
    }

    /// Has a read begun after a pause.
    pub fn pause(&mut self, now: Instant) {
        self.reads += 1;
        self.next_read = Some(now + pause_before(self.reads));
    }

    /// What a read has told. Whoever writes above the version has met it while so many servers
    /// `were_there` all the time, of those who have accepted it, as it takes to read it.
    pub fn seen(
        &self,
        outcome: ReadOutcome,
        needed: usize,
        mut were_there: impl FnMut(ServerId) -> bool,
    ) -> Settled {
        let there = self.acceptors.iter().filter(|server| were_there(**server));
        Settled::by(outcome, self.version, there.count() >= needed)
    }
}

/// Whether a server that has been reached since this instant is the same process for a plan that
/// began then, and nobody whose operation takes so long at most takes it for down.
pub fn was_there(since: Option<Instant>, begun: Instant, longest: Duration) -> bool {
    let reached_before = since.and_then(|since| begun.checked_duration_since(since));
    reached_before.is_some_and(|time| time >= longest)
}
