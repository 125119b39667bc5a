//! A thread among the participants of a store's epochs.

use crate::epoch::{Epochs, Participant};
use farcache_log::Guard;
use std::cell::Cell;

/// A thread that looks at what others may take out of memory meanwhile: online from when it enters,
/// until it goes offline.
pub(super) struct Presence {
    participant: Participant,
    is_online: Cell<bool>,
}

impl Presence {
    /// None where all places are taken.
    pub fn join(epochs: &Epochs) -> Option<Presence> {
        Some(Presence {
            participant: epochs.join()?,
            is_online: Cell::new(false),
        })
    }

    /// Its number among the participants.
    pub fn number(&self) -> usize {
        self.participant.number()
    }

    pub fn is_online(&self) -> bool {
        self.is_online.get()
    }

    /// The thread is about to look.
    #[inline]
    pub fn enter(&self, epochs: &Epochs) {
        if !self.is_online.get() {
            epochs.resume(&self.participant);
            self.is_online.set(true);
        }
    }

    /// The thread holds nothing that it has found.
    pub fn pass(&mut self, epochs: &Epochs) {
        if self.is_online.get() {
            epochs.pass(&self.participant);
        }
    }

    /// The thread holds nothing that it has found, and will enter before it looks again.
    pub fn go_offline(&self, epochs: &Epochs) {
        epochs.suspend(&self.participant);
        self.is_online.set(false);
    }

    /// For what looks at devices' tables, of a thread that is online. What it shows is void when
    /// the thread goes offline.
    #[inline]
    pub fn guard(&self) -> Guard<'_> {
        debug_assert!(self.is_online.get());
        // SAFETY: the participant has been resumed, and a quiescent point needs this mutably. The
        // handle goes offline only to sleep, mutably too, and to make room, which voids what its
        // caller has found.
        unsafe { Guard::new() }
    }

    /// The thread looks no more; its place is free.
    pub fn leave(&mut self, epochs: &Epochs) {
        self.go_offline(epochs);
        epochs.leave(&mut self.participant);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_retired_is_kept_for_those_who_are_online() {
        let epochs = Epochs::new(1);
        let mut presence = Presence::join(&epochs).unwrap();
        let is_kept = || !epochs.has_passed(epochs.retire());
        assert!(!is_kept(), "it has not entered");
        presence.enter(&epochs);
        let epoch = epochs.retire();
        presence.enter(&epochs);
        assert!(!epochs.has_passed(epoch), "it was there already");
        presence.pass(&epochs);
        assert!(epochs.has_passed(epoch) && is_kept());
        presence.go_offline(&epochs);
        assert!(!is_kept());
        presence.pass(&epochs);
        assert!(!is_kept(), "it stays offline");
    }

    #[test]
    fn whoever_leaves_gives_back_its_place() {
        let epochs = Epochs::new(1);
        let mut presence = Presence::join(&epochs).unwrap();
        presence.enter(&epochs);
        assert!(Presence::join(&epochs).is_none());
        presence.leave(&epochs);
        assert!(Presence::join(&epochs).is_some());
    }
}
