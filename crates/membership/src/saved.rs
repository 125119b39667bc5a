//! The last map, kept in a file for the next start.

use crate::Unusable;
use crate::file::read_text;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Name;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that holds the map that was in force last.
///
/// It is the text of a map like any other, so it is also what `--cluster-file` reads.
#[derive(Clone, Debug)]
pub struct SavedMap {
    path: PathBuf,
}

impl SavedMap {
    /// The file at `path`, whatever it holds.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// The map in the file at `path`. No file is no map, as at the first start.
    ///
    /// # Errors
    /// The file cannot be read, or is not a map of this cluster.
    pub fn open(path: &Path, cluster: &Name) -> Result<(Self, Option<Arc<ClusterMap>>), Unusable> {
        let saved = Self::at(path);
        if !path.exists() {
            return Ok((saved, None));
        }
        let map: ClusterMap = read_text(path)?.parse().map_err(Unusable::Invalid)?;
        let named = &map.content().cluster;
        if named != cluster {
            let refused = crate::Refused::OtherCluster(named.to_string());
            return Err(Unusable::Refused(refused));
        }
        Ok((saved, Some(Arc::new(map))))
    }

    /// Replaces what the file holds: after a crash it holds the map before, or this one. Whose it
    /// is and who may read it stays as it was.
    ///
    /// # Errors
    /// It cannot be written, or not with the same owner.
    pub fn save(&self, map: &ClusterMap) -> io::Result<()> {
        let mut name = self.path.clone().into_os_string();
        name.push(".new");
        let new = PathBuf::from(name);
        let mut file = File::create(&new)?;
        if let Ok(before) = fs::metadata(&self.path) {
            keep_owner(&before, &file)?;
        }
        file.write_all(map.to_string().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        let directory = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(directory)?.sync_all()
    }
}

fn keep_owner(before: &Metadata, file: &File) -> io::Result<()> {
    let present = file.metadata()?;
    if (present.uid(), present.gid()) != (before.uid(), before.gid()) {
        fchown(file, Some(before.uid()), Some(before.gid()))?;
    }
    file.set_permissions(before.permissions())
}
