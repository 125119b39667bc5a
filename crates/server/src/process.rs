//! What the server asks of the operating system for itself: limits, identity, files, background.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{Uid, User, initgroups, setgid, setuid};
use rustix::mm::{MlockAllFlags, mlockall};
use std::ffi::CString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Allows core files as large as the hard limit (`-r`).
///
/// # Errors
/// The limit cannot be set, or is zero.
pub fn raise_core_file() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
    if hard == 0 {
        return Err(io::Error::other("core files are forbidden here (-r)"));
    }
    Ok(setrlimit(Resource::RLIMIT_CORE, hard, hard)?)
}

/// Locks all memory, present and future (`-k`).
///
/// # Errors
/// The limit on locked memory is too low.
pub fn lock_memory() -> io::Result<()> {
    // Pages are locked as they come into use: the store reserves far more address space than it
    // is allowed to fill.
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    Ok(mlockall(flags)?)
}

/// Whether the process runs as root.
pub fn is_root() -> bool {
    Uid::effective().is_root()
}

/// A user whose identity the server can assume.
pub struct Identity(User);

impl Identity {
    /// Finds a user by name.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn find(name: &str) -> io::Result<Self> {
        let missing = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("there is no user '{name}' (-u)"),
            )
        };
        Ok(Identity(User::from_name(name)?.ok_or_else(missing)?))
    }

    /// Becomes that user, with its groups.
    ///
    /// # Errors
    /// The process may not.
    pub fn assume(&self) -> io::Result<()> {
        let user = &self.0;
        initgroups(&CString::new(user.name.as_str())?, user.gid)?;
        setgid(user.gid)?;
        setuid(user.uid)?;
        Ok(())
    }
}

/// Goes into the background (`-d`). Only the new process returns. Must come before any thread is
/// started. With `verbose`, standard output and error stay where they are.
///
/// # Errors
/// The process cannot be forked.
pub fn daemonize(verbose: bool) -> io::Result<()> {
    let mut daemon = daemonize::Daemonize::new().working_directory(std::env::current_dir()?);
    if verbose {
        daemon = daemon
            .stdout(daemonize::Stdio::keep())
            .stderr(daemonize::Stdio::keep());
    }
    daemon.start().map_err(io::Error::other)
}

/// A file that exists as long as this value.
pub struct OwnedFile(PathBuf);

impl OwnedFile {
    /// Writes the process number to `path` (`-P`).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn with_process_number(path: &Path) -> io::Result<Self> {
        write_whole(path, &format!("{}\n", std::process::id()))?;
        Ok(OwnedFile(path.to_owned()))
    }

    /// Takes over a file that is to vanish in the end.
    pub fn owning(path: &Path) -> Self {
        OwnedFile(path.to_owned())
    }
}

impl Drop for OwnedFile {
    fn drop(&mut self) {
        // Nothing is left to be done about a file that cannot be removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes a file so that readers see it whole or not at all.
///
/// # Errors
/// The file cannot be written; its name is in the message.
pub fn write_whole(path: &Path, contents: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let write = || {
        std::fs::File::create(&unfinished)?.write_all(contents.as_bytes())?;
        std::fs::rename(&unfinished, path)
    };
    write().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("cannot write {}: {error}", path.display()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_number_is_written_and_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pid");
        let file = OwnedFile::with_process_number(&path).expect("written");
        let text = std::fs::read_to_string(&path).expect("readable");
        assert_eq!(text.trim().parse(), Ok(std::process::id()));
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn an_unknown_user_is_named() {
        let error = Identity::find("no-such-user-here").err().expect("unknown");
        assert!(error.to_string().contains("no-such-user-here"));
    }
}
