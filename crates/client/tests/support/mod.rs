//! Real servers for tests, on free ports of 127.0.0.1, ended with the test.
#![allow(dead_code)] // Each test program uses its own part of this.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Which program serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    Farcached,
    Memcached,
}

pub const BOTH: [Product; 2] = [Product::Farcached, Product::Memcached];

/// A running server.
pub struct Server {
    pub child: Child,
    pub directory: TempDir,
    pub port: u16,
}

impl Server {
    /// Starts one with further arguments.
    pub fn start(product: Product, arguments: &[&str]) -> Server {
        Server::start_at(product, 0, arguments)
    }

    /// Starts one at this port, 0 for any.
    pub fn start_at(product: Product, port: u16, arguments: &[&str]) -> Server {
        Server::start_with(product, port, arguments, &[])
    }

    /// Starts one with further variables in its environment.
    pub fn start_with(
        product: Product,
        port: u16,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Server {
        let directory = tempfile::tempdir().expect("a directory");
        let port_file = directory.path().join("port");
        let log = std::fs::File::create(directory.path().join("log")).expect("a log");
        let port_wanted = match port {
            0 => "-1".to_owned(),
            port => port.to_string(),
        };
        let mut command = Command::new(program(product));
        command
            .args(["-l", "127.0.0.1", "-p", &port_wanted, "-U", "0", "-t", "2"])
            .args(["-u", "root", "-v"])
            .args(arguments)
            .env("MEMCACHED_PORT_FILENAME", &port_file)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        if product == Product::Farcached {
            command.arg("--port-file").arg(&port_file);
        }
        let child = command.spawn().expect("the server starts");
        let mut server = Server {
            child,
            directory,
            port: 0,
        };
        server.port = wait_for("the server's port", || {
            server.assert_alive();
            let text = std::fs::read_to_string(&port_file).ok()?;
            text.trim().rsplit([' ', ':']).next()?.parse().ok()
        });
        server
    }

    /// Starts one at a unix socket.
    pub fn start_unix(product: Product, path: &Path) -> Server {
        let child = Command::new(program(product))
            .arg("-s")
            .arg(path)
            .args(["-u", "root"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the server starts");
        let directory = tempfile::tempdir().expect("a directory");
        let port = 0;
        let server = Server {
            child,
            directory,
            port,
        };
        wait_for("the socket", || UnixStream::connect(path).ok());
        server
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).expect("a log")
    }

    /// Ends it as nothing else can (signal 9).
    pub fn kill(&mut self) {
        self.child.kill().expect("the server runs");
        self.child.wait().expect("the server ends");
    }

    fn assert_alive(&mut self) {
        if let Some(status) = self.child.try_wait().expect("a child") {
            panic!("the server ended with {status}:\n{}", self.log());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn program(product: Product) -> PathBuf {
    match product {
        Product::Memcached => "memcached".into(),
        Product::Farcached => {
            let test = std::env::current_exe().expect("a path");
            let beside = test
                .ancestors()
                .nth(2)
                .expect("a build folder")
                .join("farcached");
            let why = "build it first: cargo build -p farcache-server";
            assert!(beside.exists(), "{} is not there; {why}", beside.display());
            beside
        }
    }
}

/// Asks until there is an answer; panics when that takes too long.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
