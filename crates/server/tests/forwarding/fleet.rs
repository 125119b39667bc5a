//! Some servers with one map, at unix sockets, so that the map can be written before they start.

use crate::support::{Client, PATIENCE, Server, wait_for};
use farcache_cluster::ClusterMap;
use farcache_peers::greeting::Hello;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use tempfile::TempDir;

/// How server 2 greets server 1, under the map of this epoch.
pub fn hello(epoch: u64) -> Hello {
    Hello {
        from: 2,
        to: 1,
        epoch,
        nonce: [1; 32],
        cluster: "orders".into(),
    }
}

/// Servers 1 and up of one cluster.
pub struct Fleet {
    pub servers: Vec<Server>,
    directory: TempDir,
    options: Vec<String>,
    count: u32,
    first_words: String,
}

impl Fleet {
    /// So many servers, each with these further options.
    pub fn start(count: u32, options: &[&str]) -> Fleet {
        Fleet::start_placed("ketama", count, options)
    }

    /// So many servers under a map with this placement, each with these further options.
    pub fn start_placed(placement: &str, count: u32, options: &[&str]) -> Fleet {
        Fleet::start_each(placement, count, options, |_, _| Vec::new())
    }

    /// So many servers, each with these further options and those that `more` gives it.
    pub fn start_with(
        count: u32,
        options: &[&str],
        more: impl Fn(&Fleet, u32) -> Vec<String>,
    ) -> Fleet {
        Fleet::start_each("ketama", count, options, more)
    }

    fn start_each(
        placement: &str,
        count: u32,
        options: &[&str],
        more: impl Fn(&Fleet, u32) -> Vec<String>,
    ) -> Fleet {
        let mut fleet = Fleet {
            servers: Vec::new(),
            directory: tempfile::tempdir().expect("a directory"),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            count,
            first_words: format!("placement {placement}"),
        };
        fleet.publish(1, &fleet.all());
        for id in 1..=count {
            let server = fleet.start_with_options(id, &more(&fleet, id));
            fleet.servers.push(server);
        }
        fleet
    }

    /// All names.
    pub fn all(&self) -> Vec<u32> {
        (1..=self.count).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where a server listens.
    pub fn socket(&self, id: u32) -> PathBuf {
        self.path(&format!("{id}.socket"))
    }

    /// The file with the map of server `id`.
    fn map_file(&self, id: u32) -> PathBuf {
        self.path(&format!("{id}.map"))
    }

    /// The text of a map of all servers, of which these own keys.
    pub fn text(&self, epoch: u64, owners: &[u32]) -> String {
        let placement = &self.first_words;
        let mut text =
            format!("farcache-cluster-map 1\ncluster orders\nepoch {epoch}\n{placement}\n");
        for id in self.all() {
            let state = match owners.contains(&id) {
                true => "serving",
                false => "draining",
            };
            let socket = self.socket(id);
            let socket = socket.display();
            text += &format!(
                "server {id} incarnation=1 weight=1 zone=- state={state} addresses={socket}\n"
            );
        }
        text + "end\n"
    }

    /// Gives all servers a map.
    pub fn publish(&self, epoch: u64, owners: &[u32]) {
        for id in self.all() {
            self.publish_to(id, epoch, owners);
        }
    }

    /// Gives one server a map.
    pub fn publish_to(&self, id: u32, epoch: u64, owners: &[u32]) {
        self.publish_text(id, &self.text(epoch, owners));
    }

    /// Gives one server this map.
    pub fn publish_text(&self, id: u32, text: &str) {
        let new = self.path("new");
        fs::write(&new, text).expect("written");
        fs::rename(&new, self.map_file(id)).expect("renamed");
    }

    /// The path of the file with the map of server `id`.
    pub fn map_path(&self, id: u32) -> String {
        let path = self.map_file(id);
        path.to_str().expect("a plain path").to_owned()
    }

    /// The path of a file with this secret.
    pub fn secret(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("a plain path").to_owned()
    }

    /// Starts server `id`.
    pub fn start_one(&self, id: u32) -> Server {
        self.start_with_options(id, &[])
    }

    /// Starts server `id` with these options beside those of all.
    pub fn start_again(&self, id: u32, more: &[&str]) -> Server {
        let more: Vec<String> = more.iter().map(|option| (*option).to_owned()).collect();
        self.start_with_options(id, &more)
    }

    fn start_with_options(&self, id: u32, more: &[String]) -> Server {
        let (socket, map) = (self.socket(id), self.map_file(id));
        let id = id.to_string();
        let own = [
            "-s",
            socket.to_str().expect("a plain path"),
            "--cluster-file",
            map.to_str().expect("a plain path"),
            "--cluster-self",
            &id,
        ];
        // On a busy machine an answer may take long; a test that waits for none says how long.
        let patient = ["--forward-timeout-ms", "60000"];
        let is_patient = !self.options.iter().any(|option| option == patient[0]);
        let patient = patient.into_iter().filter(|_| is_patient);
        let options = self.options.iter().chain(more).map(String::as_str);
        let arguments: Vec<&str> = own.into_iter().chain(patient).chain(options).collect();
        Server::start_at(&["-t", "2"], &arguments)
    }

    /// A client of one server.
    pub fn connect(&self, id: u32) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.socket(id)).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("settable");
        Client::over(stream)
    }

    /// A key that server `id` owns, another one for each `number`.
    pub fn key_of(&self, id: u32, number: usize) -> String {
        let map: ClusterMap = self.text(1, &self.all()).parse().expect("a map");
        let keys = (0..).map(|suffix| format!("key:{suffix}"));
        let mut keys = keys.filter(|key| map.locate(key.as_bytes(), 1)[0].0 == id);
        keys.nth(number).expect("each server owns keys")
    }

    /// A figure of `stats cluster`; none where it is not told.
    pub fn stat_if_told(&self, id: u32, name: &str) -> Option<String> {
        let mut client = self.connect(id);
        client.send(b"stats cluster\r\n");
        let lines = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
        let lines: Vec<String> = lines.collect();
        let head = format!("STAT {name} ");
        let found = lines.iter().find_map(|line| line.strip_prefix(&head));
        found.map(str::to_owned)
    }

    /// A figure of `stats cluster`.
    pub fn stat(&self, id: u32, name: &str) -> String {
        let told = self.stat_if_told(id, name);
        told.unwrap_or_else(|| panic!("no {name}"))
    }

    /// Waits until these servers go by a map.
    pub fn wait_for_epoch_of(&self, ids: &[u32], epoch: u64) {
        let wanted = epoch.to_string();
        for id in ids {
            wait_for("the map", || {
                (self.stat(*id, "epoch") == wanted).then_some(())
            });
        }
    }
}
