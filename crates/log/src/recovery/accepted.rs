//! Which segments count, and what becomes of the others.

use super::claim::erase;
use super::{Recovery, check_readable};
use crate::format::parse_tombstones;
use crate::log::CLEANER_SLOTS;
use crate::options::TierEventKind;
use crate::owner::Intake;
use crate::scan::{Segment, verify_whole};
use std::io;

impl<O: Intake> Recovery<'_, O> {
    pub(super) fn drop_segment(&mut self, position: usize) {
        self.is_dropped[position] = true;
        self.tell_damaged(position);
    }

    pub(super) fn tell_damaged(&self, position: usize) {
        self.tell_dropped(self.scan.segments[position].slot);
    }

    /// Tells of the slots that could not be read.
    pub(super) fn tell_unreadable(&self) {
        let unreadable = self.scan.unreadable.iter();
        unreadable.for_each(|&slot| self.tell_dropped(slot));
    }

    fn tell_dropped(&self, slot: u32) {
        self.log.counters.segments_dropped.add(1);
        let device = self.log.slots.device_of(slot);
        let name = self.log.devices[device].name();
        self.log.events.tell(
            TierEventKind::SegmentsDropped,
            &name,
            "a segment is torn or damaged",
        );
    }

    /// Positions of the segments that count, oldest first.
    pub(super) fn accepted(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.scan.segments.len()).filter(|&position| !self.is_dropped[position])
    }

    /// Positions of the others, oldest first.
    fn dropped(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.scan.segments.len()).filter(|&position| self.is_dropped[position])
    }

    /// Behind the watermark the log is accepted up to its first gap, each segment only if it is
    /// whole.
    pub(super) fn cut_log(&mut self) {
        let watermark = self.watermark;
        let mut expected = watermark + 1;
        for position in 0..self.scan.segments.len() {
            let segment = &self.scan.segments[position];
            if segment.header.write_number <= watermark {
                continue;
            }
            let is_next = segment.header.write_number == expected;
            if is_next && verify_whole(self.log, segment) {
                expected += 1;
            } else {
                expected = 0;
                self.drop_segment(position);
            }
        }
    }

    /// Reads what the accepted segments tell: who has died, and what a flush has voided.
    pub(super) fn collect_tombstones(&mut self) -> io::Result<()> {
        let header = |position: usize| &self.scan.segments[position].header;
        let tells = |position: &usize| header(*position).tombstones + header(*position).echoes > 0;
        let positions: Vec<usize> = self.accepted().filter(tells).collect();
        let floors = self.accepted().map(|one| header(one).flush_floor);
        self.floor = floors.fold(self.floor, u64::max);
        let (scan, dead) = (&self.scan, &mut self.dead);
        let mut unreadable = Vec::new();
        scan.tails(self.log, &positions, |position, tail| match tail {
            Some(tail) => {
                let told = parse_tombstones(tail.tombstones).chain(parse_tombstones(tail.echoes));
                told.for_each(|tombstone| dead.note(tombstone));
            }
            None => unreadable.push(position),
        })?;
        self.drop_unreadable(unreadable)
    }

    /// Drops segments whose tails cannot be read; of their tombstones the segments behind them
    /// tell.
    pub(super) fn drop_unreadable(&mut self, positions: Vec<usize>) -> io::Result<()> {
        check_readable(positions.len())?;
        positions
            .into_iter()
            .for_each(|position| self.drop_segment(position));
        Ok(())
    }

    /// What was dropped must not look acceptable to a later recovery, for which what is written
    /// from now on vouches. The newest go first: at no moment is there a gap before something that
    /// would be accepted.
    pub(super) fn erase_dropped(&self) -> io::Result<()> {
        // In each slot of a run: where its write was torn, the dead segment that lay there before
        // would be found again, while nobody tells of its tombstone any more.
        let dropped = self.dropped().rev().flat_map(|position| {
            let Segment { slot, header } = &self.scan.segments[position];
            (*slot..slot + header.slots).rev()
        });
        // Dead, or nothing would have been written over their ends. Nobody will tell of that any
        // more, and only what lies at their ends keeps them from being found.
        let cut_off = self.scan.cut_off.iter().copied();
        // What could not be read must not be there again at a later start, when much of it is out
        // of date.
        let unreadable = self.scan.unreadable.iter().copied();
        erase(self.log, cut_off.chain(dropped).chain(unreadable))
    }

    /// Segments that have died as a whole, while this process has yet to tell what only they tell:
    /// nothing is written over them before that is durable.
    ///
    /// What only echoes tell was told on a device that is not there, or in a segment that cannot be
    /// read. Of those as many are held as leave room to tell it again.
    pub(super) fn hold_needed(&self) {
        let slots = &self.log.slots;
        let place = |&position: &usize| {
            let segment = &self.scan.segments[position];
            (segment.slot, segment.header.slots)
        };
        let hold = |&(slot, run): &(u32, u32)| slots.hold(slot, run);
        let mut held: Vec<(u32, u32)> = self.held.iter().map(place).filter(hold).collect();
        let leaves_room = |&(_, run): &(u32, u32)| slots.free_of_all() >= CLEANER_SLOTS + run;
        let echoing = self.echoing.iter().map(place).filter(leaves_room);
        held.extend(echoing.filter(hold));
        *self.log.held.lock().expect("no holder panics") = held;
    }
}
