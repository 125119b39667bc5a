//! Connections of movers: questions and answers keep their order, and end with the connection.

use farcache_peers::moves::Place;
use std::collections::BTreeMap;

/// Whose mover asks, whom, and for which epoch's stream.
pub type Ends = (usize, usize, u64);

/// One connection.
#[derive(Debug)]
pub struct Line {
    pub number: u64,
    /// The old owner's worker that has it.
    pub worker: usize,
    /// Run of the old owner that has it; none before the first question is there.
    pub instance: Option<u64>,
    /// Where the old owner's last answer to a pull ended.
    pub pulled_to: Option<Place>,
    /// The old owner's end has ended, and the other one hears of it.
    pub is_over: bool,
    /// When the last question and the last answer arrive.
    asked_at_ms: u64,
    told_at_ms: u64,
}

/// All connections.
#[derive(Debug, Default)]
pub struct Lines {
    made: u64,
    lines: BTreeMap<Ends, Line>,
}

impl Lines {
    /// The connection between these ends, which is made where there is none.
    pub fn open(&mut self, ends: Ends, worker: usize) -> &mut Line {
        self.lines.entry(ends).or_insert_with(|| {
            self.made += 1;
            Line {
                number: self.made,
                worker,
                instance: None,
                pulled_to: None,
                is_over: false,
                asked_at_ms: 0,
                told_at_ms: 0,
            }
        })
    }

    /// The connection of this number; none where it has ended.
    pub fn get(&mut self, ends: Ends, number: u64) -> Option<&mut Line> {
        let line = self.lines.get_mut(&ends);
        line.filter(|line| line.number == number)
    }

    pub fn end(&mut self, ends: Ends) {
        self.lines.remove(&ends);
    }

    /// All connections of this server's mover end.
    pub fn end_of(&mut self, by: usize) {
        self.lines.retain(|ends, _| ends.0 != by);
    }
}

impl Line {
    /// When a question arrives that by itself would at `at_ms`.
    pub fn question_at(&mut self, at_ms: u64) -> u64 {
        self.asked_at_ms = self.asked_at_ms.max(at_ms);
        self.asked_at_ms
    }

    /// When an answer arrives that by itself would at `at_ms`.
    pub fn answer_at(&mut self, at_ms: u64) -> u64 {
        self.told_at_ms = self.told_at_ms.max(at_ms);
        self.told_at_ms
    }
}
