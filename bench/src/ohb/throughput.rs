//! Many operations at a time: how many are done.

use super::items::Items;
use super::session::{Benchmark, Session};
use crate::load::measurement::latency_histogram;
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// How many operations are under way, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// What is done.
    pub benchmark: Benchmark,
    /// Batches that are under way together.
    pub window: usize,
    /// Operations of a batch, which travel together.
    pub batch: usize,
    /// Time before anything counts.
    pub warmup: Duration,
    /// Time that counts.
    pub duration: Duration,
}

impl Load {
    /// Whether a batch is one multi-get.
    fn is_multi_get(&self) -> bool {
        self.benchmark == Benchmark::Get && self.batch > 1
    }

    /// What is begun and finished for a batch.
    fn operations_of_batch(&self) -> usize {
        if self.is_multi_get() { 1 } else { self.batch }
    }
}

/// What one client did in the time that counted.
#[derive(Clone, Debug)]
pub struct Done {
    /// Operations finished.
    pub operations: u64,
    /// The time that counted.
    pub elapsed: Duration,
    /// From the begin of a batch to its end, in nanoseconds.
    pub batch_latencies_ns: Histogram<u64>,
}

/// Keeps a window of batches under way.
///
/// # Errors
/// Those of the session.
pub fn run(session: &mut impl Session, items: &Items, load: Load) -> io::Result<Done> {
    let mut stream = Stream {
        session,
        items,
        load,
        number: 0,
        begun_at: VecDeque::with_capacity(load.window),
        keys: Vec::with_capacity(load.batch),
    };
    stream.turn_for(load.warmup, &mut latency_histogram())?;
    let mut batch_latencies_ns = latency_histogram();
    let start = Instant::now();
    let batches = stream.turn_for(load.duration, &mut batch_latencies_ns)?;
    let elapsed = start.elapsed();
    while !stream.begun_at.is_empty() {
        stream.finish_batch()?;
    }
    Ok(Done {
        operations: batches * load.batch as u64,
        elapsed,
        batch_latencies_ns,
    })
}

struct Stream<'a, S> {
    session: &'a mut S,
    items: &'a Items,
    load: Load,
    number: u64,
    begun_at: VecDeque<Instant>,
    /// The keys of a multi-get, whose memory is used again.
    keys: Vec<&'a [u8]>,
}

impl<S: Session> Stream<'_, S> {
    /// Goes on for this long, the window always full; says how many batches were finished.
    fn turn_for(
        &mut self,
        duration: Duration,
        latencies_ns: &mut Histogram<u64>,
    ) -> io::Result<u64> {
        let start = Instant::now();
        // One look at the clock per batch: the next one begins when one has ended.
        let mut now = start;
        let mut batches = 0;
        loop {
            while self.begun_at.len() < self.load.window {
                self.begin_batch(now)?;
            }
            let begun_at = self.finish_batch()?;
            batches += 1;
            now = Instant::now();
            latencies_ns.saturating_record((now - begun_at).as_nanos() as u64);
            if now - start >= duration {
                return Ok(batches);
            }
        }
    }

    fn begin_batch(&mut self, now: Instant) -> io::Result<()> {
        self.begun_at.push_back(now);
        let numbers = self.number..self.number + self.load.batch as u64;
        self.number = numbers.end;
        if self.load.is_multi_get() {
            self.keys.clear();
            self.keys
                .extend(numbers.map(|number| self.items.key(number)));
            self.session.begin_get_many(&self.keys)?;
        } else {
            for number in numbers {
                let stores = self.load.benchmark.stores(number);
                self.items.begin(self.session, number, stores)?;
            }
        }
        self.session.flush()
    }

    /// Finishes the oldest batch; says when it was begun.
    fn finish_batch(&mut self) -> io::Result<Instant> {
        let begun_at = self.begun_at.pop_front().expect("a batch under way");
        let mut right_lengths = true;
        for _ in 0..self.load.operations_of_batch() {
            self.session
                .finish(&mut |value| right_lengths &= value.len() == self.items.value_bytes())?;
        }
        match right_lengths {
            true => Ok(begun_at),
            false => Err(io::Error::other("a value of another length than stored")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::fake::FakeSession;
    use super::*;

    #[test]
    fn batches_of_gets_are_multi_gets() {
        let items = Items::new(64, 16, Some(10), true);
        let mut session = FakeSession::default();
        items.store(&mut session).unwrap();
        (session.begun_most, session.flushes, session.finished) = (0, 0, 0);
        let load = Load {
            benchmark: Benchmark::Get,
            window: 2,
            batch: 16,
            warmup: Duration::ZERO,
            duration: Duration::from_millis(1),
        };
        let done = run(&mut session, &items, load).unwrap();
        assert_eq!(session.begun_most, 2);
        assert_eq!(session.finished, session.flushes);
        assert_eq!(done.operations % 16, 0);
    }

    #[test]
    fn the_window_is_full_and_everything_is_finished() {
        let items = Items::new(64, 16, Some(10), true);
        let mut session = FakeSession::default();
        items.store(&mut session).unwrap();
        (session.begun_most, session.flushes, session.finished) = (0, 0, 0);
        let load = Load {
            benchmark: Benchmark::Mix,
            window: 4,
            batch: 3,
            warmup: Duration::ZERO,
            duration: Duration::from_millis(5),
        };
        let done = run(&mut session, &items, load).unwrap();
        assert_eq!(session.begun_most, 12);
        assert_eq!(session.finished, session.flushes * 3);
        // Beside what counted there were one batch of warm-up and the rest of the window.
        assert_eq!(session.finished, done.operations + 3 + 9);
        assert_eq!(done.batch_latencies_ns.len() * 3, done.operations);
        assert!(done.elapsed >= Duration::from_millis(5));
    }
}
