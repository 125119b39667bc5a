//! The program with the clients, and what it says.

use super::Condition;
use super::subject::Subject;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The status by which the clients say that a read was stale, wrong or failed.
const STATUS_NOT_RIGHT: i32 = 3;

/// How clients are started.
#[derive(Clone, Debug)]
pub struct Client {
    /// The program.
    pub program: PathBuf,
    /// The folder with our libraries.
    pub drop_in: PathBuf,
    /// Core of the clients, if pinned.
    pub cpu: Option<usize>,
    /// Whether deletions are left out, so that stale rows are there to be noticed.
    pub plants_stale: bool,
    /// Whether what is stored is damaged, so that wrong rows are there to be noticed.
    pub plants_wrong: bool,
    /// Operations of each client, however long they take.
    pub operations_min: usize,
}

/// What the clients work with.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'s> {
    /// What is measured.
    pub condition: &'s Condition,
    /// By which library.
    pub subject: Subject,
    /// The database.
    pub socket: &'s Path,
    /// Its part with the workload's tables.
    pub schema: &'s str,
    /// The cache, if there is one.
    pub server: Option<SocketAddr>,
}

/// Latencies of one kind of operation, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Which.
    pub name: String,
    /// How many there were.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
}

/// What one turn has shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// How long it took.
    pub seconds: f64,
    /// By kind of operation.
    pub operations: Vec<Latencies>,
    /// All operations together.
    pub all: Latencies,
    /// One operation of so many took longer than so many microseconds.
    pub slower: Vec<(f64, f64)>,
    /// Keys looked up in the cache.
    pub lookups: u64,
    /// Keys found.
    pub hits: u64,
    /// Queries that the database was asked because keys were not found.
    pub queries: u64,
    /// Values that the cache did not take.
    pub refused: u64,
    /// Transactions begun again, as another was in the way.
    pub given_up: u64,
    /// Reads of a version older than one whose update had ended; preloading and warming up
    /// included, as in the next two.
    pub stale: u64,
    /// Reads of another row, of damaged bytes, or of a version that was never written.
    pub wrong: u64,
    /// Operations of the cache that ended with an error.
    pub failed: u64,
}

impl Turn {
    /// Operations a second.
    pub fn throughput(&self) -> f64 {
        self.all.count as f64 / self.seconds
    }

    /// Share of the keys that were found.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.lookups.max(1) as f64
    }

    /// Database queries for a thousand lookups.
    pub fn queries_per_1000(&self) -> f64 {
        self.queries as f64 * 1000.0 / self.lookups.max(1) as f64
    }

    /// Reads and operations that should not have ended as they did.
    pub fn faults(&self) -> u64 {
        self.stale + self.wrong + self.failed
    }
}

impl Client {
    /// Fills a schema of the database.
    ///
    /// # Errors
    /// If the program fails; why stands on standard error.
    pub fn create(&self, condition: &Condition, socket: &Path, schema: &str) -> io::Result<()> {
        let setting = Setting {
            condition,
            subject: Subject::Database,
            socket,
            schema,
            server: None,
        };
        self.run(self.command(&setting).arg("--create")).map(drop)
    }

    /// Stores everything in the cache.
    ///
    /// # Errors
    /// As [`Client::create`].
    pub fn preload(&self, setting: &Setting<'_>) -> io::Result<()> {
        self.run(self.command(setting).arg("--preload")).map(drop)
    }

    /// Lets the clients run; where the cache is not preloaded, it is emptied first.
    ///
    /// # Errors
    /// As [`Client::create`], and if the program's answer is not understood.
    pub fn turn(
        &self,
        setting: &Setting<'_>,
        seed: u64,
        warm_up_seconds: f64,
        seconds: f64,
    ) -> io::Result<Turn> {
        let mut command = self.command(setting);
        command.arg(format!("--seed={seed}"));
        command.arg(format!("--warm-up={warm_up_seconds}"));
        command.arg(format!("--seconds={seconds}"));
        if self.operations_min > 0 {
            command.arg(format!("--operations={}", self.operations_min));
        }
        if !setting.condition.preloaded {
            command.arg("--flush");
        }
        let said = self.run(&mut command)?;
        Ok(serde_json::from_slice(&said)?)
    }

    fn command(&self, setting: &Setting<'_>) -> Command {
        let condition = setting.condition;
        let mut command = Command::new(&self.program);
        command.arg(format!("--workload={}", condition.workload.name()));
        command.arg(format!("--database={}", setting.socket.display()));
        command.arg(format!("--schema={}", setting.schema));
        command.arg(format!("--rows={}", condition.rows));
        command.arg(format!("--value-bytes={}", condition.value_bytes));
        command.arg(format!("--updates={}", condition.updates_percent));
        command.arg(format!("--clients={}", condition.clients));
        if let Some(server) = setting.server {
            command.arg(format!("--server={server}"));
        }
        if let Some(cpu) = self.cpu {
            command.arg(format!("--cpu={cpu}"));
        }
        if self.plants_wrong {
            command.arg("--plant-wrong");
        }
        if self.plants_stale {
            command.arg("--plant-stale");
        }
        match setting.subject.transport() {
            Some(transport) => {
                command.env("LD_LIBRARY_PATH", &self.drop_in);
                command.env("FARCACHE_TRANSPORT", transport);
                // UCX writes its warnings to standard output.
                command.env("UCX_LOG_LEVEL", "error");
            }
            None => {
                command.env_remove("LD_LIBRARY_PATH");
            }
        }
        command
    }

    fn run(&self, command: &mut Command) -> io::Result<Vec<u8>> {
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.program.display()))
        })?;
        match output.status.code() {
            Some(0 | STATUS_NOT_RIGHT) => Ok(output.stdout),
            _ => Err(io::Error::other(format!(
                "{} ended: {}",
                self.program.display(),
                output.status
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_per_lookup() {
        let turn = Turn {
            seconds: 2.0,
            lookups: 400,
            hits: 300,
            queries: 100,
            stale: 1,
            wrong: 2,
            failed: 4,
            all: Latencies {
                count: 500,
                ..Latencies::default()
            },
            ..Turn::default()
        };
        assert_eq!((turn.throughput(), turn.hit_ratio()), (250.0, 0.75));
        assert_eq!((turn.queries_per_1000(), turn.faults()), (250.0, 7));
    }
}
