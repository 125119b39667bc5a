//! One adversary against a server, and an honest client beside it: first alone, then besieged.

use super::adversaries::{Kind, Means};
use super::honest::{Honest, Testimony, VALUE_BYTES};
use farcache_harness::server_process::ServerProcess;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long an adversary may take to get into position.
const POSITION_MAX: Duration = Duration::from_secs(60);

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Siege {
    /// Memory limit of the server, in bytes.
    pub memory_bytes: u64,
    /// Connections of adversaries that hold some.
    pub clients: usize,
    /// Connects a second of the flood.
    pub connects_per_s: u32,
    /// How long the honest client works alone, and again besieged.
    pub time: Duration,
}

/// What the honest client saw.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Outcome {
    /// Alone.
    pub alone: Testimony,
    /// Beside the adversary.
    pub besieged: Testimony,
    /// How many times as long the 99th percentile of its waits was.
    pub p99_ratio: f64,
}

/// An address that is free now.
///
/// # Errors
/// The system's.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

impl Siege {
    /// Besieges a server whose metrics endpoint is at this address.
    ///
    /// # Errors
    /// If a SET or GET of the honest client is not carried out, or the adversary cannot do its
    /// part.
    ///
    /// # Panics
    /// If the adversary does.
    pub fn run(
        &self,
        kind: Kind,
        server: &ServerProcess,
        metrics: SocketAddr,
    ) -> io::Result<Outcome> {
        let mut honest = Honest::connect(&server.target())?;
        let keys = honest.store(self.memory_bytes / VALUE_BYTES as u64)?;
        let (is_ready, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let alone = honest.work(self.time, &stop)?;
        let means = Means {
            server,
            metrics,
            clients: self.clients,
            keys,
            connects_per_s: self.connects_per_s,
        };
        std::thread::scope(|scope| {
            let adversary = scope.spawn(|| {
                let result = kind.run(&means, &is_ready, &stop);
                // Whoever works beside it need not go on.
                stop.store(true, Ordering::Release);
                result
            });
            let besieged = self.work_besieged(&mut honest, &is_ready, &stop);
            stop.store(true, Ordering::Release);
            adversary.join().expect("adversaries do not panic")?;
            let besieged = besieged?;
            Ok(Outcome {
                alone,
                besieged,
                p99_ratio: besieged.latency.p99 / alone.latency.p99,
            })
        })
    }

    /// Works on while the adversary gets into position, and then for the time of the siege.
    fn work_besieged(
        &self,
        honest: &mut Honest,
        is_ready: &AtomicBool,
        stop: &AtomicBool,
    ) -> io::Result<Testimony> {
        let deadline = Instant::now() + POSITION_MAX;
        while !is_ready.load(Ordering::Acquire) && !stop.load(Ordering::Acquire) {
            if Instant::now() > deadline {
                return Err(io::Error::other("the adversary does not get into position"));
            }
            honest.store(1)?;
        }
        honest.work(self.time, stop)
    }
}
