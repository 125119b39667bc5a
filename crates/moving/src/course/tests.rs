use super::*;
use crate::stream::KeyPlace;
use farcache_cluster::ServerId;
use farcache_cluster::map::HashArc;
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

fn items(next: Option<u8>) -> PulledHead {
    PulledHead::Items {
        next: next.map(|byte| [byte; 16]),
        progress: 0,
    }
}

fn pull(byte: u8) -> Step {
    Step::Pull(Pull {
        instance: 7,
        place: [byte; 16],
    })
}

#[test]
fn an_old_owner_is_asked_until_it_goes_by_the_map() {
    let mut course = course();
    assert_eq!(course.next(0), Step::Acknowledge);
    let early = Acknowledged {
        instance: 7,
        epoch: 4,
    };
    course.on_acknowledged(early, 0);
    assert_eq!(course.next(0), Step::Wait(ASK_AGAIN_MS));
    assert_eq!(course.next(ASK_AGAIN_MS), Step::Acknowledge);
    course.on_acknowledged(Acknowledged { epoch: 6, ..early }, 9);
    assert_eq!(course.next(9), pull(0));
}

#[test]
fn an_old_owner_that_does_not_acknowledge_is_given_up_in_time() {
    let mut silent = course();
    silent.on_trouble(Trouble::Silent, 0);
    assert_eq!(silent.next(0), Step::Wait(RETRY_MS));
    assert_eq!(silent.next(ACKNOWLEDGE_MS - 1), Step::Acknowledge);
    assert_eq!(silent.next(ACKNOWLEDGE_MS), Step::Over);
    assert_eq!(silent.stream.stage(), Stage::Lost);
    let mut dead = course();
    dead.on_trouble(Trouble::NobodyThere, 0);
    assert_eq!(
        (dead.next(0), dead.stream.stage()),
        (Step::Over, Stage::Lost)
    );
}

#[test]
fn everything_is_asked_for_and_large_items_one_by_one() {
    let mut course = moving();
    course.on_pulled(items(Some(1)), vec![b"a".to_vec(), b"b".to_vec()]);
    assert_eq!(course.next(0), Step::Fetch(b"b".to_vec()));
    course.on_fetched(true);
    assert_eq!(course.next(0), Step::Fetch(b"a".to_vec()));
    course.on_fetched(true);
    assert_eq!(course.next(0), pull(1));
    course.on_pulled(items(None), Vec::new());
    assert_eq!(
        (course.next(0), course.stream.stage()),
        (Step::Over, Stage::Done)
    );
}

#[test]
fn a_lost_connection_costs_no_items() {
    let mut course = moving();
    course.on_pulled(items(Some(1)), Vec::new());
    course.on_trouble(Trouble::Silent, 10);
    assert_eq!(course.next(10), Step::Wait(10 + RETRY_MS));
    assert_eq!(course.next(10 + RETRY_MS), pull(1));
    course.on_trouble(Trouble::NobodyThere, 200);
    assert_eq!(course.next(9 + OUT_OF_REACH_MS), pull(1));
    course.on_pulled(items(Some(2)), Vec::new());
    assert_eq!(course.next(10 + OUT_OF_REACH_MS), pull(2));
    course.on_trouble(Trouble::Refused, 20_000);
    assert_eq!(course.next(20_000 + OUT_OF_REACH_MS), Step::Over);
    assert_eq!(course.stream.stage(), Stage::Lost);
}

#[test]
fn nothing_is_taken_from_a_server_that_was_started_anew() {
    let mut course = moving();
    course.on_pulled(PulledHead::OtherInstance, Vec::new());
    assert_eq!(
        (course.next(0), course.stream.stage()),
        (Step::Over, Stage::Lost)
    );
    let mut course = moving();
    course.on_pulled(items(Some(1)), vec![b"a".to_vec()]);
    course.on_fetched(false);
    assert_eq!(course.stream.admit(KeyPlace::new(1, b"k"), 7, || ()), None);
}

#[test]
fn a_pace_is_kept_on_the_whole() {
    let mut pace = Pace::new(1000);
    pace.spend(500, 100);
    assert_eq!(pace.next_ms(), 600);
    pace.spend(100, 200);
    assert_eq!(pace.next_ms(), 700);
    let mut unlimited = Pace::new(0);
    unlimited.spend(u64::MAX, 5);
    assert_eq!(unlimited.next_ms(), 0);
}
