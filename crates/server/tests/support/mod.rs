//! A real server for tests, on free ports, ended with the test.
#![allow(dead_code)] // Each test program uses its own part of this.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    pub child: Child,
    pub directory: TempDir,
    pub port: u16,
}

impl Server {
    /// Starts one at 127.0.0.1 with further `arguments`.
    pub fn start(arguments: &[&str]) -> Server {
        Server::start_at(&["-l", "127.0.0.1", "-p", "-1", "-t", "2"], arguments)
    }

    /// Starts one with these arguments only.
    pub fn start_at(place: &[&str], arguments: &[&str]) -> Server {
        Server::start_in(place, arguments, &[])
    }

    /// The same with these environment variables.
    pub fn start_in(place: &[&str], arguments: &[&str], environment: &[(&str, &str)]) -> Server {
        Server::run(command(place), arguments, environment)
    }

    /// Starts one at 127.0.0.1 that logs what it logs without `-v`.
    pub fn start_quiet(arguments: &[&str]) -> Server {
        Server::start_quiet_in(arguments, &[])
    }

    /// The same with these environment variables.
    pub fn start_quiet_in(arguments: &[&str], environment: &[(&str, &str)]) -> Server {
        let place = command(&["-l", "127.0.0.1", "-p", "-1", "-t", "2"]);
        Server::run_with(place, arguments, environment, &[])
    }

    fn run(command: Command, arguments: &[&str], environment: &[(&str, &str)]) -> Server {
        Server::run_with(command, arguments, environment, &["-v"])
    }

    fn run_with(
        mut command: Command,
        arguments: &[&str],
        environment: &[(&str, &str)],
        verbosity: &[&str],
    ) -> Server {
        let directory = tempfile::tempdir().expect("a directory");
        let port_file = directory.path().join("port");
        let child = command
            .args(arguments)
            .args(verbosity)
            .args(["-u", "root", "--port-file"])
            .arg(&port_file)
            .envs(environment.iter().copied())
            .stderr(std::fs::File::create(directory.path().join("log")).expect("a log"))
            .spawn()
            .expect("the server starts");
        let mut server = Server {
            child,
            directory,
            port: 0,
        };
        let port = wait_for("the server's port", || {
            server.assert_alive();
            std::fs::read_to_string(&port_file).ok()
        });
        server.port = port.trim().parse().expect("a port");
        server
    }

    /// Starts one at 127.0.0.1 with this soft limit of open files.
    pub fn start_limited(open_files: usize, arguments: &[&str]) -> Server {
        let script = format!("ulimit -S -n {open_files} && exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script, env!("CARGO_BIN_EXE_farcached")])
            .args(["-l", "127.0.0.1", "-p", "-1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Server::run(shell, arguments, &[])
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub fn connect(&self) -> Client<TcpStream> {
        Client::over(tcp(self.address()))
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).expect("a log")
    }

    /// The port named in the log line that contains `what`.
    pub fn port_logged(&self, what: &str) -> u16 {
        wait_for(what, || {
            let log = self.log();
            let line = log.lines().find(|line| line.contains(what))?;
            line.split([':', ' '])
                .filter_map(|word| word.parse().ok())
                .next_back()
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the server runs");
    }

    /// Stops all of the server's threads: a signal alone is not felt at once by those that run.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        let stopped = waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED);
        let (_, status) = stopped.expect("a child").expect("it was waited for");
        assert!(status.stopped());
    }

    /// Waits for the server to end.
    pub fn wait(&mut self) -> ExitStatus {
        wait_for("the server's end", || {
            self.child.try_wait().expect("a child")
        })
    }

    pub fn descriptors(&self) -> usize {
        let directory = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(directory)
            .expect("the server runs")
            .count()
    }

    pub fn resident_kb(&self) -> usize {
        self.status("VmRSS")
    }

    /// Memory that is neither a file's nor shared, in kB.
    pub fn own_kb(&self) -> usize {
        self.status("RssAnon")
    }

    /// What is in memory of the files that `counts`, as this process sees it, and all that it has
    /// mapped of them, in kB.
    pub fn mapped_kb(&self, counts: impl Fn(&str) -> bool) -> (usize, usize) {
        let maps = format!("/proc/{}/smaps", self.child.id());
        let maps = std::fs::read_to_string(maps).expect("the server runs");
        let (mut resident, mut all, mut is_counted) = (0, 0, false);
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let (first, second) = (words.next().expect("a word"), words.next());
            match first {
                "Size:" | "Rss:" if !is_counted => {}
                "Size:" => {
                    all += second
                        .expect("a number")
                        .parse::<usize>()
                        .expect("a number")
                }
                "Rss:" => resident += second.expect("a number").parse::<usize>().expect("one"),
                _ if !first.ends_with(':') => is_counted = counts(line),
                _ => {}
            }
        }
        (resident, all)
    }

    pub fn threads(&self) -> usize {
        self.status("Threads")
    }

    /// A number of the kernel's page about the process.
    fn status(&self, name: &str) -> usize {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).expect("the server runs");
        let line = status
            .lines()
            .find(|line| line.starts_with(name))
            .expect("such a line");
        line.split_whitespace()
            .nth(1)
            .and_then(|number| number.parse().ok())
            .expect("a number")
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

/// The server's command line.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farcached"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
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

pub fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("settable");
    stream.set_nodelay(true).expect("settable");
    stream
}

/// A client of the text protocol.
pub struct Client<S> {
    pub stream: BufReader<S>,
}

impl<S: Read + Write> Client<S> {
    pub fn over(stream: S) -> Self {
        Client {
            stream: BufReader::new(stream),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream
            .get_mut()
            .write_all(bytes)
            .expect("the server reads");
        self.stream.get_mut().flush().expect("the server reads");
    }

    /// The next line, without its end; none when the server has closed the connection.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }

    pub fn ask(&mut self, request: &str) -> Option<String> {
        self.send(request.as_bytes());
        self.send(b"\r\n");
        self.line()
    }

    pub fn set(&mut self, key: &str, value: &[u8]) {
        self.send(format!("set {key} 0 0 {}\r\n", value.len()).as_bytes());
        self.send(value);
        self.send(b"\r\n");
        assert_eq!(self.line().as_deref(), Some("STORED"));
    }

    pub fn get(&mut self, key: &str) -> Option<Vec<u8>> {
        let head = self.ask(&format!("get {key}")).expect("an answer");
        if head == "END" {
            return None;
        }
        let length: usize = head
            .rsplit(' ')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a length");
        let mut value = vec![0; length + 2];
        self.stream.read_exact(&mut value).expect("a value");
        value.truncate(length);
        assert_eq!(self.line().as_deref(), Some("END"));
        Some(value)
    }

    /// The value of a general statistic.
    pub fn stat(&mut self, name: &str) -> u64 {
        let found = self.stat_if_open(name);
        found.unwrap_or_else(|| panic!("no statistic {name}"))
    }

    /// The value of a general statistic; none where the server closes the connection.
    pub fn stat_if_open(&mut self, name: &str) -> Option<u64> {
        self.stat_of("", name)
    }

    /// The value of a statistic of the SSD tier.
    pub fn tier_stat(&mut self, name: &str) -> u64 {
        let found = self.stat_of(" tier", name);
        found.unwrap_or_else(|| panic!("no statistic {name} of the tier"))
    }

    /// The value of a statistic of a group; none where the server closes the connection.
    fn stat_of(&mut self, group: &str, name: &str) -> Option<u64> {
        let request = format!("stats{group}\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).ok()?;
        let mut found = None;
        while let Some(line) = self.line().filter(|line| line != "END") {
            let mut words = line.split(' ').skip(1);
            if words.next() == Some(name) {
                found = words.next().and_then(|value| value.parse().ok());
            }
        }
        found
    }

    /// Stores and reads a small and a large value.
    pub fn exercise(&mut self) {
        let large: Vec<u8> = (0..900_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        self.set("small", b"value");
        self.set("large", &large);
        assert_eq!(self.get("small").as_deref(), Some(&b"value"[..]));
        assert_eq!(self.get("large"), Some(large));
        assert_eq!(self.get("absent"), None);
    }
}
