use super::*;

/// Items for which there are 100 lines.
const ITEMS: u64 = 3100;

/// A memory limit with which there are no more.
const MEMORY: u64 = 100 * 64 * MEMORY_PART;

/// A hash that says line and fingerprint.
fn hash(line: u64, fingerprint: u64) -> u64 {
    fingerprint << 48 | line
}

fn ghosts() -> Ghosts {
    let ghosts = Ghosts::new(MEMORY, false).unwrap();
    let _ = ghosts.fit(ITEMS, MEMORY);
    ghosts
}

#[test]
fn a_ghost_is_taken_once() {
    let ghosts = ghosts();
    assert!(!ghosts.take(hash(5, 77)));
    ghosts.remember(hash(5, 77));
    assert!(!ghosts.take(hash(6, 77)), "another line's");
    assert!(!ghosts.take(hash(5, 78)));
    assert!(ghosts.take(hash(5, 77)));
    assert!(!ghosts.take(hash(5, 77)));
}

#[test]
fn a_line_keeps_the_last_31() {
    let ghosts = ghosts();
    (1..=100).for_each(|number| ghosts.remember(hash(9, number)));
    let kept: Vec<u64> = (1..=100)
        .filter(|&number| ghosts.take(hash(9, number)))
        .collect();
    assert_eq!(kept, Vec::from_iter(70..=100));
}

#[test]
fn neither_an_empty_lane_nor_the_number_of_the_last_one_is_a_ghost() {
    let ghosts = ghosts();
    (101..=107).for_each(|number| ghosts.remember(hash(0, number)));
    assert!(!ghosts.take(hash(0, 7)), "lane 7 was written last");
    assert!(!ghosts.take(hash(0, 0)), "24 lanes are empty");
    ghosts.remember(hash(0, 0));
    assert!(ghosts.take(hash(0, 0)));
}

#[test]
fn words_that_may_have_a_lane_of_zero_are_found() {
    for lane in 0..4 {
        let zeroed = |word: u64| word & !(LANE_MASK << (16 * lane));
        for word in [0x8000_0001_7fff_ffff, u64::MAX, LOWEST, HIGHEST] {
            assert_eq!(maybe_zero_lanes(word), 0, "{word:x}");
            assert_ne!(maybe_zero_lanes(zeroed(word)), 0, "{word:x}");
        }
    }
    // A borrow from below: looked at more closely, it is no ghost.
    assert_ne!(maybe_zero_lanes(0x0001_0000), 0);
}

#[test]
fn there_is_room_for_as_many_ghosts_as_items_and_no_line_is_beyond_the_last() {
    let ghosts = Ghosts::new(MEMORY, false).unwrap();
    ghosts.remember(hash(1, 3));
    assert_eq!(ghosts.bytes(), 0, "nothing was evicted yet");
    assert!(!ghosts.take(hash(1, 3)));
    for (items, bytes) in [(ITEMS, 6400), (9 * ITEMS / 10, 6400), (620, 1280), (0, 64)] {
        ghosts.fit(items, MEMORY);
        assert_eq!(ghosts.lines.load(Relaxed) * 64, bytes, "{items} items");
        assert_eq!(ghosts.bytes(), 6400, "nothing is given back");
    }
    let _ = ghosts.fit(100 * ITEMS, MEMORY / 2);
    assert_eq!(ghosts.lines.load(Relaxed), 50, "a part of the memory");
    let _ = ghosts.fit(100 * ITEMS, 100 * MEMORY);
    assert_eq!(ghosts.bytes(), 6464, "no more than there is room for");
    for line in 0..200 {
        ghosts.remember(hash(line, 3));
        assert!(ghosts.take(hash(line, 3)), "{line}");
    }
}

#[test]
fn only_the_sample_has_ghosts_while_nothing_comes_back() {
    let ghosts = ghosts();
    let other = SAMPLE_BITS & (SAMPLE_BITS - 1);
    let has_ghost = |line: u64| {
        ghosts.remember(hash(line, 3) | other);
        ghosts.take(hash(line, 3) | other)
    };
    assert!(has_ghost(1));
    let evict = |comes_back: &dyn Fn(u64) -> bool| {
        for number in 0..4 * SAMPLE_GHOSTS {
            let hash = hash(number % 100, 1 + number);
            ghosts.remember(hash);
            assert!(!comes_back(number) || ghosts.take(hash));
        }
        ghosts.fit(ITEMS, MEMORY);
    };
    evict(&|_| false);
    assert!(!has_ghost(2));
    evict(&|number| number % WORTH_PART == 0);
    assert!(has_ghost(3));
    evict(&|number| number % (2 * WORTH_PART) == 0);
    assert!(!has_ghost(4));
}
