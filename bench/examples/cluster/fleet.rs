//! Servers of one cluster, by a map in a file.

use farcache_cluster::{ClusterMap, ServerId};
use farcache_harness::control::Control;
use farcache_harness::pinning::pinned;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, io};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What is started, and where.
pub struct Programs {
    /// The server's program.
    pub farcached: PathBuf,
    /// Cores, in turn; any where none are named.
    pub server_cpus: Vec<usize>,
}

impl Programs {
    /// Starts a server at this port, on the core whose turn it is.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self, index: usize, port: u16, options: &[&str]) -> io::Result<ServerProcess> {
        let cpus = &self.server_cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        let launcher = Launcher {
            farcached: self.farcached.clone(),
            memcached: PathBuf::new(),
            cpu: None,
            user: "root".into(),
        };
        let start = || launcher.start_on(port, Product::Farcached, options, &[]);
        pinned(cpu, start)?
    }
}

/// The servers, which end with this.
pub struct Fleet<'p> {
    programs: &'p Programs,
    directory: PathBuf,
    /// Where they listen: of server 1, then 2.
    pub places: Vec<SocketAddr>,
    /// Those that run.
    pub processes: Vec<ServerProcess>,
    epoch: u64,
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        self.processes.clear();
        // What is left there is small.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Fleet<'_> {
    /// So many servers, of which the first `owners` own keys, with these further options.
    ///
    /// # Errors
    /// If they cannot be started.
    pub fn start<'p>(
        programs: &'p Programs,
        count: usize,
        owners: usize,
        options: &[&str],
    ) -> io::Result<Fleet<'p>> {
        let directory =
            std::env::temp_dir().join(format!("farcache-cluster-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
        let listeners = listeners.collect::<io::Result<Vec<_>>>()?;
        let places = listeners.iter().map(TcpListener::local_addr);
        let places = places.collect::<io::Result<Vec<_>>>()?;
        drop(listeners);
        let mut fleet = Fleet {
            programs,
            directory,
            places,
            processes: Vec::new(),
            epoch: 0,
        };
        fleet.publish(owners)?;
        for index in 0..count {
            fleet.start_one(index, options)?;
        }
        Ok(fleet)
    }

    fn start_one(&mut self, index: usize, options: &[&str]) -> io::Result<()> {
        let (name, map) = ((index + 1).to_string(), self.map_path());
        let own = ["--cluster-self", &name, "--cluster-file", &map];
        let options: Vec<&str> = own.into_iter().chain(options.iter().copied()).collect();
        let port = self.places[index].port();
        self.processes
            .push(self.programs.start(index, port, &options)?);
        Ok(())
    }

    fn map_path(&self) -> String {
        self.directory.join("map").to_string_lossy().into_owned()
    }

    /// The map by which the first `owners` servers own keys, with the next epoch.
    pub fn map(&self, owners: usize) -> String {
        let mut text = format!(
            "farcache-cluster-map 1\ncluster bench\nepoch {}\nplacement ketama\n",
            self.epoch + 1
        );
        for (index, place) in self.places.iter().enumerate() {
            let state = if index < owners {
                "serving"
            } else {
                "draining"
            };
            let rest = "incarnation=1 weight=1 zone=-";
            let id = index + 1;
            writeln!(text, "server {id} {rest} state={state} addresses={place}").expect("text");
        }
        text + "end\n"
    }

    /// Writes the next map.
    ///
    /// # Errors
    /// The system's.
    pub fn publish(&mut self, owners: usize) -> io::Result<()> {
        let text = self.map(owners);
        self.publish_text(&text)
    }

    /// Publishes this text of a map, whose epoch is the next one.
    ///
    /// # Errors
    /// The system's.
    pub fn publish_text(&mut self, text: &str) -> io::Result<()> {
        let new = self.directory.join("new");
        fs::write(&new, text)?;
        fs::rename(&new, self.map_path())?;
        self.epoch += 1;
        Ok(())
    }

    /// The epoch of the last map.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// A connection to ask a server about itself.
    pub fn control(&self, index: usize) -> io::Result<Control> {
        Control::connect(&self.processes[index].target())
    }
}

/// Keys that server `id` of a map owns.
pub fn keys_of(map: &str, id: u32) -> impl Iterator<Item = String> {
    let map: ClusterMap = map.parse().expect("a map");
    (0..)
        .map(|number| format!("key:{number:012}"))
        .filter(move |key| map.locate(key.as_bytes(), 1).first() == Some(&ServerId(id)))
}

/// Waits until this holds.
pub fn wait_for(what: &str, mut holds: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !holds()? {
        if Instant::now() > until {
            return Err(io::Error::other(format!("waited in vain for {what}")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
