//! The map in force, for the rest of the program.

use super::member::Member;
use super::news::{Hooks, Status};
use super::settings::EtcdSettings;
use crate::in_force::InForce;
use crate::{Directory, SavedMap, Unusable};
use farcache_cluster::ClusterMap;
use farcache_cluster::map::{Epoch, MapContent, Name, Rule};
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::watch;

/// What a server needs to begin to take part, with the map that it had last.
///
/// Made apart from [`start`](Self::start), so that a program can refuse a bad file before it goes
/// into the background, where threads must not exist yet.
#[derive(Debug)]
pub struct EtcdDirectory {
    settings: EtcdSettings,
    saved: Option<SavedMap>,
    map: Option<Arc<ClusterMap>>,
}

impl EtcdDirectory {
    /// Reads the map that was kept.
    ///
    /// # Errors
    /// The file cannot be read, or is not a map of this cluster.
    pub fn open(settings: EtcdSettings) -> Result<Self, Unusable> {
        let opened = settings.saved.as_deref();
        let opened = opened.map(|path| SavedMap::open(path, &settings.cluster));
        let (saved, map) = opened.transpose()?.unzip();
        Ok(Self {
            settings,
            saved,
            map: map.flatten(),
        })
    }

    /// What was said of etcd and of this server.
    #[must_use]
    pub fn settings(&self) -> &EtcdSettings {
        &self.settings
    }

    /// The map that was kept.
    #[must_use]
    pub fn map(&self) -> Option<&Arc<ClusterMap>> {
        self.map.as_ref()
    }

    /// Takes part from now on, on a thread of its own.
    ///
    /// # Errors
    /// When threads or descriptors are exhausted, or there is no randomness.
    pub fn start(self, hooks: impl Hooks) -> io::Result<JoinedDirectory> {
        let initial = self.map.clone();
        let initial = initial.unwrap_or_else(|| Arc::new(unfounded(&self.settings.cluster)));
        let in_force = Arc::new(InForce::new(initial));
        let status = Arc::new(Mutex::new(Status::default()));
        let (leave, leaving) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let seed = random()?;
        let member = Member::new(
            self.settings,
            seed,
            (self.saved, self.map),
            (Arc::clone(&in_force), Arc::clone(&status)),
            Box::new(hooks),
        );
        let thread = std::thread::Builder::new()
            .name("cluster-etcd".to_owned())
            .spawn(move || runtime.block_on(member.run(leaving)))?;
        Ok(JoinedDirectory {
            in_force,
            status,
            leave,
            thread: Mutex::new(Some(thread)),
        })
    }
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// What is in force before a map is known: epoch 0 and no servers.
fn unfounded(cluster: &Name) -> ClusterMap {
    let content = MapContent {
        cluster: cluster.clone(),
        epoch: Epoch(0),
        rule: Rule::Ketama,
        servers: Vec::new(),
        moves: Vec::new(),
    };
    ClusterMap::new(content).expect("nothing contradicts itself")
}

/// The map of a cluster in which this program takes part until [`leave`](Self::leave) or until this
/// is dropped.
///
/// Before a map is known, one of epoch 0 without servers is in force.
#[derive(Debug)]
pub struct JoinedDirectory {
    in_force: Arc<InForce>,
    status: Arc<Mutex<Status>>,
    leave: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl JoinedDirectory {
    /// How membership fares.
    ///
    /// # Panics
    /// Never: nobody panics while holding it.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.lock().expect("no panic while held").clone()
    }

    /// Begins to leave in order: others are to own this server's keys. Does not wait.
    pub fn leave(&self) {
        self.leave.send_replace(true);
    }

    /// Waits until [`leave`](Self::leave) is done, or given up after some seconds.
    ///
    /// # Panics
    /// Never: nobody panics while holding the thread's handle.
    pub fn wait_until_left(&self) {
        self.leave();
        let thread = self.thread.lock().expect("no panic while held").take();
        if let Some(thread) = thread {
            // Whatever a panic there was, it has been reported.
            let _ = thread.join();
        }
    }
}

impl Directory for JoinedDirectory {
    fn map(&self) -> Arc<ClusterMap> {
        self.in_force.map()
    }

    fn wait_beyond(&self, known: Epoch, deadline: Instant) -> Option<Arc<ClusterMap>> {
        self.in_force.wait_beyond(known, deadline)
    }
}

impl Drop for JoinedDirectory {
    fn drop(&mut self) {
        self.wait_until_left();
    }
}
