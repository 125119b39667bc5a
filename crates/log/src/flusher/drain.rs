//! Clients that wait until everything is durable.

use super::Flushed;
use super::Flusher;
use super::telling::ToTell;

/// The last wish that was seen, and how far it has come.
#[derive(Default)]
pub(super) struct Drain {
    /// Its number.
    pub seen: u64,
    /// What the devices must be told before it is granted.
    to_tell: ToTell,
    /// The last segment that must be durable then, once all it asks for has been handed over.
    through: Option<u64>,
}

impl<O: Flushed> Flusher<O> {
    pub(super) fn drains_wanted(&self) -> bool {
        let queue = self.log().flusher.queue();
        queue.drains_wanted > queue.drains_done
    }

    /// Whether the next sync reaches the last segment that a wish waits for.
    pub(super) fn sync_grants_drains(&self) -> bool {
        let (durable, written) = (
            self.progress.durable_through(),
            self.progress.written_through(),
        );
        let through = self.drain.through;
        through.is_some_and(|through| durable < through && written >= through)
    }

    /// Everything handed over before is durable: those who wait for it may go on.
    pub(super) fn grant_drains(&mut self) {
        let wanted = self.log().flusher.queue().drains_wanted;
        if wanted == self.log().flusher.queue().drains_done {
            return;
        }
        let is_new = self.drain.seen < wanted;
        if is_new {
            self.drain = Drain {
                seen: wanted,
                to_tell: self.to_tell(),
                through: None,
            };
            self.log().seal_open();
        }
        let Some(through) = self.drain.through else {
            return self.hand_over_for_drains(is_new);
        };
        // Not once all is idle: cleaning goes on for as long as there is something to gain. What
        // was deleted without a device that is gone is deleted for good only once that device does
        // not count any more.
        if self.is_durable(through) && !self.has_gap() {
            self.vouch_if_new();
            self.log().flusher.queue().drains_done = wanted;
            self.log().flusher.tell_progress();
        }
    }

    /// Whether tombstones or the flush floor must still be handed over for somebody who waits.
    pub(crate) fn hands_over_for_drains(&self) -> bool {
        self.drains_wanted() && self.drain.through.is_none()
    }

    /// A client that waits for memory to be written out waits for the tombstones noted so far, too.
    pub(crate) fn tell_before_drains_end(&mut self) {
        if self.log().pressure.is_at_rest() {
            self.drain.to_tell = self.to_tell();
        }
    }

    /// Hands over the tombstones and the flush floor that a drain asks for.
    fn hand_over_for_drains(&mut self, is_new: bool) {
        if self.has_told(&self.drain.to_tell) {
            self.log().seal_open();
            // Nothing may follow for long: what the last segment tells of is told once more now.
            self.log().open_for_echoes(self.owner.as_ref());
            self.drain.through = Some(self.log().seal_open());
            self.take_jobs();
        } else if is_new || self.is_idle() {
            self.write_tombstones();
        }
    }
}
