//! YCSB without its JVM: the same operations on the same records, by as many clients as wanted.
//!
//! Several servers run on one core, client processes on another. A client keeps so many operations
//! under way (`depth`), has a connection of its own to each server, and begins the next ones when
//! all have ended. Every record that is read is compared, byte by byte, and must not be older than
//! a write of the same process that had ended before the read began.

pub mod clients;
pub mod distribution;
pub mod library;
pub mod mix;
pub mod outcome;
pub mod records;
pub mod report;
pub mod run;
pub mod servers;
pub mod sockets;
pub mod subject;
pub mod task;

use crate::workers::Workers;
use farcache_harness::server_process::{Launcher, Product};
use mix::Workload;
use outcome::{Outcome, Sum};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use report::{Measured, Report, Row, Turn};
use serde::Serialize;
use servers::{Servers, fill_and_flush, preload};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use subject::Subject;
use task::{Task, WORKER_ARGUMENT};

/// The order of the turns is the same in each run.
const SEED: u64 = 1;
/// How long a request may take, in seconds: longer than anything that is measured.
const TIMEOUT_S: f64 = 60.0;

/// One row of the report: what all take turns at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Which workload.
    pub workload: Workload,
    /// Clients, of all processes.
    pub clients: usize,
    /// Operations that each keeps under way.
    pub depth: usize,
}

/// How conditions are measured.
#[derive(Clone, Debug)]
pub struct Bench {
    /// How servers are started.
    pub launcher: Launcher,
    /// The program that is a client process.
    pub program: PathBuf,
    /// Core of the client processes, if they are pinned.
    pub client_cpu: Option<usize>,
    /// Who takes turns.
    pub subjects: Vec<Subject>,
    /// On how many servers a record lies, and how.
    pub redundancy: String,
    /// Servers of each kind.
    pub servers: usize,
    /// Client processes at most.
    pub processes: usize,
    /// Memory of each server, in bytes.
    pub memory_bytes: usize,
    /// Records.
    pub records: u64,
    /// Size of each.
    pub record_bytes: usize,
    /// Turns of each subject.
    pub turns: usize,
    /// Seconds of each turn that count.
    pub seconds: f64,
    /// Seconds before them.
    pub warm_up_seconds: f64,
}

impl Bench {
    /// Measures all conditions.
    ///
    /// # Errors
    /// If a server or a client process cannot be started, or breaks off.
    pub fn measure(&self, conditions: &[Condition]) -> io::Result<Report> {
        let subjects = self.subjects.iter().copied();
        let subjects: Vec<_> = subjects
            .filter(|subject| subject.access(&self.redundancy).is_some())
            .collect();
        let mut kinds: Vec<(Product, Servers)> = Vec::new();
        for subject in &subjects {
            if kinds
                .iter()
                .all(|(product, _)| *product != subject.product())
            {
                kinds.push((subject.product(), self.start(*subject)?));
            }
        }
        let mut report = Report::of(self);
        let mut writers = 0;
        for condition in conditions {
            eprintln!("{}", report::title(condition));
            let row = self.row(condition, &subjects, &kinds, &mut writers)?;
            report.rows.push(row);
        }
        Ok(report)
    }

    /// Starts the servers of a subject, and stores all records on them once all of their memory has
    /// been used.
    fn start(&self, subject: Subject) -> io::Result<Servers> {
        let product = subject.product();
        let servers = Servers::start(&self.launcher, product, self.servers, self.memory_bytes)?;
        let addresses = servers.addresses().join(",");
        let setting = library::Setting {
            servers: &addresses,
            transport: "tcp",
            redundancy: &self.redundancy,
            timeout: Duration::from_secs_f64(TIMEOUT_S),
            ejects: false,
        };
        let single = library::Setting {
            redundancy: "none",
            ..setting.clone()
        };
        let memory_bytes = self.servers * self.memory_bytes;
        fill_and_flush(&single, memory_bytes, self.record_bytes)?;
        preload(&setting, self.records, self.record_bytes)?;
        Ok(servers)
    }

    fn row(
        &self,
        condition: &Condition,
        subjects: &[Subject],
        kinds: &[(Product, Servers)],
        writers: &mut u32,
    ) -> io::Result<Row> {
        let mut measured: Vec<Measured> = subjects.iter().map(|one| Measured::new(*one)).collect();
        let mut random = SmallRng::seed_from_u64(SEED);
        for _ in 0..self.turns {
            let mut order: Vec<usize> = (0..subjects.len()).collect();
            order.shuffle(&mut random);
            for at in order {
                let is_its = |kind: &&(Product, Servers)| kind.0 == subjects[at].product();
                let servers = &kinds.iter().find(is_its).expect("all were started").1;
                let turn = self.turn(condition, subjects[at], servers, writers)?;
                measured[at].turns.push(turn);
            }
        }
        Ok(Row {
            condition: condition.clone(),
            measured,
        })
    }

    fn turn(
        &self,
        condition: &Condition,
        subject: Subject,
        servers: &Servers,
        writers: &mut u32,
    ) -> io::Result<Turn> {
        let tasks = self.tasks(condition, subject, servers, writers);
        let cpus = self.client_cpu.as_slice();
        let mut workers = Workers::start(&self.program, WORKER_ARGUMENT, &tasks, cpus)?;
        let (before, start) = (servers.used()?, Instant::now());
        workers.go()?;
        // Before the clients leave, which takes hundreds of them longer than a short turn.
        let turn = Duration::from_secs_f64(self.warm_up_seconds + self.seconds);
        std::thread::sleep(turn.saturating_sub(start.elapsed()));
        let (after, elapsed_s) = (servers.used()?, start.elapsed().as_secs_f64());
        let outcomes: Vec<Outcome> = workers.outcomes()?;
        let sum = Sum::of(&outcomes);
        let client_cpu_s: f64 = outcomes.iter().map(|one| one.cpu_s).sum();
        Ok(Turn {
            server_share: (after.cpu_s - before.cpu_s) / elapsed_s,
            client_share: client_cpu_s / elapsed_s,
            server_switches_per_s: (after.switches - before.switches) as f64 / elapsed_s,
            sum,
        })
    }

    /// The clients of a turn, spread over as many processes as there may be.
    fn tasks(
        &self,
        condition: &Condition,
        subject: Subject,
        servers: &Servers,
        writers: &mut u32,
    ) -> Vec<Task> {
        let processes = self.processes.min(condition.clients);
        let writers_now = *writers + 1;
        *writers += processes as u32;
        let access = subject.access(&self.redundancy).expect("filtered before");
        let task = |process: usize| Task {
            servers: servers.addresses(),
            access: access.clone(),
            workload: condition.workload,
            clients: share(condition.clients, processes, process),
            depth: condition.depth,
            records: self.records,
            record_bytes: self.record_bytes,
            writer: writers_now + process as u32,
            writers_now,
            warmup_s: self.warm_up_seconds,
            seconds: self.seconds,
            bucket_s: None,
            fills: false,
            timeout_s: TIMEOUT_S,
            ejects: false,
        };
        (0..processes).map(task).collect()
    }
}

/// What falls to one of several that share so evenly as it goes.
pub(crate) fn share(all: usize, parts: usize, part: usize) -> usize {
    all / parts + usize::from(part < all % parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_spread_evenly() {
        let shares: Vec<_> = (0..3).map(|part| share(8, 3, part)).collect();
        assert_eq!(shares, [3, 3, 2]);
    }
}
