//! Being let in, and not.

use super::client::{Client, Received, get};
use super::{Connection, Server};
use crate::fabric::reserve::TOKEN_SECONDS;
use farcache_fabric::{Kind, Payload, Port};

/// A client is turned away without an answer, and counted so.
fn assert_refused(server: &mut Server, client: &mut Client, figure: &str) {
    let before = server.figure(figure);
    client.greet();
    server.run();
    assert_eq!(server.figure(figure), before + 1);
    assert_eq!(client.receive(), [Received::Lost]);
}

#[test]
fn a_token_opens_a_session() {
    let mut server = Server::new();
    let client = server.client();
    assert_eq!(server.figure("sessions"), 1);
    assert_eq!(server.figure("sessions_total"), 1);
    assert_eq!(server.figure("tokens"), 0);
    let connection = client.connection.as_ref().expect("connected");
    assert!(
        connection
            .info
            .fabric()
            .expect("shown")
            .starts_with("memory")
    );
    drop(client);
    server.assert_clean();
}

#[test]
fn a_grant_counts_until_the_client_comes() {
    let mut server = Server::new();
    let _client = Client::granted(&mut server);
    server.run();
    assert_eq!(server.figure("tokens"), 1);
    assert_eq!(server.figure("sessions"), 0);
}

#[test]
fn a_client_may_be_faster_than_the_news_of_its_grant() {
    let mut server = Server::new();
    let mut client = Client::granted(&mut server);
    client.greet();
    // The port only: the mailbox has not been looked at.
    server.engine.turn(&mut server.resources);
    client.welcomed();
}

#[test]
fn a_wrong_token_is_refused_and_the_right_one_still_works() {
    let mut server = Server::new();
    let mut client = Client::granted(&mut server);
    let mut wrong = client.grant.clone();
    wrong.token ^= 1;
    let mut thief = Client::with(&server, wrong, None);
    assert_refused(&mut server, &mut thief, "refused_token");
    client.greet();
    server.run();
    client.welcomed();
}

#[test]
fn a_token_of_another_length_is_refused() {
    let mut server = Server::new();
    let mut client = Client::granted(&mut server);
    client
        .port
        .send(client.peer, Kind::Hello, 0, Payload::Packets(b"short"));
    server.run();
    assert_eq!(server.figure("refused_token"), 1);
}

#[test]
fn a_replayed_token_is_refused_and_the_session_goes_on() {
    let mut server = Server::new();
    let mut client = server.client();
    let mut thief = Client::with(&server, client.grant.clone(), None);
    assert_refused(&mut server, &mut thief, "refused_replay");
    assert_eq!(client.ask(&mut server, &get(b"key")).len(), 1);
    assert_eq!(server.figure("endpoints"), 1);
}

#[test]
fn unknown_sessions_and_keys_are_refused() {
    let mut server = Server::new();
    let granted = Client::granted(&mut server).grant;
    let mut wrong_key = granted.clone();
    wrong_key.key ^= 1;
    let mut wrong_session = granted;
    wrong_session.session = 1_000_000;
    for grant in [wrong_key, wrong_session] {
        let mut client = Client::with(&server, grant, None);
        assert_refused(&mut server, &mut client, "refused_unknown");
    }
    server.assert_clean();
}

#[test]
fn a_token_that_is_never_used_expires_and_its_connection_may_ask_anew() {
    let mut server = Server::new();
    let connection = Connection::new();
    let grant = server.ask(&connection).expect("granted");
    server.run();
    server.sleep(u64::from(TOKEN_SECONDS));
    assert_eq!(server.figure("tokens"), 1);
    server.sleep(1);
    assert_eq!(server.figure("tokens"), 0);
    assert_eq!(server.figure("tokens_expired"), 1);
    assert_eq!(server.ended_life_lines(), 0, "the connection stays");
    let mut late = Client::with(&server, grant, None);
    assert_refused(&mut server, &mut late, "refused_unknown");
    assert!(server.ask(&connection).is_ok());
}

#[test]
fn a_second_greeting_ends_the_session() {
    let mut server = Server::new();
    let mut client = server.client();
    client.greet();
    server.run();
    assert_eq!(server.figure("malformed"), 1);
    drop(client);
    server.assert_clean();
}
