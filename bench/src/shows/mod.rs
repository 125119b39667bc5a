//! What the fabric is to show, measured in one run: its figures beside what bare UCX reaches
//! between the same two cores, beside sockets, and beside memcached; and what it leaves behind when
//! clients and servers come, go and die.

pub mod by_size;
pub mod endpoints;
pub mod helpers;
pub mod idle;
pub mod killed_clients;
pub mod killed_server;
pub mod large;
pub mod levels;
pub mod programs;
pub mod speed;
pub mod table;
pub mod transports;
pub mod turns;

use crate::picture::Picture;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use programs::Programs;
use std::io;
use table::Table;

/// What carries the fabric's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// What UCX chooses within a host, or what the environment says: shared memory.
    Chosen,
    /// UCX over TCP alone.
    Tcp,
}

impl Network {
    /// Variables of the processes at both ends.
    pub fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Network::Chosen => &[],
            Network::Tcp => &[("UCX_TLS", "tcp,self")],
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Network::Chosen => "shared memory",
            Network::Tcp => "UCX tcp",
        }
    }
}

/// A group of rows measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Section {
    /// Latencies and rates.
    Speed,
    /// The picture by size.
    Picture,
    /// Every transport by size, from 1 B to 512 MB, and which the client takes; on demand only.
    Transports,
    /// A value of 512 MB: its speed, and the memory that it takes.
    Large,
    /// CPU time of an idle server.
    Idle,
    /// What a connection costs, and whether it is given back.
    Endpoints,
    /// Clients killed in the middle of large values.
    KilledClients,
    /// A server killed under its clients.
    KilledServer,
}

impl Section {
    /// Every section, in the order of the table.
    pub const ALL: [Section; 8] = [
        Section::Speed,
        Section::Picture,
        Section::Transports,
        Section::Large,
        Section::Idle,
        Section::Endpoints,
        Section::KilledClients,
        Section::KilledServer,
    ];

    /// The sections that are measured where none are named.
    pub const USUAL: [Section; 7] = [
        Section::Speed,
        Section::Picture,
        Section::Large,
        Section::Idle,
        Section::Endpoints,
        Section::KilledClients,
        Section::KilledServer,
    ];

    /// The sections of the short version.
    pub const SHORT: [Section; 3] = [Section::Speed, Section::Picture, Section::Idle];
}

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The main rows only.
    pub short: bool,
    /// How often everything but the speeds is measured in turn.
    pub rounds: usize,
    /// Short turns in which the speeds are measured.
    pub turns: usize,
    /// Length of each measurement, in seconds.
    pub seconds: f64,
    /// Clients that are killed.
    pub kills: usize,
    /// Clients that connect and leave.
    pub clients: usize,
}

/// Everything that a section needs.
pub struct Bench {
    /// Starts servers.
    pub launcher: Launcher,
    /// Runs the programs that measure.
    pub programs: Programs,
    /// How much is measured.
    pub scope: Scope,
}

/// What came of it.
#[derive(Default)]
pub struct Results {
    /// The figures.
    pub table: Table,
    /// The picture, if it was asked for.
    pub picture: Option<Picture>,
    /// The picture of all transports, if it was asked for.
    pub transports: Option<Picture>,
    /// The networks that UCX took, as it describes them.
    pub lanes: Vec<String>,
}

/// Measures the sections; the calling thread, which is the client over sockets, is pinned already.
///
/// # Errors
/// If a server or a program cannot be started or breaks off.
pub fn show(bench: &Bench, sections: &[Section]) -> io::Result<Results> {
    let mut results = Results::default();
    for section in Section::ALL
        .into_iter()
        .filter(|one| sections.contains(one))
    {
        match section {
            Section::Speed => turns::measure(bench, &mut results)?,
            Section::Picture => results.picture = Some(by_size::measure(bench)?),
            Section::Transports => transports::measure(bench, &mut results)?,
            Section::Large => large::measure(bench, &mut results.table)?,
            Section::Idle => idle::measure(bench, &mut results.table)?,
            Section::Endpoints => endpoints::measure(bench, &mut results.table)?,
            Section::KilledClients => killed_clients::measure(bench, &mut results.table)?,
            Section::KilledServer => killed_server::measure(bench, &mut results.table)?,
        }
    }
    Ok(results)
}

impl Bench {
    /// Starts farcached with the fabric, which must be there, over this network.
    ///
    /// # Errors
    /// If it does not start.
    pub fn fabric_server(&self, network: Network, options: &[&str]) -> io::Result<ServerProcess> {
        let options: Vec<_> = ["--fabric=require"]
            .iter()
            .chain(options)
            .copied()
            .collect();
        self.launcher
            .start_with(Product::Farcached, &options, network.environment())
    }
}
