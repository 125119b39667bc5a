//! Servers that come, and go in order.

use crate::fleet::{LONG, Member, arguments, state_file, wait_for_agreement};
use crate::node::Etcd;
use crate::support::{command, wait_for};
use rustix::process::Signal;
use std::process::Stdio;

#[test]
fn servers_that_start_find_each_other() {
    let etcd = Etcd::start(1);
    let first = Member::start(&etcd, LONG, &[]);
    first.wait_for_servers(&[&first]);
    let second = Member::start(
        &etcd,
        LONG,
        &["--cluster-zone", "b", "--cluster-weight", "3"],
    );
    let epoch = wait_for_agreement(&[&first, &second]);
    let third = Member::start(&etcd, LONG, &[]);
    assert!(wait_for_agreement(&[&first, &second, &third]) > epoch);
    for member in [&first, &second, &third] {
        member.wait_for_stat("listed", "yes");
        assert_eq!(member.stat("cluster"), "orders");
        assert_eq!(member.stat("servers_serving"), "3");
        assert_eq!(member.stat("suspects"), "none");
    }
}

#[test]
fn a_server_that_is_stopped_leaves_and_is_known_again() {
    let etcd = Etcd::start(1);
    let (_directory, state) = state_file();
    let path = state.to_str().expect("a plain path");
    let stays = Member::start(&etcd, LONG, &["--cluster-state", path]);
    stays.wait_for_servers(&[&stays]);
    let mut leaves = Member::start(&etcd, LONG, &[]);
    let before = wait_for_agreement(&[&stays, &leaves]);
    leaves.server.signal(Signal::TERM);
    assert!(leaves.server.wait().success(), "{}", leaves.server.log());
    let after = stays.wait_for_servers(&[&stays]);
    assert!(after > before);
    let line = |incarnation: u32, state: &str| {
        let address = leaves.address();
        format!("incarnation={incarnation} weight=1 zone=- state={state} addresses={address}\n")
    };
    let map = || std::fs::read_to_string(&state).expect("the map is kept");
    assert!(map().contains(&line(1, "gone")), "{}", map());
    let back = leaves.start_again(&etcd, LONG, &[]);
    assert!(wait_for_agreement(&[&stays, &back]) > after);
    let listed = format!("server 2 {}", line(2, "serving"));
    assert!(map().contains(&listed), "{}", map());
    assert_eq!(map().matches("\nserver ").count(), 2, "{}", map());
}

#[test]
fn a_server_whose_address_another_process_takes_gives_way() {
    let etcd = Etcd::start(1);
    let first = Member::start(&etcd, LONG, &["--cluster-address", "cache.example:1"]);
    first.wait_for_stat("listed", "yes");
    let second = Member::start(&etcd, LONG, &["--cluster-address", "cache.example:1"]);
    second.wait_for_stat("listed", "yes");
    first.wait_for_stat("replaced", "yes");
    wait_for("a line in the log", || {
        let log = first.server.log();
        log.contains("another process joined with this server's address")
            .then_some(())
    });
    assert_eq!(second.stat("replaced"), "no");
    assert_eq!(second.stat("servers_serving"), "1");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for (wrong, message) in [
        (
            &["--cluster-etcd", "https://a:1"][..],
            "TLS to etcd is not supported",
        ),
        (
            &["--cluster-etcd", "a:1", "-l", "0.0.0.0"],
            "--cluster-address",
        ),
        (
            &["--cluster-etcd", "a:1", "-s", "/tmp/s"],
            "needs a TCP port",
        ),
        (
            &["--cluster-etcd", "a:1", "--cluster-ttl", "1"],
            "--cluster-ttl",
        ),
        (
            &["--cluster-etcd", "a:1", "--cluster-weight", "0"],
            "--cluster-weight",
        ),
        (
            &["--cluster-etcd", "a:1", "--cluster-name", "a b"],
            "--cluster-name",
        ),
        (
            &["--cluster-etcd", "a:1", "--cluster-address", "a:0"],
            "--cluster-address",
        ),
        (
            &["--cluster-etcd", "a:1", "--cluster-file", "f"],
            "cannot be used with",
        ),
        (&["--cluster-zone", "a"], "--cluster-etcd"),
        (
            &["--cluster-secret-file", "f"],
            "--cluster-secret-file needs --cluster-self or --cluster-etcd",
        ),
    ] {
        let output = command(wrong)
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(64), "{wrong:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains(message), "{wrong:?}: {told}");
    }
}

#[test]
fn a_map_of_another_cluster_is_not_taken_for_the_last_one() {
    let etcd = Etcd::start(1);
    let (_directory, state) = state_file();
    let text = "farcache-cluster-map 1\ncluster other\nepoch 9\nplacement ketama\nend\n";
    std::fs::write(&state, text).expect("written");
    let path = state.to_str().expect("a plain path");
    let arguments = arguments(&etcd, LONG, &["--cluster-state", path]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut server = command(&["-l", "127.0.0.1", "-p", "-1", "-u", "root"]);
    let output = server.args(&arguments).stderr(Stdio::piped()).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(71));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("it is the map of cluster other"), "{told}");
}
