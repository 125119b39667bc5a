//! What the device under a directory can do by itself, measured beside the servers: the page cache
//! is passed by.

use crate::load::measurement::{LatencyUs, latency_histogram};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::{pread, pwrite};
use serde::Serialize;
use std::io;
use std::ops::Range;
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
    let mut reader = PageReader::of(file, 0..bytes, READ_BYTES)?;
    Ok(DeviceLimit {
        write_megabytes_per_s,
        read_latency_us: reader.alone(time)?,
        reads_per_s: reader.together(time)?,
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

/// Millions of bytes a second that a new file takes: the room for it has been taken, as for a
/// server's, but nothing has been written there before. It is removed again.
///
/// # Errors
/// Those of the file system; some have no direct I/O.
pub fn write_new_file(path: &Path, bytes: u64) -> io::Result<f64> {
    // It need not be there.
    let _ = std::fs::remove_file(path);
    let written = write_into_new_file(path, bytes);
    // It may never have come to be.
    let _ = std::fs::remove_file(path);
    written
}

fn write_into_new_file(path: &Path, bytes: u64) -> io::Result<f64> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
    write_all(&file, bytes)
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

/// Random reads of what lies in a file already.
pub struct PageReader {
    file: OwnedFd,
    /// The first byte that is read, a multiple of the page.
    first: u64,
    pages: u64,
    page_bytes: usize,
    seed: u64,
}

impl PageReader {
    /// Reads pages of this size within a part of a file, past the page cache.
    ///
    /// # Errors
    /// Those of the file system, and a part without a page.
    pub fn open(path: &Path, part: Range<u64>, page_bytes: usize) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
        Self::of(
            rustix::fs::open(path, flags, Mode::empty())?,
            part,
            page_bytes,
        )
    }

    fn of(file: OwnedFd, part: Range<u64>, page_bytes: usize) -> io::Result<Self> {
        let first = part.start.next_multiple_of(page_bytes as u64);
        let pages = part.end.saturating_sub(first) / page_bytes as u64;
        if pages == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(PageReader {
            file,
            first,
            pages,
            page_bytes,
            seed: 0,
        })
    }

    fn read(&self, buffer: &mut Aligned, random: &mut SmallRng) -> io::Result<()> {
        let place = self.first + random.random_range(0..self.pages) * self.page_bytes as u64;
        pread(&self.file, buffer.bytes(), place)?;
        Ok(())
    }

    fn buffer_and_random(&self, reader: u64) -> (Aligned, SmallRng) {
        let random = SmallRng::seed_from_u64(self.seed << 8 | reader);
        (Aligned::new(self.page_bytes), random)
    }

    /// Latencies of reads one after the other.
    ///
    /// # Errors
    /// Those of reading.
    pub fn alone(&mut self, time: Duration) -> io::Result<LatencyUs> {
        self.seed += 1;
        let (mut buffer, mut random) = self.buffer_and_random(0);
        let mut latencies_ns = latency_histogram();
        let end = Instant::now() + time;
        loop {
            let start = Instant::now();
            if start >= end {
                return Ok(LatencyUs::of(&latencies_ns));
            }
            self.read(&mut buffer, &mut random)?;
            latencies_ns.saturating_record(start.elapsed().as_nanos() as u64);
        }
    }

    /// Reads a second, 32 at a time.
    ///
    /// # Errors
    /// Those of reading.
    pub fn together(&mut self, time: Duration) -> io::Result<f64> {
        self.seed += 1;
        let count = AtomicU64::new(0);
        let start = Instant::now();
        let end = start + time;
        let read = |reader| -> io::Result<()> {
            let (mut buffer, mut random) = self.buffer_and_random(reader);
            while Instant::now() < end {
                self.read(&mut buffer, &mut random)?;
                count.fetch_add(1, Relaxed);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..READERS)
                .map(|reader| {
                    scope.spawn({
                        let read = &read;
                        move || read(reader as u64)
                    })
                })
                .collect();
            readers
                .into_iter()
                .try_for_each(|reader| reader.join().expect("a reader does not panic"))
        })?;
        Ok(count.load(Relaxed) as f64 / start.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_written_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        // Some file systems for temporary files have no direct I/O.
        match write_new_file(&path, 2 << 20) {
            Ok(megabytes_per_s) => assert!(megabytes_per_s > 0.0),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidInput),
        }
        assert!(!path.exists());
    }

    #[test]
    fn memory_is_aligned() {
        let mut memory = Aligned::new(8192);
        assert_eq!(memory.bytes().len(), 8192);
        assert_eq!(memory.bytes().as_ptr() as usize % ALIGNMENT, 0);
    }
}
