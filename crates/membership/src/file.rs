//! A file with a map's text, followed as it changes.

use crate::Directory;
use crate::in_force::{InForce, Refused};
use crate::watch::{Ender, Wait, Watch};
use farcache_cluster::ClusterMap;
use farcache_cluster::map::{Epoch, InvalidText};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// Longest text that is read, in bytes; 1,000 servers with slots take about a tenth of it.
pub const MAP_BYTES_MAX: u64 = 16 << 20;

/// Why a file gives no map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It has more than [`MAP_BYTES_MAX`] bytes.
    TooLong,
    /// It is not a map's text.
    Invalid(InvalidText),
    /// Its map does not follow the one in force.
    Refused(Refused),
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Unreadable(reason) => write!(formatter, "it cannot be read: {reason}"),
            Unusable::TooLong => write!(formatter, "it has more than {MAP_BYTES_MAX} bytes"),
            Unusable::Invalid(invalid) => invalid.fmt(formatter),
            Unusable::Refused(refused) => refused.fmt(formatter),
        }
    }
}

/// A file cannot be used as the source of a cluster's map.
#[derive(Debug)]
pub enum OpenError {
    /// Its directory cannot be watched.
    Watch(io::Error),
    /// It gives no map.
    Unusable(Unusable),
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Watch(error) => {
                write!(formatter, "its directory cannot be watched: {error}")
            }
            OpenError::Unusable(unusable) => unusable.fmt(formatter),
        }
    }
}

impl std::error::Error for OpenError {}

/// What has become of a change of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// This map is in force now.
    InForce(Arc<ClusterMap>),
    /// The file gives no map that could follow: the map before stays in force. Told once for each
    /// change of the file.
    Unusable(Unusable),
    /// The file can be followed no further, for this reason: the map stays for good.
    Lost(String),
}

/// A file whose map has been read, and whose changes are noted from before that on.
///
/// Made apart from [`follow`](Self::follow), so that a program can refuse a bad file before it goes
/// into the background, where threads must not exist yet.
#[derive(Debug)]
pub struct WatchedFile {
    path: PathBuf,
    watch: Watch,
    ender: Ender,
    map: Arc<ClusterMap>,
}

impl WatchedFile {
    /// Reads the file and begins to note its changes.
    ///
    /// # Errors
    /// [`OpenError`]; that of a text names line and reason.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        // Watched before it is read, so that no change falls between the two.
        let (watch, ender) = Watch::new(path).map_err(OpenError::Watch)?;
        let text = read_text(path).map_err(OpenError::Unusable)?;
        let map = text
            .parse()
            .map_err(|invalid| OpenError::Unusable(Unusable::Invalid(invalid)))?;
        Ok(Self {
            path: path.to_owned(),
            watch,
            ender,
            map: Arc::new(map),
        })
    }

    /// The map that was read.
    #[must_use]
    pub fn map(&self) -> &Arc<ClusterMap> {
        &self.map
    }

    /// Follows the file on a thread of its own, which calls `tell` with what comes of each change,
    /// and `prepare` with each map that is about to come into force: it does when that returns.
    ///
    /// # Errors
    /// When threads are exhausted.
    pub fn follow(
        self,
        prepare: impl Fn(&ClusterMap) + Send + 'static,
        tell: impl Fn(News) + Send + 'static,
    ) -> io::Result<FollowedFile> {
        let Self {
            path,
            watch,
            ender,
            map,
        } = self;
        let in_force = Arc::new(InForce::new(map));
        let mut follower = Follower {
            path,
            in_force: Arc::clone(&in_force),
            last: None,
        };
        let thread = std::thread::Builder::new()
            .name("cluster-file".to_owned())
            .spawn(move || follower.run(&watch, &prepare, &tell))?;
        Ok(FollowedFile {
            in_force,
            ender,
            thread: Some(thread),
        })
    }
}

/// The map of a file that is followed until this is dropped.
#[derive(Debug)]
pub struct FollowedFile {
    in_force: Arc<InForce>,
    ender: Ender,
    thread: Option<JoinHandle<()>>,
}

impl Directory for FollowedFile {
    fn map(&self) -> Arc<ClusterMap> {
        self.in_force.map()
    }

    fn wait_beyond(&self, known: Epoch, deadline: Instant) -> Option<Arc<ClusterMap>> {
        self.in_force.wait_beyond(known, deadline)
    }
}

impl Drop for FollowedFile {
    fn drop(&mut self) {
        self.ender.end();
        if let Some(thread) = self.thread.take() {
            // Whatever a panic there was, it has been reported.
            let _ = thread.join();
        }
    }
}

/// The thread that follows a file.
struct Follower {
    path: PathBuf,
    in_force: Arc<InForce>,
    /// What was read last. One change makes several events, and is told of once.
    last: Option<Result<String, Unusable>>,
}

impl Follower {
    fn run(&mut self, watch: &Watch, prepare: &dyn Fn(&ClusterMap), tell: &dyn Fn(News)) {
        loop {
            let news = match watch.wait() {
                Ok(Wait::Changed) => self.read(prepare),
                Ok(Wait::Ended) => break,
                Ok(Wait::DirectoryLost) => Some(News::Lost("its directory has gone".to_owned())),
                Err(error) => Some(News::Lost(error.to_string())),
            };
            let is_lost = matches!(news, Some(News::Lost(_)));
            if let Some(news) = news {
                tell(news);
            }
            if is_lost {
                break;
            }
        }
        self.in_force.end();
    }

    /// Reads the file anew; none where it is what it was.
    fn read(&mut self, prepare: &dyn Fn(&ClusterMap)) -> Option<News> {
        let read = read_text(&self.path);
        if self.last.as_ref() == Some(&read) {
            return None;
        }
        let map = match &read {
            Ok(text) => text.parse().map(Arc::new).map_err(Unusable::Invalid),
            Err(unusable) => Err(unusable.clone()),
        };
        self.last = Some(read);
        let replace = |map| {
            self.in_force
                .replace(map, prepare)
                .map_err(Unusable::Refused)
        };
        let replaced = map.and_then(replace);
        match replaced {
            Ok(map) => map.map(News::InForce),
            Err(unusable) => Some(News::Unusable(unusable)),
        }
    }
}

/// The text in a file at `path`, which may be a map's.
///
/// # Errors
/// It cannot be read, or is too long.
pub fn read_text(path: &Path) -> Result<String, Unusable> {
    let unreadable = |error: io::Error| Unusable::Unreadable(error.to_string());
    let file = File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    let read = file.take(MAP_BYTES_MAX + 1).read_to_string(&mut text);
    match read.map_err(unreadable)? as u64 {
        ..=MAP_BYTES_MAX => Ok(text),
        _ => Err(Unusable::TooLong),
    }
}
