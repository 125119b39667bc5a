//! Requests and their answers.

use super::Server;
use super::client::{Received, get, packet, set};
use crate::settings::Settings;
use farcache_proto::binary::{Opcode, Status};
use farcache_store::StoreConfig;

#[test]
fn a_value_that_was_set_is_found() {
    let mut server = Server::new();
    let mut client = server.client();
    assert!(
        client
            .ask_one(&mut server, &set(b"key", b"value"))
            .is(Status::Success)
    );
    assert_eq!(client.ask_one(&mut server, &get(b"key")).value, b"value");
    assert!(
        client
            .ask_one(&mut server, &get(b"other"))
            .is(Status::NotFound)
    );
    assert_eq!(server.shared.totals().get_hits, 1);
    assert_eq!(client.credits, 3);
}

#[test]
fn requests_of_one_message_are_answered_in_one() {
    let mut server = Server::new();
    let mut client = server.client();
    let keys: Vec<Vec<u8>> = (0..100)
        .map(|number| format!("{number}").into_bytes())
        .collect();
    let sets: Vec<u8> = keys.iter().flat_map(|key| set(key, key)).collect();
    let gets: Vec<u8> = keys.iter().flat_map(|key| get(key)).collect();
    client.send(&sets);
    server.run();
    assert!(matches!(&client.receive()[..], [Received::Responses(all)] if all.len() == 100));
    client.send(&gets);
    server.run();
    let [Received::Responses(found)] = &client.receive()[..] else {
        panic!("not one message");
    };
    assert!(found.iter().map(|response| &response.value).eq(&keys));
}

#[test]
fn messages_that_came_together_are_answered_together() {
    let mut server = Server::new();
    let mut client = server.client();
    for _ in 0..5 {
        client.send(&get(b"key"));
    }
    server.run();
    assert!(matches!(&client.receive()[..], [Received::Responses(all)] if all.len() == 5));
    assert_eq!(client.credits, 5);
}

#[test]
fn quiet_requests_give_their_credit_back() {
    let mut server = Server::new();
    let mut client = server.client();
    client.send(&packet(Opcode::SetQ, b"key", b"value"));
    server.run();
    assert_eq!(client.receive(), [Received::Responses(Vec::new())]);
    assert_eq!(client.credits, 1);
    assert_eq!(client.ask_one(&mut server, &get(b"key")).value, b"value");
}

#[test]
fn statistics_come_in_packets() {
    let mut server = Server::new();
    let mut client = server.client();
    let stats = client.ask(&mut server, &packet(Opcode::Stat, b"", b""));
    assert!(stats.len() > 50, "{}", stats.len());
    assert!(stats.last().expect("an end").value.is_empty());
    let fabric = client.ask(&mut server, &packet(Opcode::Stat, b"fabric", b""));
    assert!(fabric.iter().any(|stat| stat.value == b"memory"));
}

#[test]
fn many_requests_give_way_and_are_all_answered() {
    let settings = Settings {
        requests_per_event: 2,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    let mut client = server.client();
    let mut other = server.client();
    let sets: Vec<u8> = (0..9_u8)
        .flat_map(|number| set(&[b'k', number], b"v"))
        .collect();
    client.send(&sets);
    client.send(&get(&[b'k', 8]));
    other.send(&get(b"key"));
    server.engine.turn(&mut server.resources);
    assert_eq!(other.receive().len(), 1, "the other one had its turn");
    let answers = client.answers(&mut server);
    assert_eq!(answers.len(), 10);
    assert_eq!(answers[9].value, b"v", "the second message came second");
    assert_eq!(client.credits, 2);
    assert!(server.shared.totals().conn_yields >= 4);
}

#[test]
fn long_answers_come_in_several_messages() {
    let mut server = Server::new();
    let mut client = server.client();
    let value = vec![b'v'; 2000];
    client.ask(&mut server, &set(b"key", &value));
    let gets: Vec<u8> = (0..120).flat_map(|_| get(b"key")).collect();
    client.send(&gets);
    server.run();
    let received = client.receive();
    assert!(received.len() > 1, "{}", received.len());
    let answers = received.into_iter().flat_map(|one| match one {
        Received::Responses(responses) => responses,
        other => panic!("{other:?}"),
    });
    assert_eq!(answers.filter(|answer| answer.value == value).count(), 120);
    assert_eq!(client.credits, 2);
}

#[test]
fn requests_are_an_activity_of_the_life_line() {
    let mut server = Server::new();
    let mut client = server.client();
    server.sleep(50);
    client.ask(&mut server, &get(b"key"));
    let connection = client.connection.as_ref().expect("connected");
    assert_eq!(connection.info.last_command(), server.resources.clock.now);
}
