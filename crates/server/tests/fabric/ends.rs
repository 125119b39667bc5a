//! Sessions end, and nothing stays.

use crate::client::{get, set, set_head};
use crate::support::{Client as Socket, Server, wait_for};
use crate::{Client, figure, over_each, wait_until_clean};
use rustix::process::Signal;
use std::net::Shutdown;

#[test]
fn a_closed_life_line_ends_the_session() {
    over_each(&["-I", "8m"], |server, network, _| {
        let mut client = Client::connect(server, network);
        client.send_large(&set_head(b"key", 4 << 20), vec![1; 4 << 20]);
        client.answers(1);
        // A value is on its way that nobody receives.
        client.send(&get(b"key"));
        wait_for("the value on its way", || {
            (figure(server, "rendezvous_out_total") == "1").then_some(())
        });
        client.control.shutdown(Shutdown::Both).expect("connected");
        wait_until_clean(server);
        assert_eq!(figure(server, "life_lines_lost"), "1");
        assert_eq!(
            Client::connect(server, network).ask(&get(b"none"), 1)[0].0,
            1
        );
    });
}

/// By shared memory the network notices the end of a process only; see the life line above.
#[test]
fn a_client_whose_port_is_gone_loses_its_life_line() {
    over_each(&[], |server, network, transport| {
        if transport.lane != "tcp" || std::env::var_os("UCX_TLS").is_some() {
            return;
        }
        let mut client = Client::connect(server, network);
        client.ask(&set(b"key", b"value"), 1);
        let control = client.control.try_clone().expect("a descriptor");
        drop(client);
        assert_eq!(Socket::over(control).line(), None, "closed by the server");
        wait_until_clean(server);
    });
}

#[test]
fn tokens_work_once_and_only_if_they_are_right() {
    over_each(&[], |server, network, _| {
        let mut client = Client::connect(server, network);
        let token = client.grant.token.to_le_bytes();
        let mut thief = Client::granted(server, network);
        assert_turned_away(server, &mut thief, &token, "refused_token");
        assert_eq!(client.ask(&get(b"none"), 1)[0].0, 1);
    });
}

/// An answer would take a connection to the address that the client says is its own.
#[test]
fn whoever_is_not_let_in_is_not_connected_to() {
    over_each(&[], |server, network, _| {
        let mut client = Client::connect(server, network);
        let granted = client.grant.clone();
        let mut strange = granted.clone();
        strange.key ^= 1;
        for (grant, figure) in [(strange, "refused_unknown"), (granted, "refused_replay")] {
            let token = grant.token.to_le_bytes();
            let mut thief = Client::with(server, network, grant);
            assert_turned_away(server, &mut thief, &token, figure);
        }
        assert_eq!(figure(server, "endpoints"), "1");
        assert_eq!(client.ask(&get(b"none"), 1)[0].0, 1);
    });
}

/// Greets with a token that does not count: the server hangs up on the client and sends it nothing.
fn assert_turned_away(server: &Server, thief: &mut Client, token: &[u8], counted: &str) {
    thief.greet(token);
    wait_for(counted, || {
        thief.progress();
        (figure(server, counted) == "1").then_some(())
    });
    // The server handles what comes in order: what it sent before the answer to another client is
    // on its way.
    for _ in 0..1000 {
        thief.progress();
    }
    assert_eq!(thief.goodbye, None);
}

#[test]
fn a_malformed_message_ends_its_session_only() {
    over_each(&[], |server, network, _| {
        let mut client = Client::connect(server, network);
        let mut other = Client::connect(server, network);
        client.send(b"get key\r\n");
        client.wait("a goodbye", |client| client.goodbye.is_some());
        assert_eq!(figure(server, "malformed"), "1");
        assert_eq!(other.ask(&get(b"none"), 1)[0].0, 1);
    });
}

#[test]
fn the_end_of_the_server_is_told() {
    over_each(&[], |server, network, _| {
        let mut client = Client::connect(server, network);
        client.send(&set(b"key", b"value"));
        client.answers(1);
        server.signal(Signal::TERM);
        client.wait("a goodbye", |client| client.goodbye.is_some());
        assert_eq!(client.goodbye.as_deref(), Some("the server ends"));
        assert!(server.wait().success());
    });
}

#[test]
fn many_clients_come_and_go() {
    over_each(&["-t", "2"], |server, network, _| {
        for _ in 0..20 {
            let mut clients: Vec<Client> =
                (0..5).map(|_| Client::connect(server, network)).collect();
            for client in &mut clients {
                assert_eq!(client.ask(&get(b"none"), 1)[0].0, 1);
            }
        }
        wait_until_clean(server);
        assert_eq!(figure(server, "sessions_total"), "100");
    });
}
