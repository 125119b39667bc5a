//! Robustness under hostile clients: clients killed in the middle of large requests, a client that
//! never reads, floods of connections, and a full memory with `-M`. After each part the server
//! must be within its memory limit, must have answered a well-behaved client all along, and must
//! hold no more connections, descriptors or pinned values than before.

pub mod checks;
pub mod flood;
pub mod full_memory;
pub mod killed_clients;
pub mod silent_reader;
pub mod witness;

use crate::server_process::{Launcher, Product};
use checks::{Baseline, Limits};
use std::io;
use std::time::Duration;
use witness::Witness;

/// How much torture.
#[derive(Clone, Debug)]
pub struct Torture {
    /// Memory limit of the server (`-m`), in megabytes.
    pub megabytes: u32,
    /// Clients killed in the middle of large sets, and as many in the middle of large gets.
    pub kills: usize,
    /// Bytes that the client that never reads asks for.
    pub silent_reader_bytes: u64,
    /// Connections a second of the flood.
    pub connects_per_s: u32,
    /// Length of the flood.
    pub flood: Duration,
    /// What the server must stay within.
    pub limits: Limits,
}

/// One part of the torture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// kill -9 of clients in the middle of large sets and gets.
    KilledClients,
    /// A client that asks for much and never reads.
    SilentReader,
    /// Thousands of connects a second.
    Flood,
    /// Sets until the memory is full, with `-M`.
    FullMemory,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 4] = [
        Part::KilledClients,
        Part::SilentReader,
        Part::Flood,
        Part::FullMemory,
    ];
}

/// How one part went.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The part.
    pub part: Part,
    /// What was seen, for people.
    pub seen: String,
    /// What was wrong; empty if nothing.
    pub faults: Vec<String>,
}

impl Torture {
    /// Runs one part against a fresh server.
    ///
    /// # Errors
    /// If the server cannot be started or reached at all; what it does wrong is in the verdict.
    pub fn run(&self, launcher: &Launcher, product: Product, part: Part) -> io::Result<Verdict> {
        let megabytes = self.megabytes.to_string();
        let mut options = vec!["-m", &megabytes, "-c", "4000"];
        if part == Part::FullMemory {
            options.push("-M");
        }
        let mut server = launcher.start(product, &options)?;
        let target = server.target();
        let witness = Witness::prepare(&target)?;
        let baseline = Baseline::take(&server)?;
        let witness = witness.start();
        let result = match part {
            Part::KilledClients => killed_clients::run(&target, self.kills),
            Part::SilentReader => silent_reader::run(&server, self.silent_reader_bytes),
            Part::Flood => flood::run(&target, self.connects_per_s, self.flood),
            Part::FullMemory => full_memory::run(&target, self.megabytes),
        };
        let testimony = witness.stop();
        let mut faults = Vec::new();
        let mut seen = result.unwrap_or_else(|error| {
            faults.push(format!("broke off: {error}"));
            String::new()
        });
        match testimony {
            Ok(latency) => {
                seen += &format!(
                    "; witness p99 {:.0} us, max {:.0} us",
                    latency.p99, latency.max
                );
                faults.extend(self.limits.judge_latency(latency));
            }
            Err(error) => faults.push(format!("the well-behaved client failed: {error}")),
        }
        match server.is_running() {
            true => faults.extend(baseline.faults_now(&server, self.megabytes, &self.limits)?),
            false => faults.push("the server has ended".into()),
        }
        Ok(Verdict { part, seen, faults })
    }
}
