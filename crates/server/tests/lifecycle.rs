//! How the server starts, tells where it is, and ends.

mod support;

use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use support::{Server, command, wait_for};

#[test]
fn every_ending_signal_drains_and_ends_with_0() {
    for signal in [Signal::TERM, Signal::INT, Signal::USR1] {
        let mut server = Server::start(&[]);
        let mut client = server.connect();
        client.exercise();
        server.signal(signal);
        assert!(server.wait().success(), "{signal:?}:\n{}", server.log());
        assert_eq!(client.line(), None);
    }
}

#[test]
fn what_has_been_asked_is_answered_before_the_end() {
    let mut server = Server::start(&["-t", "1"]);
    let mut client = server.connect();
    client.set("large", &vec![b'x'; 900_000]);
    // More than fits into the socket, so that much of it waits in the server.
    client.send(&b"get large\r\n".repeat(20));
    assert_eq!(client.line().as_deref(), Some("VALUE large 0 900000"));
    server.signal(Signal::TERM);
    let mut rest = Vec::new();
    client
        .stream
        .read_to_end(&mut rest)
        .expect("an orderly end");
    let expected = 20 * (b"VALUE large 0 900000\r\n\r\nEND\r\n".len() + 900_000);
    assert_eq!(rest.len() + b"VALUE large 0 900000\r\n".len(), expected);
    assert!(server.wait().success());
}

#[test]
fn a_client_that_never_reads_does_not_hold_up_the_end() {
    let mut server = Server::start(&["-t", "1"]);
    let mut client = server.connect();
    client.set("large", &vec![b'x'; 900_000]);
    client.send(&b"get large\r\n".repeat(100));
    server.signal(Signal::TERM);
    assert!(server.wait().success());
}

#[test]
fn verbosity_changes_what_is_logged() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let accepted = || server.log().matches("connection accepted").count();
    assert!(client.ask("version").is_some());
    assert_eq!(accepted(), 0);
    assert_eq!(client.ask("verbosity 2").as_deref(), Some("OK"));
    let mut second = server.connect();
    assert!(second.ask("version").is_some());
    assert_eq!(accepted(), 1);
    assert_eq!(client.ask("verbosity 0").as_deref(), Some("OK"));
    let mut third = server.connect();
    assert!(third.ask("version").is_some());
    assert_eq!(accepted(), 1);
}

#[test]
fn the_shutdown_command_ends_the_server() {
    let mut server = Server::start(&["-A"]);
    let mut client = server.connect();
    client.send(b"shutdown\r\n");
    assert_eq!(client.line(), None);
    assert!(server.wait().success());
}

#[test]
fn wrong_options_are_refused_with_a_message() {
    let taken = Server::start(&[]);
    let taken = format!("127.0.0.1:{}", taken.port);
    for (arguments, status, named) in [
        (&["-Q"][..], 1, "-Q"),
        (&["-o", "foo"], 1, "foo"),
        (&["-t", "0"], 64, "-t"),
        (&["-I", "2g"], 64, "-I"),
        (&["-m", "64kb"], 64, "64kb"),
        (&["-p", "70000"], 64, "70000"),
        (&["-Z"], 64, "ssl_chain_cert"),
        (
            &["-Z", "-o", "ssl_chain_cert=/no/such/file"],
            71,
            "/no/such/file",
        ),
        (&["-Y", "/no/such/file"], 71, "/no/such/file"),
        (&["-l", "192.0.2.1"], 71, "192.0.2.1"),
        (&["-l", &taken], 71, &taken),
        (&["-l", "no.such.host.invalid"], 71, "no.such.host.invalid"),
        (
            &["-s", "/no/such/directory/socket"],
            71,
            "/no/such/directory/socket",
        ),
    ] {
        let output = command(&["-p", "-1", "-l", "127.0.0.1"])
            .args(arguments)
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{arguments:?}: {message}"
        );
        assert!(message.contains(named), "{arguments:?}: {message}");
    }
}

#[test]
fn help_version_and_licence_are_shown() {
    for (option, named) in [
        ("-h", "--conn-limit"),
        ("--version", env!("CARGO_PKG_VERSION")),
        ("-i", "Apache License"),
    ] {
        let output = command(&[option])
            .stdout(Stdio::piped())
            .output()
            .expect("it runs");
        assert!(output.status.success());
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(named),
            "{option}"
        );
    }
}

#[test]
fn ports_and_process_number_are_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let (pid_file, port_file) = (directory.path().join("pid"), directory.path().join("ports"));
    let child = command(&[
        "-p",
        "-1",
        "-U",
        "-1",
        "-l",
        "127.0.0.1",
        "-u",
        "root",
        "-P",
    ])
    .arg(&pid_file)
    .env("MEMCACHED_PORT_FILENAME", &port_file)
    .stderr(Stdio::null())
    .spawn()
    .expect("it starts");
    let mut server = Server {
        child,
        directory,
        port: 0,
    };
    let ports = wait_for("the ports", || std::fs::read_to_string(&port_file).ok());
    assert!(
        ports.contains("TCP INET: ") && ports.contains("UDP INET: "),
        "{ports}"
    );
    let pid = std::fs::read_to_string(&pid_file).expect("a file");
    assert_eq!(pid.trim(), server.child.id().to_string());
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    assert!(!pid_file.exists());
}

#[test]
fn a_daemon_outlives_the_command_that_started_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let (pid_file, port_file) = (directory.path().join("pid"), directory.path().join("port"));
    let status = command(&["-d", "-p", "-1", "-l", "127.0.0.1", "-u", "root", "-P"])
        .arg(&pid_file)
        .arg("--port-file")
        .arg(&port_file)
        .status()
        .expect("it runs");
    assert!(status.success());
    let port = wait_for("its port", || std::fs::read_to_string(&port_file).ok());
    let port: u16 = port.trim().parse().expect("a port");
    let mut client = support::Client::over(support::tcp(([127, 0, 0, 1], port).into()));
    client.exercise();
    let pid = std::fs::read_to_string(&pid_file)
        .expect("a file")
        .trim()
        .parse()
        .expect("a number");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, Signal::TERM).expect("it runs");
    wait_for("its end", || (!pid_file.exists()).then_some(()));
}

/// A server that has not been asked to log anything.
fn start_quiet(arguments: &[&str]) -> Server {
    let server = Server::start_quiet(arguments);
    wait_for("its start line", || {
        server.log().contains("started").then_some(())
    });
    server
}

#[test]
fn the_start_and_the_stop_are_told_without_being_asked_for() {
    let mut server = start_quiet(&["-m", "96", "--fabric", "off"]);
    let log = server.log();
    let line = log.lines().find(|line| line.contains("started"));
    let line = line.expect("a start line");
    for told in [
        &format!("pid={}", server.child.id()),
        "memory_mebibytes=96",
        "threads=2",
        &format!("tcp:127.0.0.1:{}", server.port),
        "off (--fabric off)",
        "ssd=\"none\"",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(line.contains(told), "{told}: {line}");
    }
    server.connect().exercise();
    assert!(
        !server.log().contains("accepted"),
        "connections are not told"
    );
    server.signal(Signal::HUP);
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    let log = server.log();
    assert!(
        log.contains("stopping reason=\"SIGTERM\"") && log.contains("stopped"),
        "{log}"
    );
}

#[test]
fn failed_logins_are_told_with_their_peers_and_not_without_end() {
    let users = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(users.path(), "anna:secret\n").expect("writable");
    let path = users.path().to_str().expect("text");
    let server = start_quiet(&["-Y", path, "--fabric", "off"]);
    let mut client = server.connect();
    let refused = Some("CLIENT_ERROR authentication failure");
    for _ in 0..30 {
        let answer = client.ask("set auth 0 0 10\r\nanna wrong");
        assert_eq!(answer.as_deref(), refused);
    }
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("login")).collect();
    assert!(lines[0].contains("peer=\"tcp:127.0.0.1:"), "{}", lines[0]);
    assert!(!log.contains("wrong") && !log.contains("anna"), "{log}");
    // Ten within ten seconds, which may begin anew on a slow machine.
    assert!((10..30).contains(&lines.len()), "{log}");
    std::fs::write(users.path(), "anna:other\n").expect("writable");
    server.signal(Signal::HUP);
    wait_for("the news", || {
        server.log().contains("users read anew").then_some(())
    });
}

#[test]
fn a_machine_without_ucx_is_warned_of_with_the_package() {
    let server = Server::start_quiet_in(&[], &[("UCX_TLS", "no-such-transport")]);
    let log = server.log();
    assert!(
        log.contains("WARN") && log.contains("no fabric: clients are served over sockets only"),
        "{log}"
    );
}

/// A process that has changed its user may be looked into by that user once it says so, for shared
/// memory: UCX opens it by `/proc`, whose files then belong to that user.
#[test]
fn without_clients_on_the_fabric_a_process_stays_closed_to_the_user_that_it_became() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: only root can become another user");
        return;
    }
    let missing = ("UCX_TLS", "no-such-transport");
    for (fabric, environment) in [("off", None), ("auto", Some(missing)), ("auto", None)] {
        let mut command = command(&["-l", "127.0.0.1", "-p", "-1", "-u", "nobody"]);
        command.args(["--fabric", fabric]).envs(environment);
        let mut server = command.stderr(Stdio::piped()).spawn().expect("a server");
        let log = BufReader::new(server.stderr.take().expect("piped"));
        let mut lines = log.lines().map(|line| line.expect("a line"));
        let started = lines.find(|line| line.contains("started"));
        let folder = format!("/proc/{}", server.id());
        let user = std::fs::metadata(format!("{folder}/environ")).map(|file| file.uid());
        let status = std::fs::read_to_string(format!("{folder}/status"));
        server.kill().expect("it runs");
        server.wait().expect("a child");
        assert!(started.is_some(), "it says when it serves");
        let uids = status.expect("it runs");
        assert!(!uids.contains("Uid:\t0"), "it is nobody:\n{uids}");
        assert_eq!(user.expect("it runs"), 0, "--fabric {fabric}");
    }
}

#[test]
fn metrics_are_served() {
    let server = Server::start(&["--metrics", "127.0.0.1:0"]);
    let mut client = server.connect();
    client.exercise();
    let port = server.port_logged("serving metrics");
    let page = |path: &str| {
        let mut stream = support::tcp(([127, 0, 0, 1], port).into());
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("sent");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("a page");
        page
    };
    let wanted = [
        "farcache_cmd_set_total 2",
        "farcache_get_misses_total 1",
        "farcache_connections 1",
        "farcache_items 2",
        "farcache_get_latency_seconds_count 3",
        "farcache_set_latency_seconds_bucket{le=\"+Inf\"} 2",
        "farcache_memory_limit_bytes 67108864",
    ];
    // The time of a request is recorded after its answer has been sent.
    wait_for("all figures", || {
        let metrics = page("/metrics");
        let is_there = |line: &&str| metrics.lines().any(|other| other == *line);
        wanted.iter().all(is_there).then_some(())
    });
    assert!(page("/elsewhere").starts_with("HTTP/1.0 404"));
}

/// A command that runs the server where no more files than these may be open, whoever runs it.
fn with_open_files(most: usize, arguments: &[&str]) -> Command {
    let script = format!("ulimit -n {most} && exec \"$0\" \"$@\"");
    let shell = ["sh", "-c", &script, env!("CARGO_BIN_EXE_farcached")];
    let mut command = match rustix::process::geteuid().is_root() {
        // Root could raise the limit.
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set=-sys_resource", "--inh-caps=-sys_resource"]);
            command.args(shell);
            command
        }
        false => {
            let mut command = Command::new(shell[0]);
            command.args(&shell[1..]);
            command
        }
    };
    command.args(["-l", "127.0.0.1", "-p", "-1", "-u", "root", "-t", "2"]);
    command.args(arguments);
    command
}

#[test]
fn connections_for_which_there_are_no_descriptors_are_refused_at_the_start() {
    let output = with_open_files(200, &["-c", "200", "--fabric", "off"])
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(71), "{message}");
    for named in ["200 for connections", "allows 200", "-c"] {
        assert!(message.contains(named), "{named}: {message}");
    }
}

#[test]
fn without_a_choice_as_many_connections_are_served_as_there_are_descriptors_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let port_file = directory.path().join("port");
    let child = with_open_files(200, &["--metrics", "127.0.0.1:0", "--port-file"])
        .arg(&port_file)
        .stderr(std::fs::File::create(directory.path().join("log")).expect("a log"))
        .spawn()
        .expect("it starts");
    let mut server = Server {
        child,
        directory,
        port: 0,
    };
    let port = wait_for("its port", || std::fs::read_to_string(&port_file).ok());
    server.port = port.trim().parse().expect("a port");
    let mut first = server.connect();
    let most = first.stat("max_connections");
    assert!((50..200).contains(&most), "{most}:\n{}", server.log());
    assert!(server.log().contains("fewer are served"));
    let mut others: Vec<_> = (1..most).map(|_| server.connect()).collect();
    for client in &mut others {
        assert!(client.ask("version").is_some());
    }
    let refusal = "ERROR Too many open connections";
    assert_eq!(server.connect().line().as_deref(), Some(refusal));
    assert!(server.descriptors() <= 200);
}

#[test]
fn log_lines_are_json_if_asked_for() {
    let server = Server::start(&["--log-format", "json", "-o", "slab_reassign"]);
    let log = server.log();
    assert!(log.lines().count() >= 2);
    assert!(
        log.lines()
            .all(|line| line.starts_with('{') && line.ends_with('}')),
        "{log}"
    );
    assert!(log.contains("-o slab_reassign"));
}

#[test]
fn watchers_see_what_they_asked_for() {
    let server = Server::start(&[]);
    let mut watcher = server.connect();
    let flags = "watch fetchers mutations deletions";
    assert_eq!(watcher.ask(flags).as_deref(), Some("OK"));
    let mut client = server.connect();
    client.set("a/b", b"value");
    assert_eq!(client.get("a/b").as_deref(), Some(&b"value"[..]));
    assert_eq!(client.ask("delete a/b").as_deref(), Some("DELETED"));
    assert_eq!(client.ask("mg a/b v").as_deref(), Some("EN"));
    assert_eq!(client.ask("ms m 1\r\nx").as_deref(), Some("HD"));
    for event in [
        "type=item_store key=a%2Fb status=stored size=5",
        "type=item_get key=a%2Fb status=found size=5",
        "type=deleted key=a%2Fb cmd=delete",
        "type=item_get key=a%2Fb status=not_found size=0",
        "type=item_store key=m status=stored size=1",
    ] {
        let line = watcher.line().expect("an event");
        assert!(line.ends_with(event), "{line}, not {event}");
    }
    assert_eq!(client.stat("log_watchers"), 1);
    assert_eq!(client.stat("log_watcher_sent"), 5);
}

#[test]
fn watchers_see_what_has_to_make_room() {
    let server = Server::start(&["-m", "8"]);
    let mut watcher = server.connect();
    assert_eq!(watcher.ask("watch evictions").as_deref(), Some("OK"));
    let mut client = server.connect();
    for number in 0..2000 {
        client.set(&format!("key/{number}"), &[b'x'; 10_000]);
    }
    let line = watcher.line().expect("an event");
    assert!(line.contains(" type=eviction key=key%2F"), "{line}");
    assert!(line.ends_with(" clsid=1 size=10000"), "{line}");
    assert!(line.contains(" fetch=no ttl=-1 la="), "{line}");
}

#[test]
fn watchers_see_connections_come_and_go() {
    let server = Server::start(&[]);
    let mut watcher = server.connect();
    assert_eq!(watcher.ask("watch connevents").as_deref(), Some("OK"));
    drop(server.connect());
    let opened = watcher.line().expect("an event");
    assert!(opened.contains(" type=conn_new rip=127.0.0.1 "), "{opened}");
    let closed = watcher.line().expect("an event");
    assert!(
        closed.contains(" type=conn_close rip=127.0.0.1 "),
        "{closed}"
    );
}
