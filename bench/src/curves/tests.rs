use super::report::{Curves, Point};
use super::*;

fn trace(objects: &[u32]) -> Trace {
    let request = |&object: &u32| Request {
        object,
        value_bytes: 84,
    };
    Trace {
        requests: objects.iter().map(request).collect(),
        objects: objects.iter().max().map_or(0, |last| last + 1),
        value_bytes: 84 * u64::from(objects.iter().max().map_or(0, |last| last + 1)),
    }
}

#[test]
fn each_request_knows_its_next() {
    let uses = next_uses(&trace(&[0, 1, 0, 2, 1, 0]));
    assert_eq!(uses, [2, 4, 5, NEVER, NEVER, NEVER]);
}

#[test]
fn sizes_rise_in_equal_ratios_and_none_is_too_small() {
    let sizes = memory_sizes(8_000_000_000, 0.001, 0.5, 8);
    assert_eq!(sizes.len(), 8);
    assert_eq!(sizes[0], 8_000_000);
    assert!(sizes[7].abs_diff(4_000_000_000) <= 1);
    // The seventh root of 500.
    let ratio = sizes[1] as f64 / sizes[0] as f64;
    assert!((ratio - 2.43).abs() < 0.01, "{ratio}");
    let small = memory_sizes(10 << 20, 0.001, 0.5, 8);
    assert_eq!(small[0], MEMORY_BYTES_MIN);
    assert!(small.is_sorted_by(|one, next| one < next));
}

#[test]
fn a_simulation_counts_hits_and_their_bytes() {
    // Costs of 100 bytes each, room for two: 0 and 1 miss, 0 hits, 2 puts 1 out, 1 puts 0 out, 2
    // hits.
    let trace = trace(&[0, 1, 0, 2, 1, 2]);
    let figures = simulate(
        PolicyName::Lru,
        SegmentRules::default(),
        &trace,
        &[0; 6],
        200,
    );
    let wanted = Figures {
        requests: 6,
        hits: 2,
        bytes: 6 * 84,
        hit_bytes: 2 * 84,
        refused: 0,
        ssd: None,
    };
    assert_eq!(figures, wanted);
}

#[test]
fn a_store_that_holds_everything_misses_each_object_once() {
    let objects: Vec<u32> = (0..5000).map(|number| number * 7 % 500).collect();
    let figures = replay_on_store(&trace(&objects), 4 << 20, None).unwrap();
    assert_eq!(
        (figures.requests, figures.hits, figures.refused),
        (5000, 4500, 0)
    );
}

fn curves() -> Curves {
    let point = |name: &str, is_simulated, memory_bytes, hits| Point {
        name: name.into(),
        is_simulated,
        memory_bytes,
        resident_bytes: None,
        figures: Figures {
            requests: 100,
            hits,
            bytes: 1000,
            hit_bytes: hits * 5,
            refused: 0,
            ssd: None,
        },
    };
    Curves {
        trace: "block".into(),
        requests: 100,
        objects: 10,
        footprint_bytes: 64 << 20,
        points: vec![
            point("LRU", true, 1 << 20, 10),
            point("store", false, 1 << 20, 25),
            point("LRU", true, 32 << 20, 50),
            point("store", false, 32 << 20, 75),
        ],
    }
}

#[test]
fn the_table_has_a_line_for_each_memory_and_a_column_for_each_name() {
    let text = curves().to_string();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[1], ["hit", "ratio", "LRU", "store"]);
    assert_eq!(lines[2], ["1.00", "MB", "1.6", "%", "0.1000", "0.2500"]);
    assert_eq!(lines[6], ["32.00", "MB", "50.0", "%", "0.2500", "0.3750"]);
}

#[test]
fn the_picture_shows_both_ratios_by_memory() {
    let svg = curves().picture().svg();
    // Two lines in each chart and two in the legend.
    assert_eq!(svg.matches("<polyline").count(), 6);
    for text in ["byte hit ratio", "memory", "store", ">50<"] {
        assert!(svg.contains(text), "{text}");
    }
}
