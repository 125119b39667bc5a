//! How long a store with an SSD takes to open again, by what lies on the device.

use crate::host_memory;
use crate::load::measurement::process_cpu_time;
use crate::statistics::median;
use farcache_store::{FileDevice, SetOptions, Store, StoreConfig, TierConfig};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time that writing everything out may take.
const WRITE_OUT_MAX: Duration = Duration::from_secs(120);
/// Device bytes for each byte of values: what keys, tables and free slots take.
const DEVICE_SHARE: f64 = 1.25;
/// Device bytes beside that.
const DEVICE_BYTES: u64 = 256 << 20;
/// Memory taken from the host for each item, ahead of the measurement, in bytes: index and tables.
const HOST_BYTES_PER_ITEM: u64 = 64;
/// What times are extrapolated to, in bytes of the device.
const EXTRAPOLATED_BYTES: f64 = 100e9;

/// What is stored before the store is opened again.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Bytes of values in all.
    pub data_bytes: u64,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// So many percent of the items are stored twice, so that the device tells of copies that died.
    pub overwritten_percent: u64,
    /// Memory limit of the store, in bytes.
    pub memory_bytes: u64,
    /// End as by a kill, with only what was durable, instead of an orderly stop.
    pub is_killed: bool,
}

/// How long it took.
#[derive(Clone, Debug, Serialize)]
pub struct ReopenFigures {
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Items found.
    pub items: u64,
    /// Segments found.
    pub segments: u64,
    /// Bytes of the device in these segments.
    pub indexed_bytes: u64,
    /// Wall time of each opening, in seconds.
    pub seconds: Vec<f64>,
    /// Processor time of each opening, in seconds.
    pub cpu_seconds: Vec<f64>,
}

impl ReopenFigures {
    /// The median opening, in seconds.
    pub fn median_s(&self) -> f64 {
        median(self.seconds.clone()).unwrap_or(f64::NAN)
    }

    /// The median opening's processor time, in seconds.
    pub fn median_cpu_s(&self) -> f64 {
        median(self.cpu_seconds.clone()).unwrap_or(f64::NAN)
    }

    /// What the median comes to for 100 GB of the device, in seconds, if everything grows with the
    /// data.
    pub fn per_100_gb_s(&self) -> f64 {
        self.median_s() * EXTRAPOLATED_BYTES / self.indexed_bytes as f64
    }
}

/// Seconds that 100 GB more take, from a smaller and a larger measurement.
pub fn slope_per_100_gb_s(smaller: &ReopenFigures, larger: &ReopenFigures) -> f64 {
    let bytes = larger.indexed_bytes as f64 - smaller.indexed_bytes as f64;
    (larger.median_s() - smaller.median_s()) * EXTRAPOLATED_BYTES / bytes
}

/// A device in a file that ends with the measurement.
struct Scratch {
    path: PathBuf,
    bytes: u64,
    memory_bytes: u64,
}

impl Scratch {
    fn open_store(&self) -> io::Result<Arc<Store>> {
        let device = FileDevice::open(&self.path, Some(self.bytes))?;
        let config = StoreConfig {
            memory_bytes: self.memory_bytes,
            handles_max: 1,
            ..StoreConfig::default()
        };
        Store::open(config, TierConfig::new(vec![Arc::new(device)]))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nobody is there to be told that a scratch file stays.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key-000000000000";
    let digits = format!("{number:012}");
    key[4..].copy_from_slice(&digits.as_bytes()[..12]);
    key
}

fn fill(store: &Arc<Store>, contents: &Contents) -> io::Result<()> {
    let mut handle = store.handle();
    let items = contents.data_bytes / contents.value_bytes as u64;
    let value = vec![b'v'; contents.value_bytes];
    let again = (0..items).filter(|number| number % 100 < contents.overwritten_percent);
    for number in (0..items).chain(again) {
        let stored = handle.set(&key(number), &value, &SetOptions::default());
        stored.map_err(|error| io::Error::other(format!("{error:?}")))?;
        handle.quiescent();
    }
    Ok(())
}

/// Fills a device in a new file in `folder` and opens it again `rounds` times.
///
/// # Errors
/// The file's, and where the store refuses an item or does not end in time.
///
/// # Panics
/// With no rounds.
pub fn measure(folder: &Path, contents: &Contents, rounds: usize) -> io::Result<ReopenFigures> {
    assert!(rounds > 0, "at least one round");
    let share = DEVICE_SHARE * (1.0 + contents.overwritten_percent as f64 / 100.0);
    let scratch = Scratch {
        path: folder.join(format!("reopen-{}.tier", std::process::id())),
        bytes: (contents.data_bytes as f64 * share) as u64 + DEVICE_BYTES,
        memory_bytes: contents.memory_bytes,
    };
    let store = scratch.open_store()?;
    fill(&store, contents)?;
    let is_durable = match contents.is_killed {
        true => store.sync_tier(WRITE_OUT_MAX),
        false => store.shutdown(WRITE_OUT_MAX),
    };
    drop(store);
    if !is_durable {
        return Err(io::Error::other("writing everything out took too long"));
    }
    reopen(&scratch, contents, rounds)
}

fn reopen(scratch: &Scratch, contents: &Contents, rounds: usize) -> io::Result<ReopenFigures> {
    let items = contents.data_bytes / contents.value_bytes as u64;
    let host_bytes = items * HOST_BYTES_PER_ITEM + contents.memory_bytes;
    let (mut seconds, mut cpu_seconds) = (Vec::new(), Vec::new());
    loop {
        host_memory::take_and_give_back(host_bytes as usize);
        let (started, cpu) = (Instant::now(), process_cpu_time());
        let store = scratch.open_store()?;
        seconds.push(started.elapsed().as_secs_f64());
        cpu_seconds.push((process_cpu_time() - cpu).as_secs_f64());
        if seconds.len() < rounds {
            continue;
        }
        let tier = store.tier_stats().unwrap_or_default();
        return Ok(ReopenFigures {
            value_bytes: contents.value_bytes,
            items: tier.items_recovered,
            segments: tier.segments_recovered,
            indexed_bytes: tier.segments_recovered * tier.segment_bytes,
            seconds,
            cpu_seconds,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_found_and_the_file_goes() {
        let folder = tempfile::tempdir().unwrap();
        for is_killed in [false, true] {
            let contents = Contents {
                data_bytes: 24 << 20,
                value_bytes: 4096,
                overwritten_percent: 10,
                memory_bytes: 16 << 20,
                is_killed,
            };
            let figures = measure(folder.path(), &contents, 1).unwrap();
            let all = 6144;
            let is_right = match is_killed {
                true => figures.items > 0 && figures.items < all,
                false => figures.items == all,
            };
            assert!(is_right, "{figures:?}");
            assert!(figures.indexed_bytes >= 8 << 20 && figures.median_s() > 0.0);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn times_grow_with_the_data() {
        let figures = |gigabytes: u64, seconds: f64| ReopenFigures {
            value_bytes: 4096,
            items: 1,
            segments: 1,
            indexed_bytes: gigabytes * 1_000_000_000,
            seconds: vec![seconds, 9.0, 0.0],
            cpu_seconds: vec![0.0],
        };
        assert_eq!(figures(2, 0.25).per_100_gb_s(), 12.5);
        let slope = slope_per_100_gb_s(&figures(2, 0.25), &figures(4, 0.375));
        assert_eq!(slope, 6.25);
    }
}
