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
use std::time::Duration;
use tokio::runtime::Runtime;

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
    /// That of this cluster. Each call to etcd may take as long as `call_max`.
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
        let map = view.map.as_ref().map(|entry| entry.value.clone());
        let map = map.transpose().map_err(|reason| {
            OperatorError(format!(
                "what etcd has as the cluster's map is none: {reason}"
            ))
        })?;
        Ok(Found {
            map,
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

    fn told(&self, failure: &Failure) -> OperatorError {
        let endpoint = self.rotation.current();
        OperatorError(format!("etcd at {endpoint} does not serve: {failure}"))
    }
}
