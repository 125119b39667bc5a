//! Servers that die, or sleep for too long.

use crate::fleet::{LONG, Member, SHORT, Times, split_publisher, wait_for_agreement};
use crate::node::Etcd;
use crate::support::wait_for;
use rustix::process::Signal;

/// Suspects stay so, until the test ends.
const PATIENT: Times = Times { ttl: 2, grace: 600 };

#[test]
fn a_server_that_dies_is_suspect_and_keeps_its_keys_for_the_grace() {
    let etcd = Etcd::start(1);
    let stays = Member::start(&etcd, PATIENT, &[]);
    stays.wait_for_servers(&[&stays]);
    let mut dies = Member::start(&etcd, PATIENT, &[]);
    let epoch = wait_for_agreement(&[&stays, &dies]);
    dies.server.child.kill().expect("it runs");
    stays.wait_for_stat("suspects", "2");
    assert_eq!(stays.wait_for_servers(&[&stays, &dies]), epoch);
    // It is back: the same server in its next life, and in its old place.
    dies.server.wait();
    let back = dies.start_again(&etcd, PATIENT, &[]);
    stays.wait_for_stat("suspects", "none");
    assert!(wait_for_agreement(&[&stays, &back]) > epoch);
    assert_eq!(stays.stat("servers_gone"), "0");
}

#[test]
fn a_server_that_stays_away_is_gone_also_if_it_published() {
    let etcd = Etcd::start(1);
    let members = [SHORT; 3].map(|times| Member::start(&etcd, times, &[]));
    let members = Vec::from(members);
    let epoch = wait_for_agreement(&members.iter().collect::<Vec<_>>());
    let (mut publisher, others) = split_publisher(members);
    publisher.server.child.kill().expect("it runs");
    let left: Vec<&Member> = others.iter().collect();
    assert!(wait_for_agreement(&left) > epoch);
    let (next, _) = split_publisher(others);
    assert_eq!(next.stat("servers_gone"), "1");
    assert_ne!(next.stat("maps_published"), "0");
}

#[test]
fn a_server_that_slept_while_others_had_its_keys_forgets_its_items() {
    let etcd = Etcd::start(1);
    let stays = Member::start(&etcd, SHORT, &[]);
    stays.wait_for_servers(&[&stays]);
    let sleeps = Member::start(&etcd, SHORT, &[]);
    wait_for_agreement(&[&stays, &sleeps]);
    sleeps.server.connect().set("key", b"old");
    sleeps.server.stop();
    let without = stays.wait_for_servers(&[&stays]);
    sleeps.server.signal(Signal::CONT);
    assert!(wait_for_agreement(&[&stays, &sleeps]) > without);
    wait_for("the item to be dropped", || {
        sleeps.server.connect().get("key").is_none().then_some(())
    });
    assert_ne!(sleeps.stat("items_dropped"), "0");
    assert_eq!(stays.stat("items_dropped"), "0");
}

#[test]
fn a_stopped_leader_of_etcd_does_not_keep_servers_from_joining() {
    let etcd = Etcd::start(3);
    let first = Member::start(&etcd, LONG, &[]);
    let second = Member::start(&etcd, LONG, &[]);
    let epoch = wait_for_agreement(&[&first, &second]);
    let leader = etcd.leader();
    etcd.signal(leader, Signal::STOP);
    let third = Member::start(&etcd, LONG, &[]);
    assert!(wait_for_agreement(&[&first, &second, &third]) > epoch);
    etcd.signal(leader, Signal::CONT);
    let fourth = Member::start(&etcd, LONG, &[]);
    wait_for_agreement(&[&first, &second, &third, &fourth]);
}
