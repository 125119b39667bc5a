//! Servers that share a thread serve, end one by one, and end with the process.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fleet(port_files: &[&Path]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farcache-fleet"));
    for (number, file) in port_files.iter().enumerate() {
        if number > 0 {
            command.arg("--");
        }
        let options = ["-l", "127.0.0.1", "-p", "-1", "-t", "1", "-m", "16", "-A"];
        command.args(options).arg("--port-file").arg(file);
    }
    command.stderr(Stdio::null()).spawn().expect("it starts")
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(port_file: &Path) -> Connection {
        let told = || std::fs::read_to_string(port_file).ok();
        let port = until("a port", || told()?.trim().parse::<u16>().ok());
        let stream = until("it listens", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Connection(BufReader::new(stream))
    }

    fn send(&mut self, request: &str) {
        self.0
            .get_mut()
            .write_all(request.as_bytes())
            .expect("sent");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line.trim_end().into()
    }

    fn ask(&mut self, request: &str, lines: usize) -> Vec<String> {
        self.send(request);
        (0..lines).map(|_| self.line()).collect()
    }
}

#[test]
fn each_serves_what_it_has_and_ends_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["a", "b"].map(|name| folder.path().join(name));
    let mut fleet = fleet(&[&files[0], &files[1]]);
    let [mut a, mut b] = [&files[0], &files[1]].map(|file| Connection::open(file));
    assert_eq!(a.ask("set k 0 0 1\r\na\r\n", 1), ["STORED"]);
    assert_eq!(b.ask("set k 0 0 1\r\nb\r\n", 1), ["STORED"]);
    for _ in 0..100 {
        assert_eq!(a.ask("get k\r\n", 3), ["VALUE k 0 1", "a", "END"]);
        assert_eq!(b.ask("get k\r\n", 3), ["VALUE k 0 1", "b", "END"]);
    }
    a.send("shutdown\r\n");
    assert_eq!(a.line(), "", "the connection ends");
    assert_eq!(b.ask("get k\r\n", 3), ["VALUE k 0 1", "b", "END"]);
    b.send("shutdown\r\n");
    let status = until("it ends", || fleet.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
}

#[test]
fn a_server_that_cannot_start_is_told_of() {
    let refused = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farcache-fleet"));
        let output = command.args(arguments).output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{told}");
        told
    };
    let wrong = refused(&["-p", "-1", "--", "--no-such-option"]);
    assert!(wrong.contains("--no-such-option"), "{wrong}");
    let lost = refused(&["-p", "-1", "-l", "203.0.113.1"]);
    assert!(lost.contains("farcache-fleet: "), "{lost}");
}
