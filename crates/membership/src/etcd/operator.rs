//! A cluster's map in etcd as somebody sees and changes it who is no server.

use super::rotation::Rotation;
use super::session::{Failure, Place, Session};
use super::settings::Endpoint;
use crate::members::View;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Name;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::time::timeout_at;

/// The key of a cluster's map.
pub struct MapInEtcd {
    runtime: Runtime,
    rotation: Rotation,
    endpoints: usize,
    place: Arc<Place>,
    cluster: Name,
}

/// What stands in etcd.
#[derive(Clone, Debug)]
pub struct Found {
    /// The map; none, where no server has founded the cluster.
    pub map: Option<Arc<ClusterMap>>,
    /// The revision of its key.
    pub revision: i64,
    /// The first addresses of servers that run.
    pub running: Vec<String>,
}

/// Why etcd could not be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorError(String);

impl fmt::Display for OperatorError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for OperatorError {}

impl MapInEtcd {
    /// The map of this cluster. Each call to etcd may take as long as `call_max`.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn new(endpoints: Vec<Endpoint>, cluster: Name, call_max: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            runtime,
            endpoints: endpoints.len(),
            rotation: Rotation::new(endpoints, 0),
            place: Arc::new(Place::outside(&cluster, call_max)),
            cluster,
        })
    }

    /// What stands there now.
    ///
    /// # Errors
    /// No endpoint answers, or what stands there is no map of this cluster.
    pub fn read(&mut self) -> Result<Found, OperatorError> {
        let (_, view) = self.open()?;
        Ok(Found {
            map: map_of(&view)?,
            revision: view.map_revision(),
            running: view.offers.keys().cloned().collect(),
        })
    }

    /// Replaces the map, if its key still has this revision; false where it has another one.
    ///
    /// # Errors
    /// No endpoint answers. Where one did not in time, the map may have been written.
    pub fn replace(&mut self, revision: i64, map: &ClusterMap) -> Result<bool, OperatorError> {
        let (mut session, mut view) = self.open()?;
        let written = session.write_map(map, revision, None, &mut view);
        let written = self.runtime.block_on(written);
        written.map_err(|failure| self.told(&failure))
    }

    /// A session with the first endpoint that serves, and what it has.
    fn open(&mut self) -> Result<(Session, View), OperatorError> {
        let mut failed = None;
        for _ in 0..self.endpoints {
            let mut view = View::new(self.cluster.clone());
            let place = Arc::clone(&self.place);
            let opened = Session::open(self.rotation.current(), place, &mut view);
            match self.runtime.block_on(opened) {
                Ok((session, _)) => return Ok((session, view)),
                Err(failure) => {
                    failed = Some(self.told(&failure));
                    self.rotation.failed();
                }
            }
        }
        Err(failed.unwrap_or_else(|| OperatorError("etcd has no address".to_owned())))
    }

    /// Waits for changes from now on, at the first endpoint that serves.
    ///
    /// # Errors
    /// As [`MapInEtcd::read`].
    pub fn follow(mut self) -> Result<FollowedMap, OperatorError> {
        let (session, view) = self.open()?;
        Ok(FollowedMap {
            revision: view.map_revision(),
            place: self,
            session,
            view,
        })
    }

    fn told(&self, failure: &Failure) -> OperatorError {
        let endpoint = self.rotation.current();
        OperatorError(format!("etcd at {endpoint} does not serve: {failure}"))
    }
}

/// The key of a cluster's map, with the feed of its changes.
pub struct FollowedMap {
    place: MapInEtcd,
    session: Session,
    view: View,
    /// Of the map that was told last.
    revision: i64,
}

impl FollowedMap {
    /// The next map; none where none has come until the deadline.
    ///
    /// # Errors
    /// The endpoint has ended the feed, or what stands there is no map of this cluster.
    pub fn next(&mut self, deadline: Instant) -> Result<Option<Arc<ClusterMap>>, OperatorError> {
        while self.view.map_revision() == self.revision {
            let (runtime, changes) = (&self.place.runtime, self.session.changes());
            let changes = runtime.block_on(async { timeout_at(deadline.into(), changes).await });
            let Ok(changes) = changes else {
                return Ok(None);
            };
            let changes = changes.map_err(|failure| self.place.told(&failure))?;
            self.session.note(&changes, &mut self.view);
        }
        self.revision = self.view.map_revision();
        map_of(&self.view)
    }
}

/// The map that stands there; none where there is none.
fn map_of(view: &View) -> Result<Option<Arc<ClusterMap>>, OperatorError> {
    let map = view.map.as_ref().map(|entry| entry.value.clone());
    map.transpose().map_err(|reason| {
        OperatorError(format!(
            "what etcd has as the cluster's map is none: {reason}"
        ))
    })
}
