//! Sessions end in every way there is, and nothing stays.

use super::Server;
use super::client::{Client, Received, get, head, packet, set};
use farcache_fabric::memory::{Action, Death, Rule};
use farcache_fabric::{Kind, Payload, Port};
use farcache_proto::binary::Opcode;

const LARGE_BYTES: usize = 100_000;

#[test]
fn quitting_is_answered_and_ends_the_session() {
    let mut server = Server::new();
    let mut client = server.client();
    client.send(&packet(Opcode::Quit, b"", b""));
    server.run();
    let received = client.receive();
    assert!(
        matches!(
            &received[..],
            [Received::Responses(_), Received::Goodbye(_), ..]
        ),
        "{received:?}"
    );
    server.assert_clean();
    assert_eq!(server.ended_life_lines(), 1);
}

/// What the network has to do after the end of a client is done also where the second in which
/// that came and went had been looked at before.
#[test]
fn the_port_is_moved_after_the_end_of_a_short_session() {
    let mut server = Server::new();
    server.sleep(60);
    assert!(!server.engine.is_in_use(server.resources.clock.now));
    let mut client = server.client();
    drop(client.connection.take());
    server.run();
    server.assert_clean();
    server.sleep(1);
    assert!(server.engine.is_in_use(server.resources.clock.now));
    server.sleep(2);
    assert!(!server.engine.is_in_use(server.resources.clock.now));
}

#[test]
fn saying_goodbye_ends_the_session() {
    let mut server = Server::new();
    let mut client = server.client();
    client
        .port
        .send(client.peer, Kind::Goodbye, 0, Payload::Packets(b"done"));
    server.run();
    assert_eq!(server.figure("goodbyes"), 1);
    server.assert_clean();
    assert_eq!(server.ended_life_lines(), 1);
}

#[test]
fn retiring_ends_the_session_and_keeps_the_connection() {
    let mut server = Server::new();
    let mut client = server.client();
    client.send(&set(b"key", b"value"));
    client
        .port
        .send(client.peer, Kind::Retire, 0, Payload::Packets(b""));
    server.run();
    let received = client.receive();
    assert!(
        matches!(&received[..], [Received::Responses(_)]),
        "{received:?}"
    );
    assert_eq!(server.figure("sessions_retired"), 1);
    assert_eq!(server.figure("sessions"), 0);
    assert_eq!(server.figure("endpoints"), 1, "it may still be set up");
    server.sleep(3);
    server.assert_clean();
    assert_eq!(client.receive(), [Received::Lost]);
    assert_eq!(server.ended_life_lines(), 0);
    let connection = client.connection.take().expect("a connection");
    server.ask(&connection).expect("it may ask anew");
    // The end of the connection is that of the new session alone.
    drop(connection);
    server.run();
    assert_eq!(server.figure("life_lines_lost"), 1);
    server.assert_clean();
}

#[test]
fn retiring_before_the_greeting_is_of_no_session() {
    let mut server = Server::new();
    let mut client = Client::granted(&mut server);
    client
        .port
        .send(client.peer, Kind::Retire, 0, Payload::Packets(b""));
    server.run();
    assert_eq!(server.figure("sessions_retired"), 0);
    assert_eq!(server.figure("unattributed"), 1);
    client.greet();
    server.run();
    client.welcomed();
}

#[test]
fn a_closed_connection_ends_the_session() {
    let mut server = Server::new();
    let mut client = server.client();
    client.connection = None;
    server.run();
    assert_eq!(server.figure("life_lines_lost"), 1);
    assert!(client.receive().contains(&Received::Lost));
    server.assert_clean();
}

#[test]
fn a_closed_connection_voids_the_token() {
    let mut server = Server::new();
    let mut client = Client::granted(&mut server);
    client.connection = None;
    client.greet();
    server.run();
    assert_eq!(server.figure("refused_unknown"), 1);
    client.receive();
    server.assert_clean();
}

#[test]
fn a_lost_client_ends_the_session_and_its_connection() {
    let mut server = Server::new();
    let client = server.client();
    server.network.kill(client.port.address(), Death::Reported);
    server.run();
    assert_eq!(server.figure("peers_lost"), 1);
    assert_eq!(server.ended_life_lines(), 1);
    server.assert_clean();
}

/// A client with a value on its way in each direction.
fn client_with_values_under_way(server: &mut Server) -> Client {
    let mut client = server.client();
    client.send_large(
        &head(Opcode::Set, b"key", 0, LARGE_BYTES),
        vec![1; LARGE_BYTES],
    );
    client.answers(server);
    client.send(&get(b"key"));
    server.network.inject(Rule::all(Action::HoldBody));
    client.send_large(
        &head(Opcode::Set, b"new", 0, LARGE_BYTES),
        vec![2; LARGE_BYTES],
    );
    server.run();
    server.network.heal();
    assert_eq!(server.figure("rendezvous_in"), 1);
    assert_eq!(server.figure("rendezvous_out"), 1);
    client
}

#[test]
fn a_client_killed_in_the_middle_leaves_nothing() {
    for death in [Death::Reported, Death::Silent] {
        let mut server = Server::new();
        let mut client = client_with_values_under_way(&mut server);
        server.network.kill(client.port.address(), death);
        // The kernel closes its TCP connection.
        client.connection = None;
        server.run();
        server.assert_clean();
        let mut other = server.client();
        assert!(other.ask_one(&mut server, &get(b"new")).value != vec![2; LARGE_BYTES]);
    }
}

#[test]
fn a_session_that_ends_in_the_middle_leaves_nothing() {
    let mut server = Server::new();
    let mut client = client_with_values_under_way(&mut server);
    client.send(b"nonsense");
    server.run();
    client.connection = None;
    server.run();
    server.assert_clean();
}

#[test]
fn numbers_are_used_again_and_old_keys_do_not_fit() {
    let mut server = Server::new();
    let mut first = server.client();
    first.connection = None;
    server.run();
    let mut second = server.client();
    assert_eq!(first.grant.session, second.grant.session);
    let mut late = Client::with(&server, first.grant.clone(), None);
    late.send(&set(b"key", b"late"));
    server.run();
    assert_eq!(server.figure("unattributed"), 1);
    assert_eq!(second.ask(&mut server, &get(b"key")).len(), 1);
}

#[test]
fn the_end_of_the_server_is_told_to_everyone() {
    let mut server = Server::new();
    let mut clients = [server.client(), server.client()];
    let _granted = Client::granted(&mut server);
    for client in &mut clients {
        client.send(&set(b"key", b"value"));
    }
    server.run();
    server.engine.end_all(&mut server.resources);
    server.run();
    for client in &mut clients {
        let received = client.receive();
        let goodbye = Received::Goodbye("the server ends".to_owned());
        assert!(
            matches!(&received[..], [Received::Responses(_), said, ..] if *said == goodbye),
            "{received:?}"
        );
    }
    server.assert_clean();
}

#[test]
fn a_client_that_takes_nothing_is_let_go_after_a_while() {
    let mut server = Server::new();
    let mut client = server.client();
    client.send(b"nonsense");
    server.run();
    assert_eq!(server.figure("sessions"), 0);
    assert_eq!(server.figure("endpoints"), 1, "the goodbye is on its way");
    server.sleep(5);
    server.assert_clean();
    assert_eq!(server.ended_life_lines(), 1);
}

#[test]
fn a_port_that_starts_anew_ends_what_was_granted_at_its_old_address() {
    let mut server = Server::new();
    let _open = server.client();
    let mut granted = Client::granted(&mut server);
    // Its grant is not known to the worker yet.
    let posted = Client::granted(&mut server);
    let old = server.address();
    server.network.renew(&old);
    while server.engine.turn(&mut server.resources) {}
    assert_eq!(server.ended_life_lines(), 3);
    assert_ne!(server.address(), old);
    granted.greet();
    server.assert_clean();
    assert_eq!(granted.receive(), []);
    drop(posted);
    server.client();
}
