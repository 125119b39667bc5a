//! Values that are large, late, or too large.

use crate::Server;
use farcache_server::settings::Settings;
use farcache_session::{Session, Status};
use farcache_store::StoreConfig;

const LARGE_BYTES: usize = 100_000;

fn large_value() -> Vec<u8> {
    (0..LARGE_BYTES).map(|index| index as u8).collect()
}

#[test]
fn a_small_value_is_waited_for() {
    let mut server = Server::new();
    let mut session = Session::default();
    for end in 0.."set k 0 0 3\r\nabc\r\n".len() {
        let (consumed, status, answer) =
            server.step(&mut session, &b"set k 0 0 3\r\nabc\r\n"[..end]);
        assert_eq!((consumed, status, answer.len()), (0, Status::NeedInput, 0));
    }
    let (answer, _) = server.talk(&mut session, b"set k 0 0 3\r\nabc\r\nget k\r\n");
    assert_eq!(answer, b"STORED\r\nVALUE k 0 3\r\nabc\r\nEND\r\n");
}

/// Sends `line` and then the large value through the value buffer, its end apart.
fn send_large(server: &mut Server, session: &mut Session, line: &[u8], end: &[u8]) -> Vec<u8> {
    let value = large_value();
    let (first, rest) = value.split_at(1000);
    let (consumed, status, answer) = server.step(session, &[line, first].concat());
    assert_eq!(
        (consumed, status, answer.len()),
        (line.len() + 1000, Status::ValueWanted, 0)
    );
    let (second, third) = rest.split_at(50_000);
    session.value_buffer()[..second.len()].copy_from_slice(second);
    session.value_received(second.len());
    // A driver may also hand the bytes over as input.
    let (consumed, status, _) = server.step(session, &third[..10]);
    assert_eq!((consumed, status), (10, Status::ValueWanted));
    let third = &third[10..];
    assert_eq!(session.value_buffer().len(), third.len());
    session.value_buffer().copy_from_slice(third);
    session.value_received(third.len());
    let (consumed, status, answer) = server.step(session, &end[..1]);
    assert_eq!((consumed, status, answer.len()), (0, Status::NeedInput, 0));
    let (answer, _) = server.talk(session, end);
    assert!(session.value_buffer().is_empty());
    answer
}

#[test]
fn a_large_value_goes_straight_to_its_place() {
    let mut server = Server::new();
    let mut session = Session::default();
    let line = format!("set k 5 0 {LARGE_BYTES}\r\n");
    let answer = send_large(&mut server, &mut session, line.as_bytes(), b"\r\nget k\r\n");
    let head = format!("STORED\r\nVALUE k 5 {LARGE_BYTES}\r\n");
    assert_eq!(
        answer,
        [head.as_bytes(), &large_value(), b"\r\nEND\r\n"].concat()
    );
    assert_eq!(server.counters.cmd_set.get(), 1);
}

#[test]
fn a_large_meta_value_is_answered_with_its_flags() {
    let mut server = Server::new();
    let mut session = Session::default();
    let line = format!("ms Zm9v {LARGE_BYTES} b k O7 E12 c T50\r\n");
    let answer = send_large(
        &mut server,
        &mut session,
        line.as_bytes(),
        b"\r\nmg foo s t\r\n",
    );
    assert_eq!(
        answer,
        format!("HD kZm9v b O7 c12\r\nHD s{LARGE_BYTES} t50\r\n").into_bytes()
    );
}

#[test]
fn a_large_value_may_end_badly() {
    let mut server = Server::new();
    let mut session = Session::default();
    server.ask(b"set k 0 0 1\r\na\r\n");
    let line = format!("set k 0 0 {LARGE_BYTES}\r\n");
    let answer = send_large(&mut server, &mut session, line.as_bytes(), b"xymn\r\n");
    assert_eq!(answer, b"CLIENT_ERROR bad data chunk\r\nMN\r\n");
    assert_eq!(server.ask(b"get k\r\n"), "VALUE k 0 1\r\na\r\nEND\r\n");
}

#[test]
fn a_large_value_may_be_appended() {
    let mut server = Server::new();
    server.ask(b"set k 0 0 1\r\na\r\n");
    let line = format!("append k 0 0 {LARGE_BYTES}\r\n");
    let answer = send_large(
        &mut server,
        &mut Session::default(),
        line.as_bytes(),
        b"\r\nmg k s\r\n",
    );
    assert_eq!(
        answer,
        format!("STORED\r\nHD s{}\r\n", LARGE_BYTES + 1).into_bytes()
    );
}

#[test]
fn an_abandoned_value_leaves_the_old_one() {
    let mut server = Server::new();
    server.ask(b"set k 0 0 1\r\na\r\n");
    let mut session = Session::default();
    let (_, status, _) = server.step(&mut session, b"set k 0 0 100000\r\nabc");
    assert_eq!(status, Status::ValueWanted);
    drop(session);
    assert_eq!(server.ask(b"get k\r\n"), "VALUE k 0 1\r\na\r\nEND\r\n");
}

fn small_server() -> Server {
    let config = StoreConfig {
        item_bytes_max: 2048,
        ..StoreConfig::default()
    };
    Server::with(
        Settings {
            item_bytes_max: 2048,
            ..Settings::default()
        },
        config,
    )
}

const TOO_LARGE: &str = "SERVER_ERROR object too large for cache\r\n";

#[test]
fn too_large_a_value_is_skipped_and_drops_the_old_one() {
    for (bytes, command) in [
        (3000, "set k 0 0 3000"),
        (3000, "ms k 3000"),
        (3000, "ms k 3000 q"),
    ] {
        let mut server = small_server();
        server.ask(b"set k 0 0 1\r\na\r\n");
        let input = [
            command.as_bytes(),
            b"\r\n",
            &vec![b'\n'; bytes],
            b"\r\nmg k\r\n",
        ]
        .concat();
        assert_eq!(
            server.ask(&input),
            format!("{TOO_LARGE}EN\r\n"),
            "{command}"
        );
        assert_eq!(server.counters.store_too_large.get(), 1);
        assert_eq!(server.counters.cmd_set.get(), 1);
    }
}

#[test]
fn too_large_an_add_keeps_the_old_value() {
    let mut server = small_server();
    server.ask(b"set k 0 0 1\r\na\r\n");
    let input = [
        b"add k 0 0 3000\r\n",
        &vec![b'x'; 3000][..],
        b"\r\nmg k\r\n",
    ]
    .concat();
    assert_eq!(server.ask(&input), format!("{TOO_LARGE}HD\r\n"));
    let input = [
        b"set k 0 0 3000 noreply\r\n",
        &vec![b'x'; 3000][..],
        b"\r\nmg k\r\n",
    ]
    .concat();
    assert_eq!(server.ask(&input), "EN\r\n");
}

#[test]
fn much_too_large_a_value_is_refused_before_it_arrives() {
    let mut server = small_server();
    let mut session = Session::default();
    for line in ["set k 0 0 100000\r\n", "ms k 100000\r\n"] {
        let (consumed, status, answer) = server.step(&mut session, line.as_bytes());
        assert_eq!((consumed, status), (line.len(), Status::NeedInput));
        assert_eq!(answer, TOO_LARGE.as_bytes());
        let (consumed, status, answer) = server.step(&mut session, &[b'\n'; 60_000]);
        assert_eq!(
            (consumed, status, answer.len()),
            (60_000, Status::NeedInput, 0)
        );
        let (answer, _) = server.talk(&mut session, &[&[b'\n'; 40_002][..], b"mn\r\n"].concat());
        assert_eq!(answer, b"MN\r\n");
    }
}

#[test]
fn what_would_grow_too_large_is_not_stored() {
    let mut server = small_server();
    let input = [b"set k 0 0 1500\r\n", &vec![b'x'; 1500][..], b"\r\n"].concat();
    assert_eq!(server.ask(&input), "STORED\r\n");
    for (command, answer) in [
        ("append k 0 0 1000", "NOT_STORED\r\n"),
        ("ms k 1000 MP", "NS\r\n"),
    ] {
        let input = [
            command.as_bytes(),
            b"\r\n",
            &vec![b'y'; 1000],
            b"\r\nmg k s\r\n",
        ]
        .concat();
        assert_eq!(server.ask(&input), format!("{answer}HD s1500\r\n"));
    }
}

#[test]
fn announced_values_leave_room_for_others() {
    let mut server = Server::new();
    let mut sessions = Vec::new();
    let refusal = loop {
        let mut session = Session::default();
        let (_, status, answer) = server.step(&mut session, b"set k 0 0 1000000\r\n");
        if status != Status::ValueWanted {
            break answer;
        }
        sessions.push(session);
    };
    assert_eq!(refusal, b"SERVER_ERROR out of memory storing object\r\n");
    // As many as half of 64 MiB holds.
    assert_eq!(sessions.len(), 33);
    assert_eq!(server.ask(b"set small 0 0 1\r\na\r\n"), "STORED\r\n");
    let (_, _, answer) = server.step(&mut Session::default(), b"set k 0 0 2000000\r\n");
    assert_eq!(answer, TOO_LARGE.as_bytes());
    sessions.pop();
    let (_, status, _) = server.step(&mut Session::default(), b"ms k 1000000\r\n");
    assert_eq!(status, Status::ValueWanted);
}
