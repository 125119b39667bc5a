use crate::strategies;
use farcache_cluster::ClusterMap;
use proptest::prelude::*;

const PAGE: &str = include_str!("../../../../docs/design/cluster.md");

/// The example of the page.
fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```text\n").unwrap();
    rest.split_once("```").unwrap().0
}

/// Why the example is refused with a line of it written otherwise.
fn refusal(line: &str, instead: &str) -> String {
    assert_eq!(
        example().lines().filter(|known| *known == line).count(),
        1,
        "{line}"
    );
    let lines = example()
        .lines()
        .map(|known| if known == line { instead } else { known });
    let text = lines.collect::<Vec<_>>().join("\n");
    text.parse::<ClusterMap>().expect_err(instead).to_string()
}

#[test]
fn the_example_is_read_and_written_back() {
    let map: ClusterMap = example().parse().unwrap();
    assert_eq!(map.to_string(), example());
    assert_eq!(map.epoch().0, 42);
    assert_eq!(map.content().servers.len(), 3);
    assert_eq!(map.content().moves[1].arcs[1].last, u32::MAX);
}

#[test]
fn comments_and_empty_lines_say_nothing() {
    let (head, rest) = example().split_once('\n').unwrap();
    let text = format!("{head}\n# Three servers.\n\n{rest}\n#");
    assert_eq!(text.parse::<ClusterMap>().unwrap().to_string(), example());
}

#[test]
fn a_text_that_was_cut_off_is_refused() {
    let whole = example();
    let end = whole.len() - "\n".len();
    for length in 0..end {
        assert!(whole[..length].parse::<ClusterMap>().is_err(), "{length}");
    }
    let cut = whole.strip_suffix("end\n").unwrap();
    assert_eq!(
        cut.parse::<ClusterMap>().unwrap_err().to_string(),
        "line 15: the text is cut off: \"end\" is missing"
    );
}

#[test]
fn nothing_follows_the_end() {
    let text = format!("{}server 9\n", example());
    assert_eq!(
        text.parse::<ClusterMap>().unwrap_err().to_string(),
        "line 17: \"server\" follows the end"
    );
}

#[test]
fn no_line_is_left_out_unnoticed() {
    for (left_out, _) in example().lines().enumerate() {
        let lines = example().lines().enumerate();
        let lines = lines.filter(|(number, _)| *number != left_out);
        let text = lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        let map = text.parse::<ClusterMap>();
        // Without a move its arcs belong to the one before, and of two arcs one may be left out.
        let may_be_left_out = (13..=15).contains(&(left_out + 1));
        assert_eq!(
            map.is_ok(),
            may_be_left_out,
            "line {} left out",
            left_out + 1
        );
    }
}

const ONE: &str =
    "server 1 incarnation=1 weight=1 zone=rack-a state=serving addresses=cache-1.example:11211";

#[test]
fn what_is_wrong_with_a_server_is_said() {
    for (instead, reason) in [
        (
            "server 1 weight=1",
            r#"incarnation= is expected here, not "weight=1""#,
        ),
        ("server", "the server's name is missing"),
        ("server 1 incarnation=1 weight=1", "zone= is missing"),
        (
            "server 01",
            r#""01" is not the name of a server, which is a number"#,
        ),
        (
            &ONE.replace("=1 w", "=+1 w"),
            r#""+1" is not an incarnation"#,
        ),
        (
            &ONE.replace("weight=1", "weight=0"),
            "server 1 has weight 0",
        ),
        (
            &ONE.replace("rack-a", "rack/a"),
            r#""rack/a" is not the name of a zone"#,
        ),
        (
            &ONE.replace("rack-a", ""),
            r#""" is not the name of a zone"#,
        ),
        (
            &ONE.replace("serving", "up"),
            r#""up" is none of joining, serving, draining, gone"#,
        ),
        (
            &ONE.replace(":11211", ""),
            r#""cache-1.example" is not host:port, [IPv6]:port or the path of a unix socket"#,
        ),
        (
            &ONE.replace("cache-1", "cache-2"),
            "server 2 has the address cache-2.example:11211 of server 1",
        ),
        (&format!("{ONE} "), r#""" is one word too many"#),
        (
            &format!("{ONE}\r"),
            "\"cache-1.example:11211\\r\" is not host:port, [IPv6]:port or the path of a unix \
             socket",
        ),
        (
            &ONE.replace("server 1", "server 2"),
            "server 2 is out of order: servers have ascending names",
        ),
    ] {
        let line = if reason.starts_with("server 2") { 6 } else { 5 };
        assert_eq!(
            refusal(ONE, instead),
            format!("line {line}: {reason}"),
            "{instead}"
        );
    }
}

#[test]
fn what_is_wrong_with_the_head_is_said() {
    for (line, instead, reason) in [
        (
            "farcache-cluster-map 1",
            "farcache-cluster-map 2",
            r#"line 1: the first line is not "farcache-cluster-map 1""#,
        ),
        (
            "cluster orders",
            "epoch 42",
            r#"line 2: "cluster" is expected here"#,
        ),
        (
            "cluster orders",
            "cluster -",
            r#"line 2: "-" is not the name of a cluster"#,
        ),
        (
            "epoch 42",
            "epoch 18446744073709551616",
            r#"line 3: "18446744073709551616" is not an epoch"#,
        ),
        (
            "placement slots",
            "placement ring",
            r#"line 4: "ring" is none of ketama, slots, client"#,
        ),
        (
            "placement slots",
            "placement ketama",
            r#"line 8: "slots" is unknown, or out of place"#,
        ),
    ] {
        assert_eq!(refusal(line, instead), reason, "{instead}");
    }
    let empty = "".parse::<ClusterMap>().unwrap_err();
    assert_eq!(empty.line, 1);
}

#[test]
fn what_is_wrong_with_slots_is_said() {
    let line = "slots 2 4096-12287";
    for (instead, reason) in [
        (
            "slots 2 4095-12287",
            "line 9: slot 4095 is that of server 1 already",
        ),
        ("slots 2 4096-12286", "line 11: slot 12287 has no owner"),
        (
            "slots 2 4096-5000,5001-12287",
            r#"line 9: "5001-12287" is out of order, or belongs to the one before"#,
        ),
        (
            "slots 2 12287-4096",
            r#"line 9: "12287-4096" is no range of the slots 0-16383"#,
        ),
        (
            "slots 2 4096-16384",
            r#"line 9: "4096-16384" is no range of the slots 0-16383"#,
        ),
        ("slots 2 4096", r#"line 9: "4096" is not FIRST-LAST"#),
        (
            "slots 1 4096-12287",
            "line 9: slots are out of order: their owners ascend",
        ),
        (
            "slots 3 4096-12287",
            "line 9: server 3 owns slots, but is not joining or serving",
        ),
    ] {
        assert_eq!(refusal(line, instead), reason, "{instead}");
    }
}

#[test]
fn what_is_wrong_with_a_move_is_said() {
    let (line, arc) = (
        "move from=2 to=4 phase=handing-over",
        "arc e0000000-ffffffff",
    );
    for (line, instead, reason) in [
        (
            line,
            "move from=4 to=4 phase=handing-over",
            "line 13: server 4 is both ends of a move",
        ),
        (
            line,
            "move from=3 to=4 phase=handing-over",
            "line 13: server 3 is gone or unknown: nothing moves from there",
        ),
        (
            line,
            "move from=1 to=4 phase=handing-over",
            "line 13: moves are out of order, or one is listed twice: \
             they ascend by from, to and phase",
        ),
        (
            line,
            "move from=2 to=4 phase=done",
            r#"line 13: "done" is none of handing-over, streaming"#,
        ),
        (
            line,
            "move from=2 to=1 phase=handing-over",
            "line 14: hash d4000000 moves to server 1, which does not own it",
        ),
        (
            arc,
            "arc bfffffff-bfffffff",
            "line 15: arcs are out of order: they ascend",
        ),
        (
            arc,
            "arc d7ffffff-ffffffff",
            "line 15: arcs are out of order: they ascend",
        ),
        (
            arc,
            "arc e0000001-e0000000",
            "line 15: the arc ends before it begins",
        ),
        (
            arc,
            "arc E0000000-ffffffff",
            r#"line 15: "E0000000" is not a hash of eight digits, 0-9 and a-f"#,
        ),
        (
            "arc c0000000-d3ffffff",
            "arc bfffffff-d3ffffff",
            "line 12: hash bfffffff moves to server 4, which does not own it",
        ),
        (
            "arc c0000000-d3ffffff",
            "arc c0000000-d4000000",
            "line 14: hash d4000000 is moved twice",
        ),
    ] {
        assert_eq!(refusal(line, instead), reason, "{instead}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_map_that_is_written_is_read_as_it_was(map in strategies::map()) {
        let text = map.to_string();
        let read: ClusterMap = text.parse().unwrap();
        prop_assert_eq!(read.to_string(), text);
        prop_assert_eq!(read, map);
    }

    #[test]
    fn damage_is_refused_or_means_another_map(
        map in strategies::map(),
        place in any::<prop::sample::Index>(),
        byte in 32_u8..127,
    ) {
        let mut bytes = map.to_string().into_bytes();
        let place = place.index(bytes.len());
        prop_assume!(bytes[place] != byte);
        bytes[place] = byte;
        let text = String::from_utf8(bytes).unwrap();
        if let Ok(read) = text.parse::<ClusterMap>() {
            // A line that became a comment apart.
            prop_assert!(read != map && (read.to_string() == text || byte == b'#'));
        }
    }
}
