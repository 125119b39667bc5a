//! Which segments are looked at for one that is cheap to empty.

/// So many at once.
const SEGMENTS: u32 = 64;

/// Goes round all segments, some at once.
#[derive(Default)]
pub(crate) struct Window {
    /// Where the last look ended.
    position: u32,
}

impl Window {
    /// The next ones, of so many.
    pub fn next(&mut self, segments: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.position % segments;
        self.position = (first + SEGMENTS) % segments;
        (0..SEGMENTS.min(segments)).map(move |step| (first + step) % segments)
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
}
