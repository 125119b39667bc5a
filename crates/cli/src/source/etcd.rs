//! A key of etcd, which servers change, too: every change is made on condition that nobody else has
//! made one.

use super::{Standing, Version};
use crate::failure::Failure;
use crate::options::Target;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Name;
use farcache_membership::etcd::{MapInEtcd, OperatorError};
use std::fmt;

/// The key.
pub struct MapKey {
    map: MapInEtcd,
    cluster: Name,
}

impl fmt::Display for MapKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "etcd, /farcache/{}/map", self.cluster)
    }
}

fn broken(error: &OperatorError) -> Failure {
    Failure::Broken(error.to_string())
}

impl MapKey {
    /// The key of the cluster that the command line names.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn new(target: &Target) -> Result<MapKey, Failure> {
        let cluster = target.name.clone();
        let map = MapInEtcd::new(target.etcd.clone(), cluster.clone(), target.timeout())?;
        Ok(MapKey { map, cluster })
    }

    /// The map that stands there.
    ///
    /// # Errors
    /// etcd does not answer, or has no map of this cluster.
    pub fn read(&mut self) -> Result<Standing, Failure> {
        let found = self.map.read().map_err(|error| broken(&error))?;
        let Some(map) = found.map else {
            return Err(Failure::Broken(format!(
                "etcd has no map of the cluster {}: the first server that starts makes one \
                 (--name names another cluster)",
                self.cluster
            )));
        };
        Ok(Standing {
            map,
            running: Some(found.running),
            version: Version::Revision(found.revision),
        })
    }

    /// Replaces it, if its key still has this revision.
    ///
    /// # Errors
    /// It has another one, or etcd does not answer.
    pub fn replace(&mut self, revision: i64, map: &ClusterMap) -> Result<(), Failure> {
        match self.map.replace(revision, map) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::Overtaken(
                "somebody else has changed the cluster's map in etcd meanwhile; look at it again"
                    .to_owned(),
            )),
            Err(error) => Err(broken(&error)),
        }
    }
}
