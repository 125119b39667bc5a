use super::*;
use crate::stream::KeyPlace;
use farcache_cluster::ServerId;
use farcache_cluster::map::HashArc;
use farcache_peers::moves::marked;
use std::sync::atomic::AtomicU64;

fn course() -> Course {
    let room = Arc::new(AtomicU64::new(9));
    let arcs = vec![HashArc::ALL];
    let stream = Stream::new(ServerId(1), 5, arcs, true, room);
    Course::new(Arc::new(stream), 0, ACKNOWLEDGE_MS)
}

fn moving() -> Course {
    let mut course = course();
    let said = Acknowledged {
        instance: 7,
        epoch: 5,
    };
    course.on_acknowledged(said, 0);
    course
}

fn unlimited() -> Pace {
    Pace::new(0)
}

fn next(course: &mut Course, now_ms: u64) -> Step {
    course.next(now_ms, &mut unlimited())
}

fn pulled(course: &mut Course, head: PulledHead, by_key: Vec<Vec<u8>>) {
    course.on_pulled(head, by_key, (1000, 0), &mut unlimited());
}

/// An answer of a server that remembers where it ended.
fn goes_on(next: u8) -> PulledHead {
    PulledHead::Items {
        next: Some(marked([next; 16])),
        progress: 0,
    }
}

/// Asks as much as may be under way.
fn ask_all(course: &mut Course, now_ms: u64) -> Vec<Step> {
    let steps = std::iter::from_fn(|| Some(next(course, now_ms)));
    let asks = |step: &Step| !matches!(step, Step::Wait(_) | Step::Over);
    steps.take_while(asks).collect()
}

fn items(next: Option<u8>) -> PulledHead {
    PulledHead::Items {
        next: next.map(|byte| [byte; 16]),
        progress: 0,
    }
}

fn pull_from(place: Option<Place>) -> Step {
    let instance = 7;
    Step::Pull(Pull { instance, place })
}

fn pull(byte: u8) -> Step {
    pull_from(Some([byte; 16]))
}

#[test]
fn an_old_owner_is_asked_until_it_goes_by_the_map() {
    let mut course = course();
    assert_eq!(next(&mut course, 0), Step::Acknowledge);
    let early = Acknowledged {
        instance: 7,
        epoch: 4,
    };
    course.on_acknowledged(early, 0);
    assert_eq!(next(&mut course, 0), Step::Wait(1));
    assert_eq!(next(&mut course, 1), Step::Acknowledge);
    course.on_acknowledged(early, 100);
    assert_eq!(next(&mut course, 100), Step::Wait(100 + ASK_AGAIN_MS_MAX));
    assert_eq!(next(&mut course, 105), Step::Acknowledge);
    course.on_acknowledged(Acknowledged { epoch: 6, ..early }, 109);
    assert_eq!(next(&mut course, 109), pull(0));
}

#[test]
fn an_old_owner_that_does_not_acknowledge_is_given_up_in_time() {
    let mut silent = course();
    silent.on_trouble(Trouble::Silent, 0, &mut unlimited());
    assert_eq!(next(&mut silent, 0), Step::Wait(RETRY_MS));
    assert_eq!(next(&mut silent, ACKNOWLEDGE_MS - 1), Step::Acknowledge);
    assert_eq!(next(&mut silent, ACKNOWLEDGE_MS), Step::Over);
    assert_eq!(silent.stream.stage(), Stage::Lost);
    let mut dead = course();
    dead.on_trouble(Trouble::NobodyThere, 0, &mut unlimited());
    assert_eq!(
        (next(&mut dead, 0), dead.stream.stage()),
        (Step::Over, Stage::Lost)
    );
}

#[test]
fn everything_is_asked_for_and_large_items_one_by_one() {
    let mut course = moving();
    assert_eq!(ask_all(&mut course, 0), [pull(0)]);
    let by_key = vec![b"a".to_vec(), b"b".to_vec()];
    pulled(&mut course, items(Some(1)), by_key);
    let fetches = [b"a", b"b"].map(|key| Step::Fetch(key.to_vec()));
    assert_eq!(ask_all(&mut course, 0), [&fetches[..], &[pull(1)]].concat());
    course.on_fetched(true, (9, 0), &mut unlimited());
    course.on_fetched(true, (9, 0), &mut unlimited());
    pulled(&mut course, items(None), Vec::new());
    assert_eq!(
        (next(&mut course, 0), course.stream.stage()),
        (Step::Over, Stage::Done)
    );
}

#[test]
fn an_old_owner_that_goes_on_by_itself_is_asked_ahead_of_its_answers() {
    let mut course = moving();
    assert_eq!(ask_all(&mut course, 0), [pull(0)], "it may be an older one");
    pulled(&mut course, goes_on(1), Vec::new());
    let ahead = ask_all(&mut course, 0);
    assert_eq!(ahead, vec![pull_from(None); QUESTIONS_MAX]);
    pulled(&mut course, goes_on(2), vec![b"a".to_vec()]);
    let fetch = Step::Fetch(b"a".to_vec());
    assert_eq!(ask_all(&mut course, 0), [fetch], "behind what is under way");
    pulled(&mut course, items(None), Vec::new());
    assert_eq!(
        ask_all(&mut course, 0),
        [],
        "that was the last of the items"
    );
    for _ in 2..QUESTIONS_MAX {
        assert_eq!(course.awaited(), Some(Asked::Pull));
        pulled(&mut course, items(None), Vec::new());
    }
    assert_eq!(course.awaited(), Some(Asked::Fetch));
    assert!(matches!(next(&mut course, 0), Step::Wait(_)));
    course.on_fetched(true, (9, 0), &mut unlimited());
    assert_eq!(next(&mut course, 0), Step::Over);
    assert_eq!(course.stream.stage(), Stage::Done);
}

#[test]
fn what_was_under_way_when_a_connection_ended_is_asked_for_again() {
    let mut course = moving();
    ask_all(&mut course, 0);
    pulled(&mut course, goes_on(1), vec![b"a".to_vec(), b"b".to_vec()]);
    ask_all(&mut course, 0);
    course.on_fetched(true, (9, 0), &mut unlimited());
    course.on_trouble(Trouble::Silent, 10, &mut unlimited());
    assert_eq!(course.awaited(), None);
    let again = ask_all(&mut course, 10 + RETRY_MS);
    let place = Some(marked([1; 16]));
    let first = [
        Step::Fetch(b"b".to_vec()),
        pull_from(place),
        pull_from(None),
    ];
    assert_eq!(again[..3], first);
    assert_eq!(again.len(), QUESTIONS_MAX);
}

#[test]
fn no_more_is_asked_for_than_answers_may_have_together() {
    let mut course = moving();
    ask_all(&mut course, 0);
    course.on_pulled(goes_on(1), vec![vec![1]], (0, 0), &mut unlimited());
    assert_eq!(ask_all(&mut course, 0).len(), QUESTIONS_MAX);
    course.on_fetched(true, (ANSWERS_BYTES_MAX, 0), &mut unlimited());
    course.on_pulled(goes_on(1), vec![vec![2], vec![3]], (0, 0), &mut unlimited());
    while course.awaited() == Some(Asked::Pull) {
        course.on_pulled(goes_on(1), Vec::new(), (0, 0), &mut unlimited());
    }
    assert_eq!(ask_all(&mut course, 0), [Step::Fetch(vec![2])]);
    course.on_fetched(true, (1, 0), &mut unlimited());
    assert_eq!(ask_all(&mut course, 0)[0], Step::Fetch(vec![3]));
}

#[test]
fn questions_ahead_are_asked_no_faster_than_their_answers_may_come() {
    // An answer each millisecond.
    let (mut course, mut pace) = (moving(), Pace::new(1000 * ANSWER_BYTES));
    assert!(matches!(course.next(1000, &mut pace), Step::Pull(_)));
    course.on_pulled(goes_on(1), Vec::new(), (ANSWER_BYTES, 0), &mut pace);
    let mut asked = |now_ms| {
        let steps = std::iter::from_fn(|| Some(course.next(now_ms, &mut pace)));
        steps
            .take_while(|step| matches!(step, Step::Pull(_)))
            .count()
    };
    // Those that could have been asked a moment ago come first.
    assert_eq!([1000, 1001, 1004].map(&mut asked), [5, 1, 3]);
}

#[test]
fn a_lost_connection_costs_no_items() {
    let mut course = moving();
    pulled(&mut course, items(Some(1)), Vec::new());
    course.on_trouble(Trouble::Silent, 10, &mut unlimited());
    assert_eq!(next(&mut course, 10), Step::Wait(10 + RETRY_MS));
    assert_eq!(next(&mut course, 10 + RETRY_MS), pull(1));
    course.on_trouble(Trouble::NobodyThere, 200, &mut unlimited());
    assert_eq!(next(&mut course, 9 + OUT_OF_REACH_MS), pull(1));
    pulled(&mut course, items(Some(2)), Vec::new());
    assert_eq!(next(&mut course, 10 + OUT_OF_REACH_MS), pull(2));
    course.on_trouble(Trouble::Refused, 20_000, &mut unlimited());
    assert_eq!(next(&mut course, 20_000 + OUT_OF_REACH_MS), Step::Over);
    assert_eq!(course.stream.stage(), Stage::Lost);
}

#[test]
fn nothing_is_taken_from_a_server_that_was_started_anew() {
    let mut course = moving();
    pulled(&mut course, PulledHead::OtherInstance, Vec::new());
    assert_eq!(
        (next(&mut course, 0), course.stream.stage()),
        (Step::Over, Stage::Lost)
    );
    let mut course = moving();
    pulled(&mut course, items(Some(1)), vec![b"a".to_vec()]);
    course.on_fetched(false, (9, 0), &mut unlimited());
    assert_eq!(course.stream.admit(KeyPlace::new(1, b"k"), 7, || ()), None);
}

#[test]
fn an_old_owner_is_asked_no_faster_than_its_share() {
    let mut course = moving();
    // A question of 64 KiB each 64 ms.
    course.set_share(1 << 20);
    let now_ms = 10_000;
    assert_eq!(next(&mut course, now_ms), pull(0));
    course.on_pulled(goes_on(1), Vec::new(), (ANSWER_BYTES, 0), &mut unlimited());
    let waits = Step::Wait(now_ms + 62 - 5);
    assert_eq!(next(&mut course, now_ms), waits);
    course.set_share(0);
    let later_ms = now_ms + 100;
    assert_eq!(ask_all(&mut course, later_ms).len(), QUESTIONS_MAX);
}

#[test]
fn an_answer_without_items_takes_of_the_share_of_the_old_owner_and_not_of_the_servers_pace() {
    let mut course = moving();
    course.set_share(1 << 20);
    let (mut pace, now_ms) = (Pace::new(1 << 20), 10_000);
    assert_eq!(course.next(now_ms, &mut pace), pull(0));
    course.on_pulled(items(Some(1)), Vec::new(), (0, 0), &mut pace);
    assert_eq!(pace.next_ms(), now_ms - 5);
    let cost_ms = COST_BYTES_MIN * 1000 / (1 << 20);
    let waits = Step::Wait(now_ms - 5 + cost_ms);
    assert_eq!(course.next(now_ms, &mut pace), waits);
}

#[test]
fn an_old_owner_that_answers_late_is_asked_half_as_much() {
    let mut course = moving();
    // A question of 64 KiB each 64 ms.
    course.set_share(1 << 20);
    let waits_after = |course: &mut Course, asked_ms: u64, took_ms: u64| {
        assert!(matches!(next(course, asked_ms), Step::Pull(_)));
        let answered = (ANSWER_BYTES, asked_ms + took_ms);
        course.on_pulled(goes_on(1), Vec::new(), answered, &mut unlimited());
        assert!(matches!(next(course, asked_ms + took_ms), Step::Pull(_)));
        let Step::Wait(until_ms) = next(course, asked_ms + took_ms) else {
            panic!("the share is used up");
        };
        course.on_pulled(goes_on(1), Vec::new(), answered, &mut unlimited());
        until_ms - (asked_ms + took_ms)
    };
    let in_time_ms = waits_after(&mut course, 10_000, 60);
    let late_ms = waits_after(&mut course, 20_000, 160);
    assert!(
        2 * late_ms > 3 * in_time_ms,
        "{late_ms} beside {in_time_ms}"
    );
}
