//! What a run counted, and its summary.

use super::protocol::Operation;
use super::scanner::Outcome;
use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io;
use std::time::{Duration, Instant};

/// Longest latency told apart, in nanoseconds: one minute.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Nanoseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts at 0.
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// What another one, started earlier, shows when this one shows `now_ns`.
    pub fn shown_by(&self, earlier: &Stopwatch, now_ns: u64) -> Duration {
        self.0.duration_since(earlier.0) + Duration::from_nanos(now_ns)
    }
}

/// CPU time of the calling thread: what other load on the machine does not lengthen.
#[derive(Clone, Copy, Debug)]
pub struct CpuStopwatch(Duration);

impl CpuStopwatch {
    /// Starts at 0. To be read by the same thread.
    pub fn start() -> Self {
        CpuStopwatch(thread_cpu_time())
    }

    /// CPU time since the start.
    pub fn elapsed(&self) -> Duration {
        thread_cpu_time().saturating_sub(self.0)
    }
}

fn thread_cpu_time() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}

/// CPU time that all threads of this process have taken.
pub fn process_cpu_time() -> Duration {
    cpu_time(ClockId::ProcessCPUTime)
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How often the kernel has taken the processor from the calling thread.
pub fn involuntary_switches() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    // It cannot fail; if it did, nothing would ever seem to interfere.
    usage.map_or(0, |usage| usage.involuntary_context_switches() as u64)
}

/// Counts and latencies of one thread.
pub struct Recorder {
    latencies_ns: Histogram<u64>,
    counts: Counts,
}

/// What was asked for and what came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Requests answered.
    pub requests: u64,
    /// Keys asked for.
    pub keys_wanted: u64,
    /// Keys found.
    pub hits: u64,
    /// Values stored.
    pub stored: u64,
    /// Requests answered with an error.
    pub errors: u64,
}

impl Counts {
    /// Counts one answer.
    pub fn add(&mut self, operation: Operation, outcome: Outcome) {
        self.requests += 1;
        self.keys_wanted += u64::from(operation.keys_wanted());
        self.hits += u64::from(outcome.hits);
        self.stored += u64::from(outcome.stored);
        self.errors += u64::from(outcome.error);
    }

    fn merge(&mut self, other: Counts) {
        self.requests += other.requests;
        self.keys_wanted += other.keys_wanted;
        self.hits += other.hits;
        self.stored += other.stored;
        self.errors += other.errors;
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder {
            latencies_ns: latency_histogram(),
            counts: Counts::default(),
        }
    }
}

impl Recorder {
    /// Counts one answer and its latency.
    pub fn add(&mut self, operation: Operation, outcome: Outcome, latency_ns: u64) {
        self.counts.add(operation, outcome);
        self.latencies_ns.saturating_record(latency_ns.max(1));
    }

    /// Takes what another thread recorded.
    pub fn merge(&mut self, other: &Recorder) {
        self.counts.merge(other.counts);
        self.latencies_ns
            .add(&other.latencies_ns)
            .expect("the same bounds");
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Forgets all, at the end of a warm-up.
    pub fn clear(&mut self) {
        self.latencies_ns.reset();
        self.counts = Counts::default();
    }

    /// Percentiles of the latencies.
    pub fn latency(&self) -> LatencyUs {
        LatencyUs::of(&self.latencies_ns)
    }
}

/// An empty histogram of nanoseconds, to three digits.
pub fn latency_histogram() -> Histogram<u64> {
    let histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3);
    histogram.expect("bounds within the histogram's")
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyUs {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// 99.99th percentile.
    pub p9999: f64,
    /// Largest.
    pub max: f64,
}

impl LatencyUs {
    /// Percentiles of nanoseconds.
    pub fn of(latencies_ns: &Histogram<u64>) -> Self {
        let at = |quantile: f64| latencies_ns.value_at_quantile(quantile) as f64 / 1e3;
        LatencyUs {
            mean: latencies_ns.mean() / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: latencies_ns.max() as f64 / 1e3,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Length of the measured part, in seconds.
    pub seconds: f64,
    /// What was counted in it.
    pub counts: Counts,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Keys fetched or stored a second.
    pub keys_per_s: f64,
    /// Hits over keys asked for; 1 where none was.
    pub hit_ratio: f64,
    /// Latencies in microseconds.
    pub latency_us: LatencyUs,
    /// Share of the time in which the generator had something to do. Near 1, the generator and
    /// not the server sets the pace.
    pub client_busy: f64,
    /// The first error that the server answered with.
    pub first_error: Option<String>,
}

impl Summary {
    /// Summarizes what was recorded in `seconds`.
    pub fn new(recorder: &Recorder, seconds: f64, client_busy: f64) -> Self {
        let counts = recorder.counts();
        let keys = counts.keys_wanted + counts.stored;
        let hit_ratio = match counts.keys_wanted {
            0 => 1.0,
            wanted => counts.hits as f64 / wanted as f64,
        };
        Summary {
            seconds,
            counts,
            requests_per_s: counts.requests as f64 / seconds,
            keys_per_s: keys as f64 / seconds,
            hit_ratio,
            latency_us: recorder.latency(),
            client_busy,
            first_error: None,
        }
    }

    /// This summary of `what`, whose figures count only if every request did what it should.
    ///
    /// # Errors
    /// Where nothing was answered, an answer was an error, or a key was not found.
    pub fn checked(self, what: &str) -> io::Result<Summary> {
        let counts = self.counts;
        let missed = counts.keys_wanted - counts.hits;
        if counts.requests > 0 && counts.errors == 0 && missed == 0 {
            return Ok(self);
        }
        Err(io::Error::other(format!(
            "{what}: {} requests, {} errors ({:?}), {missed} of {} keys missed",
            counts.requests, counts.errors, self.first_error, counts.keys_wanted
        )))
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let latency = &self.latency_us;
        writeln!(
            formatter,
            "{:.3} M requests/s, {:.3} M keys/s over {:.2} s",
            self.requests_per_s / 1e6,
            self.keys_per_s / 1e6,
            self.seconds
        )?;
        writeln!(
            formatter,
            "latency us: mean {:.1}, p50 {:.1}, p90 {:.1}, p99 {:.1}, p99.9 {:.1}, p99.99 {:.1}, max {:.1}",
            latency.mean,
            latency.p50,
            latency.p90,
            latency.p99,
            latency.p999,
            latency.p9999,
            latency.max
        )?;
        writeln!(
            formatter,
            "hit ratio {:.4}, stored {}, errors {}, generator busy {:.0} %",
            self.hit_ratio,
            self.counts.stored,
            self.counts.errors,
            self.client_busy * 100.0
        )?;
        match &self.first_error {
            Some(error) => writeln!(formatter, "first error: {error}{}", advice(error)),
            None => Ok(()),
        }
    }
}

/// What to do about an error that a server has answered with.
pub fn advice(error: &str) -> &'static str {
    let says = |text| error.contains(text);
    if says("unauthenticated") || says("Auth failure") || says("0x20") {
        return " (authentication required: the server was started with -S or -Y, and this program cannot log in)";
    }
    if says("object too large") || says("Too large") {
        return " (start the server with a larger -I)";
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_must_log_in_hears_so() {
        let summary = Summary {
            first_error: Some("CLIENT_ERROR unauthenticated".into()),
            ..Summary::new(&Recorder::default(), 1.0, 0.0)
        };
        assert!(summary.to_string().contains("authentication required"));
        assert_eq!(advice("ERROR"), "");
    }

    #[test]
    fn a_summary_divides_by_what_was_asked_for() {
        let mut recorder = Recorder::default();
        let hits = |hits| Outcome {
            hits,
            ..Outcome::default()
        };
        recorder.add(Operation::MultiGet { keys: 4 }, hits(3), 1_000);
        recorder.add(
            Operation::Set(1),
            Outcome {
                stored: true,
                ..hits(0)
            },
            3_000,
        );
        let summary = Summary::new(&recorder, 2.0, 0.5);
        assert_eq!(summary.hit_ratio, 0.75);
        assert_eq!((summary.requests_per_s, summary.keys_per_s), (1.0, 2.5));
        assert_eq!(summary.latency_us.max.round(), 3.0);
    }

    #[test]
    fn a_summary_counts_only_where_all_went_well() {
        let summary = |outcome: Outcome| {
            let mut recorder = Recorder::default();
            recorder.add(Operation::MultiGet { keys: 2 }, outcome, 1_000);
            Summary::new(&recorder, 1.0, 0.5).checked("gets")
        };
        let hits = |hits| Outcome {
            hits,
            ..Outcome::default()
        };
        let failed = Outcome {
            error: true,
            ..hits(2)
        };
        assert!(summary(hits(2)).is_ok());
        let missed = summary(hits(1)).expect_err("a key is missing").to_string();
        assert!(missed.starts_with("gets: ") && missed.ends_with("1 of 2 keys missed"));
        assert!(summary(failed).is_err());
        let nothing = Summary::new(&Recorder::default(), 1.0, 0.5);
        assert!(nothing.checked("nothing").is_err());
    }

    #[test]
    fn merging_and_clearing() {
        let mut one = Recorder::default();
        one.add(
            Operation::Set(1),
            Outcome {
                error: true,
                ..Outcome::default()
            },
            5_000,
        );
        let mut sum = Recorder::default();
        sum.merge(&one);
        sum.merge(&one);
        assert_eq!((sum.counts().requests, sum.counts().errors), (2, 2));
        sum.clear();
        assert_eq!(sum.counts(), Counts::default());
    }
}
