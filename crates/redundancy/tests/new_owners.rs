//! After a new map all servers catch up, each for the keys of which it was no owner before. Of the
//! others they know as much as they did.

use farcache_cluster::ServerId;
use farcache_redundancy::plan::repair::{
    Action, Entry, Event, HeldPart, Limits, OwnState, PartInfo, Repair, Step,
};
use farcache_redundancy::stored::Piece;
use farcache_redundancy::{Holders, Scheme, Ticks, Version, Writer};
use std::collections::HashSet;
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
    done_while(own, entry, 1, |_| said, |_| None)
}

/// What becomes of the key in a pass of a server that catches up as all do, where this other one
/// lists it: of each of the others it is said what it has or has forgotten; `go_on` says what comes
/// of actions that are not the end of interest.
fn done_while(
    own: OwnState,
    entry: &Entry,
    lister: u32,
    said: impl Fn(ServerId) -> (Option<HeldPart>, Option<Version>),
    go_on: impl Fn(&Action) -> Option<Event>,
) -> Option<Action> {
    let own = OwnState {
        is_catching_up: true,
        ended: Some(version(1000)),
        ..own
    };
    let mut repair = Repair::new(Limits::default());
    let me = entry.owners[entry.me];
    let others = entry.owners.iter().copied().filter(|owner| *owner != me);
    repair.begin(others, own);
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
                    entries: match !is_own && from == ServerId(lister) && entries_max > 0 {
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
                Action::Look(id, from) => {
                    let (held, dropped) = said(from);
                    Event::Said(id, from, held, dropped)
                }
                other => match go_on(&other) {
                    Some(event) => event,
                    None => return Some(other),
                },
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

/// Servers at these positions hold these shards of `ec:3,2`, and the others have come to own the
/// key at the same time; what each of those makes.
fn made_at_once(held: &[(usize, u8)]) -> Vec<(usize, u8)> {
    let scheme = Scheme::new(3, 2).unwrap();
    let part = |shard| PartInfo {
        piece: Piece::Shard { scheme, shard },
        owners: 5,
        value_bytes: 3000,
    };
    let shard_of = |at| held.iter().find(|one| one.0 == at).map(|one| one.1);
    let said = |from: ServerId| {
        let held = shard_of(from.0 as usize).map(|shard| HeldPart {
            version: version(5),
            part: Some(part(shard)),
        });
        (held, None)
    };
    let bring = |action: &Action| match action {
        Action::Fetch(id, from, _) => Some(Event::Brought(*id, *from, true)),
        _ => None,
    };
    let made_by = |me: usize| {
        let (first, shard) = held[0];
        let entry = Entry {
            listed: Some(part(shard).piece),
            owners: (0..5).map(ServerId).collect(),
            me,
            ..entry(version(5), None)
        };
        let done = done_while(OwnState::default(), &entry, first as u32, said, bring);
        let Some(Action::Make(_, make)) = done else {
            panic!("{done:?}");
        };
        match make.piece {
            Piece::Shard { shard, .. } => (me, shard),
            other => panic!("{other:?}"),
        }
    };
    let newcomers = (0..5).filter(|at| shard_of(*at).is_none());
    newcomers.map(made_by).collect()
}

/// Where servers leave the map, those behind them move up with the shards that they have, and the
/// new ones at the end all miss the same shards.
#[test]
fn new_owners_that_repair_at_the_same_time_make_different_shards() {
    for held in [
        [(0, 0), (1, 3), (2, 4)],
        [(0, 1), (1, 2), (2, 4)],
        [(0, 2), (1, 3), (2, 4)],
        [(0, 0), (1, 1), (3, 2)],
        [(1, 0), (2, 1), (4, 2)],
    ] {
        let made = made_at_once(&held);
        let all: HashSet<u8> = held.iter().chain(&made).map(|one| one.1).collect();
        assert_eq!(all.len(), 5, "{held:?}: {made:?}");
    }
    assert_eq!(made_at_once(&[(0, 0), (1, 3), (2, 4)]), [(3, 1), (4, 2)]);
    // Who can have the shard of its position has that.
    assert_eq!(made_at_once(&[(0, 0), (2, 1), (4, 2)]), [(1, 4), (3, 3)]);
}
