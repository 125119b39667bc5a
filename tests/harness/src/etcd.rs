//! Nodes of etcd as processes: how one is started, and what it tells over HTTP.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// One node of a cluster of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, by which it is known again.
    pub name: String,
    /// Where it serves clients.
    pub clients: SocketAddr,
    /// Where it meets the other nodes.
    pub peers: SocketAddr,
}

impl Member {
    /// Completes a command that runs `etcd`, for a cluster of these members, of which this is one;
    /// what it has on disk is kept in `data`, and its log beside that.
    ///
    /// # Errors
    /// The log cannot be made.
    pub fn complete<'m>(
        &self,
        command: &mut Command,
        data: &Path,
        members: impl Iterator<Item = &'m Member>,
    ) -> io::Result<()> {
        let [clients, peers] = [self.clients, self.peers].map(|place| format!("http://{place}"));
        let all = members.map(|one| format!("{}=http://{}", one.name, one.peers));
        let all = all.collect::<Vec<_>>().join(",");
        command
            .args(["--name", &self.name, "--initial-cluster", &all])
            .arg("--data-dir")
            .arg(data)
            .args(["--listen-client-urls", &clients])
            .args(["--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers])
            .args(["--initial-advertise-peer-urls", &peers])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(data.with_extension("log"))?);
        Ok(())
    }
}

/// A page that a node serves over HTTP, by a new connection to where it serves clients; empty
/// where there is none.
pub fn page(connection: Option<impl Read + Write>, name: &str) -> String {
    let mut answer = String::new();
    if let Some(mut stream) = connection {
        let asked = write!(stream, "GET /{name} HTTP/1.0\r\n\r\n");
        // What has come until it fails is what there is.
        _ = asked.and_then(|()| stream.read_to_string(&mut answer).map(drop));
    }
    answer
}

/// Whether the page `metrics` is that of the node that leads.
#[must_use]
pub fn is_leader(metrics: &str) -> bool {
    metrics.contains("\netcd_server_is_leader 1\n")
}
