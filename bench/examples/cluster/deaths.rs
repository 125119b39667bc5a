//! How soon the others list a server as gone that was killed, alone or with the leader of etcd.

use crate::etcd::Etcd;
use crate::fleet::{Programs, wait_for};
use crate::row::{Row, print};
use farcache_bench::verdict::Verdict;
use farcache_harness::control::Control;
use farcache_harness::server_process::ServerProcess;
use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Servers.
const SERVERS: usize = 3;

/// How much is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Deaths.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    deaths: u32,
    /// Nodes of etcd. Of several, the leader is killed together with the server.
    #[arg(long, default_value_t = 1)]
    etcd_nodes: usize,
    /// Seconds for which a server may be silent (`--cluster-ttl`).
    #[arg(long, default_value_t = 5)]
    ttl: u64,
    /// Seconds for which it is suspect before it is gone (`--cluster-grace`).
    #[arg(long, default_value_t = 0)]
    grace: u64,
}

/// Servers that meet on etcd.
struct Cluster<'p> {
    programs: &'p Programs,
    options: Vec<String>,
    ports: Vec<u16>,
    running: Vec<ServerProcess>,
}

/// Measures and prints.
///
/// # Errors
/// If servers or etcd cannot be started, or do not answer.
pub fn measure(programs: &Programs, options: &Options) -> io::Result<()> {
    let mut etcd = Etcd::start(options.etcd_nodes)?;
    let mut cluster = Cluster::start(programs, &etcd, options)?;
    let mut seconds = Vec::new();
    for death in 0..options.deaths {
        cluster.wait_for_all()?;
        // At another moment of its beat, which comes every third of the time.
        let beat = Duration::from_secs(options.ttl) / 3;
        std::thread::sleep(beat * death / options.deaths);
        seconds.push(cluster.death(&mut etcd, options)?.as_secs_f64());
        etcd.start_again()?;
        cluster.start_one(SERVERS - 1)?;
    }
    let (what, limit) = match options.etcd_nodes {
        1 => ("death of a server published", 6.0),
        _ => ("the same together with etcd's leader", 10.0),
    };
    seconds.sort_by(f64::total_cmp);
    let (least, greatest) = (seconds[0], seconds[seconds.len() - 1]);
    let median = seconds[seconds.len() / 2];
    print(&[Row {
        what: format!("{what}, TTL {} s, {} deaths", options.ttl, options.deaths),
        wanted: format!("p99 at most {limit} s"),
        measured: format!("{least:.2} to {greatest:.2} s, median {median:.2} s"),
        // Of fewer than a hundred the greatest stands for the 99th percentile.
        verdict: Verdict::of([greatest; 2], |figure| figure <= limit),
    }]);
    Ok(())
}

impl Cluster<'_> {
    fn start<'p>(
        programs: &'p Programs,
        etcd: &Etcd,
        options: &Options,
    ) -> io::Result<Cluster<'p>> {
        let listeners = (0..SERVERS).map(|_| TcpListener::bind("127.0.0.1:0"));
        let listeners = listeners.collect::<io::Result<Vec<_>>>()?;
        let ports = listeners.iter().map(|listener| listener.local_addr());
        let ports = ports.collect::<io::Result<Vec<_>>>()?;
        drop(listeners);
        let own = [
            ("--cluster-etcd", etcd.endpoints()),
            ("--cluster-ttl", options.ttl.to_string()),
            ("--cluster-grace", options.grace.to_string()),
            ("--fabric", "off".to_owned()),
            ("-m", "16".to_owned()),
        ];
        let own = own.into_iter();
        let mut cluster = Cluster {
            programs,
            options: own
                .flat_map(|(name, value)| [name.to_owned(), value])
                .collect(),
            ports: ports.iter().map(|place| place.port()).collect(),
            running: Vec::new(),
        };
        for index in 0..SERVERS {
            cluster.start_one(index)?;
        }
        Ok(cluster)
    }

    fn start_one(&mut self, index: usize) -> io::Result<()> {
        let port = self.ports[index];
        let address = format!("--cluster-address=127.0.0.1:{port}");
        let options = self.options.iter().map(String::as_str);
        let options: Vec<&str> = options.chain([address.as_str()]).collect();
        let started = self.programs.start(index, port, &options)?;
        self.running.push(started);
        Ok(())
    }

    /// Whether each of the first so many servers lists all of them as serving.
    fn agree(&self, serving: usize) -> io::Result<bool> {
        let each = (0..serving).map(|index| self.lists(index, serving));
        each.reduce(|all, one| Ok(all? && one?)).unwrap_or(Ok(true))
    }

    /// Whether this server lists so many as serving.
    fn lists(&self, index: usize, serving: usize) -> io::Result<bool> {
        let mut control = Control::connect(&self.running[index].target())?;
        let stats = control.stats("cluster")?;
        let told = |name: &str| stats.get(name).map(String::as_str);
        Ok(told("servers_serving") == Some(&serving.to_string()))
    }

    fn wait_for_all(&self) -> io::Result<()> {
        wait_for("all servers to serve", || self.agree(SERVERS))
    }

    /// From the last server's death until all others list it no more.
    fn death(&mut self, etcd: &mut Etcd, options: &Options) -> io::Result<Duration> {
        let began = Instant::now();
        // With signal 9.
        drop(self.running.pop());
        if options.etcd_nodes > 1 {
            etcd.kill_leader()?;
        }
        wait_for("the others to notice", || self.agree(SERVERS - 1))?;
        Ok(began.elapsed())
    }
}
