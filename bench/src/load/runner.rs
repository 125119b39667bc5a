//! A whole run as asked for: preload, threads, one result.

use super::closed_loop::ClosedLoop;
use super::connection::Connection;
use super::fleet::Fleet;
use super::keys::{KeyId, KeyPicker, KeyShape};
use super::measurement::{Recorder, Summary};
use super::open_loop::{self, OpenLoop, Schedule};
use super::protocol::{Protocol, Renderer};
use super::run_limits::RunLimits;
use super::scanner::Scanner;
use super::values::{ValueSizes, Values};
use super::workload::{Mix, Workload};
use super::{blocking, closed_loop};
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::target::Target;
use std::io;
use std::sync::Barrier;

/// Bytes of values that a preload has under way.
const PRELOAD_BATCH_BYTES: usize = 256 << 10;

/// How requests are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// One connection, blocking socket.
    Blocking,
    /// Each connection waits for its batch.
    Closed,
    /// Requests are due at this rate, over all threads.
    Open {
        /// Requests a second.
        rate_per_s: f64,
        /// Random gaps instead of even ones.
        poisson: bool,
    },
}

/// Everything about a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// The protocol spoken.
    pub protocol: Protocol,
    /// How requests are paced.
    pub pace: Pace,
    /// Connections over all threads.
    pub connections: usize,
    /// Requests of a batch.
    pub depth: usize,
    /// Generator threads.
    pub threads: usize,
    /// Cores for the threads, in turn; none: wherever the system puts them.
    pub cpus: Vec<usize>,
    /// Spin while waiting instead of sleeping.
    pub spin: bool,
    /// Number of keys.
    pub keys: KeyId,
    /// Size of each key, in bytes.
    pub key_bytes: usize,
    /// Exponent of the keys' popularity; none: uniform.
    pub zipf: Option<f64>,
    /// Sizes of the values.
    pub values: ValueSizes,
    /// Mix of operations.
    pub mix: Mix,
    /// Compare every value read with what was stored.
    pub verify: bool,
    /// Length of the run.
    pub limits: RunLimits,
    /// Start of the random numbers.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            target: Target::Tcp(([127, 0, 0, 1], 11211).into()),
            protocol: Protocol::Text,
            pace: Pace::Closed,
            connections: 1,
            depth: 1,
            threads: 1,
            cpus: Vec::new(),
            spin: true,
            keys: 1_000_000,
            key_bytes: 16,
            zipf: None,
            values: ValueSizes::fixed(64),
            mix: Mix {
                set_ratio: 0.0,
                multi_get_keys: 1,
            },
            verify: false,
            limits: RunLimits {
                warmup_ns: 200_000_000,
                measure_ns: 1_000_000_000,
                requests_max: u64::MAX,
            },
            seed: 1,
        }
    }
}

impl Plan {
    /// Stores the value of every key once.
    ///
    /// # Errors
    /// Those of the connections; an answer that is no "stored" counts as an error in the summary.
    pub fn preload(&self) -> io::Result<Summary> {
        self.store(0, self.keys)
    }

    /// Stores the values of `count` keys from `first` on, one connection, deeply pipelined.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn store(&self, first: KeyId, count: KeyId) -> io::Result<Summary> {
        let mut storing = self.storing(first, count)?;
        while storing.turn()? {}
        Ok(storing.finish().1)
    }

    /// The loop of [`Plan::store`], started.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn storing(&self, first: KeyId, count: KeyId) -> io::Result<ClosedLoop> {
        let depth = (PRELOAD_BATCH_BYTES / self.values.bytes_max.max(1)).clamp(1, 128);
        let picker = KeyPicker::Sequential {
            keys: first + count,
            next: first,
        };
        let mix = Mix {
            set_ratio: 1.0,
            multi_get_keys: 1,
        };
        let workload = Workload::new(self.renderer(), picker, mix, self.seed);
        let limits = RunLimits::requests(u64::from(count));
        ClosedLoop::start(self.fleet(1)?, workload, depth, limits)
    }

    /// The open loop of this plan's operations on one connection, started.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn probing(&self, schedule: Schedule) -> io::Result<OpenLoop> {
        let workload = Workload::new(self.renderer(), self.picker(), self.mix, self.seed);
        Ok(OpenLoop::start(
            self.fleet(1)?,
            workload,
            schedule,
            self.limits,
        ))
    }

    /// Runs on all threads and sums up.
    ///
    /// # Errors
    /// Those of the connections, wrong replies, and a core that does not exist.
    pub fn run(&self) -> io::Result<Summary> {
        let barrier = Barrier::new(self.threads);
        let results: Vec<io::Result<(Recorder, Summary)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|index| {
                    scope.spawn({
                        let barrier = &barrier;
                        move || self.run_thread(index, barrier)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a thread panicked"))
                .collect()
        });
        combine(results.into_iter().collect::<io::Result<_>>()?)
    }

    fn run_thread(&self, index: usize, barrier: &Barrier) -> io::Result<(Recorder, Summary)> {
        let prepared = self.prepare_thread(index);
        // Every thread passes here, or those that could connect would wait for ever.
        barrier.wait();
        let (driver, mut workload) = prepared?;
        match (driver, self.pace) {
            (Driver::Blocking(mut connection), _) => {
                blocking::run(&mut connection, &mut workload, self.depth, self.limits)
            }
            (
                Driver::Fleet(fleet),
                Pace::Open {
                    rate_per_s,
                    poisson,
                },
            ) => {
                let rate = rate_per_s / self.threads as f64;
                let schedule = match poisson {
                    true => Schedule::poisson(rate, self.seed + index as u64),
                    false => Schedule::even(rate),
                };
                open_loop::run(*fleet, workload, schedule, self.limits)
            }
            (Driver::Fleet(fleet), _) => {
                closed_loop::run(*fleet, workload, self.depth, self.limits)
            }
        }
    }

    fn prepare_thread(&self, index: usize) -> io::Result<(Driver, Workload)> {
        if !self.cpus.is_empty() {
            pin_to_cpu(self.cpus[index % self.cpus.len()])?;
        }
        let seed = self.seed.wrapping_add(index as u64 * 0x9E37_79B9);
        let workload = Workload::new(self.renderer(), self.picker(), self.mix, seed);
        let driver = match self.pace {
            Pace::Blocking => Driver::Blocking(Box::new(Connection::new(
                self.target.connect()?,
                self.scanner(),
            ))),
            _ => {
                let connections = self.connections.div_ceil(self.threads);
                Driver::Fleet(Box::new(self.fleet(connections)?.give_way()))
            }
        };
        Ok((driver, workload))
    }

    /// So many connections to the server.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn fleet(&self, connections: usize) -> io::Result<Fleet> {
        Fleet::connect(&self.target, connections, self.spin, || self.scanner())
    }

    /// A reader of this plan's replies.
    pub fn scanner(&self) -> Scanner {
        let values = self.verify.then(|| Values::new(self.values));
        Scanner::new(self.protocol, self.key_bytes, values)
    }

    /// A writer of this plan's requests.
    pub fn renderer(&self) -> Renderer {
        Renderer {
            protocol: self.protocol,
            keys: KeyShape::new(self.key_bytes),
            values: Values::new(self.values),
        }
    }

    /// The choice of keys.
    pub fn picker(&self) -> KeyPicker {
        match self.zipf {
            Some(theta) => KeyPicker::zipf(self.keys, theta),
            None => KeyPicker::Uniform { keys: self.keys },
        }
    }
}

/// What a thread drives.
enum Driver {
    Blocking(Box<Connection>),
    Fleet(Box<Fleet>),
}

/// One summary of several threads that ran side by side.
fn combine(results: Vec<(Recorder, Summary)>) -> io::Result<Summary> {
    let threads = results.len() as f64;
    let mut sum = Recorder::default();
    let (mut seconds, mut busy, mut first_error) = (0.0, 0.0, None);
    for (recorder, summary) in results {
        sum.merge(&recorder);
        seconds += summary.seconds / threads;
        busy += summary.client_busy / threads;
        first_error = first_error.or(summary.first_error);
    }
    let mut summary = Summary::new(&sum, seconds, busy);
    summary.first_error = first_error;
    Ok(summary)
}
