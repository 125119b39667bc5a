//! Options that several programs have.

use crate::compare::machine::Machine;
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::Launcher;
use std::io;
use std::path::PathBuf;

/// Which servers are started, and on which cores everything runs.
#[derive(Clone, Debug, clap::Args)]
pub struct ServerOptions {
    /// Program of farcached; the one beside this program by default.
    #[arg(long)]
    pub farcached: Option<PathBuf>,
    /// Program of memcached.
    #[arg(long, default_value = "memcached")]
    pub memcached: PathBuf,
    /// Core of the server.
    #[arg(long, default_value_t = 0)]
    pub server_cpu: usize,
    /// Core of the client.
    #[arg(long, default_value_t = 1)]
    pub client_cpu: usize,
    /// Leave the placement of server and client to the system.
    #[arg(long)]
    pub unpinned: bool,
}

impl ServerOptions {
    /// Core of the server, if it is pinned.
    pub fn server_cpu(&self) -> Option<usize> {
        (!self.unpinned).then_some(self.server_cpu)
    }

    /// Core of the client, if it is pinned.
    pub fn client_cpu(&self) -> Option<usize> {
        (!self.unpinned).then_some(self.client_cpu)
    }

    /// All cores that are used, if anything is pinned.
    pub fn cpus(&self) -> Vec<usize> {
        let cpus = [self.server_cpu(), self.client_cpu()];
        cpus.into_iter().flatten().collect()
    }

    /// Has this thread run on the client's core, if that is pinned.
    ///
    /// # Errors
    /// If there is no such core; the message says what to do.
    pub fn pin_client(&self) -> io::Result<()> {
        let Some(cpu) = self.client_cpu() else {
            return Ok(());
        };
        pin_to_cpu(cpu).map_err(|error| {
            io::Error::new(error.kind(), format!("core {cpu}: {error} (--unpinned?)"))
        })
    }

    /// Starts servers as this user, where this process is root. Clients that share memory with
    /// servers run as the same user.
    ///
    /// # Errors
    /// If it cannot be found out where this program lies.
    pub fn launcher(&self, user: &str) -> io::Result<Launcher> {
        let beside = std::env::current_exe()?.with_file_name("farcached");
        Ok(Launcher {
            farcached: self.farcached.clone().unwrap_or(beside),
            memcached: self.memcached.clone(),
            cpu: self.server_cpu(),
            user: user.into(),
        })
    }
}

/// What the JSON file of a program holds that makes one report.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Results<'r, R> {
    machine: Machine,
    report: &'r R,
}

impl<'r, R> Results<'r, R> {
    /// A report, with the machine that it was made on.
    pub fn new(machine: Machine, report: &'r R) -> Self {
        Results { machine, report }
    }
}

/// Files for the results.
#[derive(Clone, Debug, clap::Args)]
pub struct FileOptions {
    /// Write every figure to this file, as JSON.
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Write the tables to this file, as Markdown.
    #[arg(long)]
    pub markdown: Option<PathBuf>,
}

impl FileOptions {
    /// Writes what is asked for.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, results: &impl serde::Serialize, markdown: &str) -> io::Result<()> {
        if let Some(path) = &self.json {
            std::fs::write(path, serde_json::to_string_pretty(results)?)?;
        }
        if let Some(path) = &self.markdown {
            std::fs::write(path, markdown)?;
        }
        Ok(())
    }
}
