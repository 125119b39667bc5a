//! The slots that can be written, and which of them is taken next.

use farcache_memory::FreeMap;
use std::ops::Range;

/// Which free slots a caller may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Slots that no device keeps for itself, if so many remain.
    Leaving(u32),
    /// All free slots.
    All,
}

/// The free slots of all devices.
pub(super) struct Free {
    map: FreeMap,
    /// The slots of each device.
    spans: Box<[Range<u32>]>,
    /// How many are free, by device.
    of_device: Box<[u32]>,
    /// Slots that are taken last: somebody wants them in a row.
    spared: Range<u32>,
    /// The device that gets the next segment, if it has room.
    next_device: usize,
}

impl Free {
    /// None of the slots of these devices is free.
    pub fn new(spans: &[Range<u32>]) -> Free {
        let count = spans.last().map_or(0, |span| span.end);
        Free {
            map: FreeMap::new(count),
            spans: spans.into(),
            of_device: spans.iter().map(|_| 0).collect(),
            spared: 0..0,
            next_device: 0,
        }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.map.free()
    }

    /// Free slots beyond those that each device keeps.
    pub fn beside(&self, kept: u32) -> u32 {
        let of_device = self.of_device.iter();
        of_device.map(|free| free.saturating_sub(kept)).sum()
    }

    pub fn is_free(&self, slot: u32) -> bool {
        self.map.is_free(slot)
    }

    /// Whether there are `run` within reach, wherever they lie.
    pub fn has(&self, run: u32, reach: Reach, kept: u32) -> bool {
        match reach {
            Reach::Leaving(left) => self.beside(kept) >= run.saturating_add(left),
            Reach::All => self.count() >= run,
        }
    }

    /// Whether [`Free::take`] would find `run` in a row, and leave `left`.
    pub fn has_run(&self, run: u32, left: u32, kept: u32) -> bool {
        let is_there = |device: usize| {
            self.of_device[device] >= run.saturating_add(kept)
                && self.map.has_run_in(self.spans[device].clone(), run)
        };
        self.has(run, Reach::Leaving(left), kept) && (0..self.spans.len()).any(is_there)
    }

    /// From now on these are taken only where no others are free.
    pub fn spare(&mut self, slots: Range<u32>) {
        self.spared = slots;
    }

    /// A slot is free from now on.
    pub fn give(&mut self, slot: u32) {
        self.map.give(slot);
        self.of_device[self.device_of(slot)] += 1;
    }

    /// Takes this one; false where it is not free.
    pub fn take_this(&mut self, slot: u32) -> bool {
        let is_taken = self.map.take_this(slot);
        self.of_device[self.device_of(slot)] -= u32::from(is_taken);
        is_taken
    }

    /// Takes `run` in a row.
    pub fn take(&mut self, run: u32, reach: Reach, mut kept: u32) -> Option<u32> {
        if !self.has(run, reach, kept) {
            return None;
        }
        if reach == Reach::All && self.beside(kept) < run {
            // Of the device that has the most.
            let most = self.of_device.iter().copied().max().unwrap_or(0);
            kept = most.saturating_sub(run);
        }
        match run {
            1 => self.take_in_turn(kept),
            _ => self.take_run(run, kept),
        }
    }

    /// A free slot of the device whose turn it is, so that all devices are written at once; of the
    /// next one that has any otherwise.
    fn take_in_turn(&mut self, kept: u32) -> Option<u32> {
        let devices = self.spans.len();
        let spared = self.spared.clone();
        for spared in [spared, 0..0] {
            for step in 0..devices {
                let device = (self.next_device + step) % devices;
                if self.of_device[device] <= kept {
                    continue;
                }
                let span = self.spans[device].clone();
                let before = span.start..spared.start.clamp(span.start, span.end);
                let behind = spared.end.clamp(span.start, span.end)..span.end;
                let taken = self.map.take_one_of(before);
                if let Some(slot) = taken.or_else(|| self.map.take_one_of(behind)) {
                    self.of_device[device] -= 1;
                    self.next_device = (device + 1) % devices;
                    return Some(slot);
                }
            }
        }
        None
    }

    /// Free slots in a row, of the last device that has them and keeps as many as it must.
    fn take_run(&mut self, run: u32, kept: u32) -> Option<u32> {
        (0..self.spans.len()).rev().find_map(|device| {
            if self.of_device[device] < run.saturating_add(kept) {
                return None;
            }
            let head = self.map.take_run_of(self.spans[device].clone(), run)?;
            self.of_device[device] -= run;
            Some(head)
        })
    }

    fn device_of(&self, slot: u32) -> usize {
        device_of(&self.spans, slot)
    }
}

/// Number of the device that a slot is on.
pub(super) fn device_of(spans: &[Range<u32>], slot: u32) -> usize {
    spans.partition_point(|span| span.end <= slot)
}
