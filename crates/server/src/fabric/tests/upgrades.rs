//! Asking for a session, in both protocols.

use super::{Connection, Server};
use crate::host::ServerHost;
use crate::mailbox::Mailbox;
use crate::mailbox::life_line::Caller;
use crate::settings::Settings;
use crate::shared::Shared;
use farcache_fabric::Grant;
use farcache_fabric::grant::Network;
use farcache_proto::binary::{Header, MAGIC_REQUEST, Opcode, Packet, Status};
use farcache_session::Protocol;
use farcache_session::{Context, Replies, Session, UpgradeRefusal};
use farcache_store::{Store, StoreConfig};
use std::sync::Arc;

/// What a connection is answered to `input`.
fn answer(server: &mut Server, connection: &Connection, input: &[u8]) -> Vec<u8> {
    let caller = Caller {
        slot: 0,
        info: &connection.info,
        is_encrypted: false,
        mailbox: &server.mailbox,
        life_line: &connection.life_line,
    };
    let context = Context {
        store: &server.resources.store,
        service: &server.shared.service,
        host: &ServerHost {
            shared: &server.shared,
            caller: Some(caller),
        },
        forward: None,
        turn: None,
        counters: &server.resources.counters,
        clock: server.resources.clock,
    };
    let mut replies = Replies::default();
    Session::new(Protocol::Auto).advance(input, &context, &mut replies);
    replies.contiguous().expect("small").to_vec()
}

fn request(value: &[u8]) -> Vec<u8> {
    let header = Header {
        magic: MAGIC_REQUEST,
        opcode: Opcode::FabricUpgrade as u8,
        opaque: 9,
        ..Header::default()
    };
    let mut bytes = Vec::new();
    let (extras, key) = (&[][..], &[][..]);
    Packet {
        header,
        extras,
        key,
        value,
    }
    .encode(&mut bytes);
    bytes
}

fn status(response: &[u8]) -> (u16, Vec<u8>) {
    let (packet, _) = Packet::decode(response).expect("sound").expect("whole");
    (packet.header.status, packet.value.to_vec())
}

#[test]
fn the_binary_protocol_answers_with_a_grant() {
    let mut server = Server::new();
    let (code, value) = status(&answer(
        &mut server,
        &Connection::new(),
        &request(&[1, 1, 2]),
    ));
    assert_eq!(code, Status::Success as u16);
    let grant = Grant::decode(&value).expect("a grant");
    assert_eq!(
        (grant.network, grant.address),
        (Network::Memory, server.address())
    );
}

#[test]
fn the_text_protocol_answers_with_the_same_in_base64() {
    let mut server = Server::new();
    let line = answer(&mut server, &Connection::new(), b"fabric 1 ucx memory\r\n");
    let line = String::from_utf8(line).expect("text");
    let code = line
        .strip_prefix("FABRIC ")
        .and_then(|rest| rest.strip_suffix("\r\n"));
    let bytes = farcache_proto::base64::decode_key(code.expect("a grant").as_bytes());
    let grant = Grant::decode(bytes.expect("base64").as_bytes()).expect("a grant");
    assert_eq!(grant.address, server.address());
}

#[test]
fn what_cannot_be_granted_is_unknown() {
    let mut server = Server::new();
    // No version, a wrong one, no network in common, more than is waited for.
    for value in [&[][..], &[2, 2], &[1], &[1, 1], &[1; 100]] {
        let input = [request(value), request(&[1, 2])].concat();
        let response = answer(&mut server, &Connection::new(), &input);
        let (first, used) = Packet::decode(&response).expect("sound").expect("whole");
        assert_eq!(
            first.header.status,
            Status::UnknownCommand as u16,
            "{value:?}"
        );
        assert_eq!(
            status(&response[used..]).0,
            Status::Success as u16,
            "{value:?}"
        );
    }
    for line in [
        &b"fabric 2 memory\r\n"[..],
        b"fabric 1 ucx\r\n",
        b"fabric 1\r\n",
        b"fabric\r\n",
    ] {
        assert_eq!(answer(&mut server, &Connection::new(), line), b"ERROR\r\n");
    }
}

#[test]
fn a_connection_has_one_session() {
    let mut server = Server::new();
    let connection = Connection::new();
    assert!(server.ask(&connection).is_ok());
    assert_eq!(server.ask(&connection), Err(UpgradeRefusal::Bound));
    let line = answer(&mut server, &connection, b"fabric 1 memory\r\n");
    assert_eq!(
        line,
        format!("CLIENT_ERROR {}\r\n", UpgradeRefusal::BOUND_TEXT).into_bytes()
    );
    let (code, _) = status(&answer(&mut server, &connection, &request(&[1, 2])));
    assert_eq!(code, Status::InvalidArguments as u16);
}

#[test]
fn without_a_fabric_or_a_connection_there_is_none() {
    let store = Store::new(StoreConfig::default()).expect("memory for a test");
    let shared = Shared::new(store, Settings::default());
    let connection = Connection::new();
    let mailbox = Arc::new(Mailbox::new().expect("a descriptor"));
    let caller = Caller {
        slot: 0,
        info: &connection.info,
        is_encrypted: false,
        mailbox: &mailbox,
        life_line: &connection.life_line,
    };
    let memory = || [Network::Memory].into_iter();
    assert_eq!(
        shared.grant_session(1, memory(), Some(caller), None),
        Err(UpgradeRefusal::Off)
    );
    let server = Server::new();
    assert_eq!(
        server.shared.grant_session(1, memory(), None, None),
        Err(UpgradeRefusal::Off)
    );
}

#[test]
fn a_client_must_authenticate_first() {
    let settings = Settings {
        auth_file: Some("/nonexistent".into()),
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    let line = answer(&mut server, &Connection::new(), b"fabric 1 memory\r\n");
    assert_eq!(line, b"CLIENT_ERROR unauthenticated\r\n");
    // Who came over the fabric was let in by that connection.
    let mut client = server.client();
    assert_eq!(
        client.ask(&mut server, &super::client::get(b"key")).len(),
        1
    );
}
