//! What comes along with the items, and what requests find while keys move.

use crate::fleet::Fleet;
use crate::support::{Client, wait_for};
use farcache_cluster::map::{Move, Phase};
use std::os::unix::net::UnixStream;

/// Two servers, of which the second is about to get its keys.
struct Pair {
    fleet: Fleet,
    moves: Vec<Move>,
}

impl Pair {
    fn start(options: &[&str]) -> Pair {
        Pair::of(Fleet::start(2, options))
    }

    /// Each with an SSD.
    fn start_with_devices() -> Pair {
        let fleet = Fleet::start_with(2, &["-m", "16"], |fleet, id| {
            let device = fleet.map_path(id) + ".device";
            vec!["--ssd".to_owned(), format!("{device}:128m")]
        });
        Pair::of(fleet)
    }

    fn of(fleet: Fleet) -> Pair {
        fleet.publish(2, &[1]);
        fleet.wait_for_epoch_of(&[1, 2], 2);
        let moves = fleet.moves(&[1], &[1, 2]);
        Pair { fleet, moves }
    }

    fn begin(&self) {
        self.fleet.begin_moving(3, &[1, 2], &self.moves);
    }

    fn finish(&self) {
        self.fleet.wait_for_done(&self.moves);
        self.fleet.publish(5, &[1, 2]);
        self.fleet.wait_for_epoch_of(&[1, 2], 5);
    }

    fn key(&self, number: usize) -> String {
        self.fleet.key_of(2, number)
    }

    fn client(&self, id: u32) -> Client<UnixStream> {
        self.fleet.connect(id)
    }
}

/// A rate at which nothing more is brought while a test lasts, beyond what comes first.
const SLOW: [&str; 2] = ["--move-rate", "1k"];

/// Begins with so many items that come first that nothing else comes unasked for a while.
fn begin_without_stream(pair: &Pair) {
    let mut client = pair.client(1);
    let map = pair.fleet.map(1, &[1, 2]);
    let keys = (0..).map(|number| format!("used:{number}"));
    let its = keys.filter(|key| map.locate(key.as_bytes(), 1)[0].0 == 2);
    for key in its.take(700) {
        client.set(&key, &[b'u'; 100]);
        assert!(client.get(&key).is_some());
    }
    pair.begin();
    let moved = &pair.moves[0];
    pair.fleet
        .wait_for_move(moved, Phase::Streaming, 2, "state", |it| it == "moving");
}

#[test]
fn all_that_a_server_held_comes_with_its_flags_expiry_and_token() {
    let pair = Pair::start(&[]);
    let mut client = pair.client(1);
    for number in 0..500 {
        client.set(&pair.key(number), format!("value {number}").as_bytes());
    }
    let key = pair.key(500);
    assert_eq!(
        client
            .ask(&format!("set {key} 77 1000 5\r\nhello"))
            .as_deref(),
        Some("STORED")
    );
    let token = client.ask(&format!("mg {key} c")).expect("a reply");
    client.set(&pair.key(501), &[b'l'; 900_000]);
    pair.begin();
    pair.finish();
    let told = |name| {
        pair.fleet
            .move_stat(&pair.moves[0], Phase::Streaming, 2, name)
    };
    assert_eq!(told("keys"), None, "no longer listed");
    // The first server has nothing to say any more.
    let mut client = pair.client(2);
    for number in 0..500 {
        let value = client.get(&pair.key(number));
        assert_eq!(
            value,
            Some(format!("value {number}").into_bytes()),
            "{number}"
        );
    }
    assert_eq!(client.get(&pair.key(501)).map(|it| it.len()), Some(900_000));
    assert_eq!(client.ask(&format!("mg {key} c")), Some(token));
    let shown = client.ask(&format!("mg {key} f t")).expect("a reply");
    let (flags, left) = shown.split_once(" t").expect("both");
    assert_eq!(flags, "HD f77");
    let left: u32 = left.parse().expect("a number");
    assert!((900..=1000).contains(&left), "{left}");
    let keys = pair.client(2).stat("curr_items");
    assert!(keys >= 502, "{keys}");
}

#[test]
fn whatever_is_asked_finds_what_has_not_come_yet() {
    let pair = Pair::start(&SLOW);
    let mut client = pair.client(1);
    for number in 0..20 {
        client.set(&pair.key(number), b"7");
    }
    begin_without_stream(&pair);
    for asked in [1, 2] {
        let mut client = pair.client(asked);
        let base = (asked as usize - 1) * 10;
        let key = |number: usize| pair.key(base + number);
        let mut ask = |request: String| client.ask(&request).expect("a reply");
        assert_eq!(ask(format!("append {} 0 0 1\r\n8", key(0))), "STORED");
        assert_eq!(ask(format!("mg {} s", key(0))), "HD s2");
        assert_eq!(ask(format!("incr {} 1", key(1))), "8");
        assert_eq!(ask(format!("add {} 0 0 1\r\nx", key(2))), "NOT_STORED");
        assert_eq!(ask(format!("replace {} 0 0 1\r\nr", key(3))), "STORED");
        assert_eq!(ask(format!("delete {}", key(4))), "DELETED");
        assert_eq!(ask(format!("delete {}", key(4))), "NOT_FOUND");
        assert_eq!(ask(format!("touch {} 100", key(5))), "TOUCHED");
        assert_eq!(ask(format!("md {}", key(6))), "HD");
        assert_eq!(ask(format!("ma {} v", key(7))), "VA 1");
    }
    let mut client = pair.client(2);
    let several = [8, 9, 18, 19].map(|number| pair.key(number)).join(" ");
    client.send(format!("get {several}\r\n").as_bytes());
    let lines: Vec<String> =
        std::iter::from_fn(|| client.line().filter(|it| it != "END")).collect();
    assert_eq!(lines.len(), 8, "{lines:?}");
    let asked_for = pair
        .fleet
        .move_stat(&pair.moves[0], Phase::Streaming, 2, "keys_asked_for");
    let asked_for: u64 = asked_for.expect("told").parse().expect("a number");
    assert!(asked_for >= 10, "{asked_for}");
}

#[test]
fn what_has_been_changed_meanwhile_stays_changed() {
    let pair = Pair::start(&[]);
    let mut client = pair.client(1);
    for number in 0..300 {
        client.set(&pair.key(number), b"old");
    }
    pair.begin();
    let mut client = pair.client(2);
    for number in 0..100 {
        client.set(&pair.key(number), b"new");
        client.ask(&format!("delete {}", pair.key(100 + number)));
    }
    pair.finish();
    for number in 0..300 {
        let expected: Option<&[u8]> = match number / 100 {
            0 => Some(b"new"),
            1 => None,
            _ => Some(b"old"),
        };
        let value = client.get(&pair.key(number));
        assert_eq!(value.as_deref(), expected, "{number}");
    }
}

#[test]
fn a_flush_voids_what_has_not_come_yet() {
    let pair = Pair::start(&SLOW);
    let mut client = pair.client(1);
    for number in 0..50 {
        client.set(&pair.key(number), b"old");
    }
    begin_without_stream(&pair);
    let mut client = pair.client(2);
    assert_eq!(client.get(&pair.key(0)).as_deref(), Some(&b"old"[..]));
    assert_eq!(client.ask("flush_all").as_deref(), Some("OK"));
    for number in 0..50 {
        assert_eq!(client.get(&pair.key(number)), None, "{number}");
    }
}

#[test]
fn a_new_owner_waits_until_the_old_one_has_stopped_deciding() {
    let pair = Pair::start(&[]);
    let key = pair.key(0);
    pair.client(1).set(&key, b"old");
    pair.fleet
        .publish_moving(3, &[1, 2], &pair.moves, Phase::HandingOver);
    pair.fleet.wait_for_epoch_of(&[1, 2], 3);
    // The second server hears of the next map, the first does not.
    let text = pair
        .fleet
        .moving_map(4, &[1, 2], &pair.moves, Phase::Streaming);
    pair.fleet.publish_text(2, &text);
    pair.fleet.wait_for_epoch_of(&[2], 4);
    pair.client(1).set(&key, b"newer");
    let mut waiting = pair.client(2);
    waiting.send(format!("get {key}\r\n").as_bytes());
    wait_for("a refusal", || {
        let state = pair
            .fleet
            .move_stat(&pair.moves[0], Phase::Streaming, 2, "state");
        assert_eq!(state.as_deref(), Some("waiting"));
        (pair.client(2).stat("forward_errors") == 0).then_some(())
    });
    pair.client(1).set(&key, b"newest");
    pair.fleet.publish_text(1, &text);
    assert_eq!(
        waiting.line().as_deref(),
        Some(&*format!("VALUE {key} 0 6"))
    );
    assert_eq!(waiting.line().as_deref(), Some("newest"));
}

#[test]
fn what_lies_on_the_ssd_only_comes_too() {
    let pair = Pair::start_with_devices();
    let map = pair.fleet.map(1, &[1, 2]);
    let keys = (0..).map(|number| format!("large:{number}"));
    let its = keys.filter(|key| map.locate(key.as_bytes(), 1)[0].0 == 2);
    let keys: Vec<String> = its.take(500).collect();
    let value_of = |number: usize| {
        // Some are too large to come with others.
        let bytes = if number.is_multiple_of(5) {
            90_000
        } else {
            50_000
        };
        format!("{number:06}").repeat(bytes / 6).into_bytes()
    };
    let mut client = pair.client(1);
    for (number, key) in keys.iter().enumerate() {
        client.set(key, &value_of(number));
    }
    pair.begin();
    // One is asked for before it comes by itself, perhaps from the SSD.
    let first = pair.client(2).get(&keys[0]);
    assert_eq!(first, Some(value_of(0)));
    pair.finish();
    let mut client = pair.client(2);
    for (number, key) in keys.iter().enumerate() {
        assert!(client.get(key) == Some(value_of(number)), "{key}");
    }
    assert!(
        pair.client(1).stat("extstore_page_allocs") > 0,
        "most lay on the SSD"
    );
}
