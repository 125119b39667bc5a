//! Which segments count, and what becomes of the others.

use super::Recovery;
use crate::device::{BUFFER_ALIGNMENT, Buffer};
use crate::tier::format::{Death, WHOLE_SEGMENT, parse_deaths};
use crate::tier::options::TierEventKind;
use crate::tier::scan::verify_whole;
use std::io;

impl Recovery<'_> {
    pub(super) fn drop_segment(&mut self, position: usize) {
        self.is_dropped[position] = true;
        self.tell_damaged(position);
    }

    pub(super) fn tell_damaged(&self, position: usize) {
        self.tier.counters.segments_dropped.add(1);
        let device = self.tier.slots.device_of(self.scan.segments[position].slot);
        let name = self.tier.devices[device].name();
        self.tier.events.tell(
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

    /// Behind the watermark the log is accepted up to its first gap, each segment only if it is whole.
    pub(super) fn cut_log(&mut self) {
        let watermark = self.watermark;
        let mut expected = watermark + 1;
        for position in 0..self.scan.segments.len() {
            let segment = &self.scan.segments[position];
            if segment.header.write_number <= watermark {
                continue;
            }
            let is_next = segment.header.write_number == expected;
            if is_next && verify_whole(self.tier, segment) {
                expected += 1;
            } else {
                expected = 0;
                self.drop_segment(position);
            }
        }
    }

    /// Reads what the accepted segments tell: who has died, and what a flush has voided.
    pub(super) fn collect_deaths(&mut self) -> io::Result<()> {
        let header = |position: usize| &self.scan.segments[position].header;
        let tells = |position: &usize| header(*position).deaths + header(*position).echoes > 0;
        let positions: Vec<usize> = self.accepted().filter(tells).collect();
        let floors = self.accepted().map(|one| header(one).flush_floor);
        self.floor = floors.fold(self.floor, u64::max);
        let (scan, dead) = (&self.scan, &mut self.dead);
        scan.tails(self.tier, &positions, |_, tail| {
            if let Some(tail) = tail {
                let told = parse_deaths(tail.deaths).chain(parse_deaths(tail.echoes));
                told.for_each(|death| dead.note(death));
            }
        })
    }

    /// What was dropped must not look acceptable to a later recovery, for which what is written from now on vouches.
    /// The newest go first: at no moment is there a gap before something that would be accepted.
    pub(super) fn erase_dropped(&self) -> io::Result<()> {
        let zeros = Buffer::new(BUFFER_ALIGNMENT);
        for position in self.dropped().rev() {
            let slot = self.scan.segments[position].slot;
            let device = &self.tier.devices[self.tier.slots.device_of(slot)];
            device.write_at(&zeros, self.tier.slots.offset_of(slot))?;
        }
        Ok(())
    }

    /// What was dropped stays dead, and its slots are not used before that has been written down.
    pub(super) fn hold_dropped(&self) {
        let mut held = Vec::new();
        for position in self.dropped() {
            let segment = &self.scan.segments[position];
            self.tier.deaths.note(Death {
                write_number: segment.header.write_number,
                item: WHOLE_SEGMENT,
            });
            if self.tier.slots.hold(segment.slot, segment.header.slots) {
                held.push((segment.slot, segment.header.slots));
            }
        }
        *self.tier.dropped.lock().expect("no holder panics") = held;
    }
}
