//! A server that knows its cluster: what its clients are told of a file that changes.

mod support;

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use support::{Client, Server, command, wait_for};
use tempfile::TempDir;

/// The file of a cluster's map.
struct MapFile {
    directory: TempDir,
}

impl MapFile {
    /// At epoch 5, with servers 1 and 2.
    fn new() -> MapFile {
        let directory = tempfile::tempdir().expect("a directory");
        let file = MapFile { directory };
        file.replace(&text(5, &[1, 2]));
        file
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("map")
    }

    fn replace(&self, text: &str) {
        let new = self.directory.path().join("new");
        fs::write(&new, text).expect("written");
        fs::rename(&new, self.path()).expect("renamed");
    }

    fn server(&self, arguments: &[&str]) -> Server {
        let path = self.path();
        let option = ["--cluster-file", path.to_str().expect("a plain path")];
        Server::start_quiet(&[&option, arguments].concat())
    }
}

/// The text of a map with these servers.
fn text(epoch: u64, servers: &[u32]) -> String {
    let mut text =
        format!("farcache-cluster-map 1\ncluster orders\nepoch {epoch}\nplacement ketama\n");
    for id in servers {
        text += &format!(
            "server {id} incarnation=1 weight=1 zone=- state=serving addresses=10.0.0.{id}:11211\n"
        );
    }
    text + "end\n"
}

/// The lines of version and servers that clients are told of such a map.
fn told(epoch: u64, servers: &[u32]) -> (String, String) {
    let servers = servers
        .iter()
        .map(|id| format!("10.0.0.{id}|10.0.0.{id}|11211"));
    (epoch.to_string(), servers.collect::<Vec<_>>().join(" "))
}

/// Asks for the configuration, and checks all of the answer but version and servers.
fn configuration(client: &mut Client<TcpStream>) -> (String, String) {
    let head = client.ask("config get cluster").expect("an answer");
    let version = client.line().expect("a version");
    let servers = client.line().expect("servers");
    let bytes = version.len() + 1 + servers.len() + 1;
    assert_eq!(head, format!("CONFIG cluster 0 {bytes}"));
    assert_eq!(client.line().as_deref(), Some(""));
    assert_eq!(client.line().as_deref(), Some("END"));
    (version, servers)
}

fn wait_for_configuration(client: &mut Client<TcpStream>, wanted: &(String, String)) {
    wait_for("the new configuration", || {
        (configuration(client) == *wanted).then_some(())
    });
}

#[test]
fn a_connection_sees_servers_join_and_leave() {
    let file = MapFile::new();
    let server = file.server(&[]);
    let mut client = server.connect();
    assert_eq!(configuration(&mut client), told(5, &[1, 2]));
    file.replace(&text(6, &[1, 2, 3]));
    wait_for_configuration(&mut client, &told(6, &[1, 2, 3]));
    // Written in place, as by an editor.
    fs::write(file.path(), text(7, &[1, 3])).expect("written");
    wait_for_configuration(&mut client, &told(7, &[1, 3]));
    let log = server.log();
    for line in [
        "INFO farcached: the cluster's map was read cluster=\"orders\" epoch=5 servers=2 owners=2",
        "INFO farcached: the cluster's map has changed cluster=\"orders\" epoch=6 servers=3 owners=3",
        "INFO farcached: the cluster's map has changed cluster=\"orders\" epoch=7 servers=2 owners=2",
    ] {
        assert!(log.contains(line), "{line} is missing in\n{log}");
    }
}

#[test]
fn a_file_that_is_no_map_is_told_of_and_changes_nothing() {
    let file = MapFile::new();
    let server = file.server(&[]);
    let mut client = server.connect();
    file.replace("nonsense");
    let line = "WARN farcached: the cluster's map stays as it was reason=line 1: ";
    wait_for("a warning", || server.log().contains(line).then_some(()));
    assert_eq!(configuration(&mut client), told(5, &[1, 2]));
    file.replace(&text(4, &[9]));
    wait_for("a warning", || {
        let log = server.log();
        log.contains("its epoch 4 is older").then_some(())
    });
    assert_eq!(configuration(&mut client), told(5, &[1, 2]));
    file.replace(&text(6, &[2]));
    wait_for_configuration(&mut client, &told(6, &[2]));
}

#[test]
fn a_server_in_a_cluster_says_so_and_ends_well() {
    let file = MapFile::new();
    let mut server = file.server(&[]);
    let mut client = server.connect();
    let version = client.ask("version").expect("an answer");
    assert!(!version.contains("farcache"), "{version}");
    client.send(b"stats settings\r\n");
    let settings = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
    let settings: Vec<String> = settings.collect();
    let line = format!("STAT cluster_file {}", file.path().display());
    assert!(
        settings.contains(&line),
        "{line} is missing in {settings:?}"
    );
    client.exercise();
    server.signal(rustix::process::Signal::TERM);
    assert!(server.wait().success(), "{}", server.log());
}

#[test]
fn a_server_checks_that_it_stands_in_its_map() {
    let file = MapFile::new();
    let server = file.server(&["--cluster-address", "10.0.0.2:11211"]);
    let listed = |server: &Server| {
        let mut client = server.connect();
        client.send(b"stats cluster\r\n");
        let mut lines = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
        lines
            .find(|line| line.starts_with("STAT listed "))
            .expect("a statistic")
    };
    assert_eq!(listed(&server), "STAT listed yes");
    file.replace(&text(6, &[1, 3]));
    let line = "WARN farcached: the cluster's map does not list this server address=10.0.0.2:11211";
    wait_for("a warning", || server.log().contains(line).then_some(()));
    assert_eq!(listed(&server), "STAT listed no");
    assert_eq!(listed(&file.server(&[])), "STAT listed unknown");
}

#[test]
fn without_a_cluster_there_is_no_configuration() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    assert_eq!(client.ask("config get cluster").as_deref(), Some("ERROR"));
    let version = client.ask("version").expect("an answer");
    assert!(version.contains("-farcache-"), "{version}");
}

#[test]
fn a_file_that_cannot_be_used_keeps_the_server_from_starting() {
    let file = MapFile::new();
    let refusal = |path: &Path| {
        let mut server = command(&[
            "-p",
            "-1",
            "-l",
            "127.0.0.1",
            "-u",
            "root",
            "--cluster-file",
        ]);
        let output = server.arg(path).stderr(Stdio::piped()).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(71));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    file.replace(&text(5, &[2, 1]));
    let message = refusal(&file.path());
    let place = format!(
        "cannot use the cluster's map in {}: line 6: ",
        file.path().display()
    );
    assert!(message.contains(&place), "{message}");
    let message = refusal(&file.directory.path().join("absent"));
    assert!(message.contains("No such file"), "{message}");
}
