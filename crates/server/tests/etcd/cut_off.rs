//! A server that has not been heard of for too long answers for no key: others may own them by
//! then. Where etcd is gone for everybody, all go on.

use crate::fleet::{Member, SHORT, wait_for_agreement};
use crate::node::Etcd;
use crate::proxy::Proxy;
use crate::support::{Client, wait_for};
use rustix::process::Signal;
use std::net::TcpStream;

const CUT_OFF: &str = "SERVER_ERROR this server is cut off from its cluster";

fn set(member: &Member, value: &str) {
    let mut client = member.server.connect();
    let set = format!("set k 0 0 {}\r\n{value}", value.len());
    assert_eq!(client.ask(&set).as_deref(), Some("STORED"));
}

/// The first line of the answer, and the value where there is one.
fn get(client: &mut Client<TcpStream>) -> String {
    let head = client.ask("get k").expect("an answer");
    if !head.starts_with("VALUE") {
        return head;
    }
    let value = client.line().expect("a value");
    assert_eq!(client.line().as_deref(), Some("END"));
    value
}

fn start_two(etcd: &Etcd, first_by: &str, more: &[&str]) -> [Member; 2] {
    let first = Member::start_by(first_by, SHORT, more);
    first.wait_for_servers(&[&first]);
    let second = Member::start(etcd, SHORT, more);
    wait_for_agreement(&[&first, &second]);
    [first, second]
}

fn wait_until_gone(other: &Member) {
    other.wait_for_stat("servers_gone", "1");
}

#[test]
fn a_server_that_slept_serves_nothing_that_others_own_meanwhile() {
    let etcd = Etcd::start(1);
    let [sleeper, other] = start_two(&etcd, &etcd.endpoints(), &[]);
    set(&sleeper, "old");
    let mut client = sleeper.server.connect();
    assert_eq!(get(&mut client), "old");
    sleeper.server.stop();
    wait_until_gone(&other);
    set(&other, "new");
    // So that it cannot hear of the new map before it is asked.
    etcd.signal(0, Signal::STOP);
    client.send(b"get k\r\n");
    sleeper.server.signal(Signal::CONT);
    assert_eq!(client.line().as_deref(), Some(CUT_OFF));
    assert_eq!(client.ask("set k 0 0 1\r\nx").as_deref(), Some(CUT_OFF));
    assert_eq!(client.ask("mg k v").as_deref(), Some(CUT_OFF));
    assert_eq!(client.ask("touch k 0").as_deref(), Some(CUT_OFF));
    let large = format!("set k 0 0 100000\r\n{}", "x".repeat(100_000));
    assert_eq!(client.ask(&large).as_deref(), Some(CUT_OFF));
    sleeper.wait_for_stat("cut_off", "yes");
    sleeper.wait_for_stat("times_cut_off", "1");
    assert_eq!(sleeper.stat("cut_off_refused"), "5");
    etcd.signal(0, Signal::CONT);
    sleeper.wait_for_stat("cut_off", "no");
    sleeper.wait_for_stat("listed", "yes");
    assert_eq!(get(&mut client), "END", "what it held is void");
}

#[test]
fn a_server_that_alone_loses_etcd_stops_before_others_own_its_keys() {
    lose_etcd(&[]);
}

#[test]
fn a_server_that_alone_loses_etcd_does_not_pass_requests_on_either() {
    let secret = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(secret.path(), "sixteen bytes or more").expect("written");
    let path = secret.path().to_str().expect("a plain path");
    lose_etcd(&["--cluster-secret-file", path]);
}

fn lose_etcd(more: &[&str]) {
    let etcd = Etcd::start(1);
    let proxy = Proxy::to(&etcd.endpoints());
    let [alone, other] = start_two(&etcd, &proxy.endpoint(), more);
    set(&alone, "old");
    let mut client = alone.server.connect();
    assert_eq!(get(&mut client), "old");
    proxy.cut();
    wait_until_gone(&other);
    assert_eq!(get(&mut client), CUT_OFF);
    set(&other, "new");
    assert_eq!(get(&mut client), CUT_OFF);
    alone.wait_for_stat("cut_off", "yes");
    proxy.mend();
    alone.wait_for_stat("cut_off", "no");
    alone.wait_for_stat("listed", "yes");
    assert_ne!(get(&mut client), "old");
}

#[test]
fn a_server_that_knows_of_no_map_answers_for_no_key() {
    let mut etcd = Etcd::start(1);
    etcd.kill();
    let server = Member::start(&etcd, SHORT, &[]);
    server.wait_for_stat("etcd", "unreachable");
    let mut client = server.server.connect();
    assert_eq!(get(&mut client), CUT_OFF);
    assert_eq!(client.ask("set k 0 0 1\r\nx").as_deref(), Some(CUT_OFF));
    etcd.restart();
    server.wait_for_servers(&[&server]);
    server.wait_for_stat("cut_off", "no");
    assert_eq!(get(&mut client), "END");
}

#[test]
fn without_etcd_for_anybody_all_go_on_also_when_one_of_them_dies() {
    let mut etcd = Etcd::start(1);
    let [first, mut second] = start_two(&etcd, &etcd.endpoints(), &[]);
    set(&first, "kept");
    let mut client = first.server.connect();
    etcd.kill();
    // Far longer than lease and grace.
    let mut wait_without = |seconds: u64| {
        wait_for("an answer after a long time without etcd", || {
            let since: u64 = first.stat("etcd_unreachable_milliseconds").parse().ok()?;
            let is_long = since > seconds * 1000 && first.stat("cut_off") == "no";
            is_long.then(|| assert_eq!(get(&mut client), "kept"))
        });
    };
    wait_without(7);
    second.server.child.kill().expect("it runs");
    second.server.wait();
    wait_without(14);
}
