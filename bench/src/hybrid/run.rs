//! Storing more than fits into memory, and reading it.

use super::keys::{ScanKeys, ScanMode};
use super::report::Part;
use crate::load::keys::{KeyId, KeyShape};
use crate::load::measurement::{LatencyUs, latency_histogram};
use crate::load::values::{ValueSizes, Values};
use farcache_client::{Client, Error, Operation, ReceiveBytes, Reply, Request, Store, Value};
use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// Size of each key, in bytes.
const KEY_BYTES: usize = 16;

/// Bytes of values that are stored together.
const STORED_TOGETHER_BYTES: usize = 128 << 10;

/// What is stored and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    /// Order of the keys.
    pub mode: ScanMode,
    /// Exponent of the Zipf law.
    pub theta: f64,
    /// Number of keys.
    pub keys: KeyId,
    /// Size of each value, in bytes.
    pub value_bytes: usize,
    /// What a miss costs beside the answer.
    pub miss_penalty: Duration,
    /// Reads before anything counts.
    pub warmup: u64,
    /// Reads that count, at most.
    pub reads: u64,
    /// Time after which neither part of the reads goes on.
    pub time_max: Duration,
    /// Reads under way together; 1 waits for each.
    pub window: usize,
    /// Start of the random numbers.
    pub seed: u64,
}

/// Stores every key once, then reads keys; every value is compared, byte by byte.
///
/// # Errors
/// Those of the client, and a value that is not what was stored.
pub fn run(client: &Client, name: &str, scan: &Scan) -> io::Result<Part> {
    let mut reader = Reader::new(client, *scan);
    let stored = reader.store()?;
    reader.read(scan.warmup)?;
    reader.forget();
    let start = Instant::now();
    reader.read(scan.reads)?;
    let seconds = start.elapsed().as_secs_f64() + reader.penalties.as_secs_f64();
    let megabytes = f64::from(scan.keys) * scan.value_bytes as f64 / 1e6;
    Ok(Part {
        name: name.to_owned(),
        keys: scan.keys,
        load_seconds: stored.as_secs_f64(),
        load_megabytes_per_s: megabytes / stored.as_secs_f64(),
        reads: reader.hits + reader.misses,
        success_rate: reader.hits as f64 / (reader.hits + reader.misses).max(1) as f64,
        reads_per_s: (reader.hits + reader.misses) as f64 / seconds,
        latency_us: LatencyUs::of(&reader.latencies_ns),
        hit_latency_us: LatencyUs::of(&reader.hit_latencies_ns),
        slower: slower(&reader.latencies_ns),
    })
}

/// The latency that one read of so many exceeds, in microseconds.
fn slower(latencies_ns: &Histogram<u64>) -> Vec<(f64, f64)> {
    let count = latencies_ns.len() as f64;
    let steps = (0..).map(|step| 10f64.powf(f64::from(step) / 4.0));
    steps
        .take_while(|one_in| *one_in <= count)
        .map(|one_in| {
            let nanoseconds = latencies_ns.value_at_quantile(1.0 - 1.0 / one_in);
            (one_in, nanoseconds as f64 / 1e3)
        })
        .collect()
}

struct Reader<'c> {
    client: &'c Client,
    scan: Scan,
    shape: KeyShape,
    values: Values,
    order: ScanKeys,
    random: SmallRng,
    under_way: VecDeque<(Request, KeyId, Instant)>,
    rooms: Vec<ReceiveBytes>,
    latencies_ns: Histogram<u64>,
    hit_latencies_ns: Histogram<u64>,
    penalties: Duration,
    hits: u64,
    misses: u64,
}

impl<'c> Reader<'c> {
    fn new(client: &'c Client, scan: Scan) -> Self {
        Reader {
            client,
            scan,
            shape: KeyShape::new(KEY_BYTES),
            values: Values::new(ValueSizes::fixed(scan.value_bytes)),
            order: ScanKeys::new(scan.mode, scan.keys, scan.theta),
            random: SmallRng::seed_from_u64(scan.seed),
            under_way: VecDeque::new(),
            rooms: Vec::new(),
            latencies_ns: latency_histogram(),
            hit_latencies_ns: latency_histogram(),
            penalties: Duration::ZERO,
            hits: 0,
            misses: 0,
        }
    }

    /// Stores every key; returns how long that took.
    fn store(&self) -> io::Result<Duration> {
        let start = Instant::now();
        let window = (STORED_TOGETHER_BYTES / self.scan.value_bytes.max(1)).clamp(1, 256);
        let mut under_way = VecDeque::new();
        for id in 0..self.scan.keys {
            under_way.push_back(self.begin_store(id));
            if under_way.len() >= window {
                self.end_stores(&mut under_way, window / 2)?;
            }
        }
        self.end_stores(&mut under_way, 0)?;
        Ok(start.elapsed())
    }

    fn begin_store(&self, id: KeyId) -> Request {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        self.shape.push(id, &mut key);
        self.values.push(id, &mut value);
        let store = Store::set(&key, Value::Copied(&value));
        self.client.submit(Operation::Store(store))
    }

    fn end_stores(&self, under_way: &mut VecDeque<Request>, left: usize) -> io::Result<()> {
        self.client.flush();
        while under_way.len() > left
            && let Some(request) = under_way.pop_front()
        {
            let completion = self.client.complete(request);
            completion.outcome.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Reads so many keys, as far as there is time.
    fn read(&mut self, count: u64) -> io::Result<()> {
        let end = Instant::now() + self.scan.time_max;
        for _ in 0..count {
            if self.under_way.len() >= self.scan.window {
                self.end_read()?;
            }
            if Instant::now() >= end {
                break;
            }
            self.begin_read();
        }
        while !self.under_way.is_empty() {
            self.end_read()?;
        }
        Ok(())
    }

    fn begin_read(&mut self) {
        let id = self.order.pick(&mut self.random);
        let mut key = Vec::with_capacity(KEY_BYTES);
        self.shape.push(id, &mut key);
        let into = self.rooms.pop().unwrap_or_default();
        let since = Instant::now();
        let request = self.client.submit(Operation::Get { key: &key, into });
        self.client.flush();
        self.under_way.push_back((request, id, since));
    }

    fn end_read(&mut self) -> io::Result<()> {
        let (request, id, since) = self.under_way.pop_front().expect("a read is under way");
        let completion = self.client.complete(request);
        let mut latency = since.elapsed();
        self.rooms.extend(completion.unused);
        match completion.outcome {
            Ok(Reply::Value { value, .. }) => {
                if !self.values.matches(id, &value) {
                    return Err(io::Error::other(format!("key {id} has a wrong value")));
                }
                self.rooms.push(value);
                self.hits += 1;
                self.hit_latencies_ns
                    .saturating_record(latency.as_nanos() as u64);
            }
            Err(Error::NotFound) => {
                self.misses += 1;
                latency += self.scan.miss_penalty;
                self.penalties += self.scan.miss_penalty / self.scan.window as u32;
            }
            Ok(other) => return Err(io::Error::other(format!("an unexpected answer: {other:?}"))),
            Err(error) => return Err(io::Error::other(error)),
        }
        self.latencies_ns
            .saturating_record((latency.as_nanos() as u64).max(1));
        Ok(())
    }

    fn forget(&mut self) {
        self.latencies_ns.reset();
        self.hit_latencies_ns.reset();
        (self.hits, self.misses, self.penalties) = (0, 0, Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_ones_are_told_by_how_rare_they_are() {
        let mut latencies = latency_histogram();
        for latency in 1..=1000 {
            latencies.record(latency * 1000).expect("in range");
        }
        let points = slower(&latencies);
        assert_eq!(points.len(), 13);
        assert_eq!(points[0].0, 1.0);
        let (one_in, latency_us) = points[8];
        assert!((one_in - 100.0).abs() < 0.01 && (latency_us - 990.0).abs() < 2.0);
    }
}
