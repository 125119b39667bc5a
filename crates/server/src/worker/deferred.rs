//! The order within a turn: requests for what lies in memory go before the work that devices' reads
//! take.
//!
//! Starting a read takes a worker about 5 us and answering one of 4 KB about 10 us, and devices
//! report many at once; a request that finds its item in memory should not wait for all of that. So
//! while there are connections that ask for nothing else, a worker does one piece of the other
//! work, and looks at the sockets again before the next. That costs a third of the reads that many
//! connections can make, so without such connections, and where all of them read from the SSD now
//! and then, everything is done as it comes (docs/journal/2026-11-22-tier-reads.md).

use super::Worker;
use super::connection::Connection;
use crate::resources::Resources;
use crate::resources::deferred::Piece;
use rustix::event::epoll::EventFlags;

/// Requests in a row that needed no device, after which a connection is taken for one that asks
/// only for what is in memory. At a hit ratio of nine tenths in memory, one of 850 gets that far.
const MEMORY_STREAK_MIN: u8 = 64;

/// How a connection's last requests were answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    needed_device: bool,
    memory_streak: u8,
    /// The connection's input is one of the pieces that wait.
    is_deferred: bool,
}

impl Record {
    /// A request needs a device.
    pub fn note_device(&mut self) {
        (self.needed_device, self.memory_streak) = (true, 0);
    }

    /// A request was answered from memory; whether so many in a row were that it goes first.
    fn note_memory(&mut self) -> bool {
        self.needed_device = false;
        self.memory_streak = self.memory_streak.saturating_add(1);
        self.memory_streak >= MEMORY_STREAK_MIN
    }
}

/// A request was answered from memory.
pub(super) fn note_memory(connection: &mut Connection, resources: &mut Resources) {
    if connection.record.note_memory() {
        resources.waits.deferred.note_served(resources.turn_began);
    }
}

impl Worker {
    /// Whether there are connections that go first.
    pub(super) fn must_defer(&self) -> bool {
        let now = self.resources.turn_began;
        self.resources.waits.deferred.is_claimed(now)
    }

    /// Whether a piece waits for the next look at the sockets.
    pub(super) fn lets_sockets_first(&self) -> bool {
        self.has_pieces() && self.must_defer()
    }

    /// Whether something is left to do for those who wait for devices.
    pub(super) fn has_pieces(&self) -> bool {
        !self.resources.waits.deferred.pieces.is_empty()
    }

    /// Leaves the input of a connection that awaits requests for later where others go first; false
    /// if it is to be served now.
    pub(super) fn defer(&mut self, slot: usize) -> bool {
        if !self.connections[slot].record.needed_device || !self.must_defer() {
            return false;
        }
        let connection = &mut self.connections[slot];
        connection.record.is_deferred = true;
        connection.is_queued = true;
        let deferred = &mut self.resources.waits.deferred;
        deferred.pieces.push_back(Piece::Input(slot));
        true
    }

    /// Does the oldest pieces, `count` at most.
    pub(super) fn do_pieces(&mut self, count: usize) {
        for _ in 0..count {
            match self.resources.waits.deferred.pieces.pop_front() {
                Some(Piece::Ended(id)) => self.go_on(id),
                Some(Piece::Input(slot)) => self.serve_deferred(slot),
                None => return,
            }
        }
    }

    fn serve_deferred(&mut self, slot: usize) {
        // The one that was meant may have been closed, and another have its slot.
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        if std::mem::take(&mut connection.record.is_deferred) {
            connection.is_queued = false;
            self.serve(slot, EventFlags::IN);
            self.resources.store.submit_reads();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_nothing_but_what_is_in_memory_goes_first() {
        let mut record = Record::default();
        let mut ask = |times: u8| (0..times).map(|_| record.note_memory()).collect::<Vec<_>>();
        assert!(!ask(MEMORY_STREAK_MIN - 1).contains(&true));
        assert!(ask(1)[0], "the streak is long enough");
        assert!(!ask(u8::MAX).contains(&false), "and stays so");
        record.note_device();
        assert!(record.needed_device);
        assert!(!record.note_memory() && !record.needed_device);
    }
}
