//! The store's own threads among the participants of its epochs.

use super::Core;
use crate::epoch::{Epochs, Participant};
use crate::events::Events;
use crate::schedule::atomic::{AtomicBool, Ordering::*};
use farcache_log::Guard;

/// How many places in the epochs the store's own threads have.
pub(super) const OWN_PARTICIPANTS: usize = 3;

/// One of those places.
struct Own {
    participant: Participant,
    is_taken: AtomicBool,
}

/// The places of the store's own threads.
pub(super) struct Participants {
    reclaimer: Own,
    sweeper: Own,
    flusher: Own,
}

impl Participants {
    /// To be called before anybody else joins.
    pub fn join(epochs: &Epochs) -> Participants {
        let own = || Own {
            participant: epochs.join().expect("nobody else has joined yet"),
            is_taken: AtomicBool::new(false),
        };
        Participants {
            reclaimer: own(),
            sweeper: own(),
            flusher: own(),
        }
    }
}

/// One of the store's own threads looks at what others may take out of memory meanwhile, until this
/// is dropped. It costs nothing in a store without devices, where these threads look only at what
/// nobody else takes out.
pub(crate) struct Attendance<'c> {
    own: &'c Own,
    /// None in a store without devices.
    epochs: Option<&'c Epochs>,
}

impl<'c> Attendance<'c> {
    fn of(own: &'c Own, core: &'c Core) -> Attendance<'c> {
        let was_taken = own.is_taken.swap(true, Acquire);
        assert!(!was_taken, "a participant is one thread at a time");
        let epochs = core.tier.as_ref().map(|_| &core.epochs);
        if let Some(epochs) = epochs {
            epochs.resume(&own.participant);
        }
        Attendance { own, epochs }
    }

    /// For what looks at devices' tables.
    pub fn guard(&self) -> Guard<'_> {
        // SAFETY: the participant has been resumed, nobody else may take it, and it is suspended
        // only by `pause`, which needs this mutably, and at the end. Without devices there is no
        // log, and no table.
        unsafe { Guard::new() }
    }

    /// Waits for something, and looks at nothing meanwhile.
    pub fn pause(&mut self, wait: impl FnOnce()) {
        self.suspend();
        wait();
        if let Some(epochs) = self.epochs {
            epochs.resume(&self.own.participant);
        }
    }

    fn suspend(&self) {
        if let Some(epochs) = self.epochs {
            epochs.suspend(&self.own.participant);
        }
    }
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.suspend();
        self.own.is_taken.store(false, Release);
    }
}

impl Core {
    /// The flusher looks at items in memory.
    pub fn attend_as_flusher(&self) -> Attendance<'_> {
        Attendance::of(&self.participants.flusher, self)
    }

    /// The holder of the reclaimer's state looks at what lies on devices.
    pub fn attend_as_reclaimer(&self) -> Attendance<'_> {
        Attendance::of(&self.participants.reclaimer, self)
    }

    /// The sweep looks at what lies on devices.
    pub fn attend_as_sweeper(&self) -> Attendance<'_> {
        Attendance::of(&self.participants.sweeper, self)
    }

    /// The flusher's counters.
    pub fn flusher_events(&self) -> &Events {
        &self.events[self.participants.flusher.participant.number()]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::options::StoreConfig;

    fn core() -> Core {
        let config = StoreConfig {
            memory_bytes: 1 << 20,
            segment_bytes: 64 << 10,
            huge_pages: false,
            ..StoreConfig::default()
        };
        Core::new(config, None).unwrap()
    }

    /// The first to end would say of the other that it looks at nothing any more.
    #[test]
    #[should_panic(expected = "one thread at a time")]
    fn two_cannot_attend_in_one_place() {
        let core = core();
        let _first = core.attend_as_sweeper();
        let _second = core.attend_as_sweeper();
    }

    #[test]
    fn a_place_can_be_taken_again() {
        let core = core();
        drop(core.attend_as_sweeper());
        let _again = core.attend_as_sweeper();
        let _other = core.attend_as_flusher();
    }
}
