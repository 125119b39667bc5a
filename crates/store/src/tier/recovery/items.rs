//! From the item tables to the index.

use super::Recovery;
use crate::index::Location;
use crate::tier::Tier;
use crate::tier::format::*;
use crate::tier::location::ITEMS_MAX;
use crate::tier::scan::Segment;
use crate::tier::table::Table;
use farcache_base::time::{ALWAYS_PAST, NEVER, START, Seconds};
use std::io;

/// Items ahead for which buckets of the index are fetched: about as many lines as a core fetches at once.
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

impl Recovery<'_> {
    /// Reads the item tables, oldest first: what comes later supersedes what came before.
    pub(super) fn restore_items(&mut self) -> io::Result<()> {
        // Of dead segments all deaths were told again before their own was. Those that a flush voided still tell
        // of deaths, and hold their slots until these are told elsewhere.
        let positions: Vec<usize> = self
            .accepted()
            .filter(|&position| !self.dead.is_whole(position))
            .collect();
        self.make_room(&positions);
        let (mut unreadable, mut entries) = (Vec::new(), Vec::new());
        let this = &*self;
        this.scan.tails(this.tier, &positions, |position, tail| {
            match tail {
                Some(tail) => this.restore_segment(position, tail, &mut entries),
                None => unreadable.push(position),
            };
        })?;
        unreadable
            .into_iter()
            .for_each(|position| self.drop_segment(position));
        Ok(())
    }

    fn is_void(&self, position: usize) -> bool {
        self.scan.segments[position].header.sequence <= self.floor
    }

    /// Has the index grow at once to what it will hold, instead of by every few items.
    fn make_room(&self, positions: &[usize]) {
        let filled = positions.iter().filter(|&&one| !self.is_void(one));
        let entries = filled.map(|&one| u64::from(self.dead.survivors(one)));
        self.core.index.grow_while_empty(entries.sum());
    }

    /// `entries` is room for the entries of a segment. One whose item table is damaged goes on telling of deaths.
    fn restore_segment(&self, position: usize, tail: Tail<'_>, entries: &mut Vec<TableEntry>) {
        let segment = &self.scan.segments[position];
        let header = &segment.header;
        entries.clear();
        if !self.is_void(position) {
            entries.extend(parse_entries(tail.table.unwrap_or_default()));
        }
        if tail.table.is_some() {
            self.tier.counters.segments_recovered.add(1);
        } else {
            self.tell_damaged(position);
        }
        let table = table_of(self.tier, segment, entries, tail.deaths);
        let slots = &self.tier.slots;
        slots.adopt(segment.slot, header.slots, header.sequence, table);
        let mut entering = Entering {
            position,
            slot: segment.slot,
            table: slots.table(segment.slot).expect("just adopted"),
            change: 0,
        };
        self.enter(&mut entering, entries);
        self.count(entering.change);
    }

    fn enter(&self, entering: &mut Entering<'_>, entries: &[TableEntry]) {
        let index = &self.core.index;
        let first = entries.iter().take(PREFETCHED);
        first.for_each(|entry| index.prefetch(entry.hash));
        for (number, entry) in entries.iter().enumerate() {
            if let Some(later) = entries.get(number + PREFETCHED) {
                index.prefetch(later.hash);
            }
            self.restore_item(entering, number as u32, entry);
        }
    }

    fn restore_item(&self, entering: &mut Entering<'_>, item: u32, entry: &TableEntry) {
        let tier = self.tier;
        let (location, table) = (Location::on_device(entering.slot, item), entering.table);
        let expiry = table.expiry(item);
        let is_expired = expiry != NEVER && expiry <= START;
        let is_wanted = !is_expired && !self.dead.has_died(entering.position, item);
        let record = table.record(item);
        let bytes = record.end - record.start;
        if is_wanted {
            tier.slots.slot(entering.slot).add_live(bytes, expiry);
        }
        let chain = self.core.index.lock(entry.hash);
        let older = chain.find(|location| {
            location.is_on_device() && tier.has_fingerprint(location, entry.fingerprint)
        });
        match older {
            Some((place, before)) => {
                tier.kill(before);
                if is_wanted {
                    chain.replace(place, location);
                } else {
                    chain.remove(place);
                    entering.change -= 1;
                }
            }
            None if is_wanted && chain.insert(location) => entering.change += 1,
            None if is_wanted => _ = tier.slots.slot(entering.slot).remove_live(bytes),
            None => {}
        }
    }

    fn count(&self, change: i64) {
        self.core.note_entries(change);
        let events = self.core.flusher_events();
        if change > 0 {
            events.added.add(change as u64);
        } else {
            events.removed.add(change.unsigned_abs());
        }
    }
}

/// What is to be known of a segment in memory.
fn table_of(tier: &Tier, segment: &Segment, entries: &[TableEntry], deaths: &[u8]) -> Table {
    let header = &segment.header;
    let mut table = Table::with_room(entries.len(), header.write_number, None);
    table.epoch_shift = tier.config.epoch_unix - header.epoch_unix;
    table.table_offset = header.table_offset;
    table.is_partial = is_partial(tier, header);
    table.deaths = parse_deaths(deaths).collect();
    for (number, entry) in entries.iter().enumerate() {
        let next = entries.get(number + 1);
        let end = next.map_or(header.table_offset, |next| next.offset);
        let expiry = shifted(entry.expiry, table.epoch_shift);
        table.set(number as u32, entry.fingerprint, entry.offset..end, expiry);
    }
    table
}

/// Whether a segment was, as it seems, finished long before it was full.
fn is_partial(tier: &Tier, header: &SegmentHeader) -> bool {
    let segment_bytes = tier.slots.segment_bytes();
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
