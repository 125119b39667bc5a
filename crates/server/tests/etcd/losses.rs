//! etcd is lost, and comes back: as it was, empty, or older.

use crate::fleet::{LONG, Member, state_file, wait_for_agreement};
use crate::node::Etcd;
use crate::support::wait_for;

#[test]
fn without_etcd_the_map_stays_and_items_are_served() {
    let mut etcd = Etcd::start(1);
    let (_directory, state) = state_file();
    let keep = ["--cluster-state", state.to_str().expect("a plain path")];
    let first = Member::start(&etcd, LONG, &[]);
    first.wait_for_servers(&[&first]);
    let mut second = Member::start(&etcd, LONG, &keep);
    let epoch = wait_for_agreement(&[&first, &second]);
    etcd.kill();
    for member in [&first, &second] {
        member.wait_for_stat("etcd", "unreachable");
        assert_eq!(member.wait_for_servers(&[&first, &second]), epoch);
        member.server.connect().exercise();
    }
    // A server that starts now knows the map that it had last.
    second.server.child.kill().expect("it runs");
    second.server.wait();
    let second = second.start_again(&etcd, LONG, &keep);
    assert_eq!(second.wait_for_servers(&[&first, &second]), epoch);
    etcd.restart();
    let third = Member::start(&etcd, LONG, &[]);
    assert!(wait_for_agreement(&[&first, &second, &third]) > epoch);
    assert_eq!(first.stat("servers_gone"), "0");
}

#[test]
fn the_epoch_does_not_fall_when_etcd_is_made_anew() {
    let mut etcd = Etcd::start(1);
    let first = Member::start(&etcd, LONG, &[]);
    first.wait_for_servers(&[&first]);
    let second = Member::start(&etcd, LONG, &[]);
    let epoch = wait_for_agreement(&[&first, &second]);
    etcd.kill();
    first.wait_for_stat("etcd", "unreachable");
    etcd.wipe();
    etcd.restart();
    let third = Member::start(&etcd, LONG, &[]);
    assert!(wait_for_agreement(&[&first, &second, &third]) > epoch);
    assert_eq!(first.stat("servers_gone"), "0");
}

#[test]
fn the_epoch_does_not_fall_when_etcd_is_restored_from_an_older_copy() {
    let mut etcd = Etcd::start(1);
    let first = Member::start(&etcd, LONG, &[]);
    first.wait_for_servers(&[&first]);
    etcd.kill();
    let backup = tempfile::tempdir().expect("a directory");
    let backup = backup.path().join("copy");
    etcd.back_up(&backup);
    etcd.restart();
    let second = Member::start(&etcd, LONG, &[]);
    let third = Member::start(&etcd, LONG, &[]);
    let epoch = wait_for_agreement(&[&first, &second, &third]);
    etcd.kill();
    first.wait_for_stat("etcd", "unreachable");
    etcd.restore(&backup);
    etcd.restart();
    first.wait_for_stat("listed", "yes");
    // Who knows only what etcd tells learns of the later map.
    let fourth = Member::start(&etcd, LONG, &[]);
    assert!(wait_for_agreement(&[&first, &second, &third, &fourth]) > epoch);
    wait_for("the lease of each server", || {
        (first.stat("suspects") == "none").then_some(())
    });
}
