//! How far to read ahead, by how was read before.

/// Reads that follow one another.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where the next one would begin.
    next: u64,
    /// Bytes read so far.
    bytes: u64,
}

/// What is remembered of a reader's reads: the latest run and the one before it, so that single
/// reads elsewhere (of an index, a footer) do not end a run.
#[derive(Debug)]
pub struct Pattern {
    runs: [Run; 2],
}

impl Pattern {
    /// Before the first read, which begins a run where it is at the start.
    pub fn new() -> Self {
        let start = Run { next: 0, bytes: 0 };
        let nowhere = Run {
            next: u64::MAX,
            bytes: 0,
        };
        Pattern {
            runs: [start, nowhere],
        }
    }

    /// Notes a read from `start` to `end`; returns how many bytes behind it are likely to be wanted
    /// next: as many as the run has read, none for a single read.
    pub fn note(&mut self, start: u64, end: u64) -> u64 {
        let [latest, former] = &mut self.runs;
        if latest.next != start {
            std::mem::swap(latest, former);
        }
        if latest.next == start {
            latest.bytes += end - start;
        } else {
            // The run that goes on is kept, whatever lies between its reads.
            if latest.bytes > former.bytes {
                std::mem::swap(latest, former);
            }
            latest.bytes = 0;
        }
        latest.next = end;
        latest.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_followed_as_far_as_it_has_come() {
        let mut pattern = Pattern::new();
        assert_eq!(pattern.note(0, 10), 10);
        assert_eq!(pattern.note(10, 30), 30);
        assert_eq!(pattern.note(30, 31), 31);
    }

    #[test]
    fn single_reads_are_not_followed_and_end_no_run() {
        let mut pattern = Pattern::new();
        pattern.note(0, 10);
        for place in [500, 100, 900, 300] {
            assert_eq!(pattern.note(place, place + 1), 0);
        }
        assert_eq!(pattern.note(10, 20), 20);
        for place in [501, 101, 901, 302] {
            assert_eq!(pattern.note(place, place + 1), 0);
        }
        assert_eq!(pattern.note(20, 25), 25);
    }

    #[test]
    fn a_run_may_begin_anywhere() {
        let mut pattern = Pattern::new();
        assert_eq!(pattern.note(700, 800), 0);
        assert_eq!(pattern.note(800, 850), 50);
        assert_eq!(pattern.note(850, 900), 100);
    }
}
