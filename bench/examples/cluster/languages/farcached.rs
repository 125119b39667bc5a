//! farcached's fleet, which meets on etcd: a server joins by starting, and leaves by the command
//! `farcache cluster drain` and a signal. Each server tells clients of all.

use super::{Fleet, LEAVER, SERVERS};
use crate::etcd::Etcd;
use crate::fleet::{PATIENCE, Programs, wait_for};
use farcache_cluster::map::Name;
use farcache_harness::control::Control;
use farcache_harness::server_process::{Product, ServerProcess, free_ports};
use farcache_membership::etcd::{Endpoint, MapInEtcd};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The cluster's name.
const CLUSTER: &str = "languages";

/// Servers that run, the first ones first.
pub struct Farcached<'p> {
    programs: &'p Programs,
    move_rate: Option<&'p str>,
    // These end in this order.
    servers: Vec<ServerProcess>,
    etcd: Etcd,
    secret: TempDir,
}

impl Farcached<'_> {
    /// Servers of which each owns a share of the keys, with this `--move-rate`.
    ///
    /// # Errors
    /// They cannot be started, or do not find one another.
    pub fn start<'p>(
        programs: &'p Programs,
        move_rate: Option<&'p str>,
    ) -> io::Result<Farcached<'p>> {
        let secret = tempfile::tempdir()?;
        std::fs::write(secret.path().join("secret"), "a secret of the benchmark")?;
        let mut fleet = Farcached {
            programs,
            move_rate,
            servers: Vec::new(),
            etcd: Etcd::start(1)?,
            secret,
        };
        for _ in 0..SERVERS {
            fleet.start_one()?;
        }
        fleet.settle()?;
        Ok(fleet)
    }

    fn start_one(&mut self) -> io::Result<()> {
        let port = free_ports(1)?[0];
        let address = format!("127.0.0.1:{port}");
        let endpoints = self.etcd.endpoints();
        let secret = self.secret.path().join("secret");
        let own = [
            "--cluster-etcd",
            &endpoints,
            "--cluster-name",
            CLUSTER,
            "--cluster-secret-file",
            &secret.to_string_lossy(),
            "--cluster-address",
            &address,
            // As memcached: over sockets.
            "--fabric",
            "off",
            "-m",
            "256",
        ];
        let rate = self.move_rate.map(|rate| ["--move-rate", rate]);
        let options: Vec<&str> = own.into_iter().chain(rate.into_iter().flatten()).collect();
        let index = self.servers.len();
        self.servers
            .push(self.programs.start(index, port, &options)?);
        Ok(())
    }

    /// Whether all servers list each other as serving, and nothing moves.
    fn is_settled(&self) -> io::Result<bool> {
        let count = self.servers.len().to_string();
        for server in &self.servers {
            let stats = Control::connect(&server.target())?.stats("cluster")?;
            let moves = stats.keys().any(|name| name.starts_with("move:"));
            if stats.get("servers_serving") != Some(&count) || moves {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first servers, as clients are told of them.
    pub fn first_servers(&self) -> String {
        let first = self.servers[..SERVERS].iter();
        let first = first.map(|server| server.address().to_string());
        first.collect::<Vec<_>>().join(",")
    }

    /// The map's key in etcd.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn map_in_etcd(&self) -> io::Result<MapInEtcd> {
        let endpoint: Endpoint = self.etcd.endpoints().parse().map_err(io::Error::other)?;
        let name: Name = CLUSTER.parse().map_err(io::Error::other)?;
        MapInEtcd::new(vec![endpoint], name, PATIENCE)
    }

    /// The operators' program, which lies beside the server's.
    fn command(&self) -> PathBuf {
        self.programs.farcached.with_file_name("farcache")
    }
}

impl Fleet for Farcached<'_> {
    fn name(&self) -> &'static str {
        Product::Farcached.name()
    }

    fn endpoint(&self, _language: &str) -> SocketAddr {
        self.servers[0].address()
    }

    fn grow(&mut self) -> io::Result<()> {
        self.start_one()
    }

    fn settle(&mut self) -> io::Result<()> {
        wait_for("servers to have what they own", || self.is_settled())
    }

    fn shrink(&mut self) -> io::Result<()> {
        let leaver = self.servers[LEAVER].address().to_string();
        let drained = Command::new(self.command())
            .args(["cluster", "--etcd", &self.etcd.endpoints()])
            .args(["--name", CLUSTER, "drain", &leaver, "--yes"])
            .stdin(Stdio::null())
            .output()?;
        match drained.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("farcache drain: {drained:?}"))),
        }
    }

    fn stop_leaver(&mut self) -> io::Result<()> {
        match self.servers.remove(LEAVER).stop()? {
            true => Ok(()),
            false => Err(io::Error::other(
                "the server that has left did not end well",
            )),
        }
    }
}
