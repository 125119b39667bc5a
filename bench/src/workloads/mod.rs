//! The workloads that people judge a cache by: a database with a cache in front of it.
//!
//! MariaDB, the caches and the clients are processes of their own. The clients (`bench/workloads`,
//! in C) reach the cache through libmemcached's functions only, so the same program runs with the
//! system's library and with ours.

pub mod client;
pub mod folder;
pub mod mariadb;
pub mod report;
pub mod subject;

use crate::host_memory;
use client::{Client, Turn};
use farcache_harness::server_process::{Launcher, ServerProcess};
use folder::Folder;
use mariadb::Mariadb;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use report::{Measured, Report, Row};
use serde::Serialize;
use std::io;
use std::path::PathBuf;
use subject::Subject;

/// What a workload's item takes in a cache beside its value, roughly.
const ITEM_OVERHEAD_BYTES: usize = 64;
/// The order of the turns is the same in each run.
const SEED: u64 = 1;

/// Which workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Results of one size, read through the cache.
    QueryCache,
    /// The telecom benchmark TATP.
    Tatp,
    /// Twitter of OLTP-Bench.
    Twitter,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 3] = [Workload::QueryCache, Workload::Tatp, Workload::Twitter];

    /// Its name, as the client takes it.
    pub fn name(self) -> &'static str {
        match self {
            Workload::QueryCache => "query-cache",
            Workload::Tatp => "tatp",
            Workload::Twitter => "twitter",
        }
    }
}

/// One row of the report: what all servers are asked in turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Which workload.
    pub workload: Workload,
    /// Results, subscribers or users.
    pub rows: usize,
    /// Size of each result of the query cache, in bytes.
    pub value_bytes: usize,
    /// The query cache's data over the cache's memory.
    pub spill: Option<f64>,
    /// Parts of a hundred of the query cache's operations that are updates.
    pub updates_percent: u32,
    /// Whether all rows are stored in the cache first; else each turn begins with an empty one.
    pub preloaded: bool,
    /// Clients at a time.
    pub clients: usize,
}

impl Condition {
    /// The query cache with data of so many times the cache's memory.
    pub fn query_cache(memory_bytes: usize, value_bytes: usize, spill: f64) -> Condition {
        let item_bytes = value_bytes + ITEM_OVERHEAD_BYTES;
        Condition {
            workload: Workload::QueryCache,
            rows: ((memory_bytes as f64 * spill) as usize / item_bytes).max(1),
            value_bytes,
            spill: Some(spill),
            updates_percent: 0,
            preloaded: true,
            clients: 1,
        }
    }

    /// TATP with so many subscribers, or Twitter with so many users.
    pub fn of_rows(workload: Workload, rows: usize) -> Condition {
        Condition {
            workload,
            rows,
            value_bytes: 4096,
            spill: None,
            updates_percent: 0,
            preloaded: true,
            clients: 1,
        }
    }

    /// Whether the database is written to: servers cannot share one then, as each would keep what
    /// others have changed.
    fn writes(&self) -> bool {
        self.workload != Workload::QueryCache || self.updates_percent > 0
    }

    /// What distinguishes it, for people.
    pub fn title(&self) -> String {
        let mut title = self.workload.name().to_owned();
        match self.spill {
            Some(spill) => {
                title += &format!(", {} KB, {spill} x memory", self.value_bytes >> 10);
                if self.updates_percent > 0 {
                    title += &format!(", {} % updates", self.updates_percent);
                }
            }
            None => title += &format!(", {} rows", self.rows),
        }
        title += if self.preloaded {
            ", preloaded"
        } else {
            ", cold"
        };
        title + &format!(", {} client{}", self.clients, plural(self.clients))
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// How a condition is measured.
#[derive(Clone, Debug)]
pub struct Bench {
    /// How servers are started.
    pub launcher: Launcher,
    /// How clients are started.
    pub client: Client,
    /// Who takes turns.
    pub subjects: Vec<Subject>,
    /// How often.
    pub turns: usize,
    /// Seconds of each turn that count.
    pub seconds: f64,
    /// Seconds before them, where the cache is preloaded.
    pub warm_up_seconds: f64,
    /// Memory of each cache, in bytes.
    pub memory_bytes: usize,
    /// Memory of the database's buffer pool, in bytes.
    pub buffer_pool_bytes: usize,
    /// Program of MariaDB.
    pub mariadbd: PathBuf,
    /// Where the database and the files of SSD tiers lie.
    pub folder: PathBuf,
}

/// A server that takes turns; the database alone has none.
struct Running {
    subject: Subject,
    server: Option<ServerProcess>,
    schema: String,
}

impl Bench {
    /// Measures all conditions, with one database.
    ///
    /// # Errors
    /// If a server or a client cannot be started, or breaks off.
    pub fn measure(&self, conditions: &[Condition]) -> io::Result<Report> {
        let folder = Folder::new(&self.folder)?;
        let mariadb = Mariadb::start(&self.mariadbd, folder.path(), self.buffer_pool_bytes)?;
        let mut schemas = Schemas::default();
        let mut report = Report {
            memory_bytes: self.memory_bytes,
            buffer_pool_bytes: self.buffer_pool_bytes,
            turns: self.turns,
            seconds: self.seconds,
            warm_up_seconds: self.warm_up_seconds,
            extstore: Subject::Extstore
                .tier_options("FILE", self.memory_bytes)
                .join(" "),
            rows: Vec::new(),
        };
        for condition in conditions {
            eprintln!("{}", condition.title());
            report
                .rows
                .push(self.row(condition, conditions, &mariadb, &folder, &mut schemas)?);
        }
        mariadb.stop()?;
        Ok(report)
    }

    fn row(
        &self,
        condition: &Condition,
        conditions: &[Condition],
        mariadb: &Mariadb,
        folder: &Folder,
        schemas: &mut Schemas,
    ) -> io::Result<Row> {
        host_memory::take_and_give_back(self.memory_bytes * 2 * self.subjects.len());
        let mut running = Vec::new();
        for &subject in &self.subjects {
            let schema = schemas.ensure(self, condition, conditions, subject, mariadb)?;
            let server = subject.start(&self.launcher, folder.path(), self.memory_bytes)?;
            running.push(Running {
                subject,
                server,
                schema,
            });
        }
        if condition.preloaded {
            for one in running.iter().filter(|one| one.server.is_some()) {
                self.client
                    .preload(&self.setting(condition, mariadb, one))?;
            }
        }
        let mut measured: Vec<Measured> = self
            .subjects
            .iter()
            .map(|&subject| Measured::new(subject))
            .collect();
        let mut random = SmallRng::seed_from_u64(SEED);
        for turn in 0..self.turns {
            let mut order: Vec<usize> = (0..running.len()).collect();
            order.shuffle(&mut random);
            for at in order {
                let found = self.turn(condition, mariadb, &running[at], turn)?;
                measured[at].turns.push(found);
            }
        }
        for (one, measured) in running.iter().zip(&mut measured) {
            measured.resident_bytes = one
                .server
                .as_ref()
                .map(|server| server.resident_bytes())
                .transpose()?;
        }
        for one in running {
            one.server.map(ServerProcess::stop).transpose()?;
        }
        Ok(Row {
            condition: condition.clone(),
            measured,
        })
    }

    fn turn(
        &self,
        condition: &Condition,
        mariadb: &Mariadb,
        one: &Running,
        turn: usize,
    ) -> io::Result<Turn> {
        let warm_up = if condition.preloaded {
            self.warm_up_seconds
        } else {
            0.0
        };
        self.client.turn(
            &self.setting(condition, mariadb, one),
            turn as u64 + 1,
            warm_up,
            self.seconds,
        )
    }

    fn setting<'s>(
        &self,
        condition: &'s Condition,
        mariadb: &'s Mariadb,
        one: &'s Running,
    ) -> client::Setting<'s> {
        client::Setting {
            condition,
            subject: one.subject,
            socket: mariadb.socket(),
            schema: &one.schema,
            server: one.server.as_ref().map(ServerProcess::address),
        }
    }
}

/// The schemas that are filled already.
#[derive(Default)]
struct Schemas(Vec<String>);

impl Schemas {
    /// The schema that a server works with, filled: its own where it is written to. One for the
    /// query cache has rows for the largest of the conditions.
    fn ensure(
        &mut self,
        bench: &Bench,
        condition: &Condition,
        conditions: &[Condition],
        subject: Subject,
        mariadb: &Mariadb,
    ) -> io::Result<String> {
        let owner = match condition.writes() {
            true => subject.name().replace('-', "_"),
            false => "all".to_owned(),
        };
        let alike = |other: &&Condition| {
            other.workload == condition.workload
                && other.value_bytes == condition.value_bytes
                && other.writes() == condition.writes()
        };
        let rows = conditions
            .iter()
            .filter(alike)
            .map(|other| other.rows)
            .max();
        let rows = match condition.workload {
            Workload::QueryCache => rows.unwrap_or(condition.rows),
            // Of these, fewer rows are not the first of many.
            Workload::Tatp | Workload::Twitter => condition.rows,
        };
        let workload = condition.workload.name().replace('-', "_");
        let schema = format!("{workload}_{}_{rows}_{owner}", condition.value_bytes);
        if !self.0.contains(&schema) {
            let whole = Condition {
                rows,
                ..condition.clone()
            };
            bench.client.create(&whole, mariadb.socket(), &schema)?;
            self.0.push(schema.clone());
        }
        Ok(schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_caches_rows_fill_the_memory_so_many_times() {
        let condition = Condition::query_cache(64 << 20, 4096, 1.5);
        assert_eq!(condition.rows, (96 << 20) / 4160);
        assert!(!condition.writes());
        assert_eq!(
            condition.title(),
            "query-cache, 4 KB, 1.5 x memory, preloaded, 1 client"
        );
    }

    #[test]
    fn what_writes_has_a_database_of_its_own() {
        assert!(Condition::of_rows(Workload::Tatp, 1000).writes());
        let updated = Condition {
            updates_percent: 5,
            ..Condition::query_cache(64 << 20, 4096, 1.0)
        };
        assert!(updated.writes() && updated.title().contains("5 % updates"));
    }
}
