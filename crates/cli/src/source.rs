//! Where a cluster's map stands.

#[cfg(feature = "etcd")]
mod etcd;
mod file;

use crate::failure::Failure;
use crate::options::Target;
use farcache_cluster::ClusterMap;
use file::MapFile;
use std::sync::Arc;

/// A place where a map stands, and can be replaced on condition that nobody else has.
pub enum Source {
    /// A file that servers watch.
    File(MapFile),
    /// A key of etcd.
    #[cfg(feature = "etcd")]
    Etcd(etcd::MapKey),
}

/// What stood there.
pub struct Standing {
    /// The map.
    pub map: Arc<ClusterMap>,
    /// Servers that run, by their first addresses, where the place knows of them.
    pub running: Option<Vec<String>>,
    version: Version,
}

#[cfg(test)]
impl Standing {
    /// What stands nowhere.
    pub fn of(map: ClusterMap, running: Option<Vec<String>>) -> Standing {
        Standing {
            map: Arc::new(map),
            running,
            version: Version::Text(String::new()),
        }
    }
}

/// By what a change by somebody else is noticed.
enum Version {
    /// The whole text.
    Text(String),
    /// etcd's revision of the key.
    #[cfg(feature = "etcd")]
    Revision(i64),
}

impl Source {
    /// The place that the command line names.
    ///
    /// # Errors
    /// It cannot be used at all.
    pub fn open(target: &Target) -> Result<Source, Failure> {
        match &target.file {
            Some(path) => Ok(Source::File(MapFile::new(path)?)),
            #[cfg(feature = "etcd")]
            None => etcd::MapKey::new(target).map(Source::Etcd),
            #[cfg(not(feature = "etcd"))]
            None => Err(Failure::Broken(
                "--etcd: this farcache was built without etcd".to_owned(),
            )),
        }
    }

    /// The map that stands there now.
    ///
    /// # Errors
    /// There is none that can be used.
    pub fn read(&mut self) -> Result<Standing, Failure> {
        match self {
            Source::File(file) => file.read(),
            #[cfg(feature = "etcd")]
            Source::Etcd(key) => key.read(),
        }
    }

    /// Replaces what stood there.
    ///
    /// # Errors
    /// [`Failure::Overtaken`] where something else stands there by now.
    pub fn replace(&mut self, standing: &Standing, map: &ClusterMap) -> Result<(), Failure> {
        match (self, &standing.version) {
            (Source::File(file), Version::Text(text)) => file.replace(text, map),
            #[cfg(feature = "etcd")]
            (Source::Etcd(key), Version::Revision(revision)) => key.replace(*revision, map),
            #[cfg(feature = "etcd")]
            _ => unreachable!("what stands at a place was read there"),
        }
    }

    /// The place, for people.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Source::File(file) => file.to_string(),
            #[cfg(feature = "etcd")]
            Source::Etcd(key) => key.to_string(),
        }
    }

    /// Whether servers make maps of their own here, so that another map than one's own is nothing
    /// unusual.
    #[must_use]
    pub fn has_publishers(&self) -> bool {
        !matches!(self, Source::File(_))
    }
}
