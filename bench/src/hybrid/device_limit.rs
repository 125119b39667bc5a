//! What the device under a directory can do by itself, measured beside the servers: the page cache is passed by.

use crate::load::measurement::{LatencyUs, latency_histogram};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rustix::fs::{Mode, OFlags};
use rustix::io::{pread, pwrite};
use serde::Serialize;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What is written at once, in bytes: a segment of the tier.
const WRITE_BYTES: usize = 1 << 20;

/// What is read at once, in bytes.
const READ_BYTES: usize = 4096;

/// Alignment that direct I/O may need.
const ALIGNMENT: usize = 4096;

/// Readers at the same time, for the rate of many reads.
const READERS: usize = 32;

/// What a device can do.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceLimit {
    /// Sequential writes of 1 MiB, in millions of bytes a second.
    pub write_megabytes_per_s: f64,
    /// Random reads of 4 KiB, one after the other.
    pub read_latency_us: LatencyUs,
    /// Random reads of 4 KiB a second, 32 at a time.
    pub reads_per_s: f64,
}

impl std::fmt::Display for DeviceLimit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "device: sequential write {:.0} MB/s, 4 KB reads p50 {:.1} us, {:.0} reads/s at 32",
            self.write_megabytes_per_s, self.read_latency_us.p50, self.reads_per_s
        )
    }
}

/// Measures with a file of `bytes` bytes in `directory`, which is removed again.
///
/// # Errors
/// Those of the file system; some have no direct I/O.
pub fn measure(directory: &Path, bytes: u64, time: Duration) -> io::Result<DeviceLimit> {
    let path = directory.join("device-limit");
    let measured = measure_file(&path, bytes.max(WRITE_BYTES as u64), time);
    // The file may never have come to be.
    let _ = std::fs::remove_file(&path);
    measured
}

fn measure_file(path: &Path, bytes: u64, time: Duration) -> io::Result<DeviceLimit> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    let write_megabytes_per_s = write_all(&file, bytes)?;
    let read_latency_us = read_alone(&file, bytes, time)?;
    Ok(DeviceLimit {
        write_megabytes_per_s,
        read_latency_us,
        reads_per_s: read_together(&file, bytes, time)?,
    })
}

/// Memory whose first byte is aligned.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Aligned {
    fn new(bytes: usize) -> Self {
        let memory = vec![0x5a; bytes + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Aligned {
            memory,
            start,
            bytes,
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.bytes]
    }
}

fn write_all(file: &OwnedFd, bytes: u64) -> io::Result<f64> {
    let mut buffer = Aligned::new(WRITE_BYTES);
    let start = Instant::now();
    let mut offset = 0;
    while offset < bytes {
        offset += pwrite(file, buffer.bytes(), offset)? as u64;
    }
    rustix::fs::fdatasync(file)?;
    Ok(offset as f64 / 1e6 / start.elapsed().as_secs_f64())
}

fn random_place(random: &mut SmallRng, bytes: u64) -> u64 {
    random.random_range(0..bytes / READ_BYTES as u64) * READ_BYTES as u64
}

fn read_alone(file: &OwnedFd, bytes: u64, time: Duration) -> io::Result<LatencyUs> {
    let (mut buffer, mut random) = (Aligned::new(READ_BYTES), SmallRng::seed_from_u64(1));
    let mut latencies_ns = latency_histogram();
    let end = Instant::now() + time;
    loop {
        let start = Instant::now();
        if start >= end {
            return Ok(LatencyUs::of(&latencies_ns));
        }
        pread(file, buffer.bytes(), random_place(&mut random, bytes))?;
        latencies_ns.saturating_record(start.elapsed().as_nanos() as u64);
    }
}

fn read_together(file: &OwnedFd, bytes: u64, time: Duration) -> io::Result<f64> {
    let count = AtomicU64::new(0);
    let start = Instant::now();
    let end = start + time;
    let read = |seed| -> io::Result<()> {
        let (mut buffer, mut random) = (Aligned::new(READ_BYTES), SmallRng::seed_from_u64(seed));
        while Instant::now() < end {
            pread(file, buffer.bytes(), random_place(&mut random, bytes))?;
            count.fetch_add(1, Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|seed| scope.spawn(move || read(seed as u64)))
            .collect();
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().expect("a reader does not panic"))
    })?;
    Ok(count.load(Relaxed) as f64 / start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned() {
        let mut memory = Aligned::new(8192);
        assert_eq!(memory.bytes().len(), 8192);
        assert_eq!(memory.bytes().as_ptr() as usize % ALIGNMENT, 0);
    }
}
