//! Servers that meet in etcd and share a secret answer for each other's keys.

use crate::fleet::{LONG, Member, SHORT, Times, wait_for_agreement};
use crate::node::Etcd;
use crate::proxy::Proxy;
use crate::support::wait_for;
use std::path::Path;

const SECRET: &str = "what the servers of this test share";

fn keys() -> impl Iterator<Item = String> {
    (0..60).map(|number| format!("key-{number}"))
}

/// A file with the secret.
fn secret() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), SECRET).expect("written");
    file
}

/// The first of the servers reaches etcd for its lease no more and hears of no map, but may answer
/// for long.
const SLOW_TO_GIVE_UP: Times = Times { ttl: 2, grace: 600 };

#[test]
fn nobody_answers_for_keys_whose_old_owner_goes_by_an_older_map() {
    let (etcd, secret) = (Etcd::start(1), secret());
    let proxy = Proxy::to(&etcd.endpoints());
    let path = secret.path().to_str().expect("a plain path");
    // Where items moved, the old owner would decide until it had handed over.
    let (moves, patience) = ("--cluster-moves=off", ["--forward-timeout-ms", "60"]);
    let more = [
        "--cluster-secret-file",
        path,
        moves,
        patience[0],
        patience[1],
    ];
    let old = Member::start_by(&proxy.endpoint(), SLOW_TO_GIVE_UP, &more);
    old.wait_for_servers(&[&old]);
    old.wait_for_stat("cut_off", "no");
    store(&old, b"kept");
    proxy.cut();
    let new = Member::start(&etcd, SLOW_TO_GIVE_UP, &more);
    new.wait_for_servers(&[&new, &old]);
    assert!(are_all(&answers(&old), b"kept"), "it does not know better");
    let by_new = answers(&new);
    let refused = by_new.iter().filter(|answer| answer.is_none());
    assert!(refused.count() > 0, "of the keys that it is to have");
    let kept = by_new.iter().flatten();
    assert!(kept.clone().count() > 0 && kept.clone().all(Option::is_some));
    assert!(are_all(&answers(&old), b"kept"));
    proxy.mend();
    wait_for("both servers to answer for all keys", || {
        let told = [&old, &new].map(answers);
        let is_whole = told[0] == told[1] && told[0].iter().all(Option::is_some);
        (is_whole && told[0].contains(&Some(None))).then_some(())
    });
}

fn start(etcd: &Etcd, times: Times, secret: &Path) -> Member {
    let secret = secret.to_str().expect("a plain path");
    let more = ["--cluster-secret-file", secret];
    let patience = ["--forward-timeout-ms", "60000"];
    Member::start(etcd, times, &[more, patience].concat())
}

/// What a server answers for each key; an error is `None`.
fn answers(member: &Member) -> Vec<Option<Option<Vec<u8>>>> {
    let mut client = member.server.connect();
    let answers = keys().map(|key| {
        let head = client.ask(&format!("get {key}"))?;
        match head.as_str() {
            "END" => Some(None),
            error if error.starts_with("SERVER_ERROR") => None,
            _ => {
                let value = client.line()?;
                assert_eq!(client.line()?, "END");
                Some(Some(value.into_bytes()))
            }
        }
    });
    answers.collect()
}

fn store(member: &Member, value: &[u8]) {
    let mut client = member.server.connect();
    for key in keys() {
        client.set(&key, value);
    }
}

fn are_all(answers: &[Option<Option<Vec<u8>>>], value: &[u8]) -> bool {
    let wanted = Some(Some(value.to_vec()));
    answers.iter().all(|answer| *answer == wanted)
}

fn forwarded(member: &Member) -> u64 {
    let mut client = member.server.connect();
    client.send(b"stats\r\n");
    let lines = std::iter::from_fn(|| client.line().filter(|line| line != "END"));
    let lines: Vec<String> = lines.collect();
    let found = lines
        .iter()
        .find_map(|line| line.strip_prefix("STAT forwarded "));
    found.expect("it is counted").parse().expect("a number")
}

#[test]
fn each_server_answers_for_all_keys_also_one_that_joins_later() {
    let (etcd, secret) = (Etcd::start(1), secret());
    let first = start(&etcd, LONG, secret.path());
    let second = start(&etcd, LONG, secret.path());
    wait_for_agreement(&[&first, &second]);
    store(&first, b"one");
    for member in [&first, &second] {
        assert!(are_all(&answers(member), b"one"));
    }
    assert!(forwarded(&first) > 0 && forwarded(&second) > 0);
    let third = start(&etcd, LONG, secret.path());
    wait_for_agreement(&[&first, &second, &third]);
    store(&third, b"two");
    for member in [&first, &second, &third] {
        assert!(are_all(&answers(member), b"two"));
    }
    assert!(forwarded(&third) > 0);
}

#[test]
fn keys_of_a_server_that_died_are_errors_until_others_own_them() {
    let (etcd, secret) = (Etcd::start(1), secret());
    let patient = Times { ttl: 2, grace: 600 };
    let stays = start(&etcd, patient, secret.path());
    stays.wait_for_servers(&[&stays]);
    let mut dies = start(&etcd, SHORT, secret.path());
    wait_for_agreement(&[&stays, &dies]);
    wait_for("both to serve", || {
        (stays.stat("servers_serving") == "2").then_some(())
    });
    store(&stays, b"value");
    dies.server.child.kill().expect("it runs");
    dies.server.wait();
    let found = answers(&stays);
    assert!(found.iter().any(Option::is_none), "an error, and no miss");
    assert!(found.iter().all(|answer| *answer != Some(None)));
    // The same server in its next life owns them again.
    let secret = secret.path().to_str().expect("a plain path");
    let back = dies.start_again(&etcd, patient, &["--cluster-secret-file", secret]);
    wait_for("its keys to be served", || {
        let found = answers(&stays);
        found.iter().all(Option::is_some).then_some(())
    });
    store(&stays, b"anew");
    assert!(are_all(&answers(&back), b"anew"));
}

#[test]
fn without_a_secret_each_server_answers_for_what_it_holds() {
    let etcd = Etcd::start(1);
    let first = Member::start(&etcd, LONG, &[]);
    let second = Member::start(&etcd, LONG, &[]);
    wait_for_agreement(&[&first, &second]);
    store(&first, b"value");
    assert!(answers(&second).iter().all(|answer| *answer == Some(None)));
}
