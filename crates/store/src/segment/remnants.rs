//! Segments that were left nearly full: what an item did not fit into, smaller ones may yet fill.
//!
//! Without this a segment of 64 KiB that holds values of 1 to 30 KB loses an eighth of its memory
//! behind the last of them (measured: `docs/journal/2026-11-24-hit-ratio.md`).

use super::writer::Open;
use std::collections::VecDeque;

/// Segments kept at most, whatever the memory: a few suffice for most rests to find their item.
const REMNANTS_MAX: usize = 4;
/// Part of all segments that may be kept: as they are open, they cannot be evicted.
const SEGMENTS_PART: u32 = 16;
/// Fillings after which a segment is kept no longer, as a part of all segments: what lies in it
/// would be in memory for too long, and never reach a device.
const AGE_PART: u32 = 2;
/// A smaller part of a segment is not worth keeping it open.
const ROOM_PART: usize = 64;

/// An open segment, or run, that somebody may go on filling.
#[derive(Debug)]
pub(super) struct Remnant {
    pub open: Open,
    /// Which lifetimes its items have.
    pub lifetime: usize,
    /// Segments in the run.
    pub run: u32,
}

/// The remnants of a queue, the one kept for longest first.
#[derive(Debug, Default)]
pub(super) struct Remnants {
    kept: VecDeque<Remnant>,
}

/// Whether so much room behind the last item is worth keeping a segment open.
pub(super) fn is_worth_keeping(room: usize, segment_bytes: usize) -> bool {
    room >= segment_bytes / ROOM_PART
}

impl Remnants {
    /// Keeps one more.
    pub fn keep(&mut self, remnant: Remnant) {
        self.kept.push_back(remnant);
    }

    /// One that is kept no longer, in a store of `allowed` segments of which the last filling was
    /// the `last`: one that is too old, or where there are too many the one kept for longest.
    pub fn surplus(&mut self, allowed: u32, last: u64) -> Option<Remnant> {
        let age_max = u64::from(allowed / AGE_PART);
        let is_old = |remnant: &Remnant| last.saturating_sub(remnant.open.sequence()) > age_max;
        let segments: u32 = self.kept.iter().map(|remnant| remnant.run).sum();
        let is_too_much = self.kept.len() > REMNANTS_MAX || segments > allowed / SEGMENTS_PART;
        let old = self.kept.iter().position(is_old);
        let place = old.or(is_too_much.then_some(0))?;
        self.kept.remove(place)
    }

    /// Takes the one in which an item of this size and lifetime leaves least room, of those whose
    /// filling is younger than `floor`.
    pub fn take(&mut self, size: usize, lifetime: usize, floor: u64) -> Option<Remnant> {
        let fits =
            |remnant: &Remnant| remnant.lifetime == lifetime && remnant.open.fits(size, floor);
        let fitting = self.kept.iter().enumerate().filter(|(_, one)| fits(one));
        let (place, _) = fitting.min_by_key(|(_, one)| one.open.room())?;
        self.kept.remove(place)
    }

    /// Takes any.
    pub fn pop(&mut self) -> Option<Remnant> {
        self.kept.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remnant(head: u32, room: usize, lifetime: usize) -> Remnant {
        Remnant {
            open: Open::with_room(head, room),
            lifetime,
            run: 1,
        }
    }

    fn remnants(rooms: &[usize]) -> Remnants {
        let mut remnants = Remnants::default();
        for (head, &room) in rooms.iter().enumerate() {
            remnants.keep(remnant(head as u32, room, 0));
        }
        remnants
    }

    /// Just after the last of them was opened.
    fn surplus(remnants: &mut Remnants, allowed: u32) -> Option<Remnant> {
        remnants.surplus(allowed, Open::with_room(0, 0).sequence())
    }

    fn head(remnant: Option<Remnant>) -> Option<u32> {
        remnant.map(|remnant| remnant.open.head())
    }

    #[test]
    fn an_item_goes_where_it_leaves_least_room() {
        let mut remnants = remnants(&[500, 300, 100, 400]);
        assert_eq!(head(remnants.take(200, 0, 0)), Some(1));
        assert_eq!(head(remnants.take(200, 0, 0)), Some(3));
        assert_eq!(head(remnants.take(200, 0, 0)), Some(0));
        assert_eq!(head(remnants.take(200, 0, 0)), None);
        assert_eq!(head(remnants.take(100, 0, 0)), Some(2));
    }

    #[test]
    fn items_of_other_lifetimes_and_after_a_flush_find_none() {
        let mut remnants = remnants(&[500]);
        assert_eq!(head(remnants.take(200, 1, 0)), None);
        let sequence = Open::with_room(0, 0).sequence();
        assert_eq!(head(remnants.take(200, 0, sequence)), None);
        assert_eq!(head(remnants.take(200, 0, sequence - 1)), Some(0));
    }

    #[test]
    fn of_too_many_the_oldest_goes() {
        let mut remnants = remnants(&[900, 100, 100, 100]);
        assert_eq!(head(surplus(&mut remnants, 1000)), None);
        remnants.keep(remnant(4, 50, 0));
        assert_eq!(head(surplus(&mut remnants, 1000)), Some(0));
        assert_eq!(head(surplus(&mut remnants, 1000)), None);
        // A small store keeps fewer, the smallest none.
        assert_eq!(head(surplus(&mut remnants, 48)), Some(1));
        assert_eq!(head(surplus(&mut remnants, 48)), None);
        let rest: Vec<u32> = std::iter::from_fn(|| head(surplus(&mut remnants, 15))).collect();
        assert_eq!(rest, [2, 3, 4]);
    }

    #[test]
    fn one_that_nothing_fits_into_is_not_kept_for_ever() {
        let mut remnants = remnants(&[100]);
        let sequence = Open::with_room(0, 0).sequence();
        assert_eq!(head(remnants.surplus(80, sequence + 40)), None);
        assert_eq!(head(remnants.surplus(80, sequence + 41)), Some(0));
    }

    #[test]
    fn runs_count_with_all_their_segments() {
        let mut remnants = remnants(&[100]);
        let long = Remnant {
            run: 4,
            ..remnant(1, 100, 0)
        };
        remnants.keep(long);
        assert_eq!(head(surplus(&mut remnants, 80)), None);
        assert_eq!(head(surplus(&mut remnants, 79)), Some(0));
        assert_eq!(head(surplus(&mut remnants, 79)), None);
    }

    #[test]
    fn a_sixty_fourth_of_a_segment_is_worth_keeping() {
        assert!(is_worth_keeping(1024, 65_536));
        assert!(!is_worth_keeping(1023, 65_536));
    }
}
