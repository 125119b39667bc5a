//! `--fabric`, and what a server without it answers.

use crate::support::{Server, command};
use crate::{Client, TRANSPORTS, over_each, start};

#[test]
fn a_server_without_it_is_any_memcached() {
    let server = Server::start(&["--fabric", "off"]);
    let mut client = server.connect();
    assert_eq!(client.ask("fabric 1 ucx").as_deref(), Some("ERROR"));
    client.send(b"stats fabric\r\n");
    assert_eq!(client.line().as_deref(), Some("STAT network none"));
}

#[test]
fn a_server_that_requires_it_says_what_is_missing() {
    let output = command(&[
        "-l",
        "127.0.0.1",
        "-p",
        "-1",
        "-u",
        "root",
        "--fabric",
        "require",
    ])
    .env("UCX_TLS", "nonsense")
    .stderr(std::process::Stdio::piped())
    .output()
    .expect("it ends");
    assert_eq!(output.status.code(), Some(71));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("--fabric require: "), "{message}");
}

#[test]
fn a_server_that_finds_none_says_so_and_serves_sockets() {
    let place = ["-l", "127.0.0.1", "-p", "-1"];
    let server = Server::start_in(&place, &[], &[("UCX_TLS", "nonsense")]);
    assert!(server.log().contains("sockets only"), "{}", server.log());
    server.connect().exercise();
}

#[test]
fn the_choice_is_shown() {
    let Some((server, _)) = start(&TRANSPORTS[0], &[]) else {
        return;
    };
    let mut client = server.connect();
    client.send(b"stats settings\r\n");
    let mut lines = Vec::new();
    while let Some(line) = client.line().filter(|line| line != "END") {
        lines.push(line);
    }
    assert!(lines.contains(&"STAT fabric require".to_owned()));
}

/// Two for each is what the server counts with, beside the life line.
#[test]
fn a_session_takes_no_more_descriptors_than_are_counted() {
    const SESSIONS: usize = 10;
    over_each(&[], |server, network, transport| {
        let first = Client::connect(server, network);
        let before = server.descriptors();
        let clients: Vec<Client> = (0..SESSIONS)
            .map(|_| Client::connect(server, network))
            .collect();
        let more = server.descriptors() - before;
        assert!(more <= SESSIONS * 3, "{}: {more}", transport.lane);
        drop((first, clients));
    });
}
