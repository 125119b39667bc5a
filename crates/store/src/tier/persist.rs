//! Making what was stored durable while it stays in memory (`Durability::Sync`).

use super::spill::Copied;
use crate::core::Core;
use crate::index::Location;
use crate::schedule::Instant;
use farcache_log::{Durability, Flusher, Guard, Owner, Telling};
use std::time::Duration;

/// How long the flusher waits for room for one item.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(10);

/// How making an item durable went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Persisted {
    /// A copy of it is being written.
    Done,
    /// It is not where it was.
    Gone,
    /// There is no room, or no device.
    Impossible,
}

/// Makes what was stored since the last call durable, with [`Durability::Sync`]; where no device is
/// left, drops it.
pub(super) fn persist_dirty(flusher: &mut Flusher<Core>) {
    let core = flusher.owner().clone();
    if core.log().durability() != Durability::Sync {
        return;
    }
    if core.log().is_in_service() {
        persist_all(&core, flusher);
    }
    // The last device may have failed just now.
    if !core.log().is_in_service() {
        core.drop_undurable();
    }
}

fn persist_all(core: &Core, flusher: &mut Flusher<Core>) {
    let (mut dirty, through) = core.dirty.take();
    if through == core.dirty.durable() {
        return;
    }
    let to_tell = flusher.to_tell();
    // What has moved within memory meanwhile was noted anew before it moved.
    while !dirty.is_empty() {
        let mut has_moved = false;
        for number in 0..dirty.len() {
            let (hash, location) = dirty[number];
            match persist(core, flusher, hash, location) {
                Persisted::Done => {}
                Persisted::Gone => has_moved = true,
                // No mark is reached without them.
                Persisted::Impossible if core.log().is_in_service() => {
                    return core.dirty.give_back(dirty.split_off(number));
                }
                // Nothing becomes durable any more.
                Persisted::Impossible => return,
            }
        }
        dirty.clear();
        if has_moved {
            dirty = core.dirty.take().0;
        }
    }
    match flusher.make_durable(&to_tell) {
        Telling::Durable => {
            core.dirty.set_durable(through);
            core.bell.ring();
        }
        // They are still in memory, and are copied once more.
        Telling::CopiesLost => {
            core.dirty.give_all_back();
            core.log().wake();
        }
        Telling::Later => {}
    }
}

/// Copies an item of memory to the device.
fn persist(core: &Core, flusher: &mut Flusher<Core>, hash: u64, location: Location) -> Persisted {
    let started = Instant::now();
    while started.elapsed() < ROOM_WAIT_MAX && core.log().is_in_service() {
        let attendance = core.attend_as_flusher();
        let copied = core.copy_to_device(attendance.guard(), hash, location);
        drop(attendance);
        match copied {
            Copied::Done => return Persisted::Done,
            Copied::Gone => return Persisted::Gone,
            Copied::Changed => {}
            Copied::NoRoom => flusher.make_room(),
        }
    }
    Persisted::Impossible
}

impl Core {
    /// Takes out of memory what was stored and will never be durable, so that nobody is shown what
    /// was not acknowledged, and tells those who wait for it.
    fn drop_undurable(&self) {
        let (_, through) = self.dirty.take();
        if through == self.dirty.durable().max(self.dirty.lost()) {
            return;
        }
        loop {
            let undurable = self.dirty.take_undurable();
            if undurable.is_empty() {
                break;
            }
            let mut has_moved = false;
            let attendance = self.attend_as_flusher();
            for (hash, location) in undurable {
                has_moved |= !self.drop_stored(attendance.guard(), hash, location);
            }
            drop(attendance);
            if has_moved {
                self.dirty.take();
            }
        }
        #[cfg(test)]
        self.dirty.note_loss(self.log().waited());
        self.dirty.set_lost(through);
        self.bell.ring();
    }

    /// Takes an item out of memory and out of the index; false if it is not there any more.
    fn drop_stored(&self, guard: Guard<'_>, hash: u64, location: Location) -> bool {
        let chain = self.index.lock(hash);
        let Some(slot) = chain.place_of(location) else {
            return false;
        };
        // SAFETY: the locked chain has the location.
        let item = unsafe { self.arena.item(location) };
        self.forget_version(item);
        chain.remove(slot);
        let shadow = self.shadow_of(guard, &chain, item.key());
        if let Some(shadow) = shadow {
            self.kill_shadow(guard, &chain, shadow);
        }
        drop(chain);
        self.note_dead(location, item);
        self.note_entries(-1 - i64::from(shadow.is_some()));
        self.flusher_events().removed.add(1);
        true
    }
}
