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

/// Nobody is given up by mistake, and who is away not too late.
const SOON: Times = Times { ttl: 5, grace: 1 };

/// Keys of which each server owns some, whatever ring the ports make.
const KEYS: usize = 400;

fn key(number: usize) -> String {
    format!("key:{number}")
}

fn set_all(member: &Member, value: &str) {
    let mut client = member.server.connect();
    (0..KEYS).for_each(|number| client.set(&key(number), value.as_bytes()));
}

/// The values that a server gives for all keys; none while it cannot ask the others.
fn values(member: &Member) -> Option<Vec<Option<String>>> {
    let mut client = member.server.connect();
    let ask = |number| {
        let head = client.ask(&format!("mg {} v", key(number)))?;
        match head.as_str() {
            "EN" => Some(None),
            _ if head.starts_with("VA ") => client.line().map(Some),
            _ => None,
        }
    };
    (0..KEYS).map(ask).collect()
}

fn count(values: &[Option<String>], value: &str) -> usize {
    let is_it = |one: &&Option<String>| one.as_deref() == Some(value);
    values.iter().filter(is_it).count()
}

/// Two servers that forward, and what the second has on its SSD when it is killed and comes back.
struct Pair {
    etcd: Etcd,
    directory: tempfile::TempDir,
}

impl Pair {
    fn new() -> Pair {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("secret"), "a secret of some length")
            .expect("written");
        let etcd = Etcd::start(1);
        Pair { etcd, directory }
    }

    fn options(&self, device: &str) -> Vec<String> {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let words = [
            "--cluster-secret-file",
            &path("secret"),
            "--forward-timeout-ms",
            "60000",
            "--durability",
            "sync",
            "-m",
            "16",
            "--ssd",
            &format!("{}:64m", path(device)),
        ];
        words.map(str::to_owned).to_vec()
    }

    fn start(&self, device: &str, times: Times) -> Member {
        let options = self.options(device);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Member::start(&self.etcd, times, &options)
    }

    fn start_again(&self, member: &Member, device: &str, times: Times) -> Member {
        let options = self.options(device);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        member.start_again(&self.etcd, times, &options)
    }
}

#[test]
fn a_server_that_was_gone_brings_nothing_old_back_on_its_ssd() {
    let pair = Pair::new();
    let stays = pair.start("one", SOON);
    stays.wait_for_servers(&[&stays]);
    let mut dies = pair.start("two", SOON);
    wait_for_agreement(&[&stays, &dies]);
    set_all(&stays, "old");
    dies.server.child.kill().expect("it runs");
    dies.server.wait();
    stays.wait_for_servers(&[&stays]);
    set_all(&stays, "new");
    let back = pair.start_again(&dies, "two", SOON);
    wait_for_agreement(&[&stays, &back]);
    let found = wait_for("the owners", || values(&back));
    assert_eq!(count(&found, "old"), 0);
}

#[test]
fn a_server_that_comes_back_within_the_grace_has_what_it_had() {
    let pair = Pair::new();
    let stays = pair.start("one", PATIENT);
    stays.wait_for_servers(&[&stays]);
    let mut dies = pair.start("two", PATIENT);
    let epoch = wait_for_agreement(&[&stays, &dies]);
    set_all(&stays, "old");
    dies.server.child.kill().expect("it runs");
    dies.server.wait();
    let back = pair.start_again(&dies, "two", PATIENT);
    wait_for("the map with its next life", || {
        (wait_for_agreement(&[&stays, &back]) > epoch).then_some(())
    });
    let found = wait_for("the owners", || values(&stays));
    assert_eq!(count(&found, "old"), KEYS);
}
