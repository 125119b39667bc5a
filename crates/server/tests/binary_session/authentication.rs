//! SASL on the binary protocol.

use crate::client::{Client, Server, bare, keyed, packet};
use farcache_proto::binary::{Opcode, Status};
use farcache_server::settings::Settings;
use std::io::Write;

const REFUSED: u16 = Status::AuthenticationError as u16;

fn server(users: &tempfile::NamedTempFile) -> Server {
    Server::new(Settings {
        sasl: true,
        auth_file: Some(users.path().to_owned()),
        ..Settings::default()
    })
}

fn users(lines: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
    file.write_all(lines.as_bytes()).expect("and written");
    file
}

fn plain(message: &[u8]) -> Vec<u8> {
    packet(Opcode::SaslAuth, &[], b"PLAIN", message, 0)
}

#[test]
fn commands_wait_for_the_right_password() {
    let users = users("anna:secret\n");
    let mut server = server(&users);
    let mut client = Client::new();
    assert_eq!(
        client.send(&mut server, &bare(Opcode::Version))[0].status(),
        0
    );
    assert_eq!(
        client.send(&mut server, &bare(Opcode::SaslList))[0].text(),
        "PLAIN"
    );
    let wrong = &client.send(&mut server, &plain(b"\0anna\0wrong"))[0];
    assert_eq!(
        (wrong.status(), wrong.text()),
        (REFUSED, "Auth failure.".to_owned())
    );
    let right = &client.send(&mut server, &plain(b"\0anna\0secret"))[0];
    assert_eq!(
        (right.status(), right.text()),
        (0, "Authenticated".to_owned())
    );
    let found = &client.send(&mut server, &keyed(Opcode::Get, b"k"))[0];
    assert_eq!(found.status(), Status::NotFound as u16);
    let totals = server.totals();
    assert_eq!((totals.auth_cmds, totals.auth_errors), (2, 1));
}

#[test]
fn without_a_password_other_commands_close_the_connection() {
    let users = users("anna:secret\n");
    let mut server = server(&users);
    let mut client = Client::new();
    let requests = [keyed(Opcode::Get, b"k"), bare(Opcode::Noop)].concat();
    let responses = client.send(&mut server, &requests);
    assert_eq!(responses.len(), 1);
    assert_eq!(responses[0].status(), REFUSED);
    assert!(!client.is_open);
}

#[test]
fn a_failed_attempt_takes_the_right_away() {
    let users = users("anna:secret\n");
    let mut server = server(&users);
    let mut client = Client::new();
    client.send(&mut server, &plain(b"\0anna\0secret"));
    client.send(&mut server, &plain(b"\0anna\0wrong"));
    assert_eq!(
        client.send(&mut server, &bare(Opcode::Noop))[0].status(),
        REFUSED
    );
}

#[test]
fn other_mechanisms_and_second_steps_fail() {
    let users = users("anna:secret\n");
    let mut server = server(&users);
    let mut client = Client::new();
    for request in [
        packet(Opcode::SaslAuth, &[], b"CRAM-MD5", b"\0anna\0secret", 0),
        packet(Opcode::SaslStep, &[], b"PLAIN", b"\0anna\0secret", 0),
    ] {
        assert_eq!(client.send(&mut server, &request)[0].status(), REFUSED);
    }
}

#[test]
fn where_it_is_off_its_commands_are_unknown() {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    let requests = [
        bare(Opcode::SaslList),
        plain(b"\0anna\0secret"),
        bare(Opcode::Noop),
    ]
    .concat();
    let statuses: Vec<u16> = client
        .send(&mut server, &requests)
        .iter()
        .map(|r| r.status())
        .collect();
    let unknown = Status::UnknownCommand as u16;
    assert_eq!(statuses, [unknown, unknown, 0]);
}

#[test]
fn where_it_is_required_the_text_protocol_closes_the_connection() {
    let users = users("anna:secret\n");
    let mut server = server(&users);
    let mut client = Client::new();
    assert!(client.send(&mut server, b"get k\r\n").is_empty());
    assert!(!client.is_open);
}

#[test]
fn the_binary_protocol_is_no_way_around_text_authentication() {
    let users = users("anna:secret\n");
    let auth_file = Some(users.path().to_owned());
    let mut server = Server::new(Settings {
        auth_file,
        ..Settings::default()
    });
    let mut client = Client::new();
    let request = [&keyed(Opcode::Get, b"k")[..], b"\r\n"].concat();
    let answer = client.send_raw(&mut server, &request);
    assert_eq!(answer, b"CLIENT_ERROR unauthenticated\r\n");
}
