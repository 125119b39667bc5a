//! Small values under `ec`: m + 1 owners have the bytes, the others the version.

use farcache_cluster::ServerId;
use farcache_redundancy::coding::{Parts, Workshop};
use farcache_redundancy::plan::repair::{
    self, Entry, HeldPart, Limits, Make, OwnState, PartInfo, Repair, Step,
};
use farcache_redundancy::plan::{
    Action, Answer, Event, Fencing, Form, Found, Group, Held, Part, Question, Read, ReadOutcome,
    Reply, Request, Write,
};
use farcache_redundancy::stored::{HEADER_BYTES, Header, Piece};
use farcache_redundancy::{Clock, Holders, Redundancy, SKEW_MAX, Version, Writer};
use std::time::Duration;

const OWNERS: u32 = 5;
const NOW: Duration = Duration::from_secs(1_800_000_000);

fn redundancy() -> Redundancy {
    "ec:3,2".parse().expect("a redundancy")
}

fn small() -> Form {
    Form::of_value(redundancy(), true)
}

fn version() -> Version {
    Version::from_bits(0x2_8000_0002).expect("not 0")
}

fn live(is_live: impl Fn(u32) -> bool) -> Group {
    Group::new(1, (0..OWNERS).map(|id| (ServerId(id), is_live(id))))
}

/// What each server is sent of a small value, whoever is down.
fn sent(is_live: impl Fn(u32) -> bool) -> Vec<(u32, Part)> {
    let mut clock = Clock::new(Writer::FIRST, SKEW_MAX);
    let (time, fencing, mut actions) = ((&mut clock, NOW), Fencing::None, Vec::new());
    let (group, form) = (live(is_live), small());
    Write::begin_among(redundancy(), fencing, form, group, time, &mut actions);
    let parts = actions.into_iter().map(|action| match action {
        Action::Ask(Request {
            to,
            question: Question::Accept(_, part),
            ..
        }) => (to.0, part),
        other => panic!("{other:?}"),
    });
    parts.collect()
}

#[test]
fn as_many_owners_as_may_be_lost_and_one_more_are_sent_the_bytes() {
    let all = [
        Part::Copy,
        Part::Copy,
        Part::Copy,
        Part::Witness,
        Part::Witness,
    ];
    let parts: Vec<Part> = sent(|_| true).into_iter().map(|(_, part)| part).collect();
    assert_eq!(parts, all);
    // Who is down counts as lost, as with shards: nobody takes its place.
    let others = [
        (1, Part::Copy),
        (2, Part::Copy),
        (3, Part::Witness),
        (4, Part::Witness),
    ];
    assert_eq!(sent(|id| id != 0), others);
}

/// Whoever holds the whole value, or the version only, or nothing; or is down.
#[derive(Clone, Copy, PartialEq)]
enum Has {
    Copy,
    Witness,
    Nothing,
    IsDown,
}
use Has::*;

fn answer(has: Has, question: Question) -> Answer {
    let mut answer = Answer::default();
    let part = match has {
        _ if matches!(question, Question::Beneath(_)) => return answer,
        Has::Copy => Part::Copy,
        Has::Witness => Part::Witness,
        Has::Nothing | Has::IsDown => return answer,
    };
    let version = version();
    answer.held.push(Held { version, part });
    let is_asked =
        matches!(question, Question::Read(wanted) if wanted.is_none_or(|one| one == version));
    answer.brought = Some(version).filter(|_| part == Part::Copy && is_asked);
    answer
}

/// How a read ends that begins with this owner, and what it has stored meanwhile.
fn read(servers: [Has; OWNERS as usize], first: usize) -> (ReadOutcome, Vec<(u32, Part)>) {
    read_by(redundancy(), &servers, first)
}

fn read_by(
    redundancy: Redundancy,
    servers: &[Has],
    first: usize,
) -> (ReadOutcome, Vec<(u32, Part)>) {
    let (mut actions, mut stored) = (Vec::new(), Vec::new());
    let owners = servers.iter().zip(0..);
    let group = Group::new(1, owners.map(|(has, id)| (ServerId(id), *has != IsDown)));
    let fencing = Fencing::None;
    let mut read = Read::begin_among(redundancy, fencing, group, first, 0, &mut actions);
    while !actions.is_empty() {
        for action in std::mem::take(&mut actions) {
            let Request {
                id, to, question, ..
            } = match action {
                Action::Done(outcome) => return (outcome, stored),
                Action::Ask(request) => request,
                Action::Encode | Action::Decode(..) => panic!("nothing is coded"),
            };
            let reply = match question {
                Question::Store(_, part) => {
                    stored.push((to.0, part));
                    Reply::Stored { was_present: false }
                }
                _ => Reply::Answer(answer(servers[to.0 as usize], question)),
            };
            read.handle(Event::Reply(id, reply), &mut actions);
        }
    }
    panic!("it waits for nothing");
}

fn found() -> ReadOutcome {
    ReadOutcome::Found(Found::Value(version()))
}

#[test]
fn a_read_finds_the_bytes_wherever_it_begins() {
    for first in 0..OWNERS as usize {
        let (outcome, stored) = read([Copy, Copy, Copy, Witness, Witness], first);
        assert_eq!((outcome, stored), (found(), Vec::new()), "from {first}");
        let (outcome, _) = read([IsDown, IsDown, Copy, Witness, Witness], first);
        assert_eq!(outcome, found(), "two are lost, from {first}");
    }
}

#[test]
fn who_lacks_its_part_is_given_that_one() {
    // Fewer than a write must reach hold it: it is finished before it is shown.
    let redundancy = "ec:2,2".parse().expect("a redundancy");
    let (outcome, stored) = read_by(redundancy, &[Copy, Copy, Nothing, Nothing], 0);
    assert_eq!(outcome, found());
    assert_eq!(stored, [(2, Part::Copy), (3, Part::Witness)]);
}

#[test]
fn a_version_whose_bytes_are_lost_is_not_shown() {
    let (outcome, _) = read([Nothing, Nothing, Nothing, Witness, Witness], 0);
    assert_eq!(outcome, ReadOutcome::Found(Found::Nothing));
    // So many that it must have been acknowledged: an error is right, a miss is not.
    let (outcome, _) = read([Nothing, Nothing, Witness, Witness, Witness], 0);
    assert_eq!(outcome, ReadOutcome::Unavailable);
}

#[test]
fn a_witness_stores_a_header_that_tells_who_has_the_bytes() {
    let workshop = Workshop::default();
    let mut parts = Parts::new(&workshop, (small(), OWNERS as usize), b"value", 7, 9);
    let stored = parts.of(Part::Witness, version());
    assert_eq!(stored.len(), HEADER_BYTES);
    let (header, part) = Header::split(&stored).expect("a whole part");
    assert_eq!(
        header.piece,
        Piece::Witness(Holders::first(3, OWNERS as usize))
    );
    assert_eq!(
        (header.owners(), header.value_bytes, header.expiry_unix),
        (5, 5, 9)
    );
    assert_eq!(part, b"");
    let copy = parts.of(Part::Copy, version());
    let (header, part) = Header::split(&copy).expect("a whole part");
    assert_eq!(
        header.piece,
        Piece::Copy(Holders::first(3, OWNERS as usize))
    );
    assert_eq!((header.owners(), part), (5, &b"value"[..]));
}

fn holders() -> Holders {
    redundancy().holders()
}

fn held(piece: Piece) -> HeldPart {
    let part = PartInfo {
        piece,
        owners: OWNERS as u8,
        value_bytes: 5,
    };
    HeldPart {
        version: version(),
        part: Some(part),
    }
}

/// What the server at this position does about a key of which it has this, and the others what
/// their positions say.
fn repaired(me: u32, has: Option<Piece>) -> Option<Make> {
    let mut repair = Repair::new(Limits::default());
    let others = (0..OWNERS).filter(|id| *id != me).map(ServerId);
    repair.begin(others, OwnState::default());
    loop {
        let actions = match repair.step(Duration::ZERO) {
            Step::Do(actions) => actions,
            Step::Done(_) => return None,
            Step::Wait(_) => panic!("there is nothing to wait for"),
        };
        for action in actions {
            let event = match action {
                repair::Action::List {
                    from, entries_max, ..
                } => repair::Event::Page {
                    from,
                    entries: match entries_max {
                        0 => Vec::new(),
                        _ => vec![entry(from, me, has)],
                    },
                    next: None,
                    is_caught_up: true,
                    forgotten: None,
                },
                repair::Action::Look(id, from) => {
                    repair::Event::Said(id, from, Some(held(piece_at(from.0))), None)
                }
                repair::Action::Fetch(id, from, _) => repair::Event::Brought(id, from, true),
                repair::Action::Make(_, make) => return Some(make),
                other => panic!("{other:?}"),
            };
            repair.handle(event, Duration::ZERO);
        }
    }
}

fn piece_at(position: u32) -> Piece {
    match holders().has(position as usize) {
        true => Piece::Copy(holders()),
        false => Piece::Witness(holders()),
    }
}

fn entry(from: ServerId, me: u32, has: Option<Piece>) -> Entry {
    Entry {
        key: [1].into(),
        version: version(),
        listed: Some(piece_at(from.0)),
        value_bytes: 5,
        owners: (0..OWNERS).map(ServerId).collect(),
        me: me as usize,
        held: has.map(|_| version()),
        piece: has,
        is_unconfirmed: false,
        was_owner: false,
    }
}

#[test]
fn a_server_that_returns_empty_repairs_what_its_place_asks_for() {
    let copy = repaired(2, None).expect("something is made");
    assert_eq!(copy.piece, Piece::Copy(holders()));
    assert!(copy.from.iter().all(|from| from.0 < 3), "{copy:?}");
    let witness = repaired(3, None).expect("something is made");
    assert_eq!(witness.piece, Piece::Witness(holders()));
    // The other witness has just that, and it is short.
    assert_eq!(witness.from[..], [ServerId(4)]);
}

#[test]
fn a_witness_that_stands_among_the_holders_by_a_newer_map_fetches_the_bytes() {
    let copy = repaired(2, Some(Piece::Witness(holders()))).expect("something is made");
    assert_eq!(copy.piece, Piece::Copy(holders()));
    assert!(copy.from.iter().all(|from| from.0 < 2), "{copy:?}");
}

#[test]
fn who_has_its_part_or_more_is_left_alone() {
    assert_eq!(repaired(2, Some(Piece::Copy(holders()))), None);
    assert_eq!(repaired(3, Some(Piece::Witness(holders()))), None);
    assert_eq!(repaired(4, Some(Piece::Copy(holders()))), None);
}
