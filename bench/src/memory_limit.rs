//! What the memory allows: independent random reads of cache lines, prefetched in batches.
//!
//! The engine's lookups are judged by this rate, measured on the same machine at the same time
//! over the same number of bytes. Prefetching and asking for huge pages have no safe form.

use crate::load::measurement::CpuStopwatch;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rustix::mm::{Advice, madvise};
use serde::Serialize;
use std::hint::black_box;
use std::time::Duration;

/// Reads under way together.
const BATCH: usize = 16;
/// Batches between two looks at the clock.
const BATCHES_PER_LOOK: usize = 1024;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; 8]);

const _: () = assert!(size_of::<Line>() == 64);

/// Random reads of 64 bytes a second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReadRate {
    /// Bytes over which the reads were spread.
    pub footprint_bytes: usize,
    /// Reads a second in prefetched batches of 16.
    pub prefetched_per_s: f64,
    /// Reads a second each of which waits for the one before.
    pub dependent_per_s: f64,
}

/// Measures both rates over `footprint_bytes`, for `duration` each.
pub fn random_reads(footprint_bytes: usize, duration: Duration) -> ReadRate {
    let lines = allocate(footprint_bytes.div_ceil(size_of::<Line>()).max(1));
    ReadRate {
        footprint_bytes,
        prefetched_per_s: prefetched_reads(&lines, duration),
        dependent_per_s: dependent_reads(&lines, duration),
    }
}

/// Lines on huge pages, where the system grants them; each holds a random number.
fn allocate(count: usize) -> Vec<Line> {
    let mut random = SmallRng::seed_from_u64(1);
    let mut lines: Vec<Line> = Vec::with_capacity(count);
    /// Pages to which the advice applies.
    const PAGE_BYTES: usize = 4096;
    let room = lines.spare_capacity_mut();
    let skipped = room
        .as_ptr()
        .align_offset(PAGE_BYTES)
        .min(room.len() * size_of::<Line>());
    let first = skipped.div_ceil(size_of::<Line>()).min(room.len());
    let bytes = (room.len() - first) * size_of::<Line>() / PAGE_BYTES * PAGE_BYTES;
    if bytes > 0 {
        let start = room[first..].as_mut_ptr().cast();
        // SAFETY: the range lies within the vector's own spare capacity, and advice on huge pages
        // changes no contents. A refusal costs speed only.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
    }
    lines.resize_with(count, || Line([random.random(); 8]));
    lines
}

fn prefetched_reads(lines: &[Line], duration: Duration) -> f64 {
    let mut random = SmallRng::seed_from_u64(2);
    let (mut sum, mut reads, start) = (0u64, 0usize, CpuStopwatch::start());
    while start.elapsed() < duration {
        for _ in 0..BATCHES_PER_LOOK {
            let places: [usize; BATCH] =
                std::array::from_fn(|_| random.random_range(0..lines.len() as u64) as usize);
            places.iter().for_each(|&place| prefetch(&lines[place]));
            places
                .iter()
                .for_each(|&place| sum = sum.wrapping_add(lines[place].0[3]));
        }
        reads += BATCHES_PER_LOOK * BATCH;
    }
    black_box(sum);
    reads as f64 / start.elapsed().as_secs_f64()
}

fn dependent_reads(lines: &[Line], duration: Duration) -> f64 {
    let mut random = SmallRng::seed_from_u64(3);
    let (mut last, mut reads, start) = (0u64, 0usize, CpuStopwatch::start());
    while start.elapsed() < duration {
        for _ in 0..BATCHES_PER_LOOK {
            let mixed = u128::from(random.random::<u64>() ^ last) * lines.len() as u128;
            last = lines[(mixed >> 64) as usize].0[3];
        }
        reads += BATCHES_PER_LOOK;
    }
    black_box(last);
    reads as f64 / start.elapsed().as_secs_f64()
}

/// Asks for the line to be brought near; on machines without the instruction, does nothing.
fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect on memory, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_rates_are_measured_whatever_the_footprint() {
        for footprint_bytes in [0, 1, 64, 10_000, 8 << 20] {
            let rate = random_reads(footprint_bytes, Duration::from_millis(2));
            assert!(rate.prefetched_per_s > 0.0 && rate.dependent_per_s > 0.0);
        }
    }
}
