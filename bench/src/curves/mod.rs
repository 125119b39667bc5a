//! Hit ratios by memory: a trace replayed on simulated policies, on the store and on servers, at
//! several sizes of memory.

mod engine;
pub mod report;
mod servers;

pub use engine::replay_on_store;
pub use servers::replay_on_server;

use crate::policies::{Access, NEVER, PolicyName, SegmentRules};
use crate::traces::{Request, Trace};
use farcache_store::FileDevice;
use std::io;
use std::path::PathBuf;

/// Size of the keys, in bytes.
pub const KEY_BYTES: usize = 16;
/// Least memory: eight of the store's smallest segments.
pub const MEMORY_BYTES_MIN: u64 = 512 << 10;

/// An SSD for the store.
#[derive(Clone, Debug)]
pub struct Ssd {
    /// Where its file is made, which is gone with the store.
    pub folder: PathBuf,
    /// Its size, in multiples of the memory.
    pub times: f64,
}

impl Ssd {
    /// Least size: room for what a small store needs to clean.
    const BYTES_MIN: u64 = 4 << 20;

    fn make(&self, memory_bytes: u64) -> io::Result<FileDevice> {
        let bytes = ((memory_bytes as f64 * self.times) as u64).max(Ssd::BYTES_MIN);
        let file = tempfile::NamedTempFile::new_in(&self.folder)?;
        FileDevice::open(file.path(), Some(bytes))
    }
}

/// What a replay did to an SSD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SsdFigures {
    /// Its size.
    pub bytes: u64,
    /// Bytes written to it.
    pub bytes_written: u64,
    /// Values read from it.
    pub reads: u64,
}

/// What a replay counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Figures {
    /// Requests.
    pub requests: u64,
    /// Requests that found their value.
    pub hits: u64,
    /// Bytes of the values asked for.
    pub bytes: u64,
    /// Bytes of the values found.
    pub hit_bytes: u64,
    /// Values that were refused when they were to be stored.
    pub refused: u64,
    /// Of the SSD, where the replay had one.
    pub ssd: Option<SsdFigures>,
}

impl Figures {
    /// Counts a request.
    pub fn count(&mut self, request: &Request, is_hit: bool) {
        let bytes = u64::from(request.value_bytes);
        self.requests += 1;
        self.bytes += bytes;
        self.hits += u64::from(is_hit);
        self.hit_bytes += if is_hit { bytes } else { 0 };
    }

    /// Hits over requests.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.requests.max(1) as f64
    }

    /// Bytes of hits over bytes of requests.
    pub fn byte_hit_ratio(&self) -> f64 {
        self.hit_bytes as f64 / self.bytes.max(1) as f64
    }

    /// Bytes written to the SSD for each hit, in memory or on the SSD.
    pub fn bytes_written_per_hit(&self) -> Option<f64> {
        let ssd = self.ssd.as_ref()?;
        Some(ssd.bytes_written as f64 / self.hits.max(1) as f64)
    }
}

/// What keeping a value of so many bytes costs, with its key and nothing else.
fn cost_bytes(value_bytes: u32) -> u64 {
    KEY_BYTES as u64 + u64::from(value_bytes)
}

/// Bytes of all keys and values of a trace.
pub fn footprint_bytes(trace: &Trace) -> u64 {
    trace.value_bytes + u64::from(trace.objects) * KEY_BYTES as u64
}

/// `count` sizes of memory from `first` to `last`, parts of the footprint, in equal ratios; none
/// smaller than [`MEMORY_BYTES_MIN`], none twice.
pub fn memory_sizes(footprint_bytes: u64, first: f64, last: f64, count: u32) -> Vec<u64> {
    let step = (last / first).powf(1.0 / f64::from(count.max(2) - 1));
    let part = |number: u32| first * step.powi(number as i32);
    let bytes = |number| (footprint_bytes as f64 * part(number)) as u64;
    let mut sizes: Vec<u64> = (0..count)
        .map(|number| bytes(number).max(MEMORY_BYTES_MIN))
        .collect();
    sizes.dedup();
    sizes
}

/// The number of the next request for the same object, for each request.
pub fn next_uses(trace: &Trace) -> Vec<u64> {
    let mut next = vec![NEVER; trace.objects as usize];
    let mut uses = vec![NEVER; trace.requests.len()];
    for (number, request) in trace.requests.iter().enumerate().rev() {
        uses[number] = std::mem::replace(&mut next[request.object as usize], number as u64);
    }
    uses
}

/// Replays a trace on a simulated policy.
pub fn simulate(
    policy: PolicyName,
    rules: SegmentRules,
    trace: &Trace,
    next_uses: &[u64],
    memory_bytes: u64,
) -> Figures {
    let mut cache = policy.cache(memory_bytes, trace.objects, rules);
    let mut figures = Figures::default();
    for (request, &next) in trace.requests.iter().zip(next_uses) {
        let is_hit = cache.access(Access {
            object: request.object,
            bytes: cost_bytes(request.value_bytes),
            next,
        });
        figures.count(request, is_hit);
    }
    figures
}

#[cfg(test)]
mod tests;
