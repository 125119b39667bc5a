//! A direct look: where one connection alone has asked for a while, its socket is read from without
//! asking epoll first.
//!
//! A worker that polls learns of a request by one system call and reads it with another; of a
//! connection that is alone the reading tells as much. Everything else is looked at as before,
//! after a few looks in vain and after each one that found something: while the client makes its
//! next request nobody waits for that.
//!
//! Where others want the worker's processor too, it looks so for a moment before it sleeps
//! ([`farcache_base::polling::Moments`]).

use super::Worker;
use super::connection::Outcome;
use super::read;
use farcache_base::polling::MOMENT;
use rustix::event::epoll::Event;
use std::time::Instant;

/// Requests in a row by one connection, with none by another between, after which it counts as
/// alone.
const STREAK_MIN: u8 = 16;

/// Looks before the turn goes on with everything else, which takes as long as three of them.
const LOOKS_PER_TURN: u32 = 4;

/// Which connection asks, and whether others do too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Streak {
    slot: usize,
    length: u8,
    /// The last look found something: it is the others' turn.
    has_found: bool,
}

impl Streak {
    /// epoll has told of these connections, by their names.
    pub fn note(&mut self, mut names: impl ExactSizeIterator<Item = u64>) {
        self.has_found = false;
        match (names.len(), names.next()) {
            (0, _) => {}
            (1, Some(name)) if name == self.slot as u64 => {
                self.length = self.length.saturating_add(1);
            }
            (_, name) => {
                self.slot = name.unwrap_or_default() as usize;
                self.length = 0;
            }
        }
    }

    /// The connection that is alone, if it is its turn.
    pub fn alone(&self) -> Option<usize> {
        (self.length >= STREAK_MIN && !self.has_found).then_some(self.slot)
    }

    /// Whether a direct look has just found something: then the others are looked at, without a
    /// sleep.
    pub fn has_found(&self) -> bool {
        self.has_found
    }

    /// A direct look has found something.
    fn found(&mut self) {
        self.has_found = true;
    }
}

impl Worker {
    /// Takes note of whom epoll has told of.
    pub(super) fn note_streak(&mut self, events: &[Event]) {
        self.streak
            .note(events.iter().map(|event| event.data.u64()));
    }

    /// The connection to be read from without asking epoll, if there is one.
    pub(super) fn alone(&mut self) -> Option<usize> {
        let slot = self.streak.alone()?;
        if !self.permit.is_wanted() || self.has_more_to_do() || self.has_sessions() {
            return None;
        }
        let connection = self.connections.get_mut(slot)?;
        connection.awaits_requests().then_some(slot)
    }

    /// Serves the connection that is alone, if it has asked; whether anything happened.
    pub(super) fn serve_directly(&mut self, slot: usize) -> bool {
        let may_poll = self.permit.may_poll(self.resources.turn_began);
        let outcome = match may_poll {
            true if self.budgets.sockets.is_wanted() => self.try_directly(slot),
            true => None,
            false => self.try_for_a_moment(slot),
        };
        let Some(outcome) = outcome else {
            return false;
        };
        self.streak.found();
        self.budgets.sockets.active();
        self.settle(slot, outcome);
        true
    }

    /// A few looks.
    fn try_directly(&mut self, slot: usize) -> Option<Outcome> {
        let connection = &mut self.connections[slot];
        let resources = &mut self.resources;
        let mut looks = (0..LOOKS_PER_TURN).map(|_| read::try_requests(connection, resources));
        looks.find_map(|outcome| outcome)
    }

    /// As many as go into a moment, before a sleep, where that has been worth it.
    fn try_for_a_moment(&mut self, slot: usize) -> Option<Outcome> {
        if !self.moments.begin() {
            return None;
        }
        let until = Instant::now() + MOMENT;
        let outcome = loop {
            let outcome = self.try_directly(slot);
            if outcome.is_some() || Instant::now() >= until {
                break outcome;
            }
        };
        self.moments.ended(outcome.is_some());
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streak_of(names: impl IntoIterator<Item = u64>) -> Streak {
        let mut streak = Streak::default();
        names
            .into_iter()
            .for_each(|name| streak.note([name].into_iter()));
        streak
    }

    #[test]
    fn a_connection_is_alone_after_a_streak_of_its_own() {
        let times = |count| std::iter::repeat_n(7, count);
        let least = usize::from(STREAK_MIN);
        assert_eq!(streak_of(times(least)).alone(), None);
        assert_eq!(streak_of(times(least + 1)).alone(), Some(7));
        assert_eq!(streak_of(times(1000)).alone(), Some(7));
    }

    #[test]
    fn another_connection_ends_the_streak() {
        let mut streak = streak_of([7; 100]);
        streak.note([].into_iter());
        assert_eq!(streak.alone(), Some(7), "silence does not");
        streak.note([7, 8].into_iter());
        assert_eq!(streak.alone(), None);
        let mut streak = streak_of([7; 100]);
        streak.note([8].into_iter());
        streak.note([7].into_iter());
        assert_eq!(streak.alone(), None);
    }

    #[test]
    fn the_others_are_looked_at_after_each_request() {
        let mut streak = streak_of([7; 100]);
        streak.found();
        assert_eq!(streak.alone(), None);
        streak.note([].into_iter());
        assert_eq!(streak.alone(), Some(7));
    }
}
