//! Where a server that has chosen its port itself tells which.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// The variable by which both servers are told of the file. Source: memcached's `doc/` and its
/// tests.
pub const VARIABLE: &str = "MEMCACHED_PORT_FILENAME";

/// The server may run as another user, who makes the file.
const FOLDER_MODE: u32 = 0o733;

/// A file that the server writes, in a folder of its own, which goes with this.
pub struct PortFile {
    folder: PathBuf,
}

impl PortFile {
    /// A place for the file.
    ///
    /// # Errors
    /// If no folder can be made for it.
    pub fn new() -> io::Result<PortFile> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let process = std::process::id();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = std::env::temp_dir().join(format!("farcache-port-{process}-{number}"));
            match fs::create_dir(&folder) {
                Ok(()) => {
                    let port_file = PortFile { folder };
                    let mode = Permissions::from_mode(FOLDER_MODE);
                    fs::set_permissions(&port_file.folder, mode)?;
                    return Ok(port_file);
                }
                // Left behind by a process that had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The file's path, as the environment takes it.
    pub fn path(&self) -> String {
        self.folder.join("ports").display().to_string()
    }

    /// The TCP port, once it has been told.
    pub fn port(&self) -> Option<u16> {
        tcp_port(&fs::read_to_string(self.folder.join("ports")).ok()?)
    }
}

impl Drop for PortFile {
    fn drop(&mut self) {
        // Nobody is there to be told that it stays.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The port of the first line `TCP INET: PORT`.
fn tcp_port(text: &str) -> Option<u16> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP "))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tcp_port_is_found_among_others() {
        assert_eq!(tcp_port("UDP INET: 5\nTCP INET: 4242\n"), Some(4242));
        assert_eq!(tcp_port("TCP INET6: 7\n"), Some(7));
        assert_eq!(tcp_port("UDP INET: 5\n"), None);
        assert_eq!(tcp_port(""), None);
    }

    #[test]
    fn the_folder_goes_with_it() {
        let (first, second) = (PortFile::new().unwrap(), PortFile::new().unwrap());
        assert_ne!(first.path(), second.path());
        assert_eq!(first.port(), None);
        fs::write(first.path(), "TCP INET: 9\n").unwrap();
        assert_eq!(first.port(), Some(9));
        let folder = first.folder.clone();
        drop(first);
        assert!(!folder.exists());
    }
}
