//! Each with results that were derived by hand.

use super::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Objects in the tests.
const OBJECTS: u32 = 64;

fn access(object: ObjectId, bytes: u64) -> Access {
    Access {
        object,
        bytes,
        next: NEVER,
    }
}

fn cache(policy: PolicyName, capacity_bytes: u64) -> Box<dyn Policy> {
    policy.cache(capacity_bytes, OBJECTS, SegmentRules::default())
}

/// A letter for each access to objects of 10 bytes: H for a hit, m for a miss.
fn play(cache: &mut dyn Policy, objects: &[ObjectId]) -> String {
    let letter = |&object: &ObjectId| {
        if cache.access(access(object, 10)) {
            'H'
        } else {
            'm'
        }
    };
    objects.iter().map(letter).collect()
}

#[test]
fn lru_evicts_what_was_not_used_for_longest() {
    // Room for three. 1 is used again, so 4 puts 2 out, and 2 puts 3 out.
    let mut lru = cache(PolicyName::Lru, 30);
    assert_eq!(play(&mut *lru, &[1, 2, 3, 1, 4, 2, 3, 4]), "mmmHmmmH");
}

#[test]
fn lru_evicts_as_many_as_the_bytes_ask_for() {
    let mut lru = cache(PolicyName::Lru, 100);
    for object in 1..=10 {
        lru.access(access(object, 10));
    }
    // 35 bytes put the four oldest out.
    assert!(!lru.access(access(11, 35)));
    assert_eq!(lru.bytes(), 95);
    assert!(lru.access(access(5, 10)) && !lru.access(access(4, 5)));
    // What is larger than the cache goes nowhere.
    assert!(!lru.access(access(12, 101)) && lru.bytes() == 100);
}

#[test]
fn s3_fifo_moves_what_was_used_twice_and_remembers_what_was_not() {
    // Room for ten, one of them in the small queue; 1 and 2 are used twice, the others once at
    // most.
    let mut s3 = cache(PolicyName::S3Fifo, 100);
    assert_eq!(
        play(&mut *s3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        "mmmmmmmmmm"
    );
    assert_eq!(play(&mut *s3, &[1, 1, 2, 2, 3]), "HHHHH");
    // 11: 1 and 2 move to the main queue, 3 has one use and becomes a ghost. 12 to 18 make ghosts
    // of 4 to 10.
    assert_eq!(
        play(&mut *s3, &[11, 12, 13, 14, 15, 16, 17, 18]),
        "mmmmmmmm"
    );
    // The ghost 3 enters the main queue; the small queue is long, so 11 goes. 1 and 2 are still
    // there.
    assert_eq!(play(&mut *s3, &[3, 1, 2, 12, 3, 11]), "mHHHHm");
    // 11 came back as a ghost: main queue. The small queue's 12 was used once only and goes at
    // last.
    assert_eq!(play(&mut *s3, &[19, 12]), "mm");
}

#[test]
fn s3_fifo_sends_used_objects_of_the_main_queue_round_again() {
    // Room for three; the small queue may hold 3 bytes, so it is always too long.
    let mut s3 = cache(PolicyName::S3Fifo, 30);
    assert_eq!(play(&mut *s3, &[1, 1, 1, 2, 2, 2, 3, 3, 3]), "mHHmHHmHH");
    // All three move to the main queue. Then, the small queue being empty, 1 has no use there and
    // goes.
    assert_eq!(play(&mut *s3, &[4]), "m");
    assert_eq!(play(&mut *s3, &[2, 3, 4]), "HHH");
    // 5: 4 has one use in the small queue only, and becomes a ghost.
    assert_eq!(play(&mut *s3, &[5, 2, 3, 4]), "mHHm");
}

#[test]
fn sieve_s_hand_spares_what_was_used_and_stays_where_it_was() {
    // After the example of the paper: room for three; 1 is used. 4: the hand spares 1, evicts 2,
    // stays at 3.
    let mut sieve = cache(PolicyName::Sieve, 30);
    assert_eq!(play(&mut *sieve, &[1, 2, 3, 1, 4]), "mmmHm");
    // 5: the hand evicts 3, not 1 again, whose mark is gone.
    assert_eq!(play(&mut *sieve, &[5, 1, 4, 5]), "mHHH");
    // All are marked: the hand, at 4, goes all the way round and evicts 4.
    assert_eq!(play(&mut *sieve, &[6, 1, 5, 4]), "mHHm");
}

#[test]
fn w_tiny_lfu_admits_only_what_is_asked_for_more_often() {
    // Room for ten; the window of 1 byte holds nothing, so each new object stands for admission at
    // once.
    let mut tiny = cache(PolicyName::WTinyLfu, 101);
    assert_eq!(
        play(&mut *tiny, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        "mmmmmmmmmm"
    );
    // Asked for once, as the victim 1 was: refused. 1 is used and thereby protected. The second
    // time 11 is ahead of the victim 2.
    assert_eq!(play(&mut *tiny, &[11, 1, 11, 11, 12]), "mHmHm");
    assert_eq!(play(&mut *tiny, &[1, 11, 3, 2]), "HHHm");
}

#[test]
fn w_tiny_lfu_forgets_half_at_a_time() {
    // Room for one: frequencies are halved after ten accesses, and then after each five. Of the
    // twelve requests for 1, ten count half, which makes seven.
    let mut tiny = cache(PolicyName::WTinyLfu, 10);
    assert_eq!(play(&mut *tiny, &[1; 12]), "mHHHHHHHHHHH");
    // With the third request for 2 all is halved: 1 to 3. The sixth makes 4 and takes the place of
    // 1, which has 3.
    assert_eq!(play(&mut *tiny, &[2; 7]), "mmmmmmH");
}

#[test]
fn belady_keeps_what_is_used_next() {
    let trace = [1, 2, 3, 1, 2, 4, 1, 2, 3];
    let next = [3, 4, 8, 6, 7, NEVER, NEVER, NEVER, NEVER];
    let mut belady = cache(PolicyName::Belady, 20);
    let hits = trace.iter().zip(next).map(|(&object, next)| {
        let access = Access {
            object,
            bytes: 10,
            next,
        };
        if belady.access(access) { 'H' } else { 'm' }
    });
    // 3 is used later than 1 and 2, and 4 never: neither is kept.
    assert_eq!(hits.collect::<String>(), "mmmHHmHHm");
}

#[test]
fn lhd_prefers_small_objects_of_one_age() {
    // Before there are events, the density is 1 / (age + 1) over the bytes. All ages are 0 in their
    // unit of 64 accesses, so the one object of 50 bytes has the least density of all, and goes as
    // soon as it is in the sample.
    let mut lhd = cache(PolicyName::Lhd, 100);
    lhd.access(access(1, 50));
    for object in 2..=6 {
        lhd.access(access(object, 10));
    }
    assert!(!lhd.access(access(7, 10)));
    assert_eq!(lhd.bytes(), 60);
    assert!((2..=7).all(|object| lhd.access(access(object, 10))));
    assert!(!lhd.access(access(1, 50)));
}

#[test]
fn segments_leave_whole_and_keep_what_was_used() {
    // Segments of 100 bytes, 8 in all; objects of 10 cost 20 with their header and alignment: 5
    // fill a segment.
    let rules = SegmentRules {
        segment_bytes: 100,
        fills_main: false,
        ..SegmentRules::default()
    };
    let mut segments = PolicyName::Segments.cache(800, OBJECTS, rules);
    let first: Vec<ObjectId> = (0..5).collect();
    assert_eq!(play(&mut *segments, &first), "mmmmm");
    assert_eq!(play(&mut *segments, &[3]), "H");
    // Two segments are kept free for the reclaimer: with the seventh segment the oldest is emptied,
    // all but 3.
    let more: Vec<ObjectId> = (5..31).collect();
    play(&mut *segments, &more);
    assert_eq!(play(&mut *segments, &[3, 30]), "HH");
    let lost = [0, 1, 2, 4].map(|object| segments.access(access(object, 10)));
    assert_eq!(lost, [false; 4]);
}

/// Hits of a loop over so many objects of 10 bytes, ten times round, with room for 30 in segments.
fn loop_hits(objects: u32, rules: SegmentRules) -> usize {
    let rules = SegmentRules {
        segment_bytes: 100,
        ..rules
    };
    let mut segments = PolicyName::Segments.cache(1000, OBJECTS, rules);
    let trace: Vec<ObjectId> = (0..10 * objects).map(|number| number % objects).collect();
    let played = play(&mut *segments, &trace);
    played.chars().filter(|&letter| letter == 'H').count()
}

#[test]
fn a_main_queue_that_is_filled_first_keeps_a_part_of_a_loop() {
    let rules = SegmentRules::default();
    // FIFO evicts each object just before its turn; with the first objects in the main queue they
    // hit in all rounds but the first.
    assert_eq!(loop_hits(60, rules), 0);
    let filled = SegmentRules {
        fills_main: true,
        ..rules
    };
    let hits = loop_hits(60, filled);
    assert!((9 * 15..9 * 40).contains(&hits), "{hits}");
}

#[test]
fn no_policy_ever_holds_more_than_its_capacity_or_hits_what_was_never_asked_for() {
    for policy in PolicyName::value_variants() {
        let capacity_bytes = 8 << 20;
        let mut cache = policy.cache(capacity_bytes, 4096, SegmentRules::default());
        let mut random = SmallRng::seed_from_u64(3);
        let (mut seen, mut hits) = (vec![false; 4096], 0);
        for number in 0..40_000u64 {
            let object: u32 = random
                .random_range(0..4096u32)
                .min(random.random_range(0..4096));
            let bytes = 1000 + u64::from(object) * 7 % 9000;
            let next = number + 1 + u64::from(object);
            let is_hit = cache.access(Access {
                object,
                bytes,
                next,
            });
            assert!(cache.bytes() <= capacity_bytes, "{policy:?}");
            assert!(!is_hit || seen[object as usize], "{policy:?}");
            seen[object as usize] = true;
            hits += u32::from(is_hit);
        }
        assert!(hits > 10_000, "{policy:?} hit {hits} times");
    }
}
