//! Keys that are taken from a server and given back to it: what it held of them before is never
//! served again, and what it held of others stays.

use crate::Fleet;
use crate::support::wait_for;
use rustix::process::Signal;

/// Enough keys of each server for every part of the ring.
const KEYS: usize = 60;

impl Fleet {
    /// Gives servers a map and waits until they go by it.
    fn publish_and_wait(&self, epoch: u64, owners: &[u32]) {
        self.publish(epoch, owners);
        self.wait_for_epoch(epoch);
    }

    fn wait_for_epoch(&self, epoch: u64) {
        self.wait_for_epoch_of(&self.all(), epoch);
    }

    fn keys_of(&self, id: u32) -> Vec<String> {
        (0..KEYS).map(|number| self.key_of(id, number)).collect()
    }

    fn set_all(&self, asked: u32, keys: &[String], value: &str) {
        let mut client = self.connect(asked);
        keys.iter()
            .for_each(|key| client.set(key, value.as_bytes()));
    }

    fn get_all(&self, asked: u32, keys: &[String]) -> Vec<Option<String>> {
        let mut client = self.connect(asked);
        let value = |key: &String| {
            client
                .get(key)
                .map(|it| String::from_utf8(it).expect("text"))
        };
        keys.iter().map(value).collect()
    }

    fn expect_all(&self, keys: &[String], value: Option<&str>) {
        let expected = vec![value.map(str::to_owned); keys.len()];
        for asked in self.all() {
            assert_eq!(self.get_all(asked, keys), expected, "asked {asked}");
        }
    }
}

#[test]
fn what_a_server_held_before_is_not_served_when_keys_come_back() {
    let fleet = Fleet::start(2, &[]);
    let (first, second) = (fleet.keys_of(1), fleet.keys_of(2));
    fleet.set_all(1, &first, "first");
    fleet.set_all(1, &second, "old");
    // All keys are the first server's now.
    fleet.publish_and_wait(2, &[1]);
    fleet.expect_all(&second, None);
    fleet.set_all(1, &second, "new");
    fleet.expect_all(&second, Some("new"));
    // The second server has its keys back.
    fleet.publish_and_wait(3, &[1, 2]);
    fleet.expect_all(&second, None);
    for request in ["incr", "decr"] {
        let key = &second[0];
        let answer = fleet.connect(2).ask(&format!("{request} {key} 1"));
        assert_eq!(answer.as_deref(), Some("NOT_FOUND"));
    }
    for request in ["append", "prepend", "replace"] {
        let key = &second[1];
        let answer = fleet.connect(2).ask(&format!("{request} {key} 0 0 1\r\nx"));
        assert_eq!(answer.as_deref(), Some("NOT_STORED"), "{request}");
    }
    for (request, answer) in [("touch", "NOT_FOUND"), ("delete", "NOT_FOUND")] {
        let key = &second[2];
        let more = if request == "touch" { " 0" } else { "" };
        let told = fleet.connect(2).ask(&format!("{request} {key}{more}"));
        assert_eq!(told.as_deref(), Some(answer), "{request}");
    }
    fleet.set_all(2, &second, "newest");
    fleet.expect_all(&second, Some("newest"));
    // And the first server once more the keys that it held twice already.
    fleet.publish_and_wait(4, &[1]);
    fleet.expect_all(&second, None);
    // What was its own all the time was there all the time.
    fleet.expect_all(&first, Some("first"));
    assert_eq!(fleet.stat(1, "all_keys_dropped"), "0");
    assert_eq!(fleet.stat(1, "gained_keys_dropped"), "2");
    assert_eq!(fleet.stat(2, "gained_keys_dropped"), "1");
}

#[test]
fn where_an_epoch_is_left_out_everything_is_dropped() {
    let fleet = Fleet::start(2, &[]);
    let keys = fleet.keys_of(1);
    fleet.set_all(1, &keys, "old");
    fleet.publish_and_wait(2, &[1, 2]);
    fleet.expect_all(&keys, Some("old"));
    fleet.publish_and_wait(4, &[1, 2]);
    fleet.expect_all(&keys, None);
    fleet.set_all(1, &keys, "new");
    fleet.expect_all(&keys, Some("new"));
}

/// Each server with an SSD that keeps what was answered.
fn with_devices() -> Fleet {
    Fleet::start_with(2, &["-m", "16", "--durability", "sync"], |fleet, id| {
        vec!["--ssd".to_owned(), format!("{}:64m", fleet.device(id))]
    })
}

impl Fleet {
    fn device(&self, id: u32) -> String {
        self.map_path(id) + ".device"
    }

    fn kill(&mut self, id: u32) {
        let server = &mut self.servers[id as usize - 1];
        server.signal(Signal::KILL);
        server.wait();
    }

    fn start_over(&mut self, id: u32) {
        let device = format!("{}:64m", self.device(id));
        let server = self.start_again(id, &["--ssd", &device]);
        self.servers[id as usize - 1] = server;
    }
}

/// Stores until what was stored before lies on the SSD only.
fn press(fleet: &Fleet, id: u32) {
    let value = "x".repeat(100_000);
    let mut client = fleet.connect(id);
    for number in 0..250 {
        client.set(&fleet.key_of(id, KEYS + number % 40), value.as_bytes());
    }
}

/// Every server is asked until it reaches the owner of the key.
fn wait_for_peer(fleet: &Fleet, key: &str) {
    for asked in fleet.all() {
        wait_for("the owner", || {
            let answer = fleet.connect(asked).ask(&format!("touch {key} 0"));
            answer.filter(|answer| !answer.contains("ERROR"))
        });
    }
}

#[test]
fn what_lies_on_the_ssd_is_not_served_either_nor_after_a_kill() {
    let mut fleet = with_devices();
    let (first, second) = (fleet.keys_of(1), fleet.keys_of(2));
    fleet.set_all(1, &first, "first");
    fleet.set_all(1, &second, "old");
    press(&fleet, 2);
    // A server that is killed has what it had, as long as the map is the one that it knew.
    fleet.kill(2);
    fleet.start_over(2);
    wait_for_peer(&fleet, &second[0]);
    fleet.expect_all(&second, Some("old"));
    fleet.publish_and_wait(2, &[1]);
    fleet.set_all(1, &second, "new");
    fleet.publish_and_wait(3, &[1, 2]);
    fleet.expect_all(&second, None);
    for id in [1, 2] {
        fleet.kill(id);
        fleet.start_over(id);
    }
    wait_for_peer(&fleet, &second[0]);
    wait_for_peer(&fleet, &first[0]);
    fleet.expect_all(&second, None);
    fleet.expect_all(&first, Some("first"));
    fleet.publish_and_wait(4, &[1]);
    fleet.expect_all(&second, None);
    fleet.expect_all(&first, Some("first"));
}

#[test]
fn an_old_ssd_that_returns_brings_nothing_of_what_others_owned() {
    let mut fleet = with_devices();
    let (first, second) = (fleet.keys_of(1), fleet.keys_of(2));
    fleet.set_all(1, &first, "first");
    fleet.set_all(1, &second, "old");
    fleet.kill(2);
    // While it is away its keys are another's, and come back.
    fleet.publish_to(1, 2, &[1]);
    wait_for("the map", || (fleet.stat(1, "epoch") == "2").then_some(()));
    fleet.set_all(1, &second, "new");
    fleet.publish(3, &[1, 2]);
    fleet.start_over(2);
    fleet.wait_for_epoch(3);
    wait_for_peer(&fleet, &second[0]);
    fleet.expect_all(&second, None);
    fleet.expect_all(&first, Some("first"));
    let log = fleet.servers[1].log();
    assert!(log.contains("all items were dropped"), "{log}");
    // One step that it slept through is told exactly: it keeps what was its own before and after.
    fleet.set_all(2, &second, "newer");
    fleet.kill(1);
    fleet.publish(4, &[1]);
    fleet.start_over(1);
    fleet.wait_for_epoch(4);
    wait_for_peer(&fleet, &second[0]);
    fleet.expect_all(&second, None);
    fleet.expect_all(&first, Some("first"));
}
