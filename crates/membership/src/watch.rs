//! Learns by inotify when a file may have changed.
//!
//! The directory is watched rather than the file: a file that is replaced by a rename is another
//! inode, of which a watch on the old one would never hear. Events of three kinds count:
//!
//! - the file was closed after it had been written, or another was renamed to its name. Not each
//!   write: what is written in place in several steps would be read half-done;
//! - the file was deleted or renamed away;
//! - anything else was renamed to any name in the directory. The file may be a symbolic link, and
//!   what it leads to is replaced elsewhere: Kubernetes swaps the directory `..data` so.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Room for some dozens of events, in bytes. The longest takes 16 + 256.
const EVENTS_BYTES: usize = 8 << 10;

/// What tells that a file may have changed.
#[derive(Debug)]
pub(crate) struct Watch {
    events: OwnedFd,
    /// Readable once the watch is to end.
    end: OwnedFd,
    /// The file's name in its directory.
    name: OsString,
}

/// What a wait has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The file may have changed.
    Changed,
    /// The directory has been deleted, moved or unmounted: nothing will be heard any more.
    DirectoryLost,
    /// [`Ender::end`] was called.
    Ended,
}

/// Ends a [`Watch`] from another thread.
#[derive(Debug)]
pub(crate) struct Ender(OwnedFd);

impl Ender {
    /// The watch's present wait, or its next one, is its last.
    pub(crate) fn end(&self) {
        // Cannot fail: the counter is written once, and far from full.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl Watch {
    /// Notes from now on what happens to the file at `path`, which need not be there.
    pub(crate) fn new(path: &Path) -> io::Result<(Watch, Ender)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let kinds = WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        inotify::add_watch(&events, directory_of(path), kinds)?;
        let end = eventfd(0, EventfdFlags::CLOEXEC)?;
        let ender = Ender(end.try_clone()?);
        let name = name.to_owned();
        Ok((Watch { events, end, name }, ender))
    }

    /// Waits until something has happened, and takes all that has happened by then as one.
    pub(crate) fn wait(&self) -> io::Result<Wait> {
        loop {
            let mut sources = [&self.events, &self.end].map(|fd| PollFd::new(fd, PollFlags::IN));
            retry_on_intr(|| poll(&mut sources, None))?;
            if !sources[1].revents().is_empty() {
                return Ok(Wait::Ended);
            }
            if let Some(wait) = self.take_events()? {
                return Ok(wait);
            }
        }
    }

    /// Takes the events that have come; none of them may matter.
    fn take_events(&self) -> io::Result<Option<Wait>> {
        let mut room = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut reader = Reader::new(&self.events, &mut room);
        let mut wait = None;
        loop {
            match reader.next() {
                Ok(event) => match self.meaning(&event) {
                    Some(Wait::Changed) if wait.is_some() => {}
                    None => {}
                    heard => wait = heard,
                },
                Err(Errno::AGAIN) => return Ok(wait),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn meaning(&self, event: &inotify::Event<'_>) -> Option<Wait> {
        let flags = event.events();
        let lost =
            ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
        let anywhere = ReadFlags::MOVED_TO | ReadFlags::QUEUE_OVERFLOW;
        let is_named =
            || event.file_name().map(|name| name.to_bytes()) == Some(self.name.as_bytes());
        if flags.intersects(lost) {
            return Some(Wait::DirectoryLost);
        }
        (flags.intersects(anywhere) || is_named()).then_some(Wait::Changed)
    }
}

/// The directory that a file's name stands in.
fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_may_have_changed_the_file_counts() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("map");
        let other = directory.path().join("other");
        let (watch, ender) = Watch::new(&path).expect("a watch");
        let heard = || watch.take_events().expect("readable");
        fs::write(&other, "").expect("written");
        fs::remove_file(&other).expect("removed");
        assert_eq!(heard(), None);
        fs::write(&path, "").expect("written");
        fs::write(&path, "more").expect("written");
        assert_eq!(watch.wait().expect("readable"), Wait::Changed);
        assert_eq!(heard(), None, "all that has happened is one change");
        fs::remove_file(&path).expect("removed");
        assert_eq!(heard(), Some(Wait::Changed));
        ender.end();
        assert_eq!(watch.wait().expect("readable"), Wait::Ended);
    }

    #[test]
    fn a_bare_name_stands_in_the_working_directory() {
        assert_eq!(directory_of(Path::new("map")), Path::new("."));
        assert_eq!(directory_of(Path::new("/etc/map")), Path::new("/etc"));
    }
}
