//! Which segments are looked at for one that is cheap to empty.

/// So many at once.
const SEGMENTS: u32 = 64;

/// Windows looked at before anything is evicted, at most: 4096 segments, whose looks take less than
/// it takes to empty one.
const WINDOWS_MAX: u32 = 64;

/// Goes round all segments, some at once.
#[derive(Default)]
pub(crate) struct Window {
    /// Where the last look ended.
    position: u32,
    /// Segments looked at in vain since one was last found.
    in_vain: u32,
}

impl Window {
    /// How many windows are looked at, of so many segments, before something is evicted. Nothing
    /// may be dead in one of them, as nobody overwrites what it holds, and a great deal beside it.
    /// Where none is to be found at all one look is enough, until there is one again.
    pub fn looks(&self, segments: u32) -> u32 {
        let left = segments.saturating_sub(self.in_vain);
        left.div_ceil(SEGMENTS).clamp(1, WINDOWS_MAX)
    }

    /// The next ones, of so many.
    pub fn next(&mut self, segments: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.position % segments;
        self.position = (first + SEGMENTS) % segments;
        self.in_vain = self.in_vain.saturating_add(SEGMENTS);
        (0..SEGMENTS.min(segments)).map(move |step| (first + step) % segments)
    }

    /// There was one in the last of them.
    pub fn note_found(&mut self) {
        self.in_vain = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_follows_the_other_round_all_segments() {
        let mut window = Window::default();
        let mut next = |segments| window.next(segments).collect::<Vec<u32>>();
        assert_eq!(next(100), (0..64).collect::<Vec<u32>>());
        assert_eq!(next(100), (64..100).chain(0..28).collect::<Vec<u32>>());
        assert_eq!(next(100)[0], 28);
        // There are fewer now: none is looked at twice.
        assert_eq!(next(10), [2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    }

    #[test]
    fn all_are_looked_at_once_where_there_is_none_and_again_when_there_was_one() {
        let mut window = Window::default();
        assert_eq!(window.looks(10), 1);
        assert_eq!(window.looks(u32::MAX), WINDOWS_MAX);
        assert_eq!(window.looks(129), 3);
        (0..3).for_each(|_| drop(window.next(129)));
        assert_eq!(window.looks(129), 1);
        // There are more now.
        assert_eq!(window.looks(1000), 13);
        window.note_found();
        assert_eq!(window.looks(129), 3);
    }
}
