//! The map in force, which readers share and one source replaces.

use farcache_cluster::ClusterMap;
use farcache_cluster::map::Epoch;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

/// Why a map that can be read does not come into force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is the map of another cluster, of this name.
    OtherCluster(String),
    /// Its epoch is below that of the map in force.
    EpochFell(Epoch),
    /// It has the epoch of the map in force and says something else.
    EpochReused(Epoch),
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::OtherCluster(name) => write!(formatter, "it is the map of cluster {name}"),
            Refused::EpochFell(Epoch(epoch)) => {
                write!(
                    formatter,
                    "its epoch {epoch} is older than the map in force"
                )
            }
            Refused::EpochReused(Epoch(epoch)) => {
                write!(
                    formatter,
                    "it differs from the map in force, but also has epoch {epoch}"
                )
            }
        }
    }
}

impl std::error::Error for Refused {}

/// The map in force. Waiting readers are woken when it is replaced and when its source has ended.
#[derive(Debug)]
pub(crate) struct InForce {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    map: Arc<ClusterMap>,
    has_ended: bool,
}

impl InForce {
    pub(crate) fn new(map: Arc<ClusterMap>) -> Self {
        let has_ended = false;
        Self {
            state: Mutex::new(State { map, has_ended }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }

    pub(crate) fn map(&self) -> Arc<ClusterMap> {
        Arc::clone(&self.state().map)
    }

    /// Puts the map in force that follows the present one, once `prepare` has seen it. `None`: it
    /// is the present one. Only one thread does this.
    ///
    /// # Errors
    /// It does not follow; the present one stays.
    pub(crate) fn replace(
        &self,
        map: Arc<ClusterMap>,
        prepare: impl FnOnce(&ClusterMap),
    ) -> Result<Option<Arc<ClusterMap>>, Refused> {
        let present = self.map();
        if present == map {
            return Ok(None);
        }
        check_succession(&present, &map)?;
        // Readers go on with the present map meanwhile.
        prepare(&map);
        let mut state = self.state();
        state.map = map;
        self.changed.notify_all();
        Ok(Some(Arc::clone(&state.map)))
    }

    /// The source brings no more maps.
    pub(crate) fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_all();
    }

    pub(crate) fn wait_beyond(&self, known: Epoch, deadline: Instant) -> Option<Arc<ClusterMap>> {
        let patience = deadline.saturating_duration_since(Instant::now());
        let is_waiting = |state: &mut State| state.map.epoch() <= known && !state.has_ended;
        let waited = self
            .changed
            .wait_timeout_while(self.state(), patience, is_waiting);
        let (state, _) = waited.expect("no panic while held");
        (state.map.epoch() > known).then(|| Arc::clone(&state.map))
    }
}

fn check_succession(present: &ClusterMap, next: &ClusterMap) -> Result<(), Refused> {
    let (cluster, epoch) = (&next.content().cluster, next.epoch());
    match epoch.cmp(&present.epoch()) {
        _ if *cluster != present.content().cluster => {
            Err(Refused::OtherCluster(cluster.to_string()))
        }
        std::cmp::Ordering::Less => Err(Refused::EpochFell(epoch)),
        std::cmp::Ordering::Equal => Err(Refused::EpochReused(epoch)),
        std::cmp::Ordering::Greater => Ok(()),
    }
}
