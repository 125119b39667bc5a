//! Packets that make no sense.

use crate::client::{Client, Response, Server, bare, keyed, packet, set};
use farcache_proto::binary::{Header, MAGIC_REQUEST, Opcode, Status};
use farcache_server::settings::Settings;

/// Sends `request` with a noop behind it; returns the responses and whether the connection is open.
fn ask(request: &[u8]) -> (Vec<Response>, bool) {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    let bytes = [request, &bare(Opcode::Noop)].concat();
    let responses = client.send(&mut server, &bytes);
    (responses, client.is_open)
}

fn assert_refused(request: &[u8], status: Status) {
    let (responses, is_open) = ask(request);
    assert_eq!(responses.len(), 1);
    assert_eq!(
        (responses[0].status(), responses[0].text()),
        (status as u16, status.text().to_owned())
    );
    assert!(!is_open);
}

#[test]
fn malformed_commands_close_the_connection() {
    let long = [b'k'; 251];
    let requests = [
        set(Opcode::Set, b"", b"value", 0),
        packet(Opcode::Set, &[0; 7], b"k", b"value", 0),
        packet(Opcode::Get, &[0], b"k", &[], 0),
        packet(Opcode::Get, &[], b"k", b"value", 0),
        keyed(Opcode::Get, b""),
        keyed(Opcode::Get, &long),
        keyed(Opcode::Noop, b"k"),
        packet(Opcode::Increment, &[0; 19], b"k", &[], 0),
        packet(Opcode::Touch, &[0; 4], b"k", b"value", 0),
        packet(Opcode::Flush, &[0; 3], &[], &[], 0),
        packet(Opcode::Append, &[0; 8], b"k", b"value", 0),
        packet(Opcode::Stat, &[0], &[], &[], 0),
    ];
    for request in requests {
        assert_refused(&request, Status::InvalidArguments);
    }
}

#[test]
fn lengths_that_contradict_each_other_close_the_connection() {
    let header = Header {
        magic: MAGIC_REQUEST,
        key_len: 5,
        body_len: 4,
        ..Header::default()
    };
    assert_refused(&header.encode(), Status::UnknownCommand);
}

#[test]
fn unknown_commands_are_answered_and_thrown_away() {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: 0x70,
        key_len: 2,
        extras_len: 1,
        body_len: 7,
        ..Header::default()
    };
    let request = [&header.encode()[..], b"ekkvalu"].concat();
    let (responses, is_open) = ask(&request);
    let statuses: Vec<u16> = responses.iter().map(Response::status).collect();
    assert_eq!(statuses, [Status::UnknownCommand as u16, 0]);
    assert!(is_open);
}

#[test]
fn other_bytes_in_place_of_a_packet_close_the_connection_silently() {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    let bytes = [&bare(Opcode::Noop)[..], b"get"].concat();
    assert_eq!(client.send(&mut server, &bytes).len(), 1);
    assert!(!client.is_open);
}

#[test]
fn quit_answers_and_its_quiet_form_does_not() {
    for (opcode, answers) in [(Opcode::Quit, 1), (Opcode::QuitQ, 0)] {
        let (responses, is_open) = ask(&bare(opcode));
        assert_eq!((responses.len(), is_open), (answers, false));
    }
}

#[test]
fn a_flush_that_is_not_allowed_is_refused() {
    let mut server = Server::new(Settings {
        flush: false,
        ..Settings::default()
    });
    let response = Client::new()
        .send(&mut server, &bare(Opcode::Flush))
        .remove(0);
    assert_eq!(response.status(), Status::AuthenticationError as u16);
}
