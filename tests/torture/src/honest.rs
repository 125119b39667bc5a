//! An honest client beside adversaries: it stores values under ever new keys, more than the memory
//! holds, and reads each back. Every SET must be carried out, and every GET must bring what was
//! just stored.

use farcache_bench::load::measurement::LatencyUs;
use farcache_harness::target::Target;
use hdrhistogram::Histogram;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Size of its values, in bytes: above what the server copies into replies, below a segment.
pub const VALUE_BYTES: usize = 4200;
/// Longest wait for an answer that is recorded as such.
const WAIT_NS_MAX: u64 = 60_000_000_000;
/// Significant digits of the times.
const DIGITS: u8 = 3;

/// A blocking connection that checks every answer.
pub struct Honest {
    stream: BufReader<File>,
    next: u64,
    got: Vec<u8>,
}

/// What it saw.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Testimony {
    /// SETs and GETs, all of them answered as they should be.
    pub requests: u64,
    /// How long their answers took.
    #[serde(serialize_with = "as_percentiles")]
    pub latency: LatencyUs,
}

fn as_percentiles<S: serde::Serializer>(
    latency: &LatencyUs,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let pairs = [
        ("p50_us", latency.p50),
        ("p99_us", latency.p99),
        ("max_us", latency.max),
    ];
    serializer.collect_map(pairs)
}

/// The key of this number.
pub fn key(number: u64) -> String {
    format!("honest-{number:010}")
}

/// The value that a key always has.
fn value(number: u64) -> Vec<u8> {
    let pattern = number.to_le_bytes();
    pattern.iter().copied().cycle().take(VALUE_BYTES).collect()
}

impl Honest {
    /// Connects.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn connect(target: &Target) -> io::Result<Honest> {
        Ok(Honest {
            stream: BufReader::new(File::from(target.connect()?)),
            next: 0,
            got: Vec::new(),
        })
    }

    /// Stores so many values; how many there are in all is returned.
    ///
    /// # Errors
    /// Those of the connection, and any other answer than that a value was stored.
    pub fn store(&mut self, count: u64) -> io::Result<u64> {
        for _ in 0..count {
            self.set(self.next)?;
            self.next += 1;
        }
        Ok(self.next)
    }

    /// Stores and reads for so long, and no longer than until it is told to stop.
    ///
    /// # Errors
    /// Those of the connection, and any answer that is not what it should be.
    pub fn work(&mut self, time: Duration, stop: &AtomicBool) -> io::Result<Testimony> {
        let mut waits = Histogram::new_with_max(WAIT_NS_MAX, DIGITS).map_err(io::Error::other)?;
        let begin = Instant::now();
        while begin.elapsed() < time && !stop.load(Ordering::Relaxed) {
            let number = self.next;
            self.next += 1;
            waits.saturating_record(timed(|| self.set(number))?);
            waits.saturating_record(timed(|| self.get(number))?);
        }
        Ok(Testimony {
            requests: waits.len(),
            latency: LatencyUs::of(&waits),
        })
    }

    fn set(&mut self, number: u64) -> io::Result<()> {
        let mut request = format!("set {} 0 0 {VALUE_BYTES}\r\n", key(number)).into_bytes();
        request.extend(value(number));
        request.extend(b"\r\n");
        self.stream.get_mut().write_all(&request)?;
        self.expect("STORED")
    }

    fn get(&mut self, number: u64) -> io::Result<()> {
        let key = key(number);
        let request = format!("get {key}\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.expect(&format!("VALUE {key} 0 {VALUE_BYTES}"))?;
        self.got.resize(VALUE_BYTES, 0);
        self.stream.read_exact(&mut self.got)?;
        if self.got != value(number) {
            return Err(io::Error::other(format!("a wrong value of {key}")));
        }
        self.expect("")?;
        self.expect("END")
    }

    fn expect(&mut self, wanted: &str) -> io::Result<()> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ if line.trim_end() == wanted => Ok(()),
            _ => Err(io::Error::other(format!(
                "{:?} instead of {wanted:?}",
                line.trim_end()
            ))),
        }
    }
}

fn timed(ask: impl FnOnce() -> io::Result<()>) -> io::Result<u64> {
    let begin = Instant::now();
    ask()?;
    Ok(begin.elapsed().as_nanos() as u64)
}
