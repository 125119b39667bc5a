//! A version that too few servers have is left alone as long as its writer may be at work: it goes
//! above what was refused, and would take effect twice if a repair had made a part of it meanwhile.
//! The histories of seeds 125, 172 and 173 of farcache-histories had counts that were made twice.

use farcache_cluster::ServerId;
use farcache_redundancy::plan::repair::{
    Action, Entry, Event, HeldPart, Limits, OwnState, PartInfo, Repair, Step,
};
use farcache_redundancy::stored::Piece;
use farcache_redundancy::{Holders, Ticks, Version, Writer};
use std::time::Duration;

fn version(seconds: u64) -> Version {
    let time = Duration::from_secs(1_800_000_000 + seconds);
    Version::new(Ticks::at_unix(time), Writer::FIRST)
}

fn held(version: Version, is_tombstone: bool) -> HeldPart {
    let copy = PartInfo {
        piece: Piece::Copy(Holders::ALL),
        owners: 3,
        value_bytes: 5,
    };
    HeldPart {
        version,
        part: (!is_tombstone).then_some(copy),
    }
}

/// What server 0 of three does, which catches up, with a version that so many of the others have
/// above another one, and that its writer stores at all when so much time has gone by; whether its
/// pass has left nothing undone; and when that is known.
fn done_while_written(
    newest: HeldPart,
    holders: u32,
    (ended, stored_after): (Version, Duration),
) -> (Vec<Action>, Option<bool>, Duration) {
    let mut repair = Repair::new(Limits::default());
    let own = OwnState {
        is_catching_up: true,
        ended: Some(ended),
        ..OwnState::default()
    };
    repair.begin([ServerId(1), ServerId(2)], own);
    let mut now = Duration::ZERO;
    loop {
        let actions = match repair.step(now) {
            Step::Do(actions) => actions,
            Step::Done(is_clean) => return (Vec::new(), Some(is_clean), now),
            Step::Wait(until) => {
                now = until;
                continue;
            }
        };
        let is_stored = now >= stored_after;
        for action in actions {
            let event = match action {
                Action::List {
                    from, entries_max, ..
                } => Event::Page {
                    from,
                    entries: match from == ServerId(1) && entries_max > 0 {
                        true => vec![entry(newest.version)],
                        false => Vec::new(),
                    },
                    next: None,
                    is_caught_up: true,
                    forgotten: None,
                },
                Action::ListOwn(_) => Event::Own(Vec::new(), true),
                Action::LookUp(entry) => Event::LookedUp(entry),
                Action::Look(id, from) => {
                    let older = held(version(1), false);
                    let has_it = is_stored || from.0 <= holders;
                    let said = if has_it { newest } else { older };
                    Event::Said(id, from, Some(said), None)
                }
                other => return (vec![other], None, now),
            };
            repair.handle(event, now);
        }
    }
}

/// What a repair does with a version that nobody stores anywhere else meanwhile.
fn done(newest: HeldPart, holders: u32, ended: Version) -> (Vec<Action>, Option<bool>) {
    let (done, is_clean, _) = done_while_written(newest, holders, (ended, Duration::MAX));
    (done, is_clean)
}

fn entry(version: Version) -> Entry {
    Entry {
        key: [1].into(),
        version,
        listed: Some(Piece::Copy(Holders::ALL)),
        value_bytes: 5,
        owners: (0..3).map(ServerId).collect(),
        me: 0,
        held: None,
        piece: None,
        is_unconfirmed: false,
        was_owner: false,
    }
}

#[test]
fn a_version_that_one_server_has_is_left_alone_while_its_writer_may_be_at_work() {
    for is_tombstone in [false, true] {
        let (done, is_clean) = done(held(version(100), is_tombstone), 1, version(99));
        assert_eq!(
            (done, is_clean),
            (Vec::new(), Some(false)),
            "it comes back to it"
        );
    }
}

#[test]
fn a_version_that_one_server_has_is_taken_once_its_writer_has_ended() {
    let (taken, _) = done(held(version(100), false), 1, version(101));
    let fetches = |action: &Action| matches!(action, Action::Fetch(_, ServerId(1), _));
    assert!(taken.iter().any(fetches), "{taken:?}");
    let (buried, _) = done(held(version(100), true), 1, version(101));
    assert!(matches!(buried[..], [Action::Bury(..)]), "{buried:?}");
}

#[test]
fn a_version_that_enough_servers_have_is_taken_at_once() {
    let (taken, _) = done(held(version(100), false), 2, version(99));
    assert!(matches!(taken[..], [Action::Fetch(..)]), "{taken:?}");
    let (buried, _) = done(held(version(100), true), 2, version(99));
    assert!(matches!(buried[..], [Action::Bury(..)]), "{buried:?}");
}

#[test]
fn a_version_whose_write_goes_on_is_taken_in_the_same_pass() {
    let stored_after = Duration::from_millis(70);
    let (taken, _, at) =
        done_while_written(held(version(100), false), 1, (version(99), stored_after));
    assert!(matches!(taken[..], [Action::Fetch(..)]), "{taken:?}");
    assert!(at >= stored_after && at < 3 * stored_after, "{at:?}");
}

#[test]
fn a_version_whose_writer_has_died_is_left_to_another_pass_in_the_end() {
    let write = (version(99), Duration::MAX);
    let (_, is_clean, at) = done_while_written(held(version(100), false), 1, write);
    assert_eq!(is_clean, Some(false));
    // By then whoever runs the pass would have said that its writer has ended.
    assert!(at > Duration::from_secs(6), "{at:?}");
}
