//! Large values on their way out, and clients that take none of them.
//!
//! The network has such a value until its client has taken it, and that may be never. While nobody
//! needs the memory that it lies in, a client may take all the time it wants. Where that is short,
//! nobody is sent a second value before the first has been taken; and whoever has taken nothing for
//! a while loses its session.

use super::engine::Engine;
use crate::resources::Resources;
use farcache_fabric::Error;
use farcache_store::PinnedValue;
use std::time::{Duration, Instant};

/// How long a client may take nothing while memory is short: as long as one at a socket may
/// (`worker/stalls.rs`).
const STALL_TIME: Duration = Duration::from_secs(2);

/// How often to look. At most one session is ended each time, so that no more than necessary are.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A large value on its way out, and whose it is.
pub(super) struct Departing {
    pub session: u32,
    pub key: u64,
    /// It was read from an SSD, and so takes memory that all reads have together.
    pub is_in_read_memory: bool,
}

/// What the client of a session has been sent and what it has taken, in large values.
#[derive(Default)]
pub(super) struct Taking {
    /// On their way.
    pub departing: usize,
    /// Unsent values that were read from an SSD.
    in_read_memory: usize,
    /// Taken so far.
    taken: u64,
    /// How many had been taken when that was looked at last, and since when it has been that many;
    /// none while none are on their way.
    seen: Option<(u64, Instant)>,
}

impl Taking {
    /// One more is sent.
    pub fn note_departing(&mut self, departing: &Departing) {
        self.departing += 1;
        self.in_read_memory += usize::from(departing.is_in_read_memory);
    }

    /// The network has let go of one.
    fn note_gone(&mut self, departing: &Departing) {
        self.departing -= 1;
        self.in_read_memory -= usize::from(departing.is_in_read_memory);
        self.taken += 1;
    }

    fn look(&mut self, now: Instant) {
        self.seen = match self.seen {
            _ if self.departing == 0 => None,
            Some((taken, since)) if taken == self.taken => Some((taken, since)),
            _ => Some((self.taken, now)),
        };
    }

    /// Since when nothing has been taken, if that is too long.
    fn stalled_since(&self, now: Instant) -> Option<Instant> {
        let since = self.seen.map(|(_, since)| since);
        since.filter(|since| now.duration_since(*since) >= STALL_TIME)
    }
}

impl Engine {
    /// The network has let go of a value, which thereby need not stay in its place any longer.
    pub(super) fn on_sent(&mut self, tag: u64, body: &PinnedValue, outcome: &Result<(), Error>) {
        if let Some(departing) = self.departing.try_remove(tag as usize)
            && let Some(number) = self.find_key(departing.session, departing.key)
        {
            let taking = &mut self.conversation_mut(number).taking;
            taking.note_gone(&departing);
        }
        self.count_departing();
        if outcome.is_ok() {
            self.count_out(body.len());
        }
    }

    pub(super) fn count_departing(&self) {
        let departing = self.departing.len() as u64;
        self.figures.rendezvous_out.set(departing);
    }

    /// Where the memory is short that values on their way out lie in: ends the session of a client
    /// that takes none.
    pub fn end_stalled(&mut self, resources: &Resources) {
        let now = resources.turn_began;
        let is_due = self
            .departing_looked
            .is_none_or(|looked| now.saturating_duration_since(looked) >= LOOK_INTERVAL);
        if self.departing.is_empty() || !is_due {
            return;
        }
        self.departing_looked = Some(now);
        let conversations = self.conversations.iter_mut().flatten();
        conversations.for_each(|conversation| conversation.taking.look(now));
        let is_lending_short = self.shared.store.is_lending_short();
        let is_read_memory_short = resources.store.is_read_memory_short();
        if !is_lending_short && !is_read_memory_short {
            return;
        }
        let numbered = self.conversations.iter().enumerate();
        let stalled = numbered.filter_map(|(number, conversation)| {
            let taking = &conversation.as_ref()?.taking;
            let keeps_memory = is_lending_short || taking.in_read_memory > 0;
            let since = taking.stalled_since(now).filter(|_| keeps_memory)?;
            Some((since, number as u32))
        });
        if let Some((_, number)) = stalled.min() {
            tracing::debug!(
                session = number,
                "ended a session whose client takes nothing"
            );
            self.figures.sessions_stalled.bump();
            self.end_now(number);
        }
    }
}
