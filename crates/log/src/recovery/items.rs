//! From the item tables to the owner.

use super::dead::Dead;
use super::{Recovery, none_dead};
use crate::format::*;
use crate::location::{ITEMS_MAX, Location};
use crate::log::Log;
use crate::owner::{Entered, Intake};
use crate::scan::Segment;
use crate::table::Table;
use farcache_base::time::{ALWAYS_PAST, NEVER, START, Seconds};
use std::io;

/// Items ahead for which buckets of the index are fetched: about as many lines as a core fetches at
/// once.
const PREFETCHED: usize = 16;

// An item table fits a segment.
const _: () = assert!(ITEMS_MAX as usize * ENTRY_BYTES < 4 << 20);

/// A segment whose items are being entered.
struct Entering<'t> {
    position: usize,
    slot: u32,
    table: &'t Table,
    /// Change of the number of the index's entries.
    change: i64,
}

impl<O: Intake> Recovery<'_, O> {
    /// Reads the item tables, oldest first: what comes later supersedes what came before.
    pub(super) fn restore_items(&mut self) -> io::Result<()> {
        let positions: Vec<usize> = self.accepted().collect();
        self.make_room(&positions);
        let mut kept = none_dead(&self.scan);
        let (mut unreadable, mut held, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let this = &*self;
        this.scan.tails(this.log, &positions, |position, tail| {
            let is_dead = this.dead.is_whole(position);
            match tail {
                Some(tail) if is_dead && this.supersede(position, tail) => held.push(position),
                Some(tail) if !is_dead => {
                    this.restore_segment(position, tail, &mut entries);
                    parse_tombstones(tail.tombstones).for_each(|tombstone| kept.note(tombstone));
                }
                None if !is_dead => unreadable.push(position),
                _ => {}
            }
        })?;
        self.drop_unreadable(unreadable)?;
        self.held = held;
        self.tell_again(&kept)
    }

    /// Takes what is older than the items of a segment that has died as a whole out of the index:
    /// that it was superseded need not have been told when the segment's end was. True if there was
    /// anything.
    fn supersede(&self, position: usize, tail: Tail<'_>) -> bool {
        if self.is_void(position) {
            return false;
        }
        let mut change = 0;
        for entry in parse_entries(tail.table.unwrap_or_default()) {
            change += self
                .owner
                .enter(self.guard(), entry.hash, entry.fingerprint, None)
                .change;
        }
        self.count(change);
        change < 0
    }

    /// Notes the tombstones of which no segment tells that is kept: those told by segments that
    /// have died as a whole, which are held until these tombstones are durable elsewhere, and those
    /// of which only echoes are left.
    fn tell_again(&mut self, kept: &Dead) -> io::Result<()> {
        let mut orphans = none_dead(&self.scan);
        let mut has_any = false;
        let is_there = |(position, _): &(usize, Tombstone)| !self.is_dropped[*position];
        for (_, tombstone) in self.dead.unknown_to(kept).filter(is_there) {
            self.log.tombstones.carry(tombstone);
            orphans.note(tombstone);
            has_any = true;
        }
        if !has_any {
            return Ok(());
        }
        let is_dead = |position: &usize| self.dead.is_whole(*position);
        let positions: Vec<usize> = self.accepted().filter(is_dead).collect();
        let (mut held, mut echoing) = (Vec::new(), Vec::new());
        let mut told = none_dead(&self.scan);
        self.scan.tails(self.log, &positions, |position, tail| {
            let Some(tail) = tail else { return };
            if parse_tombstones(tail.tombstones).any(|one| orphans.knows(&one)) {
                held.push(position);
            } else if parse_tombstones(tail.echoes)
                .any(|one| orphans.knows(&one) && !told.knows(&one))
            {
                echoing.push(position);
            }
            parse_tombstones(tail.tombstones).for_each(|tombstone| told.note(tombstone));
        })?;
        self.held.append(&mut held);
        self.echoing = echoing;
        Ok(())
    }

    fn is_void(&self, position: usize) -> bool {
        self.scan.segments[position].header.sequence <= self.floor
    }

    /// Has the index grow at once to what it will hold, instead of by every few items.
    fn make_room(&self, positions: &[usize]) {
        let filled = positions
            .iter()
            .filter(|&&one| !self.is_void(one) && !self.dead.is_whole(one));
        let entries = filled.map(|&one| u64::from(self.dead.survivors(one)));
        self.owner.expect_items(entries.sum());
    }

    /// `entries` is room for the entries of a segment. One whose item table is damaged goes on
    /// telling of tombstones.
    fn restore_segment(&self, position: usize, tail: Tail<'_>, entries: &mut Vec<TableEntry>) {
        let segment = &self.scan.segments[position];
        let header = &segment.header;
        entries.clear();
        if !self.is_void(position) {
            entries.extend(parse_entries(tail.table.unwrap_or_default()));
        }
        if tail.table.is_some() {
            self.log.counters.segments_recovered.add(1);
        } else {
            self.tell_damaged(position);
        }
        let table = table_of(self.log, segment, entries, tail.tombstones);
        let slots = &self.log.slots;
        slots.adopt(segment.slot, header.slots, header.sequence, table);
        let state = slots.slot(segment.slot);
        state.note_version(header.newest_version);
        let mut entering = Entering {
            position,
            slot: segment.slot,
            table: slots
                .table(self.guard(), segment.slot)
                .expect("just adopted"),
            change: 0,
        };
        self.enter(&mut entering, entries);
        self.count(entering.change);
    }

    fn enter(&self, entering: &mut Entering<'_>, entries: &[TableEntry]) {
        let first = entries.iter().take(PREFETCHED);
        first.for_each(|entry| self.owner.prefetch(entry.hash));
        for (number, entry) in entries.iter().enumerate() {
            if let Some(later) = entries.get(number + PREFETCHED) {
                self.owner.prefetch(later.hash);
            }
            self.restore_item(entering, number as u32, entry);
        }
    }

    fn restore_item(&self, entering: &mut Entering<'_>, item: u32, entry: &TableEntry) {
        let log = self.log;
        let (location, table) = (Location::on_device(entering.slot, item), entering.table);
        let expiry = table.expiry(item);
        let is_expired = expiry != NEVER && expiry <= START;
        let is_wanted = !is_expired && !self.dead.has_died(entering.position, item);
        let record = table.record(item);
        let bytes = record.end - record.start;
        if is_wanted {
            log.slots.slot(entering.slot).add_live(bytes, expiry);
        }
        let place = is_wanted.then_some(location);
        let Entered { change, is_entered } =
            self.owner
                .enter(self.guard(), entry.hash, entry.fingerprint, place);
        if is_wanted && !is_entered {
            _ = log.slots.slot(entering.slot).remove_live(bytes);
        }
        entering.change += change;
    }

    fn count(&self, change: i64) {
        self.entries.set(self.entries.get() + change);
        self.owner.count_entries(change);
    }
}

/// What is to be known of a segment in memory.
fn table_of(log: &Log, segment: &Segment, entries: &[TableEntry], tombstones: &[u8]) -> Table {
    let header = &segment.header;
    let mut table = Table::with_room(entries.len(), header.write_number, None);
    table.epoch_shift = log.config.epoch_unix - header.epoch_unix;
    table.table_offset = header.table_offset;
    table.is_partial = is_partial(log, header);
    table.tombstones = parse_tombstones(tombstones).collect();
    for (number, entry) in entries.iter().enumerate() {
        let next = entries.get(number + 1);
        let end = next.map_or(header.table_offset, |next| next.offset);
        let expiry = shifted(entry.expiry, table.epoch_shift);
        table.set(number as u32, entry.fingerprint, entry.offset..end, expiry);
    }
    table
}

/// Whether a segment was, as it seems, finished long before it was full.
fn is_partial(log: &Log, header: &SegmentHeader) -> bool {
    let segment_bytes = log.slots.segment_bytes();
    header.segment_bytes() + segment_bytes / 4 <= u64::from(header.slots) * segment_bytes
}

/// An instant of another process in this one's seconds.
fn shifted(expiry: Seconds, shift: i64) -> Seconds {
    if expiry == NEVER {
        return NEVER;
    }
    let here = i64::from(expiry) - shift;
    here.clamp(i64::from(ALWAYS_PAST), i64::from(Seconds::MAX - 1)) as Seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_told_in_this_processs_seconds() {
        assert_eq!(shifted(NEVER, 50), NEVER);
        assert_eq!(shifted(100, 0), 100);
        assert_eq!(shifted(100, 60), 40);
        assert_eq!(shifted(100, 200), ALWAYS_PAST);
        assert_eq!(shifted(100, -60), 160);
    }
}
