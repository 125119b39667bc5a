//! A file that servers watch. It is replaced by a rename: whoever reads it sees the map before or
//! the one after.

use super::{Standing, Version};
use crate::failure::Failure;
use farcache_cluster::ClusterMap;
use farcache_membership::{SavedMap, read_map_text};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file.
pub struct MapFile {
    path: PathBuf,
}

impl fmt::Display for MapFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(formatter)
    }
}

impl MapFile {
    /// The file at `path`.
    ///
    /// # Errors
    /// It is not there, or is no file.
    pub fn new(path: &Path) -> Result<MapFile, Failure> {
        let file = MapFile {
            path: path.to_owned(),
        };
        let found = fs::metadata(path).map_err(|error| file.unusable(&error))?;
        match found.is_file() {
            true => Ok(file),
            false => Err(file.unusable(&"it is no file")),
        }
    }

    fn unusable(&self, reason: &dyn fmt::Display) -> Failure {
        Failure::Broken(format!("cannot use the cluster's map in {self}: {reason}"))
    }

    /// The map in the file.
    ///
    /// # Errors
    /// It cannot be read, or is no map.
    pub fn read(&self) -> Result<Standing, Failure> {
        let text = read_map_text(&self.path).map_err(|error| self.unusable(&error))?;
        let map: ClusterMap = text.parse().map_err(|error| self.unusable(&error))?;
        Ok(Standing {
            map: Arc::new(map),
            running: None,
            version: Version::Text(text),
        })
    }

    /// Replaces the text by that of a map.
    ///
    /// # Errors
    /// It is not this text any more, or the file cannot be replaced.
    pub fn replace(&self, text: &str, map: &ClusterMap) -> Result<(), Failure> {
        self.refuse_link()?;
        // Of two of us one waits for the other. Editors know nothing of it, so look again after.
        let directory = File::open(self.directory()).map_err(|error| self.unusable(&error))?;
        directory.lock().map_err(|error| self.unusable(&error))?;
        let now = read_map_text(&self.path).map_err(|error| self.unusable(&error))?;
        if now != text {
            return Err(Failure::Overtaken(format!(
                "somebody else has changed the cluster's map in {self} meanwhile; look at it again"
            )));
        }
        let replaced = SavedMap::at(&self.path).save(map);
        replaced.map_err(|error| {
            Failure::Broken(format!(
                "cannot replace the cluster's map in {self}: {error}"
            ))
        })
    }

    /// The servers watch the directory of the link, not the one that it leads to.
    fn refuse_link(&self) -> Result<(), Failure> {
        match self.path.is_symlink() {
            true => Err(self
                .unusable(&"it is a symbolic link: change what it leads to where that comes from")),
            false => Ok(()),
        }
    }

    fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const TEXT: &str = "farcache-cluster-map 1\n# by hand\ncluster c\nepoch 1\nplacement client\n\
        server 1 incarnation=1 weight=1 zone=- state=serving addresses=a:1\nend\n";

    fn next(map: &ClusterMap) -> ClusterMap {
        let mut content = map.content().clone();
        content.epoch.0 += 1;
        ClusterMap::new(content).unwrap()
    }

    #[test]
    fn a_map_that_somebody_else_changed_meanwhile_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("map");
        fs::write(&path, TEXT).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let file = MapFile::new(&path).unwrap();
        let standing = file.read().unwrap();
        let Version::Text(text) = &standing.version else {
            unreachable!("a file")
        };
        let map = next(&standing.map);
        file.replace(text, &map).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), map.to_string());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "who may read it may do so on");
        let refused = file.replace(text, &next(&map));
        assert!(matches!(refused, Err(Failure::Overtaken(_))), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), map.to_string());
    }

    #[test]
    fn a_link_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let [path, link] = ["map", "link"].map(|name| directory.path().join(name));
        fs::write(&path, TEXT).unwrap();
        symlink(&path, &link).unwrap();
        let file = MapFile::new(&link).unwrap();
        let map = next(&file.read().unwrap().map);
        assert!(file.replace(TEXT, &map).is_err());
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), TEXT);
    }

    #[test]
    fn what_is_no_map_is_told_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("map");
        assert!(MapFile::new(&path).is_err());
        assert!(MapFile::new(directory.path()).is_err());
        fs::write(&path, "nonsense\n").unwrap();
        let failure = MapFile::new(&path).unwrap().read().err().unwrap();
        assert!(failure.to_string().contains("line 1: "), "{failure}");
        assert_eq!(failure.status(), 1);
    }
}
