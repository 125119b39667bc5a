//! Robustness under hostile clients: clients killed in the middle of large requests, a client that
//! never reads, floods of connections, and a full memory with `-M`; and adversaries that use up
//! what the server has, beside an honest client all of whose SETs and GETs must succeed. After each
//! part the server must be within its memory limit, must have answered a well-behaved client all
//! along, and must hold no more connections, descriptors or pinned values than before.
#![forbid(unsafe_code)]

pub mod adversaries;
pub mod checks;
pub mod flood;
pub mod full_memory;
pub mod honest;
pub mod killed_clients;
pub mod siege;
pub mod silent_reader;
pub mod witness;

use adversaries::Kind;
use checks::{Baseline, Limits};
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use siege::{Outcome, Siege};
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
    /// Connections of the adversaries that hold some.
    pub adversaries: usize,
    /// How long the honest client works alone, and beside each adversary.
    pub siege: Duration,
    /// What the server must stay within.
    pub limits: Limits,
}

/// Connections that the server admits.
const CONNECTIONS_MAX: &str = "4000";

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
    /// An honest client beside many that ask for much and read nothing.
    StalledReaders,
    /// Beside clients that announce values and send half of each.
    HalfSent,
    /// Beside clients that send and read a byte at a time.
    Trickle,
    /// Beside as many connections as the server admits, and more.
    Idlers,
    /// Beside idle and hostile clients of the metrics endpoint.
    Scrapers,
    /// Beside clients on the fabric that stop and are killed with large values under way.
    FabricLeavers,
    /// Beside thousands of connects a second.
    Connects,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 11] = [
        Part::KilledClients,
        Part::SilentReader,
        Part::Flood,
        Part::FullMemory,
        Part::StalledReaders,
        Part::HalfSent,
        Part::Trickle,
        Part::Idlers,
        Part::Scrapers,
        Part::FabricLeavers,
        Part::Connects,
    ];

    /// The adversary, where the part is a siege.
    fn adversary(self) -> Option<Kind> {
        match self {
            Part::KilledClients | Part::SilentReader | Part::Flood | Part::FullMemory => None,
            Part::StalledReaders => Some(Kind::StalledReaders),
            Part::HalfSent => Some(Kind::HalfSent),
            Part::Trickle => Some(Kind::Trickle),
            Part::Idlers => Some(Kind::Idlers),
            Part::Scrapers => Some(Kind::Scrapers),
            Part::FabricLeavers => Some(Kind::FabricLeavers),
            Part::Connects => Some(Kind::Connects),
        }
    }
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
    /// What an honest client saw, where the part is a siege and it saw it to the end.
    pub outcome: Option<Outcome>,
}

impl Torture {
    /// Runs one part against a fresh server.
    ///
    /// # Errors
    /// If the server cannot be started or reached at all; what it does wrong is in the verdict.
    pub fn run(&self, launcher: &Launcher, product: Product, part: Part) -> io::Result<Verdict> {
        match part.adversary() {
            Some(kind) => self.besiege(launcher, product, part, kind),
            None => self.torture(launcher, product, part),
        }
    }

    fn besiege(
        &self,
        launcher: &Launcher,
        product: Product,
        part: Part,
        kind: Kind,
    ) -> io::Result<Verdict> {
        let megabytes = self.megabytes.to_string();
        let metrics = siege::free_address()?;
        let metrics_option = metrics.to_string();
        let mut options = vec!["-m", &megabytes, "-I", "2m"];
        // The limit itself is what is used up there: the honest client has two connections, one of
        // them for `stats`.
        let admitted = (self.adversaries + 2).to_string();
        options.extend([
            "-c",
            if part == Part::Idlers {
                &admitted
            } else {
                CONNECTIONS_MAX
            },
        ]);
        if product == Product::Farcached {
            options.extend(["--metrics", &metrics_option]);
        }
        let mut launcher = launcher.clone();
        if part == Part::FabricLeavers {
            options.push("--fabric=require");
            // Memory is shared between processes of one user only.
            launcher.user = "root".into();
        }
        let mut server = launcher.start(product, &options)?;
        kind.warm_up(&server)?;
        let baseline = Baseline::take(&server)?;
        let siege = Siege {
            memory_bytes: u64::from(self.megabytes) << 20,
            clients: self.adversaries,
            connects_per_s: self.connects_per_s,
            time: self.siege,
        };
        let (mut faults, mut seen) = (Vec::new(), String::new());
        let outcome = siege.run(kind, &server, metrics);
        match &outcome {
            Ok(Outcome {
                alone,
                besieged,
                p99_ratio,
            }) => {
                seen = format!(
                    "{} requests, p50 {:.0} us, p99 {:.0} us; alone {}, {:.0} us, {:.0} us; p99 {p99_ratio:.2} times",
                    besieged.requests,
                    besieged.latency.p50,
                    besieged.latency.p99,
                    alone.requests,
                    alone.latency.p50,
                    alone.latency.p99,
                );
            }
            Err(error) => faults.push(format!("not all SETs and GETs were carried out: {error}")),
        }
        faults.extend(self.faults_left(&mut server, &baseline)?);
        Ok(Verdict {
            part,
            seen,
            faults,
            outcome: outcome.ok(),
        })
    }

    fn torture(&self, launcher: &Launcher, product: Product, part: Part) -> io::Result<Verdict> {
        let megabytes = self.megabytes.to_string();
        let mut options = vec!["-m", &megabytes, "-c", CONNECTIONS_MAX];
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
            _ => full_memory::run(&target, self.megabytes),
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
        faults.extend(self.faults_left(&mut server, &baseline)?);
        Ok(Verdict {
            part,
            seen,
            faults,
            outcome: None,
        })
    }

    /// What is wrong with the server when a part is over.
    fn faults_left(
        &self,
        server: &mut ServerProcess,
        baseline: &Baseline,
    ) -> io::Result<Vec<String>> {
        match server.is_running() {
            true => baseline.faults_now(server, self.megabytes, &self.limits),
            false => Ok(vec!["the server has ended".into()]),
        }
    }
}
