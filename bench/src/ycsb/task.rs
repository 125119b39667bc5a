//! What a client process does, and the process's side of it.

use super::clients::Clients;
use super::library::{LibraryClients, Setting};
use super::mix::Workload;
use super::outcome::Outcome;
use super::records::Records;
use super::run::{Run, Tag};
use super::sockets::SocketClients;
use crate::workers::be_worker;
use farcache_harness::target::Target;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// Argument that makes a program be such a process.
pub const WORKER_ARGUMENT: &str = "ycsb-worker";

/// How clients reach the servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Access {
    /// By meta commands over sockets, with nothing in between.
    Bare,
    /// By the client library.
    Library {
        /// What carries the requests, by its name.
        transport: String,
        /// On how many servers a record lies, and how.
        redundancy: String,
    },
}

/// What a process does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The servers.
    pub servers: Vec<String>,
    /// How they are reached.
    pub access: Access,
    /// Which workload.
    pub workload: Workload,
    /// Clients of this process, each with connections of its own.
    pub clients: usize,
    /// Operations that each has under way.
    pub depth: usize,
    /// Records that are there from the beginning.
    pub records: u64,
    /// Size of each.
    pub record_bytes: usize,
    /// The process's number, no other turn's.
    pub writer: u32,
    /// The least of this turn's.
    pub writers_now: u32,
    /// Seconds before anything counts.
    pub warmup_s: f64,
    /// Seconds that count.
    pub seconds: f64,
    /// Length of the parts in which they are counted, if they are divided.
    pub bucket_s: Option<f64>,
    /// Whether records that are not found are written, as a cache is filled.
    pub fills: bool,
    /// How long a request may take, in seconds.
    pub timeout_s: f64,
    /// Whether the keys of a server that fails go to the others.
    pub ejects: bool,
}

impl Task {
    /// The number of the record with this index in this process: records that processes insert have
    /// numbers of their own.
    pub fn number(&self, index: u64) -> u64 {
        if index < self.records {
            return index;
        }
        (u64::from(self.writer) << 32) + index
    }

    fn run(&self, clients: impl Clients<Tag>) -> io::Result<Outcome> {
        Run::new(self, clients).run()
    }
}

/// The setting of the library's clients.
pub fn setting<'s>(
    task: &Task,
    servers: &'s str,
    transport: &'s str,
    redundancy: &'s str,
) -> Setting<'s> {
    Setting {
        servers,
        transport,
        redundancy,
        timeout: Duration::from_secs_f64(task.timeout_s),
        ejects: task.ejects,
    }
}

/// Clients that are connected.
enum Connected {
    Bare(Box<SocketClients<Tag>>),
    Library(Box<LibraryClients<Tag>>),
}

fn connect(task: &Task) -> io::Result<Connected> {
    let records = Records::new(task.record_bytes);
    match &task.access {
        Access::Bare => {
            let targets = task.servers.iter().map(|server| server.parse::<Target>());
            let targets = targets.collect::<Result<Vec<_>, _>>();
            let targets = targets.map_err(io::Error::other)?;
            let clients = SocketClients::connect(&targets, task.clients, records)?;
            Ok(Connected::Bare(Box::new(clients)))
        }
        Access::Library {
            transport,
            redundancy,
        } => {
            let servers = task.servers.join(",");
            let setting = setting(task, &servers, transport, redundancy);
            let clients = LibraryClients::connect(&setting, task.clients, records)?;
            Ok(Connected::Library(Box::new(clients)))
        }
    }
}

/// Hears a task, connects, and runs when told to.
///
/// # Errors
/// If a client fails, or the conversation breaks off.
pub fn be_client() -> io::Result<()> {
    be_worker(connect, |task: &Task, connected| match connected {
        Connected::Bare(clients) => task.run(*clients),
        Connected::Library(clients) => task.run(*clients),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short one.
    fn task(workload: Workload) -> Task {
        Task {
            servers: vec!["127.0.0.1:1".into()],
            access: Access::Bare,
            workload,
            clients: 3,
            depth: 4,
            records: 100,
            record_bytes: 100,
            writer: 5,
            writers_now: 4,
            warmup_s: 0.0,
            seconds: 0.05,
            bucket_s: None,
            fills: false,
            timeout_s: 1.0,
            ejects: false,
        }
    }

    #[test]
    fn what_processes_insert_is_no_others() {
        let one = task(Workload::D);
        let other = Task {
            writer: 6,
            ..one.clone()
        };
        assert_eq!((one.number(99), other.number(99)), (99, 99));
        assert_ne!(one.number(100), other.number(100));
        assert_ne!(one.number(100), one.number(101));
        assert!(one.number(100) >= one.records);
    }

    #[test]
    fn a_task_survives_the_pipe() {
        let task = Task {
            access: Access::Library {
                transport: "fabric".into(),
                redundancy: "ec:3,2".into(),
            },
            bucket_s: Some(0.1),
            ..task(Workload::F)
        };
        let line = serde_json::to_string(&task).unwrap();
        assert_eq!(serde_json::from_str::<Task>(&line).unwrap(), task);
    }
}
