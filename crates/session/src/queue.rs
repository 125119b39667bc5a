//! The order of sessions whose large values wait until others' have arrived.
//!
//! A connection waits in a [`Turn`]: its driver replays the request when its turn has come, and
//! tells it when it has waited long enough. Drivers that cannot let a client wait give it none.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In [`Queue::in_vain`]: waiting was not in vain so far.
const NEVER: u64 = u64::MAX;

/// Everybody who waits at one server, who came first at the front.
pub(crate) struct Queue {
    tickets: Mutex<Tickets>,
    /// How many wait, to be looked at without a lock.
    length: AtomicUsize,
    /// How many values had ended when waiting was last found to be in vain.
    in_vain: AtomicU64,
}

#[derive(Default)]
struct Tickets {
    waiting: VecDeque<u64>,
    next: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Queue {
            tickets: Mutex::default(),
            length: AtomicUsize::new(0),
            in_vain: AtomicU64::new(NEVER),
        }
    }
}

impl Queue {
    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.length.load(SeqCst) == 0
    }

    /// Somebody has waited in vain since so many values had ended.
    pub(crate) fn note_in_vain(&self, ended: u64) {
        self.in_vain.store(ended, SeqCst);
    }

    /// Whether somebody has waited in vain, and no value has ended since: so many have by now.
    pub(crate) fn is_in_vain(&self, ended: u64) -> bool {
        self.in_vain.load(SeqCst) == ended
    }

    fn tickets(&self) -> MutexGuard<'_, Tickets> {
        // Nothing that is done under it can leave it half done.
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> u64 {
        let mut tickets = self.tickets();
        let ticket = tickets.next;
        tickets.next += 1;
        tickets.waiting.push_back(ticket);
        self.length.store(tickets.waiting.len(), SeqCst);
        ticket
    }

    fn leave(&self, ticket: u64) {
        let mut tickets = self.tickets();
        if let Ok(place) = tickets.waiting.binary_search(&ticket) {
            tickets.waiting.remove(place);
        }
        self.length.store(tickets.waiting.len(), SeqCst);
    }

    fn is_next(&self, ticket: u64) -> bool {
        self.tickets().waiting.front() == Some(&ticket)
    }
}

/// A connection's place among those who wait, if it does. Dropping it leaves the queue.
#[derive(Default)]
pub struct Turn {
    place: RefCell<Option<Place>>,
}

struct Place {
    queue: Arc<Queue>,
    ticket: u64,
    wanted_bytes: u64,
    has_given_up: bool,
}

impl Turn {
    /// The wait is over although its time has not come: the next try is the last.
    pub fn give_up(&self) {
        if let Some(place) = &mut *self.place.borrow_mut() {
            place.has_given_up = true;
        }
    }

    /// Waits no longer.
    pub fn leave(&self) {
        if let Some(place) = self.place.take() {
            place.queue.leave(place.ticket);
        }
    }

    /// Begins to wait, or goes on in the same place.
    pub(crate) fn enter(&self, queue: &Arc<Queue>, wanted_bytes: u64) {
        let mut place = self.place.borrow_mut();
        match &mut *place {
            Some(place) => place.wanted_bytes = wanted_bytes,
            None => {
                *place = Some(Place {
                    queue: Arc::clone(queue),
                    ticket: queue.enter(),
                    wanted_bytes,
                    has_given_up: false,
                });
            }
        }
    }

    /// How long the value is that waits.
    pub(crate) fn wanted_bytes(&self) -> Option<u64> {
        self.place.borrow().as_ref().map(|place| place.wanted_bytes)
    }

    /// Whether a value waits for room, and no other has waited for longer.
    pub(crate) fn is_next(&self) -> bool {
        let place = self.place.borrow();
        place
            .as_ref()
            .is_some_and(|place| place.queue.is_next(place.ticket))
    }

    /// Whether a value has waited for room long enough.
    pub(crate) fn has_given_up(&self) -> bool {
        self.place
            .borrow()
            .as_ref()
            .is_some_and(|place| place.has_given_up)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}
