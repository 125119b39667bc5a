//! How long commands take inside the server, in one histogram per kind of command and worker.
//!
//! A worker learns of a batch of requests at the start of its turn and is done when the replies
//! have been handed to the socket; every key of the batch counts with that time. So a batch costs
//! one reading of the clock, however long it is.

use farcache_session::counters::{Counter, Counters};
use histogram::{AtomicHistogram, Histogram};
use std::time::Duration;

/// Relative error of a recorded time: 2 to the minus this.
const GROUPING_POWER: u8 = 3;

/// Longest time told apart: 2 to this, in nanoseconds (18 minutes).
const TIME_POWER_MAX: u8 = 40;

/// A kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Every kind of get.
    Get,
    /// Every kind of store.
    Set,
    /// Touch and get-and-touch.
    Touch,
    /// Delete.
    Delete,
    /// Increment and decrement.
    Arithmetic,
}

impl Command {
    /// All of them.
    pub const ALL: [Command; 5] = [
        Command::Get,
        Command::Set,
        Command::Touch,
        Command::Delete,
        Command::Arithmetic,
    ];

    /// Its name in the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Command::Get => "get",
            Command::Set => "set",
            Command::Touch => "touch",
            Command::Delete => "delete",
            Command::Arithmetic => "arithmetic",
        }
    }

    fn count(self, counters: &Counters) -> u64 {
        match self {
            Command::Get => counters.cmd_get.get(),
            Command::Set => counters.cmd_set.get(),
            Command::Touch => counters.cmd_touch.get(),
            Command::Delete => counters.delete_hits.get() + counters.delete_misses.get(),
            Command::Arithmetic => {
                let increments = counters.incr_hits.get() + counters.incr_misses.get();
                increments + counters.decr_hits.get() + counters.decr_misses.get()
            }
        }
    }
}

/// How many keys of each kind a worker has handled.
pub type Counted = [u64; Command::ALL.len()];

/// One worker's times.
#[derive(Debug)]
pub struct Latencies {
    histograms: [AtomicHistogram; Command::ALL.len()],
    sums_ns: [Counter; Command::ALL.len()],
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies {
            histograms: Command::ALL.map(|_| {
                AtomicHistogram::new(GROUPING_POWER, TIME_POWER_MAX).expect("valid powers")
            }),
            sums_ns: Command::ALL.map(|_| Counter::default()),
        }
    }
}

impl Latencies {
    /// How many keys of each kind have been handled so far.
    pub fn counted(counters: &Counters) -> Counted {
        Command::ALL.map(|command| command.count(counters))
    }

    /// What has been handled since `before` took `time`.
    pub fn record(&self, before: &Counted, counters: &Counters, time: Duration) {
        let time_ns = (time.as_nanos() as u64).min((1 << TIME_POWER_MAX) - 1);
        for (index, command) in Command::ALL.into_iter().enumerate() {
            let count = command.count(counters).wrapping_sub(before[index]);
            if count > 0 {
                self.histograms[index]
                    .add(time_ns, count)
                    .expect("within the range");
                self.sums_ns[index].add(time_ns.saturating_mul(count));
            }
        }
    }

    /// All workers' times for one kind of command, and their sum in seconds.
    pub fn merged<'a>(
        workers: impl Iterator<Item = &'a Latencies>,
        command: Command,
    ) -> (Histogram, f64) {
        let mut merged = Histogram::new(GROUPING_POWER, TIME_POWER_MAX).expect("valid powers");
        let mut sum_ns = 0;
        for worker in workers {
            let times = worker.histograms[command as usize].load();
            merged.checked_add_assign(&times).expect("the same powers");
            sum_ns += worker.sums_ns[command as usize].get();
        }
        (merged, Duration::from_nanos(sum_ns).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_counts_once_for_each_key() {
        let (latencies, counters) = (Latencies::default(), Counters::default());
        let before = Latencies::counted(&counters);
        counters.cmd_get.add(3);
        counters.delete_misses.bump();
        latencies.record(&before, &counters, Duration::from_micros(10));
        let (gets, sum) = Latencies::merged([&latencies, &latencies].into_iter(), Command::Get);
        assert_eq!(gets.iter().map(|bucket| bucket.count()).sum::<u64>(), 6);
        assert!((sum - 60e-6).abs() < 1e-12);
        let (sets, _) = Latencies::merged([&latencies].into_iter(), Command::Set);
        assert_eq!(sets.iter().map(|bucket| bucket.count()).sum::<u64>(), 0);
    }

    #[test]
    fn times_beyond_the_range_count_as_the_longest() {
        let (latencies, counters) = (Latencies::default(), Counters::default());
        let before = Latencies::counted(&counters);
        counters.cmd_set.bump();
        latencies.record(&before, &counters, Duration::from_secs(1 << 30));
        let (sets, _) = Latencies::merged([&latencies].into_iter(), Command::Set);
        assert_eq!(sets.iter().map(|bucket| bucket.count()).sum::<u64>(), 1);
    }
}
