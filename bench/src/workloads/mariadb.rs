//! A MariaDB of one's own: its data in a folder, reached by a unix socket only.

use farcache_harness::server_process::{kill_on_signals, spare_on_signals};
use rustix::process::{Pid, Signal};
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to start or to end.
const START_STOP_MAX: Duration = Duration::from_secs(120);
/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What it writes into its log when clients may come.
const READY: &str = "ready for connections";

/// A running database; killed when dropped.
pub struct Mariadb {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Mariadb {
    /// Starts one with an empty database below `folder`, and waits until it is ready.
    ///
    /// Its transactions' log is written once a second, not with each commit: a cache is measured,
    /// not a disk. There are no users and no tables of rights, as nobody else reaches the socket.
    ///
    /// # Errors
    /// If it cannot be started, ends at once, or is not ready in time; the end of its log is told.
    pub fn start(program: &Path, folder: &Path, buffer_pool_bytes: usize) -> io::Result<Mariadb> {
        let data = folder.join("database");
        std::fs::create_dir_all(&data)?;
        let (socket, log) = (folder.join("database.socket"), folder.join("database.log"));
        let mut command = Command::new(program);
        // The first of all options, or it is not one.
        command.arg("--no-defaults");
        command.arg(format!("--datadir={}", data.display()));
        command.arg(format!("--socket={}", socket.display()));
        command.arg(format!(
            "--pid-file={}",
            folder.join("database.pid").display()
        ));
        command.arg(format!("--innodb-buffer-pool-size={buffer_pool_bytes}"));
        command.args([
            "--skip-networking",
            "--skip-grant-tables",
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-log-file-size=256M",
            "--max-connections=500",
            "--max-allowed-packet=64M",
        ]);
        if rustix::process::getuid().is_root() {
            command.arg("--user=root");
        }
        let output = File::create(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", program.display()))
        })?;
        kill_on_signals(Pid::from_child(&child));
        let mut started = Mariadb { child, socket, log };
        started.wait_until_ready()?;
        Ok(started)
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + START_STOP_MAX;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Err(self.failure(&format!("ended: {status}")));
            }
            let told = std::fs::read_to_string(&self.log)?;
            if told.contains(READY) && UnixStream::connect(&self.socket).is_ok() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(self.failure("is not ready"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn failure(&self, what: &str) -> io::Error {
        /// Lines of the log that are told.
        const LINES: usize = 10;
        let told = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = told.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        io::Error::other(format!("MariaDB {what}:\n{}", last.join("\n")))
    }

    /// Asks it to end (SIGTERM) and waits.
    ///
    /// # Errors
    /// If it does not end in time, or not well.
    pub fn stop(mut self) -> io::Result<()> {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let deadline = Instant::now() + START_STOP_MAX;
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(self.failure(&format!("ended: {status}"))),
                None if Instant::now() > deadline => return Err(self.failure("does not end")),
                None => std::thread::sleep(LOOK_EVERY),
            }
        }
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        // An error means that it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
        spare_on_signals(Pid::from_child(&self.child));
    }
}
