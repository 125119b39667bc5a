//! A server that is killed under load and comes back: what clients see meanwhile.
//!
//! Clients use the servers as caches in front of a database: what a read does not find, because it
//! is absent or because the request fails, a database would be asked for, and it is stored again.
//! The server is killed without warning (SIGKILL) and comes back empty, on the same port.

pub mod report;

use crate::workers::Workers;
use crate::ycsb::library::Setting;
use crate::ycsb::mix::Workload;
use crate::ycsb::outcome::{Outcome, Sum};
use crate::ycsb::servers::{Servers, preload};
use crate::ycsb::task::{Access, Task, WORKER_ARGUMENT};
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use report::{Course, Report};
use serde::Serialize;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Which of the servers is killed.
const KILLED: usize = 0;

/// Who is watched: servers, how many, and on how many of them a record lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// Which servers.
    pub product: Product,
    /// How many.
    pub servers: usize,
    /// On how many a record lies, and how.
    pub redundancy: String,
}

impl Subject {
    /// What it is called.
    pub fn name(&self) -> String {
        match self.product {
            Product::Memcached => "memcached".into(),
            Product::Farcached => self.redundancy.clone(),
        }
    }

    /// Whether the keys of a server that fails go to the others. With records on several servers
    /// they need not.
    fn ejects(&self) -> bool {
        self.redundancy == "none"
    }
}

/// How they are watched.
#[derive(Clone, Debug)]
pub struct Bench {
    /// How servers are started.
    pub launcher: Launcher,
    /// The program that is a client process.
    pub program: PathBuf,
    /// Core of the client processes, if they are pinned.
    pub client_cpu: Option<usize>,
    /// What carries the requests to farcached, by its name.
    pub transport: String,
    /// Which workload.
    pub workload: Workload,
    /// Clients, of all processes.
    pub clients: usize,
    /// Client processes.
    pub processes: usize,
    /// Operations that each client keeps under way.
    pub depth: usize,
    /// Memory of each server, in bytes.
    pub memory_bytes: usize,
    /// Records.
    pub records: u64,
    /// Size of each.
    pub record_bytes: usize,
    /// When the server is killed, in seconds.
    pub kill_at: f64,
    /// When it comes back.
    pub return_at: f64,
    /// When the clients end.
    pub seconds: f64,
    /// Length of the parts in which is counted, in seconds.
    pub part_s: f64,
    /// How long a request may take, in seconds.
    pub timeout_s: f64,
}

impl Bench {
    /// Watches all of them, one after the other.
    ///
    /// # Errors
    /// If a server or a client process cannot be started, or a client breaks off.
    pub fn measure(&self, subjects: &[Subject]) -> io::Result<Report> {
        let mut report = Report::of(self);
        for subject in subjects {
            eprintln!("{} servers, {}", subject.servers, subject.name());
            report.courses.push(self.watch(subject)?);
        }
        Ok(report)
    }

    fn watch(&self, subject: &Subject) -> io::Result<Course> {
        let (launcher, count) = (&self.launcher, subject.servers);
        let mut servers = Servers::start(launcher, subject.product, count, self.memory_bytes)?;
        let tasks = self.tasks(subject, &servers);
        self.preload(&tasks[0])?;
        let cpus = self.client_cpu.as_slice();
        let mut workers = Workers::start(&self.program, WORKER_ARGUMENT, &tasks, cpus)?;
        let start = Instant::now();
        workers.go()?;
        // In the middle of a part: processes do not begin at quite the same time.
        wait_until(start, self.kill_at + self.part_s / 2.0);
        let killed: ServerProcess = servers.processes.remove(KILLED);
        let port = killed.address().port();
        let killed_s = start.elapsed().as_secs_f64();
        // Ends it by SIGKILL, and waits until its memory has been given back, which takes a while.
        drop(killed);
        wait_until(start, self.return_at + self.part_s / 2.0);
        let memory = (self.memory_bytes >> 20).to_string();
        let options = ["-m", &memory];
        let returned = launcher.start_on(port, subject.product, &options, &[])?;
        let returned_s = start.elapsed().as_secs_f64();
        let outcomes: Vec<Outcome> = workers.outcomes()?;
        drop(returned);
        Ok(Course {
            subject: subject.clone(),
            killed_s,
            returned_s,
            part_s: self.part_s,
            sum: Sum::of(&outcomes),
        })
    }

    fn tasks(&self, subject: &Subject, servers: &Servers) -> Vec<Task> {
        let transport = match subject.product {
            Product::Memcached => "tcp",
            Product::Farcached => &self.transport,
        };
        let processes = self.processes.min(self.clients);
        let task = |process: usize| Task {
            servers: servers.addresses(),
            access: Access::Library {
                transport: transport.into(),
                redundancy: subject.redundancy.clone(),
            },
            workload: self.workload,
            clients: crate::ycsb::share(self.clients, processes, process),
            depth: self.depth,
            records: self.records,
            record_bytes: self.record_bytes,
            writer: process as u32 + 1,
            writers_now: 1,
            warmup_s: 0.0,
            seconds: self.seconds,
            bucket_s: Some(self.part_s),
            fills: true,
            timeout_s: self.timeout_s,
            ejects: subject.ejects(),
        };
        (0..processes).map(task).collect()
    }

    fn preload(&self, task: &Task) -> io::Result<()> {
        let Access::Library { redundancy, .. } = &task.access else {
            return Ok(());
        };
        let servers = task.servers.join(",");
        let setting = Setting {
            servers: &servers,
            transport: "tcp",
            redundancy,
            timeout: Duration::from_secs_f64(task.timeout_s),
            ejects: task.ejects,
        };
        preload(&setting, self.records, self.record_bytes)
    }
}

/// Waits for a point of the schedule.
fn wait_until(start: Instant, seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds).saturating_sub(start.elapsed()));
}
