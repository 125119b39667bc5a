//! memcached's fleet. Its servers do not know of each other, so somebody tells clients: an endpoint
//! of this program, or the key by which ElastiCache told them before memcached 1.4.14 had commands
//! for that. The Java client asks the servers themselves and finds the key in each of them.

use super::endpoint::Endpoint;
use super::{Fleet, LEAVER, SERVERS};
use crate::fleet::Programs;
use farcache_harness::control::Control;
use farcache_harness::pinning::pinned;
use farcache_harness::server_process::{Launcher, Product, ServerProcess, UNPRIVILEGED_USER};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Megabytes of each server, which hold all there is.
const MEMORY: [&str; 2] = ["-m", "256"];

/// Whose client asks servers themselves.
const ASKS_SERVERS: &str = "java";

/// Servers that run, the first ones first.
pub struct Memcached {
    program: PathBuf,
    cpus: Vec<usize>,
    servers: Vec<ServerProcess>,
    leaver: Option<ServerProcess>,
    endpoint: Endpoint,
}

impl Memcached {
    /// Servers that clients are told of.
    ///
    /// # Errors
    /// They cannot be started.
    pub fn start(programs: &Programs, program: &Path) -> io::Result<Memcached> {
        let mut fleet = Memcached {
            program: program.to_owned(),
            cpus: programs.server_cpus.clone(),
            servers: Vec::new(),
            leaver: None,
            endpoint: Endpoint::start()?,
        };
        for _ in 0..SERVERS {
            fleet.start_one()?;
        }
        fleet.tell()?;
        Ok(fleet)
    }

    fn start_one(&mut self) -> io::Result<()> {
        let index = self.servers.len();
        let cpu = (!self.cpus.is_empty()).then(|| self.cpus[index % self.cpus.len()]);
        let launcher = Launcher {
            farcached: PathBuf::new(),
            memcached: self.program.clone(),
            cpu: None,
            user: UNPRIVILEGED_USER.into(),
        };
        let server = pinned(cpu, || launcher.start(Product::Memcached, &MEMORY))??;
        self.servers.push(server);
        Ok(())
    }

    /// Tells clients who is there, in both ways.
    fn tell(&self) -> io::Result<()> {
        let servers: Vec<SocketAddr> = self.servers.iter().map(ServerProcess::address).collect();
        let lines = self.endpoint.tell(servers);
        for server in self.servers.iter().chain(&self.leaver) {
            let set = format!("set AmazonElastiCache:cluster 0 0 {}", lines.len());
            match Control::connect(&server.target())?.ask(&format!("{set}\r\n{lines}"))? {
                stored if stored == "STORED" => {}
                other => return Err(io::Error::other(other)),
            }
        }
        Ok(())
    }
}

impl Fleet for Memcached {
    fn name(&self) -> &'static str {
        Product::Memcached.name()
    }

    fn endpoint(&self, language: &str) -> SocketAddr {
        if language == ASKS_SERVERS {
            return self.servers[0].address();
        }
        self.endpoint.address()
    }

    fn grow(&mut self) -> io::Result<()> {
        self.start_one()?;
        self.tell()
    }

    fn settle(&mut self) -> io::Result<()> {
        // Nothing moves.
        Ok(())
    }

    fn shrink(&mut self) -> io::Result<()> {
        self.leaver = Some(self.servers.remove(LEAVER));
        self.tell()
    }

    fn stop_leaver(&mut self) -> io::Result<()> {
        self.leaver.take().map(ServerProcess::stop).transpose()?;
        Ok(())
    }
}
