//! After a new map all servers catch up, each for the keys of which it was no owner before. Of the
//! others they know as much as they did.

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

fn copy(version: Version) -> HeldPart {
    let part = PartInfo {
        piece: Piece::Copy(Holders::ALL),
        owners: 3,
        value_bytes: 5,
    };
    HeldPart {
        version,
        part: Some(part),
    }
}

/// A key of which server 0 has this.
fn entry(listed: Version, held: Option<Version>) -> Entry {
    Entry {
        key: [1].into(),
        version: listed,
        listed: Some(Piece::Copy(Holders::ALL)),
        value_bytes: 5,
        owners: (0..3).map(ServerId).collect(),
        me: 0,
        held,
        piece: held.map(|_| Piece::Copy(Holders::ALL)),
        is_unconfirmed: held.is_some(),
        was_owner: false,
    }
}

/// What becomes of the key in a pass of server 0, while all three catch up: the others have or have
/// forgotten what is said. None where it is left as it is.
fn done(own: OwnState, entry: &Entry, said: (Option<HeldPart>, Option<Version>)) -> Option<Action> {
    let own = OwnState {
        is_catching_up: true,
        ended: Some(version(1000)),
        ..own
    };
    let mut repair = Repair::new(Limits::default());
    repair.begin([ServerId(1), ServerId(2)], own);
    let mut now = Duration::ZERO;
    loop {
        let actions = match repair.step(now) {
            Step::Do(actions) => actions,
            Step::Done(_) => return None,
            Step::Wait(until) => {
                now = until;
                continue;
            }
        };
        for action in actions {
            let is_own = entry.is_unconfirmed;
            let event = match action {
                Action::List {
                    from, entries_max, ..
                } => Event::Page {
                    from,
                    entries: match !is_own && from == ServerId(1) && entries_max > 0 {
                        true => vec![entry.clone()],
                        false => Vec::new(),
                    },
                    next: None,
                    is_caught_up: false,
                    forgotten: None,
                },
                Action::ListOwn(_) => {
                    let own = is_own.then(|| entry.clone());
                    Event::Own(own.into_iter().collect(), true)
                }
                Action::LookUp(entry) => Event::LookedUp(entry),
                Action::Look(id, from) => Event::Said(id, from, said.0, said.1),
                other => return Some(other),
            };
            repair.handle(event, now);
        }
    }
}

#[test]
fn an_owner_all_along_takes_nothing_back_that_it_has_evicted() {
    let evicting = OwnState {
        has_evicted: true,
        horizon: Some(version(9)),
        ..OwnState::default()
    };
    let others_have = (Some(copy(version(5))), None);
    let lacking = entry(version(5), None);
    let taken = done(evicting, &lacking, others_have);
    assert!(matches!(taken, Some(Action::Fetch(..))), "a new owner");
    let was_owner = Entry {
        was_owner: true,
        ..lacking
    };
    assert_eq!(done(evicting, &was_owner, others_have), None);
}

#[test]
fn what_owners_all_along_have_forgotten_is_not_brought_back_by_a_new_one() {
    let from_before = entry(version(5), Some(version(5)));
    let dropped = done(OwnState::default(), &from_before, (None, Some(version(7))));
    assert!(matches!(dropped, Some(Action::Drop(..))), "{dropped:?}");
    // Those that are new as well know nothing.
    let kept = done(OwnState::default(), &from_before, (None, None));
    assert_eq!(kept, None);
}
