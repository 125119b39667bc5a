//! Our coder beside ISA-L: the same shards, coded in turns in one process.

mod isal;

pub use isal::Isal;

use crate::statistics::median;
use farcache_erasure::{Coder, Kernel, Scheme};
use std::{hint::black_box, time::Instant};

/// How long a turn of one of the two takes.
const TURN_S: f64 = 0.0005;
/// Shards begin at multiples of this, as ISA-L recommends.
const ALIGNMENT: usize = 64;

/// Medians over all turns, in GB/s of value (10^9 bytes).
pub struct Speeds {
    /// Ours.
    pub farcache: f64,
    /// ISA-L's.
    pub isal: f64,
    /// The median over the turns of ours over ISA-L's in the same turn.
    pub ratio: f64,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// All parity from separate data shards.
    Encode,
    /// All parity from the value where it lies, whose shards need no alignment; ISA-L gets the shards.
    EncodeValue,
    /// The first m data shards from all others.
    Decode,
}

/// Times both coders on a value of this many bytes.
///
/// # Errors
/// Where ISA-L lacks a function.
///
/// # Panics
/// If there is no such scheme, or the two disagree.
pub fn compare(
    isal: &Isal,
    kernel: Kernel,
    (k, m): (usize, usize),
    task: Task,
    value_bytes: usize,
    turns: usize,
) -> Result<Speeds, libloading::Error> {
    let scheme = Scheme::new(k, m).expect("a scheme");
    let shard_bytes = scheme.shard_bytes(value_bytes);
    let mut coder = Coder::with_kernel(scheme, kernel);
    let value: Vec<u8> = (0..value_bytes)
        .map(|place| ((place * place) >> 7) as u8)
        .collect();
    let mut ours = Shards::new(scheme, &value);
    let mut theirs = Shards::new(scheme, &value);
    let tables = match task {
        Task::Encode | Task::EncodeValue => isal.encoder(k, m)?,
        Task::Decode => isal.decoder(k, m)?,
    };
    if task == Task::Decode {
        for shards in [&mut ours, &mut theirs] {
            let (data, mut parity) = shards.split(k);
            coder.encode(&data, &mut parity).expect("it fits");
            shards.clear(m);
        }
    }
    let speeds = {
        let split = if task == Task::Decode { m } else { k };
        let (sources, mut outputs) = theirs.read_and_written(task, split);
        let their_run = tables.bind(&sources, &mut outputs);
        let (sources, mut outputs) = ours.read_and_written(task, split);
        match task {
            Task::Encode => {
                let run = || {
                    coder
                        .encode(black_box(&sources), &mut outputs)
                        .expect("it fits")
                };
                in_turns(run, their_run, value_bytes, turns)
            }
            Task::EncodeValue => {
                let run = || {
                    coder
                        .encode_value(black_box(&value), &mut outputs)
                        .expect("it fits")
                };
                in_turns(run, their_run, value_bytes, turns)
            }
            Task::Decode => {
                let present: Vec<_> = (m..).zip(sources).collect();
                let mut wanted: Vec<_> = outputs.into_iter().enumerate().collect();
                let run = || {
                    coder
                        .reconstruct(black_box(&present), &mut wanted)
                        .expect("enough")
                };
                in_turns(run, their_run, value_bytes, turns)
            }
        }
    };
    assert_eq!(
        ours.all(shard_bytes),
        theirs.all(shard_bytes),
        "both make the same shards"
    );
    Ok(speeds)
}

/// All shards of a value, each aligned.
struct Shards {
    memory: Vec<u8>,
    first: usize,
    stride: usize,
    count: usize,
    bytes: usize,
}

impl Shards {
    fn new(scheme: Scheme, value: &[u8]) -> Self {
        let bytes = scheme.shard_bytes(value.len());
        let stride = bytes.next_multiple_of(ALIGNMENT);
        let count = scheme.shards();
        let mut memory = vec![0; count * stride + ALIGNMENT];
        let first = memory.as_ptr().align_offset(ALIGNMENT);
        for (shard, data) in scheme.cut(value).iter().enumerate() {
            memory[first + shard * stride..][..data.len()].copy_from_slice(data);
        }
        Self {
            memory,
            first,
            stride,
            count,
            bytes,
        }
    }

    /// The shards before the one of this number, and the others.
    fn split(&mut self, shard: usize) -> (Vec<&[u8]>, Vec<&mut [u8]>) {
        let memory = &mut self.memory[self.first..][..self.count * self.stride];
        let (before, after) = memory.split_at_mut(shard * self.stride);
        let bytes = self.bytes;
        (
            before
                .chunks(self.stride)
                .map(|shard| &shard[..bytes])
                .collect(),
            after
                .chunks_mut(self.stride)
                .map(|shard| &mut shard[..bytes])
                .collect(),
        )
    }

    /// Forgets the first shards.
    fn clear(&mut self, shards: usize) {
        self.memory[self.first..][..shards * self.stride].fill(0);
    }

    /// What a task reads and what it writes.
    fn read_and_written(&mut self, task: Task, split: usize) -> (Vec<&[u8]>, Vec<&mut [u8]>) {
        if task != Task::Decode {
            return self.split(split);
        }
        let bytes = self.bytes;
        let k = self.count - split;
        let memory = &mut self.memory[self.first..][..self.count * self.stride];
        let (lost, present) = memory.split_at_mut(split * self.stride);
        (
            present
                .chunks(self.stride)
                .take(k)
                .map(|shard| &shard[..bytes])
                .collect(),
            lost.chunks_mut(self.stride)
                .map(|shard| &mut shard[..bytes])
                .collect(),
        )
    }

    fn all(&self, bytes: usize) -> Vec<&[u8]> {
        let memory = &self.memory[self.first..][..self.count * self.stride];
        memory
            .chunks(self.stride)
            .map(|shard| &shard[..bytes])
            .collect()
    }
}

/// Medians of many short turns, so that what disturbs the machine disturbs both.
fn in_turns(
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
    bytes: usize,
    turns: usize,
) -> Speeds {
    let runs = runs_of_a_turn(&mut ours).max(runs_of_a_turn(&mut theirs));
    let gigabytes = (bytes * runs) as f64 / 1e9;
    let pairs: Vec<(f64, f64)> = (0..turns)
        .map(|_| {
            (
                gigabytes / seconds(&mut ours, runs),
                gigabytes / seconds(&mut theirs, runs),
            )
        })
        .collect();
    Speeds {
        farcache: median(pairs.iter().map(|pair| pair.0).collect()).unwrap_or(f64::NAN),
        isal: median(pairs.iter().map(|pair| pair.1).collect()).unwrap_or(f64::NAN),
        ratio: median(pairs.iter().map(|pair| pair.0 / pair.1).collect()).unwrap_or(f64::NAN),
    }
}

fn runs_of_a_turn(run: &mut impl FnMut()) -> usize {
    let mut runs = 1;
    while seconds(run, runs) < TURN_S {
        runs *= 2;
    }
    runs
}

fn seconds(run: &mut impl FnMut(), runs: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..runs {
        run();
    }
    start.elapsed().as_secs_f64()
}
