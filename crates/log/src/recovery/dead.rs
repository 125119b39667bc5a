//! Which copies on the devices have died: a bit for each, so that asking costs little however many
//! there are.

use crate::format::{Tombstone, WHOLE_SEGMENT};

const WORD_BITS: u32 = u64::BITS;

/// The dead of one segment.
struct Part {
    items: u32,
    is_whole: bool,
    /// A bit for each item; empty while none is known to have died.
    bits: Box<[u64]>,
}

impl Part {
    fn items_unknown_to<'p>(&'p self, other: &'p Part) -> impl Iterator<Item = u32> + 'p {
        self.bits.iter().enumerate().flat_map(|(number, word)| {
            let known = other.bits.get(number).copied().unwrap_or(0);
            let unknown = word & !known;
            let bits = (0..WORD_BITS).filter(move |bit| unknown >> bit & 1 != 0);
            let bits = (unknown != 0).then_some(bits).into_iter().flatten();
            bits.map(move |bit| number as u32 * WORD_BITS + bit)
        })
    }
}

/// The dead of all segments, these numbered by their position in the log.
pub(super) struct Dead {
    /// Write numbers, rising.
    numbers: Vec<u64>,
    parts: Vec<Part>,
}

impl Dead {
    /// Nobody has died in these segments, each a write number (rising) and how many items it has.
    pub fn none_of(segments: impl Iterator<Item = (u64, u32)>) -> Dead {
        let none = |items| Part {
            items,
            is_whole: false,
            bits: Box::default(),
        };
        let (numbers, parts) = segments
            .map(|(number, items)| (number, none(items)))
            .unzip();
        Dead { numbers, parts }
    }

    /// Notes a tombstone; of what is not on the devices there is nothing to be noted.
    pub fn note(&mut self, tombstone: Tombstone) {
        let Ok(position) = self.numbers.binary_search(&tombstone.write_number) else {
            return;
        };
        let part = &mut self.parts[position];
        if tombstone.item == WHOLE_SEGMENT {
            part.is_whole = true;
        } else if tombstone.item < part.items {
            if part.bits.is_empty() {
                part.bits = vec![0; part.items.div_ceil(WORD_BITS) as usize].into();
            }
            part.bits[(tombstone.item / WORD_BITS) as usize] |= 1 << (tombstone.item % WORD_BITS);
        }
    }

    /// Whether a segment has died as a whole.
    pub fn is_whole(&self, position: usize) -> bool {
        self.parts[position].is_whole
    }

    /// Whether an item of a segment has died by itself.
    pub fn has_died(&self, position: usize, item: u32) -> bool {
        let word = self.parts[position].bits.get((item / WORD_BITS) as usize);
        word.is_some_and(|word| word >> (item % WORD_BITS) & 1 != 0)
    }

    /// Tombstones, with the positions of the segments in which they happened, that `other` does not
    /// know of. Of a segment that has died as a whole that alone counts.
    pub fn unknown_to<'d>(
        &'d self,
        other: &'d Dead,
    ) -> impl Iterator<Item = (usize, Tombstone)> + 'd {
        let pairs = self.parts.iter().zip(&other.parts);
        let positions = self.numbers.iter().zip(pairs).enumerate();
        positions.flat_map(|(position, (&write_number, (part, other)))| {
            let is_end_unknown = part.is_whole && !other.is_whole;
            let end = is_end_unknown.then_some(WHOLE_SEGMENT);
            let items = (!part.is_whole).then(|| part.items_unknown_to(other));
            let tombstones = items.into_iter().flatten().chain(end);
            tombstones.map(move |item| (position, Tombstone { write_number, item }))
        })
    }

    /// Whether a tombstone is known.
    pub fn knows(&self, tombstone: &Tombstone) -> bool {
        let position = self.numbers.binary_search(&tombstone.write_number);
        position.is_ok_and(|position| match tombstone.item {
            WHOLE_SEGMENT => self.is_whole(position),
            item => self.has_died(position, item),
        })
    }

    /// Items of a segment that have not died by themselves.
    pub fn survivors(&self, position: usize) -> u32 {
        let part = &self.parts[position];
        let died: u32 = part.bits.iter().map(|word| word.count_ones()).sum();
        part.items - died
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tombstone_is_told_of_its_own_copy_only() {
        let mut dead = Dead::none_of([(5, 130), (6, 1), (9, 64)].into_iter());
        for (write_number, item) in [(5, 0), (5, 129), (5, 129), (6, WHOLE_SEGMENT), (9, 63)] {
            dead.note(Tombstone { write_number, item });
        }
        // Of a segment that is gone, and of items that are not there.
        for (write_number, item) in [(7, 0), (4, 0), (10, 1), (6, 1), (9, 64)] {
            dead.note(Tombstone { write_number, item });
        }
        let died = |position, items| -> Vec<u32> {
            let items = 0..items;
            items
                .filter(|&item| dead.has_died(position, item))
                .collect()
        };
        assert_eq!(died(0, 200), [0, 129]);
        assert_eq!(died(1, 64), []);
        assert_eq!(died(2, 200), [63]);
        assert_eq!(
            [0, 1, 2].map(|one| dead.is_whole(one)),
            [false, true, false]
        );
        assert_eq!([0, 1, 2].map(|one| dead.survivors(one)), [128, 1, 63]);
    }

    #[test]
    fn what_another_does_not_know_of_is_told_apart() {
        let none = || Dead::none_of([(5, 130), (6, 4)].into_iter());
        let (mut all, mut some) = (none(), none());
        let tombstone = |write_number, item| Tombstone { write_number, item };
        for one in [
            tombstone(5, 1),
            tombstone(5, 129),
            tombstone(6, 2),
            tombstone(6, WHOLE_SEGMENT),
        ] {
            all.note(one);
        }
        some.note(tombstone(5, 1));
        let unknown: Vec<(usize, Tombstone)> = all.unknown_to(&some).collect();
        let expected = [(0, tombstone(5, 129)), (1, tombstone(6, WHOLE_SEGMENT))];
        assert_eq!(unknown, expected);
        assert!(all.knows(&tombstone(5, 129)) && !some.knows(&tombstone(5, 129)));
        assert!(
            all.knows(&tombstone(6, WHOLE_SEGMENT)) && !some.knows(&tombstone(6, WHOLE_SEGMENT))
        );
        assert!(!all.knows(&tombstone(7, 0)));
    }
}
