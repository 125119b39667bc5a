//! Statistics, in both protocols.

use crate::client::{Client, Server, bare, keyed, set};
use farcache_proto::binary::{Opcode, Status};
use farcache_server::settings::Settings;
use std::collections::BTreeMap;

/// Asks for a topic in packets and checks their frame.
fn packets(server: &mut Server, topic: &[u8]) -> BTreeMap<String, String> {
    let mut responses = Client::new().send(server, &keyed(Opcode::Stat, topic));
    let end = responses.pop().expect("an end");
    assert_eq!((end.status(), end.key.len(), end.value.len()), (0, 0, 0));
    let pair =
        |r: crate::client::Response| (String::from_utf8_lossy(&r.key).into_owned(), r.text());
    responses.into_iter().map(pair).collect()
}

/// Asks for a topic in text.
fn text(server: &mut Server, arguments: &str) -> String {
    let line = format!("stats{arguments}\r\n");
    String::from_utf8(Client::new().send_raw(server, line.as_bytes())).expect("text")
}

fn with_item() -> Server {
    let mut server = Server::new(Settings::default());
    let mut client = Client::new();
    client.send(&mut server, &set(Opcode::Set, b"p:k", b"value", 0));
    client.send(&mut server, &keyed(Opcode::Get, b"p:k"));
    server
}

#[test]
fn both_protocols_tell_the_same() {
    let mut server = with_item();
    for topic in ["", "settings", "items", "slabs", "conns"] {
        let from_packets = packets(&mut server, topic.as_bytes());
        let answer = text(&mut server, &format!(" {topic}"));
        let lines = answer.strip_suffix("END\r\n").expect("an end").lines();
        let names: Vec<&str> = lines
            .map(|line| line.split(' ').nth(1).expect("a name"))
            .collect();
        assert_eq!(names.len(), from_packets.len(), "{topic}");
        assert!(
            names.iter().all(|name| from_packets.contains_key(*name)),
            "{topic}"
        );
    }
}

#[test]
fn figures_are_those_of_the_server() {
    let mut server = with_item();
    let general = packets(&mut server, b"");
    for (name, value) in [
        ("cmd_get", "1"),
        ("get_hits", "1"),
        ("cmd_set", "1"),
        ("curr_items", "1"),
        ("uptime", "98"),
    ] {
        assert_eq!(general[name], value, "{name}");
    }
    assert_eq!(general["pid"], std::process::id().to_string());
    assert!(general["rusage_user"].parse::<f64>().is_ok());
    assert_eq!(packets(&mut server, b"items")["items:1:number"], "1");
    let slabs = packets(&mut server, b"slabs");
    assert_eq!(
        slabs["1:chunk_size"],
        server.shared.store.config().segment_bytes.to_string()
    );
}

#[test]
fn reset_starts_the_counts_anew_but_not_the_items() {
    let mut server = with_item();
    assert_eq!(text(&mut server, " reset"), "RESET\r\n");
    let general = packets(&mut server, b"");
    assert_eq!(
        (
            &general["cmd_get"][..],
            &general["total_items"][..],
            &general["curr_items"][..]
        ),
        ("0", "0", "1")
    );
}

#[test]
fn detail_counts_prefixes_while_it_is_on() {
    let mut server = with_item();
    assert_eq!(text(&mut server, " detail on"), "OK\r\n");
    Client::new().send(
        &mut server,
        &[keyed(Opcode::Get, b"p:k"), keyed(Opcode::Delete, b"p:k")].concat(),
    );
    let dump = "PREFIX p get 1 hit 1 set 0 del 1\r\nEND\r\n";
    assert_eq!(text(&mut server, " detail dump"), dump);
    assert_eq!(packets(&mut server, b"detail dump")["detailed"], dump);
    assert_eq!(text(&mut server, " detail off"), "OK\r\n");
    assert_eq!(
        text(&mut server, " detail"),
        "CLIENT_ERROR usage: stats detail on|off|dump\r\n"
    );
}

#[test]
fn sizes_are_shown_once_they_are_on() {
    let mut server = with_item();
    assert_eq!(
        text(&mut server, " sizes"),
        "STAT sizes_status disabled\r\nEND\r\n"
    );
    assert_eq!(
        text(&mut server, " sizes_enable"),
        "STAT sizes_status enabled\r\n"
    );
    assert_eq!(text(&mut server, " sizes"), "STAT 32 1\r\nEND\r\n");
}

#[test]
fn cachedump_lists_items_of_class_one() {
    let mut server = with_item();
    assert_eq!(
        text(&mut server, " cachedump 1 0"),
        "ITEM p:k [5 b; 0 s]\r\nEND\r\n"
    );
    assert_eq!(text(&mut server, " cachedump 2 0"), "END\r\n");
    assert_eq!(
        text(&mut server, " cachedump 64 0"),
        "CLIENT_ERROR Illegal slab id\r\n"
    );
    assert_eq!(
        text(&mut server, " cachedump 1 x"),
        "CLIENT_ERROR bad command line format\r\n"
    );
    assert_eq!(
        text(&mut server, " cachedump"),
        "CLIENT_ERROR bad command line\r\n"
    );
}

#[test]
fn unknown_topics_are_refused() {
    let mut server = Server::new(Settings::default());
    assert_eq!(text(&mut server, " nonsense"), "ERROR\r\n");
    let requests = [keyed(Opcode::Stat, b"nonsense"), bare(Opcode::Noop)].concat();
    let responses = Client::new().send(&mut server, &requests);
    assert_eq!(responses[0].status(), Status::NotFound as u16);
    assert_eq!(responses.len(), 2);
}
