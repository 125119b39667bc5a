//! Maps from lists and files: what comes into force, what does not, and who hears of it.

use farcache_cluster::ClusterMap;
use farcache_cluster::map::Epoch;
use farcache_membership::{
    Directory, FollowedFile, News, Refused, StaticDirectory, Unusable, WatchedFile,
};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// The text of a map of so many servers.
fn text(epoch: u64, servers: u32) -> String {
    let mut text =
        format!("farcache-cluster-map 1\ncluster orders\nepoch {epoch}\nplacement ketama\n");
    for id in 1..=servers {
        text += &format!(
            "server {id} incarnation=1 weight=1 zone=- state=serving addresses=cache-{id}:11211\n"
        );
    }
    text + "end\n"
}

/// A file that is followed, and what is told of it.
struct Fixture {
    directory: TempDir,
    followed: FollowedFile,
    news: Receiver<News>,
}

impl Fixture {
    /// Follows a file that has epoch 5 and two servers.
    fn new() -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("map");
        fs::write(&path, text(5, 2)).expect("written");
        Fixture::following(directory, path)
    }

    fn following(directory: TempDir, path: PathBuf) -> Fixture {
        let (tell, news) = channel();
        let followed = WatchedFile::open(&path)
            .expect("a map")
            .follow(|_| (), move |one| tell.send(one).expect("the test listens"))
            .expect("a thread");
        Fixture {
            directory,
            followed,
            news,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Replaces the file as a whole.
    fn replace(&self, text: &str) {
        fs::write(self.path("new"), text).expect("written");
        fs::rename(self.path("new"), self.path("map")).expect("renamed");
    }

    fn told(&self) -> News {
        self.news.recv_timeout(PATIENCE).expect("it is told")
    }

    /// What is told next, if it is that a map came into force.
    fn epoch_in_force(&self) -> u64 {
        match self.told() {
            News::InForce(map) => map.epoch().0,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_list_never_changes() {
    let addresses = ["a:1", "b:2"].map(|address| address.parse().expect("an address"));
    let cluster = "orders".parse().expect("a name");
    let list = StaticDirectory::from_addresses(cluster, addresses).expect("a map");
    assert_eq!(list.map().content().servers[1].addresses[0].host, "b");
    assert!(list.wait_beyond(Epoch(0), deadline()).is_some());
    assert!(list.wait_beyond(list.map().epoch(), deadline()).is_none());
}

#[test]
fn a_list_with_an_address_twice_is_refused() {
    let addresses = ["a:1", "a:1"].map(|address| address.parse().expect("an address"));
    let list = StaticDirectory::from_addresses("orders".parse().expect("a name"), addresses);
    assert!(list.is_err());
}

#[test]
fn a_file_that_gives_no_map_is_refused_with_line_and_reason() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("map");
    let refusal = || WatchedFile::open(&path).expect_err("refused").to_string();
    assert!(refusal().contains("No such file"), "{}", refusal());
    fs::write(&path, text(5, 2).replace("epoch 5", "epoch five")).expect("written");
    assert!(refusal().starts_with("line 3: "), "{}", refusal());
    fs::write(&path, b"\xff").expect("written");
    assert!(refusal().starts_with("it cannot be read"), "{}", refusal());
    let nowhere = directory.path().join("no/map");
    let refusal = WatchedFile::open(&nowhere)
        .expect_err("refused")
        .to_string();
    assert!(refusal.contains("cannot be watched"), "{refusal}");
}

#[test]
fn a_file_replaced_by_a_rename_comes_into_force() {
    let fixture = Fixture::new();
    assert_eq!(fixture.followed.map().epoch(), Epoch(5));
    for epoch in 6..10 {
        fixture.replace(&text(epoch, epoch as u32));
        let map = fixture.followed.wait_beyond(Epoch(epoch - 1), deadline());
        assert_eq!(
            map.expect("a newer map").content().servers.len(),
            epoch as usize
        );
        assert_eq!(fixture.epoch_in_force(), epoch);
    }
}

#[test]
fn a_file_written_in_place_comes_into_force() {
    let fixture = Fixture::new();
    for epoch in 6..10 {
        fs::write(fixture.path("map"), text(epoch, 3)).expect("written");
        assert_eq!(fixture.epoch_in_force(), epoch);
    }
}

#[test]
fn a_file_behind_a_swapped_directory_comes_into_force() {
    // As Kubernetes mounts a ConfigMap: map -> ..data/map, ..data -> a directory of each version.
    let directory = tempfile::tempdir().expect("a directory");
    let version = |number: u64| {
        let versioned = directory.path().join(format!("..{number}"));
        fs::create_dir(&versioned).expect("made");
        fs::write(versioned.join("map"), text(number, 2)).expect("written");
        versioned
    };
    symlink(version(5), directory.path().join("..data")).expect("a link");
    symlink("..data/map", directory.path().join("map")).expect("a link");
    symlink(version(6), directory.path().join("..new")).expect("a link");
    let path = directory.path().join("map");
    let fixture = Fixture::following(directory, path);
    fs::rename(fixture.path("..new"), fixture.path("..data")).expect("renamed");
    assert_eq!(fixture.epoch_in_force(), 6);
}

#[test]
fn a_file_without_a_map_leaves_the_last_one_in_force_and_is_told_of_once() {
    let fixture = Fixture::new();
    let broken = text(6, 2).replace("ketama", "anywhere");
    // What is written twice changes nothing the second time; what comes after it shows that nothing
    // was told.
    fixture.replace(&broken);
    let News::Unusable(Unusable::Invalid(invalid)) = fixture.told() else {
        panic!("refused");
    };
    assert_eq!(invalid.line, 4);
    fixture.replace(&broken);
    assert_eq!(fixture.followed.map().epoch(), Epoch(5));
    fixture.replace(&text(6, 2));
    assert_eq!(fixture.epoch_in_force(), 6);
}

#[test]
fn a_map_that_does_not_follow_is_refused() {
    let fixture = Fixture::new();
    let cases = [
        (text(4, 2), Refused::EpochFell(Epoch(4))),
        (text(5, 3), Refused::EpochReused(Epoch(5))),
        (
            text(6, 2).replace("orders", "others"),
            Refused::OtherCluster("others".to_owned()),
        ),
    ];
    for (text, refused) in cases {
        fixture.replace(&text);
        assert_eq!(fixture.told(), News::Unusable(Unusable::Refused(refused)));
        assert_eq!(fixture.followed.map().content().servers.len(), 2);
        assert_eq!(fixture.followed.map().epoch(), Epoch(5));
    }
    // What is in force already is no news, also after what was refused.
    fixture.replace(&text(5, 2));
    fixture.replace(&text(7, 2));
    assert_eq!(fixture.epoch_in_force(), 7);
}

#[test]
fn a_file_that_goes_leaves_its_map_in_force_until_it_comes_back() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.path("map")).expect("removed");
    let told = fixture.told();
    assert!(
        matches!(told, News::Unusable(Unusable::Unreadable(_))),
        "{told:?}"
    );
    assert_eq!(fixture.followed.map().epoch(), Epoch(5));
    fixture.replace(&text(6, 1));
    assert_eq!(fixture.epoch_in_force(), 6);
}

#[test]
fn a_directory_that_goes_ends_the_following() {
    let fixture = Fixture::new();
    let elsewhere = tempfile::tempdir().expect("a directory");
    fs::rename(fixture.directory.path(), elsewhere.path().join("moved")).expect("moved");
    let told = fixture.told();
    assert!(matches!(told, News::Lost(_)), "{told:?}");
    let deadline = deadline();
    assert!(fixture.followed.wait_beyond(Epoch(5), deadline).is_none());
    assert!(
        Instant::now() < deadline,
        "nobody waits for what will not come"
    );
    assert_eq!(fixture.followed.map().epoch(), Epoch(5));
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let fixture = Fixture::new();
    let passed = Instant::now();
    assert!(fixture.followed.wait_beyond(Epoch(5), passed).is_none());
    let known = fixture.followed.wait_beyond(Epoch(4), passed);
    assert_eq!(known.map(|map| map.epoch()), Some(Epoch(5)));
}

#[test]
fn what_changed_between_reading_and_following_is_not_missed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("map");
    fs::write(&path, text(5, 2)).expect("written");
    let opened = WatchedFile::open(&path).expect("a map");
    assert_eq!(opened.map().epoch(), Epoch(5));
    fs::write(&path, text(6, 2)).expect("written");
    let followed = opened.follow(|_| (), |_| ()).expect("a thread");
    let map: Option<std::sync::Arc<ClusterMap>> = followed.wait_beyond(Epoch(5), deadline());
    assert_eq!(map.map(|map| map.epoch()), Some(Epoch(6)));
}
