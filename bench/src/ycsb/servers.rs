//! Several servers that belong together, and what is stored on them first.

use super::library::Setting;
use super::records::{Records, Version, push_key};
use farcache_client::{Client, Operation, Store};
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// Records that are stored together.
const TOGETHER: u64 = 64;
/// How long the servers may take for them.
const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// Servers of one kind.
pub struct Servers {
    /// Each of them.
    pub processes: Vec<ServerProcess>,
}

/// What servers have used since they were started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Processor time of all of them, in seconds.
    pub cpu_s: f64,
    /// How often one of their threads gave up its processor or lost it.
    pub switches: u64,
}

impl Servers {
    /// Starts so many, each with so much memory.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn start(
        launcher: &Launcher,
        product: Product,
        count: usize,
        memory_bytes: usize,
    ) -> io::Result<Servers> {
        let memory = (memory_bytes >> 20).to_string();
        // Each client of each process has a connection to each server.
        let options = ["-m", &memory, "-c", "8192"];
        let start = |_| launcher.start(product, &options);
        Ok(Servers {
            processes: (0..count).map(start).collect::<io::Result<_>>()?,
        })
    }

    /// Where they listen.
    pub fn addresses(&self) -> Vec<String> {
        let addresses = self.processes.iter().map(|one| one.address().to_string());
        addresses.collect()
    }

    /// What they have used.
    ///
    /// # Errors
    /// If one is gone.
    pub fn used(&self) -> io::Result<Used> {
        let mut used = Used::default();
        for one in &self.processes {
            used.cpu_s += one.cpu_ns()? as f64 / 1e9;
            used.switches += one.switches()?;
        }
        Ok(used)
    }

    /// Resident memory of all of them, in bytes.
    ///
    /// # Errors
    /// If one is gone.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        self.processes
            .iter()
            .map(ServerProcess::resident_bytes)
            .sum()
    }
}

/// Fills the servers' memory with records of other keys and empties them again: so they have
/// touched all of it, as servers have that are not new. The first touch of a page may take a
/// virtual machine as long as hundreds of requests, and a server that writes to a log touches new
/// ones with every SET until it has been through its memory once. Taking the host's memory ahead
/// does not help: what is free is given back to the host before the log comes there.
///
/// # Errors
/// If a record cannot be stored.
pub fn fill_and_flush(
    setting: &Setting<'_>,
    memory_bytes: usize,
    record_bytes: usize,
) -> io::Result<()> {
    let client = patient(setting).connect()?;
    let count = (memory_bytes / record_bytes) as u64;
    let others = u64::from(u32::MAX);
    store_all(&client, record_bytes, others..others + count)?;
    client.flush_all(0).map_err(io::Error::other)
}

/// Stores all records by the library, as its clients will find them.
///
/// # Errors
/// If one cannot be stored.
pub fn preload(setting: &Setting<'_>, count: u64, record_bytes: usize) -> io::Result<()> {
    let client = patient(setting).connect()?;
    store_all(&client, record_bytes, 0..count)
}

fn patient<'a>(setting: &Setting<'a>) -> Setting<'a> {
    Setting {
        timeout: STORE_TIMEOUT,
        ..setting.clone()
    }
}

fn store_all(client: &Client, record_bytes: usize, numbers: Range<u64>) -> io::Result<()> {
    let records = Records::new(record_bytes);
    let end = numbers.end;
    numbers
        .step_by(TOGETHER as usize)
        .try_for_each(|first| store(client, &records, first..(first + TOGETHER).min(end)))
}

fn store(client: &Client, records: &Records, numbers: Range<u64>) -> io::Result<()> {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    let begun = numbers.map(|number| {
        key.clear();
        push_key(number, &mut key);
        records.make(number, Version::default(), &mut value);
        let store = Store::set(&key, &value);
        client.submit(Operation::Store(store))
    });
    let begun: Vec<_> = begun.collect();
    client.flush();
    for request in begun {
        client.wait(request).map_err(io::Error::other)?;
    }
    Ok(())
}
