//! Clients that take nothing of what waits for them. While nobody needs the memory that their
//! replies keep, they may take all the time they want.
//!
//! What was read from the SSD for them takes memory that all reads have together. While others'
//! reads wait for some of it, what was read ahead for such clients is let go of, to be read again
//! once they go on; where that does not do, the one that has been taking nothing for the longest is
//! closed.
//!
//! What lies in memory keeps its segments. When those are needed the store copies it elsewhere, or
//! gives it up for the clients that have been taking nothing for the longest
//! (`farcache_store::StalledValues`): these are closed as well.

use super::Worker;
use super::connection::Connection;
use super::device::Reads;
use crate::connections::ConnectionInfo;
use crate::resources::Resources;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a client may take nothing while others wait for the memory that its replies keep: as
/// long as TCP needs to repair the loss of a few packets in a row.
const STALL_TIME: Duration = Duration::from_secs(2);

/// Less than this in [`STALL_TIME`] is nothing, in bytes.
const PROGRESS_BYTES_MIN: usize = 64 << 10;

/// How often to look, and how long who takes nothing keeps what was read ahead while others wait.
/// At most one connection is closed each time, so that no more than necessary are.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How far a client had come when it last took something.
#[derive(Clone, Copy, Debug)]
struct Progress {
    since: Instant,
    unsent_bytes: usize,
}

/// Connections whose replies wait for their clients.
#[derive(Default)]
pub(super) struct Stalls {
    /// By the connection's slot.
    blocked: HashMap<usize, Progress>,
    /// When the last look was.
    looked: Option<Instant>,
    /// How many clients, at all workers, the store had given up by then.
    given_up: u64,
}

impl Stalls {
    /// Notes whether the replies of a connection wait for its client from now on.
    pub fn note(&mut self, connection: &Connection, is_blocked: bool, now: Instant) {
        match is_blocked {
            true => self.begin(connection.slot, unsent_bytes(connection), now),
            false => self.forget(connection.slot),
        }
    }

    fn begin(&mut self, slot: usize, unsent_bytes: usize, now: Instant) {
        let since = now;
        let progress = Progress {
            since,
            unsent_bytes,
        };
        self.blocked.insert(slot, progress);
    }

    /// The connection waits for nothing, or has gone.
    pub fn forget(&mut self, slot: usize) {
        self.blocked.remove(&slot);
    }

    /// How long the worker may sleep; none means for ever.
    pub fn timeout(&self) -> Option<Duration> {
        (!self.blocked.is_empty()).then_some(LOOK_INTERVAL)
    }

    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = !self.blocked.is_empty()
            && self
                .looked
                .is_none_or(|looked| now.duration_since(looked) >= LOOK_INTERVAL);
        if is_due {
            self.looked = Some(now);
        }
        is_due
    }

    /// Takes note of what clients have taken: `unsent` tells how many bytes a slot has left.
    fn look(&mut self, now: Instant, unsent: impl Fn(usize) -> usize) {
        for (&slot, progress) in &mut self.blocked {
            let unsent_bytes = unsent(slot);
            if progress.unsent_bytes.saturating_sub(unsent_bytes) >= PROGRESS_BYTES_MIN {
                *progress = Progress {
                    since: now,
                    unsent_bytes,
                };
            }
        }
    }

    /// The slot that keeps memory and has taken nothing for the longest, if that is too long.
    fn longest(&self, now: Instant, keeps_memory: impl Fn(usize) -> bool) -> Option<usize> {
        let since = |slot: &usize| self.blocked[slot].since;
        self.stalled(now, STALL_TIME)
            .filter(|&slot| keeps_memory(slot))
            .min_by_key(since)
    }

    /// Slots of clients that have taken nothing for so long.
    fn stalled(&self, now: Instant, time: Duration) -> impl Iterator<Item = usize> {
        let is_stalled = move |progress: &Progress| now.duration_since(progress.since) >= time;
        let stalled = self.blocked.iter();
        stalled.filter_map(move |(&slot, progress)| is_stalled(progress).then_some(slot))
    }
}

fn unsent_bytes(connection: &Connection) -> usize {
    connection
        .unsent
        .as_ref()
        .map_or(0, |unsent| unsent.bytes())
}

fn holds_read_memory(connection: &Connection) -> bool {
    let unsent = connection.unsent.as_ref();
    unsent.is_some_and(|unsent| unsent.holds_read_memory())
}

impl Worker {
    /// Where others wait for memory: takes back what was read ahead for clients that take nothing,
    /// or closes one of them.
    pub(super) fn close_stalled(&mut self) {
        if let Some(engine) = &mut self.messages.engine {
            engine.end_stalled(&self.resources);
        }
        let now = self.resources.turn_began;
        if !self.stalls.is_due(now) {
            return;
        }
        self.close_given_up();
        let connections = &self.connections;
        self.stalls
            .look(now, |slot| unsent_bytes(&connections[slot]));
        if !self.resources.store.is_read_memory_short() || self.take_back_reads(now) {
            return;
        }
        let keeps_memory = |slot: usize| holds_read_memory(&self.connections[slot]);
        if let Some(slot) = self.stalls.longest(now, keeps_memory) {
            self.log_stalled(slot);
            self.resources.counters.get_stalled_kicks.bump();
            self.close(slot);
        }
    }

    /// Closes the connections whose clients have lost what waited for them.
    fn close_given_up(&mut self) {
        let given_up = self.resources.store.readers_given_up();
        if std::mem::replace(&mut self.stalls.given_up, given_up) == given_up {
            return;
        }
        let has_lost = |slot: &usize| {
            let unsent = self.connections[*slot].unsent.as_ref();
            unsent.is_some_and(|unsent| unsent.is_given_up())
        };
        let slots = self.stalls.blocked.keys().copied();
        let slots: Vec<usize> = slots.filter(has_lost).collect();
        for slot in slots {
            self.resources.note_given_up(&self.connections[slot].info);
            self.close(slot);
        }
    }

    /// Gives up reads for the next requests of clients that take nothing; false if there are none.
    /// They are made again when the replies before them have been taken.
    fn take_back_reads(&mut self, now: Instant) -> bool {
        let mut has_given_up = false;
        for slot in self.stalls.stalled(now, LOOK_INTERVAL) {
            let connection = &mut self.connections[slot];
            if let Reads::UnderWay(id) | Reads::Ended(id) = std::mem::take(&mut connection.reads) {
                connection.unfinished = true;
                self.resources.take_back_reads(id);
                has_given_up = true;
            }
        }
        has_given_up
    }

    /// The first at this worker is logged; the others are counted.
    fn log_stalled(&self, slot: usize) {
        if self.resources.counters.get_stalled_kicks.get() == 0 {
            let peer = &self.connections[slot].info.peer;
            tracing::warn!(
                %peer,
                "closed a connection whose client takes nothing of what was read from the SSD for it, for which others' \
                 reads wait; more are counted as get_stalled_kicks"
            );
        }
    }
}

impl Resources {
    /// A client has lost what waited for it, and is closed. The first at this worker is logged; all
    /// are counted.
    pub(super) fn note_given_up(&self, info: &ConnectionInfo) {
        if self.counters.stalled_kicks.get() == 0 {
            let peer = &info.peer;
            tracing::warn!(
                %peer,
                "closed a connection whose client does not read its replies, because the memory that these keep is needed; \
                 more are counted as stalled_kicks"
            );
        }
        self.counters.stalled_kicks.bump();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: f64) -> Duration {
        Duration::from_secs_f64(count)
    }

    #[test]
    fn the_longest_stalled_that_keeps_memory_is_found() {
        let begin = Instant::now();
        let mut stalls = Stalls::default();
        stalls.begin(1, 1 << 20, begin + seconds(0.1));
        stalls.begin(2, 1 << 20, begin);
        stalls.begin(3, 1 << 20, begin);
        let now = begin + seconds(2.2);
        stalls.look(now, |_| 1 << 20);
        assert_eq!(stalls.longest(begin + seconds(1.9), |_| true), None);
        assert_eq!(stalls.longest(now, |slot| slot != 3), Some(2));
        stalls.forget(2);
        assert_eq!(stalls.longest(now, |slot| slot != 3), Some(1));
        assert_eq!(stalls.longest(now, |_| false), None);
    }

    #[test]
    fn who_takes_enough_is_not_stalled() {
        let begin = Instant::now();
        let mut stalls = Stalls::default();
        stalls.begin(1, 1 << 20, begin);
        stalls.begin(2, 1 << 20, begin);
        let taken = |slot| match slot {
            1 => PROGRESS_BYTES_MIN,
            _ => PROGRESS_BYTES_MIN - 1,
        };
        stalls.look(begin + seconds(1.0), |slot| (1 << 20) - taken(slot));
        let now = begin + seconds(2.0);
        assert_eq!(stalls.longest(now, |_| true), Some(2));
        stalls.forget(2);
        assert_eq!(stalls.longest(now, |_| true), None);
        assert_eq!(stalls.longest(now + seconds(1.0), |_| true), Some(1));
    }

    #[test]
    fn without_anybody_blocked_there_is_nothing_to_look_at() {
        let now = Instant::now();
        let mut stalls = Stalls::default();
        assert!(stalls.timeout().is_none() && !stalls.is_due(now));
        stalls.begin(1, 1 << 20, now);
        assert!(stalls.timeout().is_some() && stalls.is_due(now));
        assert!(!stalls.is_due(now + LOOK_INTERVAL / 2));
        assert!(stalls.is_due(now + LOOK_INTERVAL));
    }
}
