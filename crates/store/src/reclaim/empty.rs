//! Emptying a segment: each item that is still reachable is moved or dropped.

use super::State;
use super::policy::{Fate, Verdict};
use crate::core::{Attendance, Core};
use crate::index::Location;
use crate::item::{Fields, RawItem};
use crate::schedule::Instant;
use crate::segment::{Emptying, Queue, Walk, Writer, Written};
use crate::tier::{PROGRESS_WAIT, Spilled};
use farcache_base::time::NEVER;
use farcache_log::Guard;

/// Items whose index buckets are fetched together.
const BATCH: usize = 16;

/// One item of the segment being emptied.
#[derive(Clone, Copy)]
struct Candidate {
    location: Location,
    hash: u64,
}

/// A copy of an item that is not in the index yet.
struct Copy<'c> {
    written: Written<'c>,
    fields: Fields,
}

/// What emptying a segment works with.
struct Work<'w> {
    state: &'w mut State,
    attendance: Attendance<'w>,
}

impl Core {
    /// Empties a segment, and retires it. False if an item that must stay had nowhere to go: the
    /// segment is back in service with what is left in it.
    pub(super) fn empty(&self, state: &mut State, emptying: Emptying, fate: Fate) -> bool {
        let head = emptying.head();
        let mut work = Work {
            state,
            attendance: self.attend_as_reclaimer(),
        };
        let was_emptied = self.move_or_drop_all(&mut work, head, fate);
        drop(work);
        if !was_emptied {
            self.arena.cancel_emptying(emptying);
            return false;
        }
        let events = self.reclaimer_events();
        match fate {
            Fate::Keep if self.arena.meta(head).is_expired(self.now()) => &events.segments_expired,
            Fate::Keep => &events.segments_cleaned,
            Fate::ByUse { .. } | Fate::Drop => &events.segments_evicted,
        }
        .add(1);
        // SAFETY: all that was alive in it has been moved or dropped, so the index has no location
        // in it; readers are participants of the store's epochs.
        unsafe { self.arena.retire(emptying, &self.epochs) };
        true
    }

    fn move_or_drop_all(&self, work: &mut Work<'_>, head: u32, fate: Fate) -> bool {
        let meta = self.arena.meta(head);
        let mut walk = Walk::through(&self.arena, head);
        while !walk.is_over() && meta.live_items() > 0 {
            let mut batch = [Candidate {
                location: Location::in_memory(0),
                hash: 0,
            }; BATCH];
            let mut filled = 0;
            while filled < BATCH {
                // SAFETY: the segment is being emptied here, and is retired afterwards.
                let Some((location, item)) = (unsafe { walk.next(&self.arena) }) else {
                    break;
                };
                let hash = self.hash(item.key());
                self.index.prefetch(hash);
                self.ghosts.prefetch(hash);
                batch[filled] = Candidate { location, hash };
                filled += 1;
            }
            let moved = batch[..filled]
                .iter()
                .all(|&candidate| self.move_or_drop(work, candidate, fate, meta.queue()));
            if !moved {
                return false;
            }
        }
        true
    }

    /// False if the item must stay and there is no room for it.
    fn move_or_drop(
        &self,
        work: &mut Work<'_>,
        candidate: Candidate,
        fate: Fate,
        home: Queue,
    ) -> bool {
        let Candidate { location, hash } = candidate;
        if !self.index.has(hash, location) {
            return true;
        }
        // SAFETY: the candidate lies in the segment that is being emptied.
        let item = unsafe { self.arena.item(location) };
        // It may just be given a later expiry: then it stays.
        if !self.is_alive(location, item, self.now())
            && self.drop_item(work.attendance.guard(), candidate, item, true)
        {
            return true;
        }
        match fate.of(item.state(), item.layout().size(), home) {
            Verdict::Drop => self.spill_or_drop(work, candidate, item),
            Verdict::Move { queue, frequency } => {
                self.move_item(work, candidate, item, queue, frequency)
                    || self.spill_or_drop(work, candidate, item)
            }
        }
    }

    /// An item that memory has no room for: it goes to a device, if it is not there already. False
    /// if it must stay and there is no room for it anywhere.
    fn spill_or_drop(&self, work: &mut Work<'_>, candidate: Candidate, item: RawItem<'_>) -> bool {
        if item.is_tombstone() {
            // The horizon takes its place, also on the devices.
            return self.drop_item(work.attendance.guard(), candidate, item, false);
        }
        let Some(tier) = &self.tier else {
            return self.drop_item(work.attendance.guard(), candidate, item, false);
        };
        if self.leave_to_shadow(work.attendance.guard(), candidate, item) {
            return true;
        }
        let home = self.arena.meta_of(candidate.location).queue();
        if self.config.evict && !self.is_worth_writing(candidate.hash, item, home) {
            tier.counters().evictions_unread.add(1);
            return self.drop_item(work.attendance.guard(), candidate, item, false);
        }
        loop {
            match self.spill(
                work.attendance.guard(),
                candidate.hash,
                candidate.location,
                item,
            ) {
                Spilled::Done => {
                    work.state.patience.renew();
                    return true;
                }
                Spilled::Changed => return self.move_or_drop(work, candidate, Fate::Drop, home),
                Spilled::Busy if self.may_wait_for_device(work.state) => self.wait_for_device(work),
                Spilled::Busy | Spilled::Refused => break,
            }
        }
        if self.config.evict {
            self.drop_item(work.attendance.guard(), candidate, item, false);
        }
        self.config.evict
    }

    fn may_wait_for_device(&self, state: &mut State) -> bool {
        let end = self.reclaimer.write_out_until();
        !state.patience.ends(Instant::now(), end)
    }

    /// Takes an item out of memory that has a copy on a device; false if it has none.
    fn leave_to_shadow(&self, guard: Guard<'_>, candidate: Candidate, item: RawItem<'_>) -> bool {
        let chain = self.index.lock(candidate.hash);
        let Some(slot) = chain.place_of(candidate.location) else {
            return true;
        };
        if self.shadow_of(guard, &chain, item.key()).is_none() {
            return false;
        }
        chain.remove_one_of_two(slot);
        drop(chain);
        self.note_dead(candidate.location, item);
        self.note_entries(-1);
        true
    }

    /// The device works on what it was given. The caller is emptying a segment, whose items stay.
    fn wait_for_device(&self, work: &mut Work<'_>) {
        if let Some(tier) = &self.tier {
            tier.counters().waits.add(1);
            let wait = || tier.wait_for_progress(PROGRESS_WAIT);
            work.attendance.pause(wait);
        }
    }

    /// Drops an item, of which `is_void` says that nobody may see it any more; false if that is not
    /// so, or if it is one that may not be evicted.
    fn drop_item(
        &self,
        guard: Guard<'_>,
        candidate: Candidate,
        item: RawItem<'_>,
        is_void: bool,
    ) -> bool {
        let chain = self.index.lock(candidate.hash);
        let Some(slot) = chain.place_of(candidate.location) else {
            return true;
        };
        let may_go = match is_void {
            true => !self.is_alive(candidate.location, item, self.now()),
            false => self.may_evict(item),
        };
        if !may_go {
            return false;
        }
        let shadow = self.shadow_of(guard, &chain, item.key());
        if is_void || shadow.is_none() {
            self.forget_version(item);
        }
        if !is_void && shadow.is_none() && !item.is_tombstone() {
            // Before it is gone: whoever misses it and stores it at once finds the ghost.
            self.ghosts.remember(candidate.hash);
        }
        chain.remove(slot);
        if let Some(shadow) = shadow.filter(|_| is_void) {
            self.kill_shadow(guard, &chain, shadow);
        }
        drop(chain);
        self.note_dead(candidate.location, item);
        self.note_entries(-1 - i64::from(is_void && shadow.is_some()));
        if shadow.is_none() || is_void {
            self.count_dropped(item, is_void);
        }
        // Else it stays on its device.
        true
    }

    /// Its expiry may be taken from it at any time, but under the lock of its chain.
    fn may_evict(&self, item: RawItem<'_>) -> bool {
        let by_expiry = || self.config.evict_expiring && item.expiry() != NEVER;
        self.config.evict || item.is_tombstone() || by_expiry()
    }

    fn count_dropped(&self, item: RawItem<'_>, is_void: bool) {
        let events = self.reclaimer_events();
        events.removed.add(1);
        let was_fetched = item.state().was_fetched();
        let (all, unread) = if is_void {
            (&events.expired, &events.expired_unread)
        } else {
            (&events.evicted, &events.evicted_unread)
        };
        all.add(1);
        unread.add(u64::from(!was_fetched));
        if !is_void && !item.is_tombstone() {
            self.tell_evicted(item);
        }
    }

    /// Copies an item and points the index at the copy; false where there is no room.
    fn move_item(
        &self,
        work: &mut Work<'_>,
        candidate: Candidate,
        item: RawItem<'_>,
        queue: Queue,
        frequency: u32,
    ) -> bool {
        let writer = match queue {
            Queue::Probation => &mut work.state.probation,
            Queue::Main => &mut work.state.main,
        };
        loop {
            let Some(copy) = self.copy(writer, candidate.location, item, frequency) else {
                return false;
            };
            let chain = self.index.lock(candidate.hash);
            let Some(slot) = chain.place_of(candidate.location) else {
                writer.unplace(&self.arena, copy.written.into_placed());
                return true;
            };
            // The marks and the expiry change only under this lock: if one did since the copy was
            // made, the copy is outdated. A flush may have begun since, too; one that begins
            // after this line voids the copy's filling as well.
            let is_void = !self.survives_flush(candidate.location, item);
            if is_void || self.fields_for_copy(candidate.location, item) != copy.fields {
                drop(chain);
                writer.unplace(&self.arena, copy.written.into_placed());
                if is_void {
                    return self.drop_item(work.attendance.guard(), candidate, item, true);
                }
                continue;
            }
            let size = item.layout().size();
            let meta = self.arena.meta(copy.written.head());
            meta.add_live(copy.written.size());
            // Before the move, so that whoever looks for it at its old place afterwards finds the
            // note.
            self.note_dirty(candidate.hash, copy.written.location());
            // SAFETY: the copy was written there, and its room is not given back from here on.
            unsafe { chain.replace(slot, copy.written.location()) };
            drop(chain);
            _ = self.arena.meta_of(candidate.location).remove_live(size);
            self.reclaimer_events().moved.add(1);
            return true;
        }
    }

    /// What a copy's header says: a token that a client knows is written down, because the copy's
    /// place would give it another.
    pub(crate) fn fields_for_copy(&self, location: Location, item: RawItem<'_>) -> Fields {
        let mut fields = item.fields();
        if item.is_cas_told() {
            fields.cas = Some(self.cas_of(location, item));
        }
        fields
    }

    fn copy(
        &self,
        writer: &mut Writer,
        location: Location,
        item: RawItem<'_>,
        frequency: u32,
    ) -> Option<Copy<'_>> {
        let fields = self.fields_for_copy(location, item);
        let (key, value) = (item.key(), item.value());
        let layout = fields.layout(key.len(), value.len());
        let (expiry, now) = (fields.expiry, self.now());
        let size = layout.size();
        let floor = self.floor_for_new();
        let placed = writer
            .place(&self.arena, &layout, expiry, now, floor)
            .or_else(|| {
                let opened = writer.resume(&self.arena, size, expiry, now, floor)
                    || writer.open_for(&self.arena, size, expiry, now);
                opened
                    .then(|| writer.place(&self.arena, &layout, expiry, now, floor))
                    .flatten()
            })?;
        let parts = [value, &[], &[]];
        // SAFETY: the room was just placed, with this layout's size, in a segment that is being
        // filled here.
        let written = unsafe { Written::new(&self.arena, placed, layout, &fields, key, parts, 0) };
        written.item().inherit_state(item.state(), frequency);
        Some(Copy { written, fields })
    }
}

#[cfg(test)]
mod tests;
