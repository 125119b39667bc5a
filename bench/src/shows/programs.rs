//! The programs that measure, run as processes of their own: each with its own UCX, whose settings
//! come from the environment.

use super::Network;
use crate::limits::Limits;
use crate::ohb::report::{LatencyReport, ThroughputReport};
use serde::de::DeserializeOwned;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable by which the client library's user chooses the transport.
pub(super) const TRANSPORT_VARIABLE: &str = "FARCACHE_TRANSPORT";

/// Where the programs lie and on which cores they run.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The folder with all of them.
    pub folder: PathBuf,
    /// Core of whatever serves, if pinned.
    pub server_cpu: Option<usize>,
    /// Core of whatever asks, if pinned.
    pub client_cpu: Option<usize>,
}

impl Programs {
    /// Runs `farcache-fabric-limits`.
    ///
    /// # Errors
    /// If it fails; what went wrong stands on standard error.
    pub fn limits(&self, network: Network, arguments: &[&str]) -> io::Result<Limits> {
        self.limits_with(network, &[], arguments)
    }

    /// Runs the measurement of limits with settings of UCX, by name without `UCX_`, as far as the
    /// environment leaves them open.
    ///
    /// # Errors
    /// As [`Programs::limits`].
    pub fn limits_with(
        &self,
        network: Network,
        settings: &[(&str, &str)],
        arguments: &[&str],
    ) -> io::Result<Limits> {
        let mut command = self.command("farcache-fabric-limits", network);
        for (name, value) in settings {
            command.env(format!("UCX_{name}"), value);
        }
        match self.server_cpu.zip(self.client_cpu) {
            Some((server, client)) => {
                command.args(["--server-cpu", &server.to_string()]);
                command.args(["--client-cpu", &client.to_string()]);
            }
            None => {
                command.arg("--unpinned");
            }
        }
        json_of(command.args(arguments))
    }

    /// Runs `ohb_memlat` over the fabric.
    ///
    /// # Errors
    /// As [`Programs::limits`].
    pub fn memlat(
        &self,
        network: Network,
        server: SocketAddr,
        arguments: &[&str],
    ) -> io::Result<LatencyReport> {
        self.memlat_by("fabric", network, server, arguments)
    }

    /// Runs `ohb_memlat` by a transport of the client library.
    ///
    /// # Errors
    /// As [`Programs::limits`].
    pub fn memlat_by(
        &self,
        transport: &str,
        network: Network,
        server: SocketAddr,
        arguments: &[&str],
    ) -> io::Result<LatencyReport> {
        let mut command = self.client("ohb_memlat", transport, network, server);
        json_of(command.args(arguments))
    }

    /// Runs `ohb_memthr` over the fabric.
    ///
    /// # Errors
    /// As [`Programs::limits`].
    pub fn memthr(
        &self,
        network: Network,
        server: SocketAddr,
        arguments: &[&str],
    ) -> io::Result<ThroughputReport> {
        let mut command = self.client("ohb_memthr", "fabric", network, server);
        json_of(command.args(arguments))
    }

    fn client(&self, name: &str, transport: &str, network: Network, server: SocketAddr) -> Command {
        let mut command = self.command(name, network);
        command.args(["--transport", transport, "--servers", &server.to_string()]);
        if let Some(cpu) = self.client_cpu {
            command.args(["--cpus", &cpu.to_string()]);
        }
        command
    }

    fn command(&self, name: &str, network: Network) -> Command {
        let mut command = Command::new(self.folder.join(name));
        command
            // The variable goes before the option.
            .env_remove(TRANSPORT_VARIABLE)
            .envs(network.environment().iter().copied())
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }
}

/// Runs a program and reads what it prints.
fn json_of<T: DeserializeOwned>(command: &mut Command) -> io::Result<T> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    if !output.status.success() {
        return Err(io::Error::other(format!("{name}: {}", output.status)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| io::Error::other(format!("{name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_and_failures_are_named() {
        let read: io::Result<Vec<u32>> = json_of(Command::new("echo").arg("[1, 2]"));
        assert_eq!(read.unwrap(), [1, 2]);
        let failed: io::Result<Vec<u32>> = json_of(&mut Command::new("false"));
        assert!(
            failed
                .unwrap_err()
                .to_string()
                .starts_with("false: exit status")
        );
        let absent: io::Result<Vec<u32>> = json_of(&mut Command::new("/no/such/program"));
        assert!(
            absent
                .unwrap_err()
                .to_string()
                .starts_with("/no/such/program: ")
        );
        let other: io::Result<Vec<u32>> = json_of(Command::new("echo").arg("text"));
        assert!(other.is_err());
    }
}
