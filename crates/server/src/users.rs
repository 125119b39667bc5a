//! Users and passwords from a file of `user:password` lines.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;
use subtle::{Choice, ConstantTimeEq};

/// The users of a file, read anew when the file changes.
pub struct Users {
    path: PathBuf,
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    users: Vec<User>,
    /// When the file read last had been changed; none before the first read.
    modified: Option<SystemTime>,
}

struct User {
    name: Vec<u8>,
    password: Vec<u8>,
}

impl Users {
    /// The users of the file at `path`, not read yet.
    pub fn new(path: PathBuf) -> Users {
        Users {
            path,
            read: Mutex::default(),
        }
    }

    /// Reads the file if it has changed.
    ///
    /// # Errors
    /// It cannot be read or holds no user; the users read before stay in force.
    pub fn load(&self) -> io::Result<()> {
        let modified = fs::metadata(&self.path)?.modified()?;
        if self.read().modified == Some(modified) {
            return Ok(());
        }
        let users = parse(&fs::read(&self.path)?);
        if users.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no user:password line",
            ));
        }
        *self.read() = Read {
            users,
            modified: Some(modified),
        };
        Ok(())
    }

    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().expect("no panic while held")
    }

    /// Whether the password is that user's. Takes as long for a wrong as for a right one.
    pub fn check(&self, name: &[u8], password: &[u8]) -> bool {
        // A file that has become unreadable leaves the users known before.
        let _ = self.load();
        let read = self.read();
        let matches = |user: &User| user.name.ct_eq(name) & user.password.ct_eq(password);
        read.users
            .iter()
            .map(matches)
            .fold(Choice::from(0), |any, one| any | one)
            .into()
    }
}

impl fmt::Debug for Users {
    /// Shows the file, never what is in it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Users")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn parse(file: &[u8]) -> Vec<User> {
    file.split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

fn parse_line(line: &[u8]) -> Option<User> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, password) = (&line[..colon], &line[colon + 1..]);
    (!name.is_empty()).then(|| User {
        name: name.to_vec(),
        password: password.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn file(name: &str, content: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("farcache-users-{}-{name}", std::process::id()));
        fs::write(&path, content).unwrap();
        path
    }

    #[test]
    fn only_the_exact_pair_passes() {
        let path = file(
            "pairs",
            "anna:secret\nbert:with:colon\r\n\n:nameless\nnocolon\n",
        );
        let users = Users::new(path.clone());
        users.load().unwrap();
        assert!(users.check(b"anna", b"secret"));
        assert!(users.check(b"bert", b"with:colon"));
        for (name, password) in [
            ("anna", "secre"),
            ("anna", "secret2"),
            ("bert", "secret"),
            ("", "nameless"),
            ("", ""),
        ] {
            assert!(
                !users.check(name.as_bytes(), password.as_bytes()),
                "{name}:{password}"
            );
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_changed_file_is_read_anew_and_a_lost_one_stays_in_force() {
        let path = file("changed", "anna:old\n");
        let users = Users::new(path.clone());
        assert!(users.check(b"anna", b"old"));
        fs::write(&path, "anna:new\n").unwrap();
        let later = SystemTime::now() + Duration::from_secs(10);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(later)
            .unwrap();
        assert!(!users.check(b"anna", b"old"));
        assert!(users.check(b"anna", b"new"));
        fs::remove_file(&path).unwrap();
        assert!(users.check(b"anna", b"new"));
        assert!(users.load().is_err());
    }

    #[test]
    fn a_file_without_users_is_refused() {
        let path = file("empty", "# nobody\n");
        let error = Users::new(path.clone()).load().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        fs::remove_file(path).unwrap();
    }
}
