//! Requests that wait for room elsewhere: when they are told to try again.

use super::RECLAIMER_SEGMENTS;
use crate::core::Core;
use crate::reclaimer::Prospect;
use crate::schedule::atomic::Ordering::SeqCst;
use farcache_log::{Durability, Log};

/// Runs of more than this part of all segments are made room for by the writers themselves.
const AWAITED_PART: u32 = 4;

impl Core {
    /// Whether waiting may bring free segments that are missing now.
    pub fn can_await_room(&self, run: u32) -> bool {
        self.prospect(run) == Prospect::Later
    }

    fn prospect(&self, run: u32) -> Prospect {
        let counts = self.arena.counts();
        if counts.free >= run.saturating_add(RECLAIMER_SEGMENTS) {
            return Prospect::Room;
        }
        // A pure cache evicts instead.
        let waits = |tier: &Log| tier.takes_items() && tier.durability() != Durability::Cache;
        let is_possible = self.tier.as_ref().is_some_and(waits)
            && run <= counts.allowed / AWAITED_PART
            && !self.reclaimer.awaited.has_given_up.load(SeqCst);
        match is_possible {
            true => Prospect::Later,
            false => Prospect::None,
        }
    }

    /// Whether a request that waits for free segments should try again; if not, it is told when to
    /// ask again.
    pub fn await_room(&self, run: u32) -> Prospect {
        // Before the look, so that what is freed after it is told.
        let before = self.reclaimer.awaited.segments.fetch_max(run, SeqCst);
        let prospect = self.prospect(run);
        if prospect == Prospect::Later && before < run {
            self.reclaimer.wake();
        }
        prospect
    }

    /// Free segments that somebody waits for.
    pub(super) fn segments_awaited(&self) -> u32 {
        match self.reclaimer.awaited.segments.load(SeqCst) {
            0 => 0,
            segments => segments.saturating_add(RECLAIMER_SEGMENTS),
        }
    }

    /// Notes whether something could be freed.
    pub(super) fn note_reclaimed(&self, has_gained: bool) {
        self.reclaimer
            .awaited
            .has_given_up
            .store(!has_gained, SeqCst);
    }

    /// Tells the requests that wait for room to look again, if there is room or none will come.
    pub(super) fn tell_room(&self) {
        let awaited = &self.reclaimer.awaited;
        if awaited.segments.load(SeqCst) == 0 || self.prospect(1) == Prospect::Later {
            return;
        }
        // A request that still finds too little says so again.
        awaited.segments.store(0, SeqCst);
        if self.tier.is_some() {
            self.bell.ring();
        }
    }
}
