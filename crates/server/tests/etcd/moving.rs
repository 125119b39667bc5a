//! Servers that join on etcd are given the items of their keys, where servers know each other.

use crate::fleet::{LONG, Member, wait_for_agreement};
use crate::node::Etcd;
use crate::support::wait_for;

const KEYS: usize = 500;

fn missing(member: &Member) -> usize {
    let mut client = member.server.connect();
    let is_missing = |number: &usize| {
        let head = client.ask(&format!("get key-{number}")).expect("an answer");
        if head == "END" {
            return true;
        }
        assert!(head.starts_with("VALUE"), "{head}");
        assert_eq!(client.line().as_deref(), Some("value"));
        assert_eq!(client.line().as_deref(), Some("END"));
        false
    };
    (0..KEYS).filter(is_missing).count()
}

#[test]
fn a_server_that_joins_is_given_what_the_others_hold_of_its_keys() {
    let etcd = Etcd::start(1);
    let secret = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(secret.path(), "sixteen bytes or more").expect("written");
    let path = secret.path().to_str().expect("a plain path");
    let more = ["--cluster-secret-file", path];
    let more = [&more[..], &["--forward-timeout-ms", "60000"]].concat();
    let first = Member::start(&etcd, LONG, &more);
    first.wait_for_servers(&[&first]);
    let mut client = first.server.connect();
    for number in 0..KEYS {
        client.set(&format!("key-{number}"), b"value");
    }
    let second = Member::start(&etcd, LONG, &more);
    wait_for_agreement(&[&first, &second]);
    // Handed over, streamed and done: each is a map of its own.
    wait_for("both to serve", || {
        (second.stat("servers_serving") == "2").then_some(())
    });
    let epoch: u64 = second.stat("epoch").parse().expect("a number");
    assert!(epoch >= 4, "{epoch}");
    assert_eq!([missing(&first), missing(&second)], [0, 0]);
    let held = |member: &Member| {
        let mut client = member.server.connect();
        client.send(b"stats\r\n");
        let lines = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
        let mut lines: Vec<String> = lines.collect();
        lines.retain(|line| line.starts_with("STAT curr_items "));
        lines.pop().expect("a statistic")
    };
    assert_ne!(held(&second), "STAT curr_items 0", "it holds them itself");
}
