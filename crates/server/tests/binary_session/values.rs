//! Large values: streamed into the store, or thrown away when they are too large.

use crate::client::{Client, Server, bare, keyed, packet, responses, set};
use farcache_proto::binary::{Opcode, Status};
use farcache_server::settings::Settings;

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index / 7) as u8).collect()
}

#[test]
fn a_value_that_arrives_in_pieces_is_stored_whole() {
    for piece_bytes in [1_000, 16_384, 100_000] {
        let mut server = Server::new(Settings::default());
        let mut client = Client::new();
        let value = pattern(300_000);
        let mut request = set(Opcode::Set, b"large", &value, 0);
        request.extend(keyed(Opcode::Get, b"large"));
        let mut answer = Vec::new();
        for piece in request.chunks(piece_bytes) {
            answer.extend(client.send_raw(&mut server, piece));
        }
        let answers = responses(&answer);
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[0].status(), 0);
        assert!(answers[1].value == value, "pieces of {piece_bytes} bytes");
    }
}

#[test]
fn appending_a_large_value_keeps_what_was_there() {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    let (first, second) = (pattern(20_000), pattern(50_000));
    client.send(&mut server, &set(Opcode::Set, b"k", &first, 0));
    let request = packet(Opcode::Append, &[], b"k", &second, 0);
    let (head, tail) = request.split_at(1000);
    assert!(client.send_raw(&mut server, head).is_empty());
    assert_eq!(client.send(&mut server, tail)[0].status(), 0);
    let found = &client.send(&mut server, &keyed(Opcode::Get, b"k"))[0];
    assert!(found.value == [first, second].concat());
}

#[test]
fn too_large_a_value_is_thrown_away_and_takes_the_old_one_with_it() {
    for piece_bytes in [5_000, 10 << 20] {
        let mut server = Server::new(Settings::default());
        let mut client = Client::new();
        client.send(&mut server, &set(Opcode::Set, b"k", b"old", 0));
        let mut request = set(Opcode::Set, b"k", &pattern(2 << 20), 0);
        request.extend(keyed(Opcode::Get, b"k"));
        request.extend(bare(Opcode::Noop));
        let mut answer = Vec::new();
        for piece in request.chunks(piece_bytes) {
            answer.extend(client.send_raw(&mut server, piece));
        }
        let statuses: Vec<u16> = responses(&answer)
            .iter()
            .map(|response| response.status())
            .collect();
        assert_eq!(
            statuses,
            [Status::TooLarge as u16, Status::NotFound as u16, 0]
        );
        assert_eq!(server.totals().store_too_large, 1);
    }
}

#[test]
fn a_connection_that_ends_within_a_value_stores_nothing() {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    let request = set(Opcode::Set, b"k", &pattern(100_000), 0);
    client.send_raw(&mut server, &request[..60_000]);
    drop(client);
    let found = Client::new().send(&mut server, &keyed(Opcode::Get, b"k"));
    assert_eq!(found[0].status(), Status::NotFound as u16);
}

#[test]
fn announced_values_leave_room_for_others() {
    let mut server = Server::new(Settings::default());
    let request = set(Opcode::Set, b"k", &pattern(1_000_000), 0);
    let head = &request[..100];
    // As many as half of 64 MiB holds.
    let mut clients: Vec<Client> = (0..33).map(|_| Client::new()).collect();
    for client in &mut clients {
        assert!(client.send_raw(&mut server, head).is_empty());
    }
    let refused = Client::new().send(&mut server, head);
    assert_eq!(refused[0].status(), Status::OutOfMemory as u16);
    let small = Client::new().send(&mut server, &set(Opcode::Set, b"s", b"x", 0));
    assert_eq!(small[0].status(), 0);
    clients.pop();
    assert!(Client::new().send_raw(&mut server, head).is_empty());
}
