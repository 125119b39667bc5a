//! `--durability sync` when SSDs fail for good: an error for whoever waits and for whoever comes
//! later, and nothing is shown that was not acknowledged. Done with a shim that makes the system's
//! calls fail (`support/failing_ssd.c`).

mod support;

use farcache_proto::binary::{
    HEADER_BYTES, Header, MAGIC_REQUEST, Opcode, SetExtras, Status, encode_head,
};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use support::{Client, Server, wait_for};
use tempfile::TempDir;

const ERROR: &str = "SERVER_ERROR not durable: no SSD is in service";

/// A server whose SSDs can be made to fail.
struct Failing {
    server: Server,
    directory: TempDir,
}

impl Failing {
    fn start(devices: &[&str]) -> Failing {
        let directory = tempfile::tempdir().expect("a directory");
        let shim = compile_shim(directory.path());
        let shim = shim.to_str().expect("a path");
        let order = directory.path().join("order");
        let devices = devices.iter().map(|name| {
            let path = directory.path().join(name);
            format!("{}:16m", path.display())
        });
        let mut arguments = vec!["-m", "64", "--durability", "sync"];
        let devices: Vec<String> = devices.collect();
        for device in &devices {
            arguments.extend(["--ssd", device]);
        }
        let environment = [
            ("LD_PRELOAD", shim),
            ("FAILING_SSD", order.to_str().expect("a path")),
        ];
        let place = ["-l", "127.0.0.1", "-p", "-1", "-U", "-1", "-t", "2"];
        let server = Server::start_in(&place, &arguments, &environment);
        Failing { server, directory }
    }

    /// From now on the SSD of this name can be written no longer; all of them where there is none.
    fn fail(&self, name: Option<&str>) {
        let path = name.map(|name| self.directory.path().join(name));
        self.order(&path.map_or(String::new(), |path| path.display().to_string()));
    }

    /// From now on nothing becomes durable, until [`Failing::go_on`].
    fn stall(&self) {
        self.order("stall");
    }

    fn go_on(&self) {
        std::fs::remove_file(self.directory.path().join("order")).expect("it was there");
    }

    fn order(&self, text: &str) {
        // At once, so that nobody finds it there and empty.
        let draft = self.directory.path().join("draft");
        std::fs::write(&draft, text).expect("written");
        std::fs::rename(draft, self.directory.path().join("order")).expect("renamed");
    }
}

/// Begins a request, and waits until this figure says that it has been carried out.
fn begin(failing: &Failing, request: &str, figure: &str) -> Client<TcpStream> {
    let (mut client, mut control) = (failing.server.connect(), failing.server.connect());
    let before = control.stat(figure);
    client.send(format!("{request}\r\n").as_bytes());
    wait_for("the request", || {
        (control.stat(figure) > before).then_some(())
    });
    client
}

fn is_silent(client: &mut Client<TcpStream>) -> bool {
    let stream = client.stream.get_ref();
    stream.set_nonblocking(true).expect("a socket");
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).expect("a socket");
    peeked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn nothing_is_shown_that_is_not_durable_yet() {
    let failing = Failing::start(&["ssd"]);
    let mut client = failing.server.connect();
    store_some(&mut client);
    failing.stall();
    let mut set = begin(&failing, "set old 0 0 1\r\n2", "total_items");
    let mut delete = begin(&failing, "delete gone", "delete_hits");
    let requests = ["get old", "get gone", "mg gone v", "get kept old"];
    let mut readers = requests.map(|request| begin(&failing, request, "cmd_get"));
    // What has not been changed is shown, and whoever waits holds up nobody else.
    assert_eq!(get(&mut client, "kept").as_deref(), Some("1"));
    for (reader, request) in readers.iter_mut().zip(requests) {
        assert!(is_silent(reader), "{request}");
    }
    assert!(is_silent(&mut set) && is_silent(&mut delete));
    failing.go_on();
    assert_eq!(set.line().as_deref(), Some("STORED"));
    assert_eq!(delete.line().as_deref(), Some("DELETED"));
    let told = readers.map(|mut reader| {
        reader.send(b"mn\r\n");
        let lines = std::iter::from_fn(|| reader.line().filter(|line| line != "MN"));
        lines.collect::<Vec<String>>()
    });
    let both = ["VALUE kept 0 1", "1", "VALUE old 0 1", "2", "END"];
    let expected = [&["VALUE old 0 1", "2", "END"][..], &["END"], &["EN"], &both];
    assert_eq!(told, expected);
}

fn compile_shim(directory: &Path) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/failing_ssd.c");
    let shim = directory.join("failing_ssd.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-shared", "-fPIC", "-o"]);
    let compiled = compiler.arg(&shim).args([source, "-ldl"]).status();
    assert!(compiled.expect("there is a C compiler").success());
    shim
}

fn set(client: &mut Client<TcpStream>, key: &str, value: &str) -> String {
    let request = format!("set {key} 0 0 {}\r\n{value}", value.len());
    client.ask(&request).expect("an answer")
}

fn get(client: &mut Client<TcpStream>, key: &str) -> Option<String> {
    let value = client.get(key)?;
    Some(String::from_utf8(value).expect("what was stored"))
}

/// Durable items.
fn store_some(client: &mut Client<TcpStream>) {
    for key in ["old", "gone", "number", "kept", "binary"] {
        assert_eq!(set(client, key, "1"), "STORED");
    }
    let large = "l".repeat(100_000);
    assert_eq!(set(client, "large", &large), "STORED");
}

#[test]
fn changes_are_refused_in_every_form_once_no_ssd_is_left() {
    let failing = Failing::start(&["ssd"]);
    let mut client = failing.server.connect();
    store_some(&mut client);
    failing.fail(None);
    // The first of them finds the SSD out; all of them wait for it.
    let answer = set(&mut client, "old", "2");
    assert_eq!(answer, ERROR);
    let requests = [
        "set new 0 0 1\r\nx",
        "add another 0 0 1\r\nx",
        "append old 0 0 1\r\nx",
        "delete gone",
        "incr number 1",
        "touch kept 100",
        "ms meta 1\r\nx",
        "ms quiet 1 q\r\nx",
        "md kept q",
        "ma counter N0 q",
        "mg vivified N30",
    ];
    for request in requests {
        assert_eq!(client.ask(request).as_deref(), Some(ERROR), "{request}");
    }
    let mut other = failing.server.connect();
    for key in [
        "old", "new", "another", "gone", "number", "kept", "meta", "quiet", "counter",
    ] {
        assert_eq!(get(&mut other, key), None, "{key} was not acknowledged");
    }
    assert_eq!(
        get(&mut other, "binary").as_deref(),
        Some("1"),
        "acknowledged, and not changed"
    );
    let large = get(&mut other, "large").map(|value| value.len());
    assert_eq!(large, Some(100_000));
    assert_eq!(other.stat("curr_items"), 2);
    wait_for("the log to say so", || {
        let log = failing.server.log();
        log.contains("no SSD is left in service").then_some(())
    });
}

#[test]
fn a_pipeline_gets_its_errors_where_the_answers_would_be() {
    let failing = Failing::start(&["ssd"]);
    let mut client = failing.server.connect();
    store_some(&mut client);
    failing.fail(None);
    client.send(b"get kept\r\nset a 0 0 1\r\nx\r\nget large\r\nset b 0 0 1 noreply\r\nx\r\ndelete old\r\nmn\r\n");
    assert_eq!(client.line().as_deref(), Some("VALUE kept 0 1"));
    assert_eq!(client.line().as_deref(), Some("1"));
    assert_eq!(client.line().as_deref(), Some("END"));
    assert_eq!(client.line().as_deref(), Some(ERROR));
    assert_eq!(client.line().as_deref(), Some("VALUE large 0 100000"));
    assert_eq!(client.line(), Some("l".repeat(100_000)));
    assert_eq!(client.line().as_deref(), Some("END"));
    assert_eq!(client.line().as_deref(), Some(ERROR), "that of the delete");
    assert_eq!(client.line().as_deref(), Some("MN"));
    for key in ["a", "b", "old"] {
        assert_eq!(get(&mut client, key), None, "{key}");
    }
    assert_eq!(client.ask("flush_all").as_deref(), Some(ERROR));
}

#[test]
fn a_large_value_that_comes_in_pieces_is_refused_too() {
    let failing = Failing::start(&["ssd"]);
    let mut client = failing.server.connect();
    store_some(&mut client);
    failing.fail(None);
    for _ in 0..2 {
        let value = "m".repeat(500_000);
        assert_eq!(set(&mut client, "large", &value), ERROR);
        assert_eq!(get(&mut client, "large"), None);
    }
}

#[test]
fn one_of_two_ssds_may_fail_and_the_second_later() {
    let failing = Failing::start(&["first", "second"]);
    let mut client = failing.server.connect();
    store_some(&mut client);
    failing.fail(Some("first"));
    for number in 0..50 {
        let key = format!("key{number}");
        assert_eq!(set(&mut client, &key, "2"), "STORED");
    }
    wait_for("the first SSD to be given up", || {
        failing
            .server
            .log()
            .contains("out of service")
            .then_some(())
    });
    failing.fail(None);
    assert_eq!(set(&mut client, "key0", "3"), ERROR);
    assert_eq!(client.ask("delete key1").as_deref(), Some(ERROR));
    assert_eq!(get(&mut client, "key0"), None);
    assert_eq!(get(&mut client, "key1"), None);
    assert_eq!(get(&mut client, "key2").as_deref(), Some("2"));
}

/// A packet of the binary protocol.
fn packet(opcode: Opcode, key: &[u8], value: &[u8], opaque: u32) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: opcode as u8,
        opaque,
        ..Header::default()
    };
    let extras = match opcode.loud() {
        Opcode::Set => [0; SetExtras::BYTES].to_vec(),
        _ => Vec::new(),
    };
    let mut bytes = Vec::new();
    encode_head(header, &extras, key, value.len(), &mut bytes);
    bytes.extend_from_slice(value);
    bytes
}

/// The next response: its opaque number, status and text.
fn response(stream: &mut TcpStream) -> (u32, Option<Status>, String) {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).expect("a response");
    let header = Header::decode(&header);
    let mut body = vec![0; header.body_len as usize];
    stream.read_exact(&mut body).expect("a body");
    let text = String::from_utf8_lossy(&body).into_owned();
    (header.opaque, Status::from_code(header.status), text)
}

#[test]
fn binary_requests_are_refused_too_quiet_ones_among_them() {
    let failing = Failing::start(&["ssd"]);
    let mut client = failing.server.connect();
    store_some(&mut client);
    failing.fail(None);
    let mut stream = support::tcp(failing.server.address());
    let not_durable = Status::NotDurable.text();
    // By itself, so that there is no answer to come later.
    stream
        .write_all(&packet(Opcode::SetQ, b"binary", b"2", 1))
        .expect("sent");
    assert_eq!(
        response(&mut stream),
        (1, Some(Status::NotDurable), not_durable.to_owned())
    );
    let requests = [
        packet(Opcode::Set, b"binary", b"3", 2),
        packet(Opcode::SetQ, b"other", b"4", 3),
        packet(Opcode::DeleteQ, b"kept", b"", 4),
        packet(Opcode::Noop, b"", b"", 5),
    ];
    stream.write_all(&requests.concat()).expect("sent");
    for opaque in 2..5 {
        let expected = (opaque, Some(Status::NotDurable), not_durable.to_owned());
        assert_eq!(response(&mut stream), expected);
    }
    assert_eq!(
        response(&mut stream),
        (5, Some(Status::Success), String::new())
    );
    for key in ["binary", "other", "kept"] {
        assert_eq!(get(&mut client, key), None, "{key}");
    }
}

/// Sends a datagram with these requests; its reply's text.
fn ask_udp(socket: &UdpSocket, number: u8, requests: &[u8]) -> String {
    let header = [0, number, 0, 0, 0, 1, 0, 0];
    let datagram = [&header, requests].concat();
    socket.send(&datagram).expect("sent");
    let mut reply = [0; 1400];
    let bytes = socket.recv(&mut reply).expect("a reply");
    assert_eq!(reply[..8], header);
    String::from_utf8(reply[8..bytes].to_vec()).expect("text")
}

#[test]
fn over_udp_changes_are_acknowledged_and_refused_alike() {
    let failing = Failing::start(&["ssd"]);
    let mut client = failing.server.connect();
    store_some(&mut client);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = failing.server.port_logged("udp:");
    socket.connect(("127.0.0.1", port)).expect("an address");
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("settable");
    let requests = b"set udp 0 0 1\r\n1\r\nincr number 1\r\nget udp\r\n";
    let replies = "STORED\r\n2\r\nVALUE udp 0 1\r\n1\r\nEND\r\n";
    assert_eq!(ask_udp(&socket, 1, requests), replies);
    failing.fail(None);
    for number in 2..5 {
        let replies = format!("VALUE kept 0 1\r\n1\r\nEND\r\n{ERROR}\r\n{ERROR}\r\n");
        let requests = b"get kept\r\nset udp 0 0 1\r\n2\r\ndelete old\r\n";
        assert_eq!(ask_udp(&socket, number, requests), replies);
        assert_eq!(get(&mut client, "udp"), None, "it was not acknowledged");
    }
    assert_eq!(
        ask_udp(&socket, 5, b"get kept\r\n"),
        "VALUE kept 0 1\r\n1\r\nEND\r\n"
    );
}
