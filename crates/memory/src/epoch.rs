//! Quiescent-state-based reclamation (QSBR): memory taken out of the index may be reused once every
//! thread has passed a point at which it holds no reference into the store.
//!
//! Source: P. McKenney, J. Slingwine, "Read-Copy Update: Using Execution History to Solve
//! Concurrency Problems" (PDCS 1998); the offline rule as in liburcu's QSBR flavour.

use crate::sync::{AtomicU64, Mutex, Ordering, fence, lock};

/// A participant that holds no reference and will announce itself before it takes one.
const OFFLINE: u64 = u64::MAX;
/// Number of a participant that has left.
const LEFT: usize = usize::MAX;

/// A participant's announcement, on a cache line of its own (two, for the adjacent-line
/// prefetcher).
#[repr(align(128))]
struct Announcement {
    seen: AtomicU64,
}

/// A place among those for whom retired memory is kept.
///
/// Only [`Epochs::join`] makes one and nothing copies it, so that nobody can say of another
/// participant that it holds no reference:
///
/// ```compile_fail
/// # use farcache_memory::epoch::Epochs;
/// let epochs = Epochs::new(1);
/// let participant = epochs.join().unwrap();
/// let other = participant.clone();
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Participant(usize);

impl Participant {
    /// Its number, below the most that the epochs have room for.
    pub fn number(&self) -> usize {
        self.0
    }
}

/// The epochs of one store.
pub struct Epochs {
    global: AtomicU64,
    participants: Box<[Announcement]>,
    vacant: Mutex<Vec<usize>>,
}

impl Epochs {
    /// Epochs for at most this many participants.
    pub fn new(participants_max: usize) -> Epochs {
        let offline = || Announcement {
            seen: AtomicU64::new(OFFLINE),
        };
        Epochs {
            global: AtomicU64::new(1),
            participants: (0..participants_max).map(|_| offline()).collect(),
            vacant: Mutex::new((0..participants_max).rev().collect()),
        }
    }

    /// Adds a participant, offline; none where all places are taken.
    pub fn join(&self) -> Option<Participant> {
        lock(&self.vacant).pop().map(Participant)
    }

    /// Removes a participant, which must be offline and is of no use afterwards.
    ///
    /// # Panics
    /// If it has left before.
    pub fn leave(&self, participant: &mut Participant) {
        let number = std::mem::replace(&mut participant.0, LEFT);
        assert_ne!(number, LEFT, "it has left before");
        lock(&self.vacant).push(number);
    }

    /// The participant holds no reference taken before this call.
    ///
    /// What it reads afterwards happens after the global epoch it announces, and so after every
    /// removal that the epoch covers: no fence is needed.
    #[inline]
    pub fn pass(&self, participant: &Participant) {
        let global = self.global.load(Ordering::Acquire);
        self.participants[participant.0]
            .seen
            .store(global, Ordering::Release);
    }

    /// The participant holds no reference and takes none until [`Epochs::resume`].
    #[inline]
    pub fn suspend(&self, participant: &Participant) {
        self.participants[participant.0]
            .seen
            .store(OFFLINE, Ordering::Release);
    }

    /// The participant is about to take references again.
    #[inline]
    pub fn resume(&self, participant: &Participant) {
        self.pass(participant);
        // Without it, a read of the index could overtake the announcement: the reclaimer would
        // still see this participant offline and reuse what it is about to read.
        fence(Ordering::SeqCst);
    }

    /// Starts a new epoch after something was removed; it may be reused when
    /// [`Epochs::has_passed`] says so of the epoch returned.
    #[inline]
    pub fn retire(&self) -> u64 {
        self.global.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether no participant can still hold what was removed before this epoch began.
    pub fn has_passed(&self, epoch: u64) -> bool {
        fence(Ordering::SeqCst);
        self.participants
            .iter()
            .all(|one| one.seen.load(Ordering::Acquire) >= epoch)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_passes_when_every_active_participant_has() {
        let epochs = Epochs::new(2);
        let (first, mut second) = (epochs.join().unwrap(), epochs.join().unwrap());
        assert_eq!(epochs.join(), None);
        epochs.resume(&first);
        let epoch = epochs.retire();
        assert!(!epochs.has_passed(epoch));
        epochs.pass(&first);
        assert!(epochs.has_passed(epoch), "the second is offline");
        epochs.resume(&second);
        let later = epochs.retire();
        epochs.pass(&first);
        assert!(!epochs.has_passed(later));
        epochs.suspend(&second);
        assert!(epochs.has_passed(later));
        let number = second.number();
        epochs.leave(&mut second);
        assert_eq!(epochs.join().map(|one| one.number()), Some(number));
    }

    #[test]
    #[should_panic(expected = "left before")]
    fn a_place_is_given_back_once() {
        let epochs = Epochs::new(1);
        let mut participant = epochs.join().unwrap();
        epochs.leave(&mut participant);
        epochs.leave(&mut participant);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// A reader that resumes, reads a slot and uses what it found; a reclaimer that empties the
    /// slot and reuses the memory once the epoch has passed. In no interleaving does the reader
    /// see the memory reused.
    #[test]
    fn memory_is_never_reused_under_a_reader() {
        loom::model(|| {
            let epochs = Arc::new(Epochs::new(1));
            let slot = Arc::new(AtomicU64::new(1));
            let memory = Arc::new(AtomicU64::new(7));
            let participant = epochs.join().unwrap();
            let reader = {
                let (epochs, slot, memory) = (epochs.clone(), slot.clone(), memory.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        epochs.resume(&participant);
                        if slot.load(Ordering::Acquire) == 1 {
                            assert_eq!(memory.load(Ordering::Relaxed), 7);
                        }
                        epochs.suspend(&participant);
                    }
                })
            };
            slot.store(0, Ordering::Release);
            let epoch = epochs.retire();
            if epochs.has_passed(epoch) {
                memory.store(99, Ordering::Relaxed);
            }
            reader.join().unwrap();
        });
    }
}
