//! Clients of six languages read through a fleet of three servers, which a fourth one joins and one
//! leaves, under load: farcached on etcd, then memcached.

mod endpoint;
pub mod farcached;
mod memcached;
mod operations;
mod programs;
mod report;
pub mod rust;

use crate::fleet::{Programs, wait_for};
use farcached::Farcached;
use memcached::Memcached;
use programs::Clients;
use report::{Course, Events, Report};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Servers at first.
const SERVERS: usize = 3;

/// Place of the server that leaves, of those that were there at first. The first one is whom
/// clients ask for the others, as they would ask a name that leads to servers which are there.
const LEAVER: usize = 1;

/// The languages, as their programs are called. Rust's client is a part of this program.
const LANGUAGES: [&str; 6] = ["c", "go", "java", "javascript", "python", rust::NAME];

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Folder of the clients' programs (scripts/language-clients).
    #[arg(long, default_value = ".cache/languages")]
    clients: PathBuf,
    /// memcached's program.
    #[arg(long, default_value = "memcached")]
    memcached: PathBuf,
    /// Which fleets, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "farcached,memcached")]
    fleets: Vec<Kind>,
    /// Keys of each client, which nobody else reads or writes.
    #[arg(long, default_value_t = 20_000)]
    keys: usize,
    /// Bytes of a value.
    #[arg(long, default_value_t = 500)]
    value_bytes: usize,
    /// Operations a second of each client.
    #[arg(long, default_value_t = 500)]
    rate: u64,
    /// When the fourth server is started.
    #[arg(long, default_value_t = 10.0)]
    join_s: f64,
    /// When one of the first three begins to leave, or later: when all clients know of the fourth.
    #[arg(long, default_value_t = 20.0)]
    leave_s: f64,
    /// When the clients end.
    #[arg(long, default_value_t = 32.0)]
    seconds: f64,
    /// Length of the parts in which is counted.
    #[arg(long, default_value_t = 500)]
    part_ms: u64,
    /// How often clients ask for the servers.
    #[arg(long, default_value_t = 1_000)]
    poll_ms: u64,
    /// Most bytes a second of keys that move, as farcached's option of this name has it; its
    /// default where nothing is said.
    #[arg(long)]
    move_rate: Option<String>,
    /// Writes what was found as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Draws what was found.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// A kind of fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Farcached,
    Memcached,
}

/// A fleet of servers that grows and shrinks.
pub trait Fleet {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Whom the client of a language asks for the servers.
    fn endpoint(&self, language: &str) -> SocketAddr;

    /// Starts one more server; clients can hear of it.
    fn grow(&mut self) -> io::Result<()>;

    /// Waits until the server that has joined has what it is to have.
    fn settle(&mut self) -> io::Result<()>;

    /// Clients are not told of the one that leaves any more. It still runs, and has given away what
    /// it gives to others.
    fn shrink(&mut self) -> io::Result<()>;

    /// Stops the one that has left.
    fn stop_leaver(&mut self) -> io::Result<()>;
}

/// Measures and prints.
///
/// # Errors
/// If something cannot be started, a client breaks off, or clients of farcached met a wrong or
/// stale value or a failure.
pub fn measure(programs: &Programs, options: &Options) -> io::Result<()> {
    let mut report = Report::of(options);
    for kind in &options.fleets {
        let course = match kind {
            Kind::Farcached => {
                let rate = options.move_rate.as_deref();
                watch(&mut Farcached::start(programs, rate)?, options)?
            }
            Kind::Memcached => {
                let mut fleet = Memcached::start(programs, &options.memcached)?;
                watch(&mut fleet, options)?
            }
        };
        report.courses.push(course);
    }
    print!("{}", report.markdown());
    if let Some(path) = &options.svg {
        std::fs::write(path, report.picture().svg())?;
    }
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_string_pretty(&report)?)?;
    }
    match report.faults_of_farcached() {
        0 => Ok(()),
        faults => Err(io::Error::other(format!(
            "clients of farcached met {faults} wrong or stale values and failures"
        ))),
    }
}

/// Has clients read while servers come and go.
fn watch(fleet: &mut dyn Fleet, options: &Options) -> io::Result<Course> {
    let folder = tempfile::tempdir()?;
    let mut clients = Clients::start(options, folder.path(), |name| fleet.endpoint(name))?;
    let start = clients.go()?;
    let at = || start.elapsed().as_secs_f64();
    let mut events = Events::default();

    wait_until(start, options.join_s);
    events.joins_s = at();
    fleet.grow()?;
    events.joined_s = at();
    fleet.settle()?;
    events.settled_s = at();
    wait_for("all clients to know of the fourth server", || {
        clients.all_know(SERVERS + 1)
    })?;

    wait_until(start, options.leave_s);
    events.leaves_s = at();
    fleet.shrink()?;
    events.left_s = at();
    wait_for("all clients to know of three servers again", || {
        clients.all_know(SERVERS)
    })?;
    fleet.stop_leaver()?;
    events.stopped_s = at();
    Ok(Course {
        fleet: fleet.name(),
        part_s: options.part_ms as f64 / 1e3,
        events,
        clients: clients.outcomes(Duration::from_secs_f64(options.seconds))?,
    })
}

/// Waits for a point of the schedule.
fn wait_until(start: Instant, seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds).saturating_sub(start.elapsed()));
}
